//! Isolation levels of transactions.

/// Isolation levels, weakest first.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub enum Isolation {
    /// Sees what others have not committed.
    ReadUncommitted,
    /// A fresh snapshot each statement.
    ReadCommitted,
    /// One snapshot a transaction.
    #[default]
    RepeatableRead,
    /// Reads lock.
    Serializable,
}

impl Isolation {
    /// As `transaction_isolation` spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadUncommitted => "READ-UNCOMMITTED",
            Self::ReadCommitted => "READ-COMMITTED",
            Self::RepeatableRead => "REPEATABLE-READ",
            Self::Serializable => "SERIALIZABLE",
        }
    }

    /// As INNODB_TRX spells it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::ReadUncommitted => "READ UNCOMMITTED",
            Self::ReadCommitted => "READ COMMITTED",
            Self::RepeatableRead => "REPEATABLE READ",
            Self::Serializable => "SERIALIZABLE",
        }
    }

    /// The level whose number (`as u8`) this is.
    #[must_use]
    pub fn from_number(number: u8) -> Self {
        match number {
            0 => Self::ReadUncommitted,
            1 => Self::ReadCommitted,
            3 => Self::Serializable,
            _ => Self::RepeatableRead,
        }
    }

    /// The level of this spelling.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        match name {
            "READ-UNCOMMITTED" => Self::ReadUncommitted,
            "READ-COMMITTED" => Self::ReadCommitted,
            "SERIALIZABLE" => Self::Serializable,
            _ => Self::RepeatableRead,
        }
    }
}
