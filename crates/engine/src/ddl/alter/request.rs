//! ALGORITHM= and LOCK=: what the statement may do to get its work done, and MySQL's words when that is not enough.
//!
//! | refused | when |
//! | --- | --- |
//! | 1221 | ALGORITHM=INSTANT with any LOCK |
//! | 1845, 1846 | the change cannot be made that way, without or with a reason |
//!
//! More is instant here than in MySQL, so less is refused. What MySQL copies while others can only read, it refuses with LOCK=NONE;
//! so is it here, although writers go on when nothing is said of locks.

use catalog::TableDefinition;
use service::error as e;
use service::error::SqlError;

use super::instant::is_other_type;
use crate::ddl::{Context, Result};

/// How the statement may be carried out (ALGORITHM=).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Algorithm {
    Any,
    Instant,
    Inplace,
    Copy,
}

/// What others may do meanwhile (LOCK=).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Lock {
    /// As much as possible.
    Any,
    /// Read and write.
    None,
    /// Read.
    Shared,
    /// Nothing.
    Exclusive,
}

/// What was asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Request {
    pub(super) algorithm: Algorithm,
    pub(super) lock: Lock,
}

/// What the change needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Needs {
    /// The rows stay where they are.
    pub(super) in_place: bool,
    /// An index is built.
    pub(super) builds_index: bool,
    /// A CHECK has to be looked at for all rows.
    pub(super) adds_checks: bool,
    /// Rows get values of expressions.
    pub(super) computes: bool,
    /// Rows get a zero date, which MySQL does not do instantly.
    pub(super) zero_date: bool,
    /// Others can write meanwhile.
    pub(super) online: bool,
    /// The table gets another name.
    pub(super) renames: bool,
    /// Nobody else sees the table.
    pub(super) temporary: bool,
    /// Why MySQL copies, if it says why.
    pub(super) reason: Option<Reason>,
}

/// Why rows have to be copied.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Reason {
    /// A column changes its type.
    ColumnType,
    /// The primary key goes and none comes.
    NoPrimaryKey,
    /// A column gets NOT NULL, and NULLs in it become zeros without an error.
    SilentNulls,
    /// An AUTO_INCREMENT column is new.
    AutoIncrement,
}

impl Reason {
    /// Why `table` cannot be had from `old` without a copy that MySQL gives a reason for.
    pub(super) fn of(
        old: &TableDefinition,
        table: &TableDefinition,
        mapping: &[Option<usize>],
        context: &Context<'_>,
    ) -> Option<Self> {
        let pairs = || mapping.iter().zip(&table.columns);
        let kept = || pairs().filter_map(|(origin, column)| Some((&old.columns[(*origin)?], column)));
        if old.primary_key().is_some() && table.primary_key().is_none() {
            Some(Self::NoPrimaryKey)
        } else if kept().any(|(before, column)| {
            is_other_type(before, column) || column.auto_increment && !before.auto_increment
        }) {
            Some(Self::ColumnType)
        } else if !context.is_strict() && kept().any(|(before, column)| before.nullable && !column.nullable) {
            Some(Self::SilentNulls)
        } else if pairs().any(|(origin, column)| origin.is_none() && column.auto_increment) {
            Some(Self::AutoIncrement)
        } else {
            None
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::ColumnType => "Cannot change column type INPLACE",
            Self::NoPrimaryKey => {
                "Dropping a primary key is not allowed without also adding a new primary key"
            }
            Self::SilentNulls => "cannot silently convert NULL values, as required in this SQL_MODE",
            Self::AutoIncrement => "Adding an auto-increment column requires a lock",
        }
    }
}

