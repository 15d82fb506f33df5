//! Any bytes at `sim::inputs::log`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| sim::inputs::log(input));
