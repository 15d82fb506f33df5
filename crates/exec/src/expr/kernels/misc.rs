//! Hashes, compression, addresses, identifiers, and what a session knows.

use super::super::compile::{Class, ScalarKernel};
use super::super::context::SqlResult;
use super::super::program::{Kernel, Row};
use super::super::vector::View;
use crate::error::internal;
use plan::expr::{CallOption, Expr};
use plan::function::FunctionId;
use service::error::{ER_WRONG_VALUE_FOR_TYPE, ER_ZLIB_Z_DATA_ERROR};
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr};
use types::DataType;

pub(super) fn scalar_kernel(function: FunctionId, args: &[Expr]) -> Option<ScalarKernel> {
    use Class::{Any, Bytes, Double, Int, Utf8};
    use FunctionId as F;
    let plain = |kernel: Kernel, classes: &'static [Class]| {
        Some(ScalarKernel { kernel, classes, null_propagates: true })
    };
    let nulls = |kernel: Kernel, classes: &'static [Class]| {
        Some(ScalarKernel { kernel, classes, null_propagates: false })
    };
    // What is no text is no address, NULL too.
    let is_number = args.first().is_some_and(|arg| arg.data_type.is_numeric());
    match function {
        F::IsIpv4 | F::IsIpv6 | F::IsIpv4Compat | F::IsIpv4Mapped if is_number => {
            nulls(|r| r.put_bool(false), &[Any])
        }
        F::Md5 => plain(
            |r| {
                let hash = md5(r.bytes(0));
                put_hex(r, &hash)
            },
            &[Bytes],
        ),
        F::Sha1 => plain(
            |r| {
                let hash = Sha1::digest(r.bytes(0));
                put_hex(r, &hash)
            },
            &[Bytes],
        ),
        F::Sha2 => plain(sha2, &[Bytes, Int]),
        F::Compress => plain(compress, &[Bytes]),
        F::Uncompress => plain(uncompress, &[Bytes]),
        F::UncompressedLength => plain(
            |r| {
                let bytes = r.bytes(0);
                // Nothing follows a header alone.
                let length = bytes
                    .get(..4)
                    .filter(|_| bytes.len() > 4)
                    .map_or(0, |head| u32::from_le_bytes([head[0], head[1], head[2], head[3]]) & 0x3fff_ffff);
                r.put_int(i64::from(length))
            },
            &[Bytes],
        ),
        F::RandomBytes => plain(random_bytes, &[Int]),
        F::InetAton => plain(inet_aton, &[Utf8]),
        F::InetNtoa => plain(
            |r| match u32::try_from(r.wide(0)) {
                Ok(address) => r.put_bytes(Ipv4Addr::from(address).to_string().as_bytes()),
                Err(_) => wrong(r, "integer"),
            },
            &[Int],
        ),
        F::Inet6Aton => plain(inet6_aton, &[Utf8]),
        F::Inet6Ntoa => plain(inet6_ntoa, &[Bytes]),
        F::IsIpv4 => plain(
            |r| {
                let is = parse_v4(r.bytes(0)).is_some();
                r.put_bool(is)
            },
            &[Utf8],
        ),
        F::IsIpv6 => plain(
            |r| {
                let is = parse_v6(r.bytes(0)).is_some();
                r.put_bool(is)
            },
            &[Utf8],
        ),
        F::IsIpv4Compat => plain(
            |r| {
                let b = r.bytes(0);
                r.put_bool(b.len() == 16 && b[..12] == [0; 12] && b[12..14] != [0, 0])
            },
            &[Bytes],
        ),
        F::IsIpv4Mapped => plain(
            |r| {
                let b = r.bytes(0);
                r.put_bool(b.len() == 16 && b[..10] == [0; 10] && b[10..12] == [255, 255])
            },
            &[Bytes],
        ),
        F::Uuid => nulls(
            |r| {
                let bytes = r.ctx.session.uuid();
                r.put_with(|out| write_uuid(&bytes, out))
            },
            &[],
        ),
        F::UuidShort => nulls(
            |r| {
                let id = r.ctx.session.uuid_short();
                r.put_int(id as i64)
            },
            &[],
        ),
        F::IsUuid => plain(
            |r| {
                let is = parse_uuid(r.bytes(0)).is_some();
                r.put_bool(is)
            },
            &[Utf8],
        ),
        F::UuidToBin => plain(uuid_to_bin, &[Utf8, Int]),
        F::BinToUuid => plain(bin_to_uuid, &[Bytes, Int]),
        F::Database => nulls(
            |r| match r.ctx.session.database() {
                Some(name) => r.put_bytes(name.as_bytes()),
                None => r.null(),
            },
            &[],
        ),
        F::User => nulls(
            |r| {
                let user = r.ctx.session.user();
                r.put_bytes(user.as_bytes())
            },
            &[],
        ),
        F::CurrentUser => nulls(
            |r| {
                let user = r.ctx.session.current_user();
                r.put_bytes(user.as_bytes())
            },
            &[],
        ),
        F::CurrentRole => nulls(
            |r| {
                let role = r.ctx.session.current_role();
                r.put_bytes(role.as_bytes())
            },
            &[],
        ),
        F::Version => nulls(
            |r| {
                let version = r.ctx.session.version();
                r.put_bytes(version.as_bytes())
            },
            &[],
        ),
        F::ConnectionId | F::PsCurrentThreadId => nulls(
            |r| {
                let id = r.ctx.session.connection_id();
                r.put_int(id as i64)
            },
            &[],
        ),
        F::FoundRows => nulls(
            |r| {
                let rows = r.ctx.session.found_rows();
                r.put_int(rows)
            },
            &[],
        ),
        F::RowCount => nulls(
            |r| {
                let rows = r.ctx.session.row_count();
                r.put_int(rows)
            },
            &[],
        ),
        F::LastInsertId => nulls(
            |r| {
                if r.count() == 0 {
                    let id = r.ctx.session.last_insert_id();
                    return r.put_int(id as i64);
                }
                if r.is_null(0) {
                    r.ctx.session.set_last_insert_id(0);
                    return r.null();
                }
                let id = r.int(0);
                r.ctx.session.set_last_insert_id(id as u64);
                r.put_int(id)
            },
            &[Int],
        ),
        F::Sleep => nulls(sleep, &[Double]),
        F::StoredFunction | F::DeterministicFunction => nulls(stored_function, &[Any]),
        F::GetLock => nulls(
            |r| {
                let name = lock_name(r)?;
                // No timeout is none.
                let seconds = if r.is_null(1) { 0 } else { r.int(1) };
                let got = r.ctx.session.get_lock(&name, seconds as f64)?;
                put_answer(r, got)
            },
            &[Utf8, Int],
        ),
        F::ReleaseLock => nulls(
            |r| {
                let name = lock_name(r)?;
                let released = r.ctx.session.release_lock(&name)?;
                put_answer(r, released)
            },
            &[Utf8],
        ),
        F::ReleaseAllLocks => nulls(
            |r| {
                let count = r.ctx.session.release_all_locks();
                r.put_int(count)
            },
            &[],
        ),
        F::IsFreeLock => nulls(
            |r| {
                let name = lock_name(r)?;
                let free = r.ctx.session.lock_holder(&name).is_none();
                r.put_bool(free)
            },
            &[Utf8],
        ),
        F::IsUsedLock => nulls(
            |r| {
                let name = lock_name(r)?;
                let holder = r.ctx.session.lock_holder(&name).map(|id| id as i64);
                put_answer(r, holder)
            },
            &[Utf8],
        ),
        F::IcuVersion => nulls(|r| r.put_bytes(b"77.1"), &[Any]),
        _ => None,
    }
}

