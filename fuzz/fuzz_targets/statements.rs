//! Any bytes at `sim::inputs::statements`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| sim::inputs::statements(input));
