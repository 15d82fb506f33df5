//! Wiring only: reads the command line, opens a door.
fn main() {}
