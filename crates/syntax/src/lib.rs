//! From bytes to statements: lexer, parser, AST with spans, printer, digest.
