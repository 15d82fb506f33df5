//! Golden scripts: commands in, output beside them, one command to rewrite.
