//! The repository checks its own shape: layers, lints, documents that must match the code.