impl Request {
    /// Reads the words of the statement.
    ///
    /// # Errors
    /// 1800, 1801, 1221, 1846.
    pub(super) fn parse(algorithm: Option<&[u8]>, lock: Option<&[u8]>) -> Result<Self> {
        let upper = |text: &[u8]| String::from_utf8_lossy(text).to_ascii_uppercase();
        let shown = |text: Option<&[u8]>| String::from_utf8_lossy(text.unwrap_or(b"")).into_owned();
        let lock = match lock.map(upper).as_deref() {
            None | Some("DEFAULT") => Lock::Any,
            Some("NONE") => Lock::None,
            Some("SHARED") => Lock::Shared,
            Some("EXCLUSIVE") => Lock::Exclusive,
            Some(_) => return Err(e::ER_UNKNOWN_ALTER_LOCK.with(&[&shown(lock)])),
        };
        let algorithm = match algorithm.map(upper).as_deref() {
            None | Some("DEFAULT") => Algorithm::Any,
            Some("INSTANT") => Algorithm::Instant,
            Some("INPLACE") => Algorithm::Inplace,
            Some("COPY") => Algorithm::Copy,
            Some(_) => return Err(e::ER_UNKNOWN_ALTER_ALGORITHM.with(&[&shown(algorithm)])),
        };
        match (algorithm, lock) {
            (Algorithm::Instant, Lock::None | Lock::Shared | Lock::Exclusive) => {
                Err(e::ER_WRONG_USAGE.with(&[&"ALGORITHM=INSTANT", &"LOCK=NONE/SHARED/EXCLUSIVE"]))
            }
            (Algorithm::Copy, Lock::None) => Err(needs_lock("COPY algorithm requires a lock")),
            _ => Ok(Self { algorithm, lock }),
        }
    }

    /// Refuses what cannot be done as asked.
    ///
    /// # Errors
    /// 1845, 1846.
    pub(super) fn check(self, needs: &Needs) -> Result<()> {
        let not_so =
            |asked: &str, instead: &str| Err(e::ER_ALTER_OPERATION_NOT_SUPPORTED.with(&[&asked, &instead]));
        let because = |asked: &str, reason: &str, instead: &str| {
            Err(e::ER_ALTER_OPERATION_NOT_SUPPORTED_REASON.with(&[&asked, &reason, &instead]))
        };
        if needs.temporary || needs.adds_checks {
            match self.algorithm {
                Algorithm::Instant => return not_so("ALGORITHM=INSTANT", "ALGORITHM=COPY"),
                Algorithm::Inplace => return not_so("ALGORITHM=INPLACE", "ALGORITHM=COPY"),
                Algorithm::Any | Algorithm::Copy => {}
            }
        }
        if needs.temporary {
            return Ok(());
        }
        if self.algorithm == Algorithm::Instant && needs.in_place && !needs.builds_index && !needs.zero_date {
            return Ok(());
        }
        let by_index = self.algorithm == Algorithm::Instant && needs.builds_index;
        let reason = needs.reason.filter(|_| !needs.in_place || by_index);
        match (self.algorithm, reason) {
            (Algorithm::Instant, None) => return not_so("ALGORITHM=INSTANT", "ALGORITHM=COPY/INPLACE"),
            (Algorithm::Instant, Some(Reason::ColumnType)) => {
                let reason = "Need to rebuild the table to change column type";
                return because("ALGORITHM=INSTANT", reason, "ALGORITHM=COPY/INPLACE");
            }
            (Algorithm::Instant, Some(reason)) => {
                return because("ALGORITHM=INSTANT", reason.text(), "ALGORITHM=COPY/INPLACE");
            }
            (Algorithm::Inplace, Some(reason)) if reason != Reason::AutoIncrement => {
                return because("ALGORITHM=INPLACE", reason.text(), "ALGORITHM=COPY");
            }
            _ => {}
        }
        if needs.computes {
            match (self.algorithm, self.lock) {
                (Algorithm::Inplace, _) => return not_so("ALGORITHM=INPLACE", "ALGORITHM=COPY"),
                (_, Lock::None) => return not_so("LOCK=NONE", "LOCK=SHARED"),
                _ => {}
            }
        }
        let only_renames = needs.renames && needs.in_place && !needs.builds_index;
        if only_renames && matches!(self.lock, Lock::None | Lock::Shared) {
            return not_so("LOCK=NONE/SHARED", "LOCK=EXCLUSIVE");
        }
        let works = !needs.in_place || needs.builds_index;
        if self.lock == Lock::None && (reason.is_some() || needs.adds_checks || works && !needs.online) {
            return Err(needs_lock(reason.map_or("COPY algorithm requires a lock", Reason::text)));
        }
        Ok(())
    }
}

fn needs_lock(reason: &str) -> Box<SqlError> {
    e::ER_ALTER_OPERATION_NOT_SUPPORTED_REASON.with(&[&"LOCK=NONE", &reason, &"LOCK=SHARED"])
}
