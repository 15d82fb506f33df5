//! A MySQL client over the wire codec.
