//! Passwords: how they are stored, and how a client proves that it knows one without sending it.
//!
//! | plugin | stored | the client sends |
//! | --- | --- | --- |
//! | `mysql_native_password` | `*` + hex of SHA1(SHA1(p)) | SHA1(p) xor SHA1(challenge + SHA1(SHA1(p))) |
//! | `caching_sha2_password` | `$A$` + rounds/1000 in hex + `$` + salt + SHA-crypt(p, salt) | SHA256(p) xor SHA256(SHA256(SHA256(p)) + challenge), and the password itself if the server does not remember SHA256(SHA256(p)) |
//!
//! Sources: MySQL 9.7 manual, "Caching SHA-2 Pluggable Authentication"; U. Drepper, "Unix crypt using SHA-256 and SHA-512"
//! (MySQL uses the whole of a 20-byte salt where that text uses 16).

use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::handshake::CHALLENGE_BYTES;

/// Bytes of salt in a stored `caching_sha2_password`.
pub const SALT_BYTES: usize = 20;
/// Characters of hash in a stored `caching_sha2_password`.
const HASH_CHARS: usize = 43;
/// The client asks for the server's public key.
pub const SHA2_REQUEST_PUBLIC_KEY: u8 = 2;
/// The server remembers the password and it was right.
pub const SHA2_FAST_AUTH_SUCCESS: u8 = 3;
/// The server does not remember the password: send it.
pub const SHA2_FULL_AUTH: u8 = 4;
/// Rounds of hash in a newly stored `caching_sha2_password`: 9.7's default of `caching_sha2_password_digest_rounds`.
const DIGEST_ROUNDS: usize = 10_000;
/// The longest password taken, bytes.
pub const PASSWORD_BYTES_MAX: usize = 256;

fn sha1(parts: &[&[u8]]) -> [u8; 20] {
    let mut hash = Sha1::new();
    for part in parts {
        hash.update(part);
    }
    hash.finalize().into()
}

fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    hash.finalize().into()
}

/// Whether both are equal, in a time that says nothing about where they differ.
#[must_use]
pub(crate) fn equal_in_constant_time(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && std::hint::black_box(a.iter().zip(b).fold(0, |acc, (x, y)| acc | (x ^ y))) == 0
}

/// What is stored for `mysql_native_password`; empty for an empty password.
#[must_use]
pub fn native_stored(password: &[u8]) -> String {
    if password.is_empty() {
        return String::new();
    }
    let twice = sha1(&[&sha1(&[password])]);
    let mut text = String::with_capacity(41);
    text.push('*');
    for byte in twice {
        text.push(char::from(b"0123456789ABCDEF"[usize::from(byte >> 4)]));
        text.push(char::from(b"0123456789ABCDEF"[usize::from(byte & 15)]));
    }
    text
}

fn native_twice(stored: &[u8]) -> Option<[u8; 20]> {
    let hex = stored.strip_prefix(b"*")?;
    let mut twice = [0; 20];
    if hex.len() != 40 {
        return None;
    }
    for (byte, pair) in twice.iter_mut().zip(hex.chunks_exact(2)) {
        let digit = |c: u8| char::from(c).to_digit(16);
        *byte = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
    }
    Some(twice)
}

/// Whether `stored` has the form of `mysql_native_password`.
#[must_use]
pub fn native_is_stored(stored: &[u8]) -> bool {
    stored.is_empty() || native_twice(stored).is_some()
}

