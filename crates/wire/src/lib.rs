//! The MySQL protocol without sockets, both sides.
//!
//! Everything here is bytes in, values out, or values in, bytes out; nothing reads a socket, a clock or a file, so every
//! packet can be tested and fuzzed as a function. `server` owns the sockets, `client` and the lab read the other side.
//!
//! Read next: [`packet`] (frames), [`handshake`] and [`auth`] (how a conversation starts), [`command`] (what a client
//! asks), [`parameter`] (values of prepared statements), [`column`], [`row`], [`message`] (what it gets), [`client`] (the
//! same read from the other side), [`compress`].
//!
//! Invariants:
//! 1. No input panics; what does not hold together is [`Malformed`].
//! 2. Nothing is allocated for a length that was only announced.
//!
//! ```
//! use wire::command::Command;
//! use wire::packet::{Incoming, PacketBuffer, next_packet};
//! let mut packets = PacketBuffer::new();
//! Command::Query(b"SELECT 1").encode(packets.begin());
//! packets.end();
//! let Incoming::Packet { payload, sequence: 0, .. } = next_packet(packets.frames()) else { panic!("one packet") };
//! assert_eq!(Command::decode(payload), Ok(Command::Query(b"SELECT 1")));
//! ```

pub mod auth;
pub mod client;
pub mod codec;
pub mod column;
pub mod command;
pub mod compress;
pub mod flags;
pub mod float_text;
pub mod handshake;
pub mod message;
pub mod packet;
pub mod parameter;
pub mod row;

pub use codec::Malformed;
pub use column::{ColumnDefinition, EncodedColumns};
pub use flags::{Capabilities, ColumnFlags, ColumnType, StatusFlags};
pub use message::{OkPacket, SessionStateChange};
pub use packet::PacketBuffer;