fn put_answer(r: &mut Row<'_, '_>, answer: Option<i64>) -> SqlResult<()> {
    match answer {
        Some(answer) => r.put_int(answer),
        None => r.null(),
    }
}

/// Most characters of a lock's name.
const LOCK_NAME_CHARS_MAX: usize = 64;

fn lock_name(r: &Row<'_, '_>) -> SqlResult<String> {
    if r.is_null(0) {
        return Err(service::error::ER_USER_LOCK_WRONG_NAME.with(&[&"NULL"]));
    }
    let name = String::from_utf8_lossy(r.bytes(0)).into_owned();
    if name.chars().count() > LOCK_NAME_CHARS_MAX {
        return Err(service::error::ER_USER_LOCK_OVERLONG_NAME.with(&[&name, &LOCK_NAME_CHARS_MAX]));
    }
    if name.is_empty() {
        return Err(service::error::ER_USER_LOCK_WRONG_NAME.with(&[&name]));
    }
    Ok(name.to_lowercase())
}

fn put_hex(r: &mut Row<'_, '_>, bytes: &[u8]) -> SqlResult<()> {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    r.put_with(|out| {
        for byte in bytes {
            out.push(HEX[usize::from(byte >> 4)]);
            out.push(HEX[usize::from(byte & 15)]);
        }
    })
}

