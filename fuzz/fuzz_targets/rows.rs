//! Any bytes at `sim::inputs::rows`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| sim::inputs::rows(input));
