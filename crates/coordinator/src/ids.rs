//! Names of servers, front doors and transactions, and how a transaction's id is written in an XID.

use std::fmt;

/// `formatID` of the XIDs of front doors: `invr` in ASCII. Others belong to somebody else and are left alone.
pub const XID_FORMAT: u32 = 0x696e_7672;

/// Number of a server of the fleet. It is never given to another one.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ServerNumber(pub u16);

/// A process that answers clients in front of the fleet.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct FrontDoor {
    /// Its number, which it keeps when it starts again.
    pub number: u16,
    /// Greater at each start. Each server has a row with the incarnation that may write decisions there: a greater one fences those
    /// before it.
    pub incarnation: u32,
}

/// A transaction over several servers.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TransactionId {
    /// Who coordinates it.
    pub front_door: FrontDoor,
    /// Its number among those of that front door since its start.
    pub sequence: u64,
    /// The server that keeps the decision: whoever meets a prepared branch knows whom to ask.
    pub anchor: ServerNumber,
}

impl TransactionId {
    /// Reads the `gtrid` of an XID. `None`: the XID is not one of a front door.
    #[must_use]
    pub fn parse(format: u32, global: &[u8]) -> Option<TransactionId> {
        if format != XID_FORMAT {
            return None;
        }
        let mut parts = std::str::from_utf8(global).ok()?.split('.');
        let mut next = || u64::from_str_radix(parts.next()?, 16).ok();
        let id = TransactionId {
            front_door: FrontDoor { number: next()?.try_into().ok()?, incarnation: next()?.try_into().ok()? },
            sequence: next()?,
            anchor: ServerNumber(next()?.try_into().ok()?),
        };
        // One id has one text: `0a`, `+a` and `A` are not ours.
        (id.to_string().as_bytes() == global).then_some(id)
    }
}

/// The `gtrid`: at most 36 of its 64 bytes.
impl fmt::Display for TransactionId {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TransactionId { front_door: FrontDoor { number, incarnation }, sequence, anchor } = self;
        write!(to, "{number:x}.{incarnation:x}.{sequence:x}.{:x}", anchor.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(number: u16, incarnation: u32, sequence: u64, anchor: u16) -> TransactionId {
        TransactionId {
            front_door: FrontDoor { number, incarnation },
            sequence,
            anchor: ServerNumber(anchor),
        }
    }

    #[test]
    fn the_longest_id_fits_into_an_xid() {
        assert_eq!(id(u16::MAX, u32::MAX, u64::MAX, u16::MAX).to_string().len(), 36 - 1);
    }

    #[test]
    fn what_others_wrote_is_no_id() {
        let parse = |text: &str| TransactionId::parse(XID_FORMAT, text.as_bytes());
        assert!(parse("1.2.a.3").is_some());
        for text in [
            "",
            "1",
            "1.2.a",
            "1.2.a.3.",
            "1.2.a.3.4",
            "01.2.a.3",
            "1.2.A.3",
            "+1.2.a.3",
            "1.2.-a.3",
            "10000.2.a.3",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(TransactionId::parse(1, b"1.2.a.3"), None);
        assert_eq!(TransactionId::parse(XID_FORMAT, b"1.2.\xff.3"), None);
    }

    proptest! {
        #[test]
        fn an_id_is_read_as_written(number: u16, incarnation: u32, sequence: u64, anchor: u16) {
            let id = id(number, incarnation, sequence, anchor);
            prop_assert_eq!(TransactionId::parse(XID_FORMAT, id.to_string().as_bytes()), Some(id));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
            let _ = TransactionId::parse(XID_FORMAT, &bytes);
        }
    }
}