#[cold]
fn wrong(r: &mut Row<'_, '_>, what: &str) -> SqlResult<()> {
    let mut shown = Vec::new();
    types::convert::write_text(r.args[0].cell(r.row), &r.call.types[0], &mut shown);
    if what == "string" {
        // The message shows the argument as it would be written.
        shown.insert(0, b'\'');
        shown.push(b'\'');
    }
    let name = r.call.name;
    r.ctx.warn_or_fail(ER_WRONG_VALUE_FOR_TYPE, &[&what, &String::from_utf8_lossy(&shown), &name])?;
    r.null()
}

fn sha2(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let bytes = r.bytes(0);
    match r.wide(1) {
        224 => put_hex(r, &Sha224::digest(bytes)),
        0 | 256 => put_hex(r, &Sha256::digest(bytes)),
        384 => put_hex(r, &Sha384::digest(bytes)),
        512 => put_hex(r, &Sha512::digest(bytes)),
        _ => {
            r.ctx.warn(service::error::ER_WRONG_PARAMETERS_TO_NATIVE_FCT, &[&"sha2"]);
            r.null()
        }
    }
}

/// MD5 (RFC 1321).
fn md5(message: &[u8]) -> [u8; 16] {
    const SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
    let mut state = [0x6745_2301u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    // The integer part of 2^32 * |sin(step + 1)|, as the RFC defines the table.
    let constants: [u32; 64] =
        std::array::from_fn(|step| (((step + 1) as f64).sin().abs() * 4_294_967_296.0) as u32);
    // Only the end is copied to be padded: the message may be large.
    let (blocks, rest) = message.as_chunks::<64>();
    let mut end = [0_u8; 128];
    end[..rest.len()].copy_from_slice(rest);
    end[rest.len()] = 0x80;
    let end_bytes = if rest.len() < 56 { 64 } else { 128 };
    end[end_bytes - 8..end_bytes].copy_from_slice(&(message.len() as u64).wrapping_mul(8).to_le_bytes());
    for block in blocks.iter().chain(end[..end_bytes].as_chunks::<64>().0) {
        let word = |i: usize| {
            u32::from_le_bytes([block[4 * i], block[4 * i + 1], block[4 * i + 2], block[4 * i + 3]])
        };
        let [mut a, mut b, mut c, mut d] = state;
        for step in 0..64 {
            let (f, index) = match step / 16 {
                0 => (b & c | !b & d, step),
                1 => (d & b | !d & c, (5 * step + 1) % 16),
                2 => (b ^ c ^ d, (3 * step + 5) % 16),
                _ => (c ^ (b | !d), 7 * step % 16),
            };
            let sum = a.wrapping_add(f).wrapping_add(constants[step]).wrapping_add(word(index));
            a = d;
            d = c;
            c = b;
            b = b.wrapping_add(sum.rotate_left(SHIFTS[step / 16][step % 4]));
        }
        for (total, value) in state.iter_mut().zip([a, b, c, d]) {
            *total = total.wrapping_add(value);
        }
    }
    let mut out = [0; 16];
    for (to, word) in out.chunks_exact_mut(4).zip(state) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    out
}

fn compress(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let bytes = r.bytes(0);
    if bytes.is_empty() {
        return r.put_bytes(b"");
    }
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    let packed = encoder.write_all(bytes).and_then(|()| encoder.finish());
    match packed {
        Ok(packed) => r.put_with(|out| {
            out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            out.extend_from_slice(&packed);
            // A trailing blank would be lost in a CHAR column.
            if packed.last() == Some(&b' ') {
                out.push(b'.');
            }
        }),
        Err(_) => r.null(),
    }
}

fn uncompress(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let bytes = r.bytes(0);
    if bytes.is_empty() {
        return r.put_bytes(b"");
    }
    let length = match bytes.get(..4) {
        Some(head) if bytes.len() > 4 => {
            (u32::from_le_bytes([head[0], head[1], head[2], head[3]]) & 0x3fff_ffff) as usize
        }
        _ => {
            r.ctx.warn(ER_ZLIB_Z_DATA_ERROR, &[]);
            return r.null();
        }
    };
    let limit = r.ctx.settings.max_allowed_packet;
    if length > limit {
        r.ctx.warn(service::error::ER_TOO_BIG_FOR_UNCOMPRESS, &[&limit]);
        return r.null();
    }
    r.require_room(length)?;
    let mut out = Vec::new();
    let read = flate2::read::ZlibDecoder::new(&bytes[4..]).take(length as u64).read_to_end(&mut out);
    if read.is_err() || out.len() != length {
        r.ctx.warn(ER_ZLIB_Z_DATA_ERROR, &[]);
        return r.null();
    }
    r.put_bytes(&out)
}

/// Most bytes of RANDOM_BYTES.
const RANDOM_BYTES_MAX: i128 = 1024;

fn random_bytes(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let length = r.wide(0);
    if !(1..=RANDOM_BYTES_MAX).contains(&length) {
        return Err(service::error::ER_DATA_OUT_OF_RANGE.with(&[&"length", &"random_bytes"]));
    }
    let mut bytes = vec![0; length as usize];
    r.ctx.session.random_bytes(&mut bytes);
    r.put_bytes(&bytes)
}

/// INET_ATON also reads short forms: `127.1` is 127.0.0.1.
fn inet_aton(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let mut parts: Vec<u64> = Vec::new();
    if r.bytes(0).last().is_none_or(|&byte| byte == b'.') {
        return wrong(r, "string");
    }
    for part in r.bytes(0).split(|&byte| byte == b'.') {
        // Zeros may stand before a number, and it may be left out.
        let digits = &part[part.iter().take_while(|&&byte| byte == b'0').count()..];
        let number = std::str::from_utf8(digits).ok().filter(|_| digits.iter().all(u8::is_ascii_digit));
        match number.map(|text| if text.is_empty() { Ok(0) } else { text.parse::<u8>() }) {
            Some(Ok(number)) => parts.push(u64::from(number)),
            _ => return wrong(r, "string"),
        }
    }
    if parts.len() > 4 {
        return wrong(r, "string");
    }
    let last = parts.pop().unwrap_or(0);
    let high = parts.iter().enumerate().map(|(i, part)| part << (24 - 8 * i)).sum::<u64>();
    r.put_int((high + last) as i64)
}

fn parse_v4(text: &[u8]) -> Option<Ipv4Addr> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn parse_v6(text: &[u8]) -> Option<Ipv6Addr> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn inet6_aton(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let text = r.bytes(0);
    if let Some(address) = parse_v4(text) {
        return r.put_bytes(&address.octets());
    }
    match parse_v6(text) {
        Some(address) => r.put_bytes(&address.octets()),
        None => wrong(r, "string"),
    }
}

fn inet6_ntoa(r: &mut Row<'_, '_>) -> SqlResult<()> {
    if !r.call.types[0].is_binary_string() {
        return r.null();
    }
    let bytes = r.bytes(0);
    if let Ok(octets) = <[u8; 4]>::try_from(bytes) {
        return r.put_bytes(Ipv4Addr::from(octets).to_string().as_bytes());
    }
    match <[u8; 16]>::try_from(bytes) {
        Ok(octets) => r.put_bytes(Ipv6Addr::from(octets).to_string().as_bytes()),
        Err(_) => wrong(r, "string"),
    }
}

fn write_uuid(bytes: &[u8; 16], out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for (i, byte) in bytes.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        out.push(HEX[usize::from(byte >> 4)]);
        out.push(HEX[usize::from(byte & 15)]);
    }
}

