//! Any bytes at `sim::inputs::packets`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| sim::inputs::packets(input));
