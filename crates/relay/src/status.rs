//! Counters as a result that a client reads.

use wire::OkPacket;
use wire::codec::put_lenenc_bytes;
use wire::message::{EOF_HEADER, encode_eof};
use wire::packet::PacketBuffer;
use wire::{Capabilities, StatusFlags};

/// Packets of a result with a name and a number a row.
pub(crate) fn table(rows: &[(&str, u64)], capabilities: Capabilities, status: StatusFlags) -> Vec<u8> {
    let mut buffer = PacketBuffer::new();
    buffer.set_sequence(1);
    buffer.put(&[2]);
    for name in ["Variable_name", "Value"] {
        let out = buffer.begin();
        for text in ["def", "", "", "", name, name] {
            put_lenenc_bytes(out, text.as_bytes());
        }
        // utf8mb4_0900_ai_ci, 256 bytes, VARCHAR.
        out.extend_from_slice(&[12, 255, 0, 0, 1, 0, 0, 253, 0, 0, 0, 0, 0]);
        buffer.end();
    }
    let has_ends = !capabilities.has(Capabilities::DEPRECATE_EOF);
    if has_ends {
        encode_eof(0, status, buffer.begin());
        buffer.end();
    }
    for (name, value) in rows {
        let out = buffer.begin();
        put_lenenc_bytes(out, name.as_bytes());
        put_lenenc_bytes(out, value.to_string().as_bytes());
        buffer.end();
    }
    if has_ends {
        encode_eof(0, status, buffer.begin());
    } else {
        OkPacket { status, ..OkPacket::default() }.encode(EOF_HEADER, capabilities, buffer.begin());
    }
    buffer.end();
    buffer.take()
}
