//! Names of servers, front doors and transactions, and how a transaction's id is written in an XID.

use std::fmt;

/// `formatID` of the XIDs of front doors: `invr` in ASCII. Others belong to somebody else.
pub const XID_FORMAT: u32 = 0x696e_7672;

/// The servers of one set of definitions, by a number that was drawn when it was made. Two fleets may share a server.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Fleet(pub u64);

/// Number of a server of the fleet. It is never given to another one, and a server has one number.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ServerNumber(pub u16);

/// A process that answers clients in front of the fleet.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct FrontDoor {
    /// Its number, which it keeps when it starts again.
    pub number: u16,
    /// Greater at each start, and never given twice. Each server has a row with the incarnation that may write decisions there: a
    /// greater one fences those before it. A front door that finds its own or a greater one there when it starts takes another.
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

/// The parts of an XID, as XA RECOVER shows them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Xid<'a> {
    /// `formatID`.
    pub format: u32,
    /// `gtrid`.
    pub global: &'a [u8],
    /// `bqual`.
    pub branch: &'a [u8],
}

impl TransactionId {
    /// The `gtrid` of the transaction's XIDs: at most 52 of its 64 bytes.
    #[must_use]
    pub fn global(&self, fleet: Fleet) -> String {
        format!("{:x}.{self}", fleet.0)
    }

    /// The `bqual` of its branch on a server.
    #[must_use]
    pub fn branch(server: ServerNumber) -> String {
        format!("{:x}", server.0)
    }

    /// Reads an XID that XA RECOVER of a server shows. `None`: it is not one of a front door of this fleet for this server.
    #[must_use]
    pub fn parse(fleet: Fleet, server: ServerNumber, xid: Xid<'_>) -> Option<TransactionId> {
        if xid.format != XID_FORMAT || xid.branch != TransactionId::branch(server).as_bytes() {
            return None;
        }
        let mut parts = std::str::from_utf8(xid.global).ok()?.split('.').skip(1);
        let mut next = || u64::from_str_radix(parts.next()?, 16).ok();
        let id = TransactionId {
            front_door: FrontDoor { number: next()?.try_into().ok()?, incarnation: next()?.try_into().ok()? },
            sequence: next()?,
            anchor: ServerNumber(next()?.try_into().ok()?),
        };
        // One id has one text: `0a`, `+a` and `A` are not ours, nor is another fleet's.
        (id.global(fleet).as_bytes() == xid.global).then_some(id)
    }
}

/// For people; the `gtrid` without the fleet.
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

    const FLEET: Fleet = Fleet(0xf1);
    const SERVER: ServerNumber = ServerNumber(0x1a);

    fn id(number: u16, incarnation: u32, sequence: u64, anchor: u16) -> TransactionId {
        TransactionId {
            front_door: FrontDoor { number, incarnation },
            sequence,
            anchor: ServerNumber(anchor),
        }
    }

    fn parse(global: &[u8]) -> Option<TransactionId> {
        TransactionId::parse(FLEET, SERVER, Xid { format: XID_FORMAT, global, branch: b"1a" })
    }

    #[test]
    fn the_longest_id_fits_into_an_xid() {
        let longest = id(u16::MAX, u32::MAX, u64::MAX, u16::MAX).global(Fleet(u64::MAX));
        assert_eq!(longest.len(), 52);
    }

    #[test]
    fn what_others_wrote_is_no_id() {
        let global = b"f1.1.2.a.3";
        assert!(parse(global).is_some());
        for text in [
            "",
            "f1",
            "f1.1",
            "f1.1.2.a",
            "f1.1.2.a.3.",
            "f1.1.2.a.3.4",
            "f1.01.2.a.3",
            "f1.1.2.A.3",
            "f1.+1.2.a.3",
            "f1.1.2.-a.3",
            "f1.10000.2.a.3",
            "f2.1.2.a.3",
            ".1.2.a.3",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse(b"f1.1.2.\xff.3"), None);
        for (format, branch) in [(1, b"1a"), (XID_FORMAT, b"1b")] {
            assert_eq!(TransactionId::parse(FLEET, SERVER, Xid { format, global, branch }), None);
        }
    }

    proptest! {
        #[test]
        fn an_id_is_read_as_written(number: u16, incarnation: u32, sequence: u64, anchor: u16) {
            let id = id(number, incarnation, sequence, anchor);
            prop_assert_eq!(parse(id.global(FLEET).as_bytes()), Some(id));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
            let _ = parse(&bytes);
        }
    }
}
