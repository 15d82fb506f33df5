//! What a scope holds: one setting a variable, shared until somebody changes one.

use std::sync::Arc;

use super::definition::{VariableId, definitions};

/// The value of a system variable. Invariant: it passed its variable's check.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// `character_set_results = NULL` and a few others.
    Null,
    /// ON or OFF.
    Boolean(bool),
    /// A whole number within the variable's range, which may be that of an unsigned 64-bit one.
    Integer(i128),
    /// A number with decimals.
    Decimal(f64),
    /// A name, a list of names, or any text.
    Text(Arc<str>),
}

impl Setting {
    /// A text setting.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    /// As `SHOW VARIABLES` prints it.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Boolean(true) => "ON".to_owned(),
            Self::Boolean(false) => "OFF".to_owned(),
            Self::Integer(number) => number.to_string(),
            Self::Decimal(number) => format!("{number:.6}"),
            Self::Text(text) => text.to_string(),
        }
    }
}

/// All variables of one scope: the server's, or a session's.
#[derive(Clone, Debug)]
pub struct Variables {
    settings: Arc<Vec<Setting>>,
}

impl Variables {
    /// Every variable at its default.
    #[must_use]
    pub fn defaults() -> Self {
        Self {
            settings: Arc::new(definitions().iter().map(|definition| definition.default.clone()).collect()),
        }
    }

    /// The setting of a variable.
    #[must_use]
    #[inline]
    pub fn get(&self, id: VariableId) -> &Setting {
        &self.settings[id.index()]
    }

    /// Changes one, and the other name of the same variable; the block is copied first if somebody else still shares it.
    pub fn set(&mut self, id: VariableId, setting: Setting) {
        let settings = Arc::make_mut(&mut self.settings);
        if let Some(twin) = id.twin() {
            settings[twin.index()] = setting.clone();
        }
        settings[id.index()] = setting;
    }

    /// The flag of a boolean variable.
    ///
    /// # Panics
    /// If the variable is of another kind: a mistake in this crate.
    #[must_use]
    #[inline]
    pub fn boolean(&self, id: VariableId) -> bool {
        match self.get(id) {
            Setting::Boolean(flag) => *flag,
            other => wrong_kind(id, other),
        }
    }

    /// The number of an integer variable; below zero only where its range allows.
    ///
    /// # Panics
    /// If the variable is of another kind: a mistake in this crate.
    #[must_use]
    #[inline]
    pub fn integer(&self, id: VariableId) -> i128 {
        match self.get(id) {
            Setting::Integer(number) => *number,
            other => wrong_kind(id, other),
        }
    }

    /// An integer variable as `u64` (those with a least value of zero or more).
    #[must_use]
    #[inline]
    pub fn unsigned(&self, id: VariableId) -> u64 {
        u64::try_from(self.integer(id)).unwrap_or(0)
    }

    /// A variable with decimals, or a whole number as such.
    #[must_use]
    pub fn decimal(&self, id: VariableId) -> f64 {
        match self.get(id) {
            Setting::Decimal(number) => *number,
            #[allow(clippy::cast_precision_loss, reason = "settings are far below 2^53")]
            Setting::Integer(number) => *number as f64,
            other => wrong_kind(id, other),
        }
    }

    /// The text of a text, enumeration or set variable; empty for NULL.
    #[must_use]
    pub fn text(&self, id: VariableId) -> &str {
        match self.get(id) {
            Setting::Text(text) => text,
            Setting::Null => "",
            other => wrong_kind(id, other),
        }
    }
}

#[cold]
fn wrong_kind(id: VariableId, found: &Setting) -> ! {
    let definition = id.definition();
    panic!("variable {} holds {found:?}, which is not a {:?}", definition.name, definition.kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variables::definition::known;

    #[test]
    fn a_session_changes_its_own_copy_only() {
        let globals = Variables::defaults();
        let mut session = globals.clone();
        session.set(known::autocommit(), Setting::Boolean(false));
        assert!(globals.boolean(known::autocommit()));
        assert!(!session.boolean(known::autocommit()));
    }
}
