//! What a run says, for people and for programs.

pub mod words;
