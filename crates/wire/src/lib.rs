//! The MySQL protocol without sockets, both sides.
//!
//! Everything here is bytes in, values out, or values in, bytes out; nothing reads a socket, a clock or a file, so every
//! packet can be tested and fuzzed as a function. `server` owns the sockets, `client` and the lab read the other side.
//!
//! Read next: [`packet`] (frames), [`parameter`] (values of prepared statements), [`column`], [`row`], [`message`]
//!
//! Invariants:
//! 1. No input panics; what does not hold together is [`Malformed`].
//! 2. Nothing is allocated for a length that was only announced.

pub mod codec;
pub mod column;
pub mod flags;
pub mod float_text;
pub mod message;
pub mod packet;
pub mod parameter;
pub mod row;

pub use codec::Malformed;
pub use column::{ColumnDefinition, EncodedColumns};
pub use flags::{Capabilities, ColumnFlags, ColumnType, StatusFlags};
pub use message::{OkPacket, SessionStateChange};
pub use packet::PacketBuffer;