/// Reads `8-4-4-4-12` digits, the same in braces, or 32 digits.
fn parse_uuid(text: &[u8]) -> Option<[u8; 16]> {
    let inner = match text {
        [b'{', inner @ .., b'}'] if inner.len() == 36 => inner,
        _ => text,
    };
    let digits: Vec<u8> = match inner.len() {
        32 => inner.to_vec(),
        36 if [8, 13, 18, 23].iter().all(|&at| inner[at] == b'-') => {
            inner.iter().copied().filter(|&byte| byte != b'-').collect()
        }
        _ => return None,
    };
    if digits.len() != 32 {
        return None;
    }
    super::text::from_hex(&digits)?.try_into().ok()
}

fn swap_time(bytes: &[u8; 16], to_bin: bool) -> [u8; 16] {
    let mut out = *bytes;
    if to_bin {
        out[0..2].copy_from_slice(&bytes[6..8]);
        out[2..4].copy_from_slice(&bytes[4..6]);
        out[4..8].copy_from_slice(&bytes[0..4]);
    } else {
        out[0..4].copy_from_slice(&bytes[4..8]);
        out[4..6].copy_from_slice(&bytes[2..4]);
        out[6..8].copy_from_slice(&bytes[0..2]);
    }
    out
}

#[cold]
fn wrong_uuid(r: &Row<'_, '_>) -> Box<service::SqlError> {
    let shown = String::from_utf8_lossy(r.bytes(0)).into_owned();
    ER_WRONG_VALUE_FOR_TYPE.with(&[&"string", &shown, &r.call.name])
}

