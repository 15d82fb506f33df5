//! Sums of the weights, letter cases and sort keys of all characters, taken when `tests/collation_oracle.rs` had found
//! them equal to MySQL 9.7's: so that tables cannot change unseen where there is no server to ask, nor the keys, which
//! stand in files.
//!
//! `INVAR_PRINT_SUMS=1 cargo test -p types --test collation_sums -- --nocapture` prints the lines below.

use types::charset::Charset;
use types::collation::CollationId;

/// Collation number; sums of WEIGHT_STRING, UPPER, LOWER and the sort key of each character of its set in turn.
const SUMS: &[(u16, [u64; 4])] = &[
    (5, [0xC83BA999B9509509, 0x18C276A49182FF25, 0x9E9082BA73C54BA5, 0xD1B80480963CB750]),
    (8, [0x65EA37ECA679F625, 0x18C276A49182FF25, 0x9E9082BA73C54BA5, 0x616F7912191C19A4]),
    (11, [0xC888839053DAC2A5, 0xC888839053DAC2A5, 0x16B8E656460FE4A5, 0x383D506569CFAEE4]),
    (15, [0xA81D2F2732CC7FFD, 0x18C276A49182FF25, 0x9E9082BA73C54BA5, 0x1A1E3E6640C7E8FC]),
    (33, [0xCB52DBE42B711B4E, 0x5702CF418FDAA760, 0xC808D6EAD13913DE, 0x95A6196D0BEAD551]),
    (45, [0x55A304BABA711B4E, 0xCEADBA0E1F6C1F60, 0x5E9EE847E0B1F7DE, 0x7EDBAD7C3ACAD551]),
    (46, [0xBA8B957EB7DE6125, 0xCEADBA0E1F6C1F60, 0x5E9EE847E0B1F7DE, 0x20220A3F6AFA3724]),
    (47, [0x0978ABA375684225, 0x18C276A49182FF25, 0x9E9082BA73C54BA5, 0x33E7DEAA81B925A4]),
    (48, [0x5B5FFA39BF8A3273, 0x18C276A49182FF25, 0x9E9082BA73C54BA5, 0x1049A6A15269D532]),
    (49, [0x0E8AB4D447CCC481, 0x18C276A49182FF25, 0x9E9082BA73C54BA5, 0x708DA6388901190C]),
    (63, [0x0978ABA375684225, 0x0978ABA375684225, 0x0978ABA375684225, 0x0C09E7F96A55F935]),
    (65, [0xE02462CB378CD3A5, 0xC888839053DAC2A5, 0x16B8E656460FE4A5, 0x1ACF928C795B4DA4]),
    (83, [0x3FA4B7E2162B6125, 0x5702CF418FDAA760, 0xC808D6EAD13913DE, 0xA1006FA2A2990324]),
    (94, [0xB0628B4AD9474D67, 0x18C276A49182FF25, 0x9E9082BA73C54BA5, 0x9351E22B533AE38E]),
    (192, [0x61E45A622A1F58CE, 0x5702CF418FDAA760, 0xC808D6EAD13913DE, 0x81F2C1FD90BB4E62]),
    (214, [0xF1EEA98FE91CDDB9, 0x37926E4EB92F0258, 0x2FAA60B7B04344B6, 0x0A032D9C8CC7088B]),
    (224, [0x1F5F1417191F58CE, 0xCEADBA0E1F6C1F60, 0x5E9EE847E0B1F7DE, 0xB55AF59EDF4B4E62]),
    (246, [0xADADADB808107248, 0x2FA8FE362CC15DD8, 0xC1E981B874822EA6, 0xC1D0E27CA3D6D452]),
    (255, [0xBFCD4E3F93792BF8, 0xFB42F6084C1A94EE, 0xF8492505AB23B714, 0x33976F5C9EF04DDF]),
    (278, [0xAC07AC5668112DAF, 0xFB42F6084C1A94EE, 0xF8492505AB23B714, 0xA54D0853466533A8]),
    (305, [0xF57097836DB2E974, 0xFB42F6084C1A94EE, 0xF8492505AB23B714, 0x28F57B97DE49BA01]),
    (309, [0xAA18AB624AE27A25, 0xFB42F6084C1A94EE, 0xF8492505AB23B714, 0x2CC02CFB2004E735]),
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

fn sums(collation: CollationId) -> (u16, [u64; 4]) {
    let charset = collation.charset();
    let code_end = if charset.is_single_byte() { 0x100 } else { 0x11_0000 };
    let (mut text, mut out) = (Vec::new(), Vec::new());
    let mut sums = [0xCBF2_9CE4_8422_2325; 4].map(Sum);
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
                2 => collation.lower(&text, &mut out),
                _ => collation.sort_key(&text, &mut out),
            }
            sum.add(&out);
        }
    }
    (collation.id(), sums.map(|sum| sum.0))
}

#[test]
fn the_tables_are_as_they_were() {
    let ours: Vec<_> = CollationId::all().iter().map(|info| sums(info.id)).collect();
    if std::env::var_os("INVAR_PRINT_SUMS").is_some() {
        for (id, sums) in &ours {
            println!(
                "    ({id}, [0x{:016X}, 0x{:016X}, 0x{:016X}, 0x{:016X}]),",
                sums[0], sums[1], sums[2], sums[3]
            );
        }
    }
    assert_eq!(ours, SUMS);
}
