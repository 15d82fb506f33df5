//! Golden scripts: commands in, what came out beside them, one command to rewrite.
//!
//! A script is a text file of blocks. A block is any number of comment lines (`#`), one or more command lines
//! (`> command`, or `name> command` for one of several sessions; a line that begins with two spaces goes on
//! with the command above it), a line `---`, and the output up to the next empty line:
//!
//! ```text
//! # Two rows come back in key order.
//! > SELECT id FROM t
//! ---
//! 1
//! 2
//! ```
//!
//! Commands that are followed by an empty line and no `---` have no output yet; rewriting gives them one. An empty output line
//! is written as `(empty line)` so that it cannot end the block. [`check`] runs every
//! block and compares; with `INVAR_REWRITE=1` in the environment it writes what came out instead, and the diff
//! is reviewed like code.
//!
//! ```
//! let (blocks, tail) = script::parse("# Two rows.\n> SELECT id FROM t\n---\n1\n2\n").unwrap();
//! assert_eq!((blocks[0].commands[0].text.as_str(), blocks[0].output.as_str()), ("SELECT id FROM t", "1\n2"));
//! assert_eq!(script::print(&blocks, &tail), "# Two rows.\n> SELECT id FROM t\n---\n1\n2\n");
//! ```

use std::fmt::Write as _;
use std::path::Path;

/// One command of a block.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Command {
    /// The session it belongs to; empty for the only one.
    pub session: String,
    /// The command itself, lines joined by `\n`.
    pub text: String,
}

/// Commands with the output they are expected to print together.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Block {
    /// Comment and empty lines before the commands, kept when the file is rewritten.
    pub preamble: String,
    /// In order.
    pub commands: Vec<Command>,
    /// Without the final line break.
    pub output: String,
    /// Line of the first command, from 1.
    pub line: usize,
}

/// Reads a script.
///
/// # Errors
/// The number of the line that fits nowhere, and why.
pub fn parse(text: &str) -> Result<(Vec<Block>, String), String> {
    let mut blocks = Vec::new();
    let mut block = Block::default();
    let mut in_output = false;
    for (index, line) in text.lines().enumerate() {
        if in_output {
            if line.is_empty() {
                in_output = false;
                blocks.push(std::mem::take(&mut block));
            } else {
                if !block.output.is_empty() {
                    block.output.push('\n');
                }
                block.output.push_str(line);
            }
        } else if line == "---" {
            if block.commands.is_empty() {
                return Err(format!("line {}: output without a command", index + 1));
            }
            in_output = true;
        } else if let Some(rest) = line.strip_prefix("  ").filter(|_| !block.commands.is_empty()) {
            let command = block.commands.last_mut().expect("checked above");
            command.text.push('\n');
            command.text.push_str(rest);
        } else if let Some((session, command)) =
            line.split_once('>').filter(|(session, _)| is_session(session))
        {
            if block.commands.is_empty() {
                block.line = index + 1;
            }
            block.commands.push(Command {
                session: session.to_owned(),
                text: command.strip_prefix(' ').unwrap_or(command).to_owned(),
            });
        } else if line.is_empty() && !block.commands.is_empty() {
            blocks.push(std::mem::take(&mut block));
        } else if (line.is_empty() || line.starts_with('#')) && block.commands.is_empty() {
            block.preamble.push_str(line);
            block.preamble.push('\n');
        } else {
            return Err(format!("line {}: neither comment, command nor output: {line}", index + 1));
        }
    }
    if !block.commands.is_empty() {
        blocks.push(std::mem::take(&mut block));
    }
    Ok((blocks, block.preamble))
}

fn is_session(text: &str) -> bool {
    text.len() <= 8 && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Writes a script back, each block with its present output.
#[must_use]
pub fn print(blocks: &[Block], tail: &str) -> String {
    let mut text = String::new();
    for block in blocks {
        text.push_str(&block.preamble);
        for command in &block.commands {
            let _ = writeln!(text, "{}> {}", command.session, command.text.replace('\n', "\n  "));
        }
        text.push_str("---\n");
        for line in block.output.lines() {
            text.push_str(if line.is_empty() { "(empty line)" } else { line });
            text.push('\n');
        }
        text.push('\n');
    }
    text.push_str(tail);
    while text.ends_with("\n\n") {
        text.pop();
    }
    text
}

/// Whether the environment asks for outputs to be written down instead of compared (`INVAR_REWRITE=1`).
#[must_use]
pub fn is_rewriting() -> bool {
    std::env::var_os("INVAR_REWRITE").is_some()
}

/// An output as a block holds it.
#[must_use]
pub fn as_output(text: &str) -> String {
    let lines: Vec<&str> = text
        .trim_end_matches('\n')
        .lines()
        .map(|line| if line.is_empty() { "(empty line)" } else { line })
        .collect();
    lines.join("\n")
}

/// Runs the script at `path`: `run` answers each block's commands with what they print.
///
/// # Panics
/// If the file cannot be read, or the output differs and `INVAR_REWRITE` is not set. The message shows the
/// first differing block, expected and actual.
pub fn check(path: &Path, mut run: impl FnMut(&Block) -> String) {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (mut blocks, tail) = parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let rewrite = is_rewriting();
    for block in &mut blocks {
        let output = as_output(&run(block));
        if rewrite {
            block.output = output;
        } else {
            assert!(
                output == block.output,
                "{}:{}: the output changed (INVAR_REWRITE=1 writes it down)\n--- commands\n{}\n--- expected\n{}\n--- actual\n{}",
                path.display(),
                block.line,
                block.commands.iter().map(|command| command.text.as_str()).collect::<Vec<_>>().join("\n"),
                block.output,
                output
            );
        }
    }
    if rewrite {
        std::fs::write(path, print(&blocks, &tail))
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

/// All files with this extension below a folder, sorted.
///
/// # Panics
/// If the folder cannot be read: a test without its scripts must not pass.
#[must_use]
pub fn files(folder: &Path, extension: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        {
            let path = entry.expect("a folder entry can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|candidate| candidate == extension) {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty(), "{}: no script ends in .{extension}", folder.display());
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "# Says why.\na> BEGIN\n> SELECT 1,\n  2\n---\n1\n(empty line)\n2\n\n> x\n---\n";

    #[test]
    fn a_script_is_read_and_written_back_the_same() {
        let (blocks, tail) = parse(SCRIPT).unwrap();
        assert_eq!(blocks.len(), 2);
        assert_eq!(blocks[0].commands[1].text, "SELECT 1,\n2");
        assert_eq!(blocks[0].commands[0].session, "a");
        assert_eq!(blocks[0].line, 2);
        assert_eq!(print(&blocks, &tail), SCRIPT);
        // Commands without an output yet.
        let (blocks, _) = parse("> a\n> b\n\n# c\n> c\n").unwrap();
        assert_eq!((blocks.len(), blocks[0].commands.len(), blocks[1].preamble.as_str()), (2, 2, "# c\n"));
        assert_eq!(as_output("a\n\n\nb\n"), "a\n(empty line)\n(empty line)\nb");
    }

    #[test]
    fn a_line_that_fits_nowhere_is_named() {
        assert_eq!(parse("> x\nstray\n").unwrap_err(), "line 2: neither comment, command nor output: stray");
        assert_eq!(parse("---\n").unwrap_err(), "line 1: output without a command");
    }

    #[test]
    #[should_panic(expected = "the output changed")]
    fn a_changed_output_fails() {
        let folder = std::env::temp_dir().join(format!("script-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("x.script");
        std::fs::write(&path, "> a\n---\nb\n").unwrap();
        check(&path, |_| "c\n".to_owned());
    }
}