/// What a client sends for `mysql_native_password`; nothing for an empty password.
#[must_use]
pub fn native_response(password: &[u8], challenge: &[u8; CHALLENGE_BYTES]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = sha1(&[password]);
    let mask = sha1(&[challenge, &sha1(&[&once])]);
    once.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

/// Whether a client that sent `response` knows the password stored for `mysql_native_password`.
#[must_use]
pub fn native_verify(stored: &[u8], response: &[u8], challenge: &[u8; CHALLENGE_BYTES]) -> bool {
    if stored.is_empty() {
        return response.is_empty();
    }
    let Some(twice) = native_twice(stored) else { return false };
    let mask = sha1(&[challenge, &twice]);
    if response.len() != mask.len() {
        return false;
    }
    let mut once = [0; 20];
    for (byte, (a, b)) in once.iter_mut().zip(response.iter().zip(mask)) {
        *byte = a ^ b;
    }
    equal_in_constant_time(&sha1(&[&once]), &twice)
}

/// SHA256(SHA256(password)): what the server remembers of a password that was right.
#[must_use]
pub fn sha2_remembered(password: &[u8]) -> [u8; 32] {
    sha256(&[&sha256(&[password])])
}

/// What a client sends first for `caching_sha2_password`; nothing for an empty password.
#[must_use]
pub fn sha2_response(password: &[u8], challenge: &[u8; CHALLENGE_BYTES]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = sha256(&[password]);
    let mask = sha256(&[&sha256(&[&once]), challenge]);
    once.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

/// Whether a client that sent `response` knows the password remembered by [`sha2_remembered`].
#[must_use]
pub fn sha2_verify_fast(remembered: &[u8; 32], response: &[u8], challenge: &[u8; CHALLENGE_BYTES]) -> bool {
    let mask = sha256(&[remembered, challenge]);
    if response.len() != mask.len() {
        return false;
    }
    let mut once = [0; 32];
    for (byte, (a, b)) in once.iter_mut().zip(response.iter().zip(mask)) {
        *byte = a ^ b;
    }
    equal_in_constant_time(&sha256(&[&once]), remembered)
}

/// What is stored for `caching_sha2_password`; empty for an empty password. `salt` is random; zero bytes and `$` in it are
/// replaced, as MySQL stores none.
#[must_use]
pub fn sha2_stored(password: &[u8], salt: &[u8; SALT_BYTES]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let mut clean = *salt;
    for byte in &mut clean {
        *byte &= 0x7f;
        if matches!(*byte, 0 | b'$') {
            *byte += 1;
        }
    }
    let mut stored = format!("$A${:03X}$", DIGEST_ROUNDS / 1000).into_bytes();
    stored.extend_from_slice(&clean);
    stored.extend_from_slice(&sha_crypt(password, &clean, DIGEST_ROUNDS));
    stored
}

/// The parts of a stored `caching_sha2_password`: rounds, salt, hash.
fn sha2_parts(stored: &[u8]) -> Option<(usize, &[u8], &[u8])> {
    let rest = stored.strip_prefix(b"$A$")?;
    let (digits, rest) = rest.split_at_checked(3)?;
    let rounds = usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()? * 1000;
    let rest = rest.strip_prefix(b"$")?;
    (rounds > 0 && rest.len() == SALT_BYTES + HASH_CHARS)
        .then(|| (rounds, &rest[..SALT_BYTES], &rest[SALT_BYTES..]))
}

/// Whether `stored` has the form of `caching_sha2_password`.
#[must_use]
pub fn sha2_is_stored(stored: &[u8]) -> bool {
    stored.is_empty() || sha2_parts(stored).is_some()
}

/// Whether `password` is the one stored for `caching_sha2_password`. Costs milliseconds on purpose.
#[must_use]
pub fn sha2_verify_full(stored: &[u8], password: &[u8]) -> bool {
    if stored.is_empty() {
        return password.is_empty();
    }
    match sha2_parts(stored) {
        Some((rounds, salt, hash)) => equal_in_constant_time(&sha_crypt(password, salt, rounds), hash),
        None => false,
    }
}

/// Hides a password under the challenge before it is encrypted with the server's public key, or shows it again. The
/// closing zero byte is part of `password`.
pub fn xor_with_challenge(password: &mut [u8], challenge: &[u8; CHALLENGE_BYTES]) {
    for (byte, mask) in password.iter_mut().zip(challenge.iter().cycle()) {
        *byte ^= mask;
    }
}

/// SHA-crypt with SHA-256, its base-64 hash only.
fn sha_crypt(password: &[u8], salt: &[u8], rounds: usize) -> [u8; HASH_CHARS] {
    let repeat =
        |block: &[u8; 32], length: usize| -> Vec<u8> { block.iter().copied().cycle().take(length).collect() };
    let b = sha256(&[password, salt, password]);
    let mut hash = Sha256::new();
    hash.update(password);
    hash.update(salt);
    hash.update(repeat(&b, password.len()));
    let mut bits = password.len();
    while bits > 0 {
        if bits & 1 == 1 {
            hash.update(b);
        } else {
            hash.update(password);
        }
        bits >>= 1;
    }
    let mut a: [u8; 32] = hash.finalize().into();

    let mut hash = Sha256::new();
    for _ in 0..password.len() {
        hash.update(password);
    }
    let p = repeat(&hash.finalize().into(), password.len());
    let mut hash = Sha256::new();
    for _ in 0..16 + usize::from(a[0]) {
        hash.update(salt);
    }
    let s = repeat(&hash.finalize().into(), salt.len());

    for round in 0..rounds {
        let mut hash = Sha256::new();
        let (first, last) = if round % 2 == 1 { (&p[..], &a[..]) } else { (&a[..], &p[..]) };
        hash.update(first);
        if round % 3 != 0 {
            hash.update(&s);
        }
        if round % 7 != 0 {
            hash.update(&p);
        }
        hash.update(last);
        a = hash.finalize().into();
    }

    const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut out = [0; HASH_CHARS];
    let mut at = 0;
    let mut put = |high: u8, middle: u8, low: u8, chars: usize| {
        let mut word = u32::from(high) << 16 | u32::from(middle) << 8 | u32::from(low);
        for _ in 0..chars {
            out[at] = ALPHABET[(word & 63) as usize];
            at += 1;
            word >>= 6;
        }
    };
    // Three bytes, ten apart, turning by one place each time.
    for i in 0..10 {
        let [x, y, z] = [a[i], a[i + 10], a[i + 20]];
        match i % 3 {
            0 => put(x, y, z, 4),
            1 => put(z, x, y, 4),
            _ => put(y, z, x, 4),
        }
    }
    put(0, a[31], a[30], 3);
    out
}
