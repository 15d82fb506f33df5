//! Sums of the weights and letter cases of all characters, taken when `tests/collation_oracle.rs` had found them equal
//! to MySQL 9.7's: so that tables cannot change unseen where there is no server to ask.
//!
//! `INVAR_PRINT_SUMS=1 cargo test -p types --test collation_sums -- --nocapture` prints the lines below.

use types::charset::Charset;
use types::collation::CollationId;

/// Collation number; sums of WEIGHT_STRING, UPPER and LOWER of each character of its set in turn.
const SUMS: &[(u16, u64, u64, u64)] = &[
    (5, 0xC83BA999B9509509, 0x18C276A49182FF25, 0x9E9082BA73C54BA5),
    (8, 0x65EA37ECA679F625, 0x18C276A49182FF25, 0x9E9082BA73C54BA5),
    (11, 0xC888839053DAC2A5, 0xC888839053DAC2A5, 0x16B8E656460FE4A5),
    (15, 0xA81D2F2732CC7FFD, 0x18C276A49182FF25, 0x9E9082BA73C54BA5),
    (33, 0xCB52DBE42B711B4E, 0x5702CF418FDAA760, 0xC808D6EAD13913DE),
    (45, 0x55A304BABA711B4E, 0xCEADBA0E1F6C1F60, 0x5E9EE847E0B1F7DE),
    (46, 0xBA8B957EB7DE6125, 0xCEADBA0E1F6C1F60, 0x5E9EE847E0B1F7DE),
    (47, 0x0978ABA375684225, 0x18C276A49182FF25, 0x9E9082BA73C54BA5),
    (48, 0x5B5FFA39BF8A3273, 0x18C276A49182FF25, 0x9E9082BA73C54BA5),
    (49, 0x0E8AB4D447CCC481, 0x18C276A49182FF25, 0x9E9082BA73C54BA5),
    (63, 0x0978ABA375684225, 0x0978ABA375684225, 0x0978ABA375684225),
    (65, 0xE02462CB378CD3A5, 0xC888839053DAC2A5, 0x16B8E656460FE4A5),
    (83, 0x3FA4B7E2162B6125, 0x5702CF418FDAA760, 0xC808D6EAD13913DE),
    (94, 0xB0628B4AD9474D67, 0x18C276A49182FF25, 0x9E9082BA73C54BA5),
    (192, 0x61E45A622A1F58CE, 0x5702CF418FDAA760, 0xC808D6EAD13913DE),
    (214, 0xF1EEA98FE91CDDB9, 0x37926E4EB92F0258, 0x2FAA60B7B04344B6),
    (224, 0x1F5F1417191F58CE, 0xCEADBA0E1F6C1F60, 0x5E9EE847E0B1F7DE),
    (246, 0xADADADB808107248, 0x2FA8FE362CC15DD8, 0xC1E981B874822EA6),
    (255, 0xBFCD4E3F93792BF8, 0xFB42F6084C1A94EE, 0xF8492505AB23B714),
    (278, 0xAC07AC5668112DAF, 0xFB42F6084C1A94EE, 0xF8492505AB23B714),
    (305, 0xF57097836DB2E974, 0xFB42F6084C1A94EE, 0xF8492505AB23B714),
    (309, 0xAA18AB624AE27A25, 0xFB42F6084C1A94EE, 0xF8492505AB23B714),
];

/// FNV-1a, and after each character its length.
struct Sum(u64);

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes.iter().chain(&[bytes.len() as u8]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }
}

fn sums(collation: CollationId) -> (u16, u64, u64, u64) {
    let charset = collation.charset();
    let code_end = if charset.is_single_byte() { 0x100 } else { 0x11_0000 };
    let (mut text, mut out) = (Vec::new(), Vec::new());
    let mut sums = [0xCBF2_9CE4_8422_2325; 3].map(Sum);
    for code in 0..code_end {
        text.clear();
        if charset == Charset::Latin1 {
            text.push(code as u8); // By bytes, not by Unicode.
        } else if !charset.encode(code, &mut text) {
            continue;
        }
        for (index, sum) in sums.iter_mut().enumerate() {
            out.clear();
            match index {
                0 => collation.weight_string(&text, &mut out),
                1 => collation.upper(&text, &mut out),
                _ => collation.lower(&text, &mut out),
            }
            sum.add(&out);
        }
    }
    let [weights, upper, lower] = sums;
    (collation.id(), weights.0, upper.0, lower.0)
}

#[test]
fn the_tables_are_as_they_were() {
    let ours: Vec<_> = CollationId::all().iter().map(|info| sums(info.id)).collect();
    if std::env::var_os("INVAR_PRINT_SUMS").is_some() {
        for (id, weights, upper, lower) in &ours {
            println!("    ({id}, 0x{weights:016X}, 0x{upper:016X}, 0x{lower:016X}),");
        }
    }
    assert_eq!(ours, SUMS);
}
