//! Where bytes come in from outside: each function here takes any bytes at all and must neither panic nor hang nor take
//! memory out of proportion to them. The fuzz targets in `/fuzz` and the mutation tests of this crate call the same
//! functions; what they return or check beyond that is documented at each.
//!
//! [`mutate`] makes the inputs of the mutation tests: samples cut, spliced and bent by a seeded generator, so that every run
//! of the tests tries the same ones.

mod log;
mod packets;
mod rows;
mod statements;

pub use log::{log, log_samples};
pub use packets::{packet_samples, packets};
pub use rows::{row_samples, rows};
pub use statements::{statement_samples, statements};

use env::random::Rng;

/// Bytes that often mean something: ends of ranges, lengths, headers.
const SPECIAL: [u8; 14] = [0, 1, 2, 3, 4, 0x7f, 0x80, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff, 0x20];

/// A bent version of one of `samples`, or of two of them joined.
#[must_use]
pub fn mutate(samples: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let Some(sample) = samples.get(rng.index(samples.len())) else { return Vec::new() };
    let mut bytes = sample.clone();
    for _ in 0..=rng.below(6) {
        let at = rng.index(bytes.len() + 1);
        match rng.below(8) {
            0 => bytes.truncate(at),
            1 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << rng.below(8);
                }
            }
            2 | 3 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = SPECIAL[rng.index(SPECIAL.len())];
                }
            }
            4 => bytes.insert(at, SPECIAL[rng.index(SPECIAL.len())]),
            5 => {
                let end = (at + rng.index(9)).min(bytes.len());
                bytes.drain(at..end);
            }
            6 => {
                let end = (at + rng.index(40)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                let to = rng.index(bytes.len() + 1);
                bytes.splice(to..to, piece);
            }
            _ => {
                let other = &samples[rng.index(samples.len())];
                let from = rng.index(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
        }
    }
    bytes
}