fn uuid_to_bin(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let Some(bytes) = parse_uuid(r.bytes(0)) else {
        return Err(wrong_uuid(r));
    };
    let bytes = if r.count() > 1 && r.int(1) != 0 { swap_time(&bytes, true) } else { bytes };
    r.put_bytes(&bytes)
}

fn bin_to_uuid(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let Ok(bytes) = <[u8; 16]>::try_from(r.bytes(0)) else {
        return Err(wrong_uuid(r));
    };
    let bytes = if r.count() > 1 && r.int(1) != 0 { swap_time(&bytes, false) } else { bytes };
    r.put_with(|out| write_uuid(&bytes, out))
}

fn stored_function(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let CallOption::Function(call) = &r.call.option else { return Err(internal("a call of no function")) };
    let value = |(arg, of): (&View<'_>, &DataType)| types::convert::cell_value(arg.cell(r.row), of);
    let arguments = r.args.iter().zip(&r.call.types).map(value).collect();
    r.ctx.call_function(call, arguments, r.out)
}

fn sleep(r: &mut Row<'_, '_>) -> SqlResult<()> {
    if r.is_null(0) || r.double(0) < 0.0 {
        return Err(service::error::ER_WRONG_ARGUMENTS.with(&[&"sleep."]));
    }
    let micros = (r.double(0) * 1e6).min(1e15) as u64;
    if micros == 0 {
        return r.put_int(0);
    }
    let interrupted = r.ctx.session.sleep(micros)?;
    r.put_bool(interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn md5_of_the_rfc() {
        let hex = |bytes: [u8; 16]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(hex(md5(b"")), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(hex(md5(b"message digest")), "f96b697d7cb7938d525a2f31aaf161d0");
        // Ends of all lengths: one block more from 56 bytes on.
        for (length, expected) in [
            (55, "ef1772b6dff9a122358552954ad0df65"),
            (56, "3b0c8ac703f828b04c6c197006d17218"),
            (63, "b06521f39153d618550606be297466d5"),
            (64, "014842d480b571495a4a0363793f7367"),
            (119, "8a7bd0732ed6a28ce75f6dabc90e1613"),
            (120, "5f61c0ccad4cac44c75ff505e1f1e537"),
            (1000, "cabe45dcc9ae5b66ba86600cca6b8ba8"),
        ] {
            assert_eq!(hex(md5(&vec![b'a'; length])), expected, "{length}");
        }
    }
}
