//! The MySQL protocol without sockets, both sides.
