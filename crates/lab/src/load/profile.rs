//! Driver profiles: what a driver sends for the same call.
//!
//! A driver decides what follows a connection's login, whether a statement with parameters is prepared at the server or put
//! together as text, whether it is prepared once or for each call, how a transaction begins, and whether the types of
//! parameters go along each time. Each profile says how that was found out.

use crate::scenario::Protocol;

/// When a prepared statement is prepared.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Prepare {
    /// Once for each connection; afterwards it is executed alone.
    Once,
    /// For each call: prepare, execute, close.
    EachCall,
}

/// How a driver behaves.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Name in scenarios and options.
    pub name: &'static str,
    /// Which driver, at which settings.
    pub about: &'static str,
    /// SQL after login, before the first call.
    pub connect: &'static [&'static str],
    /// What [`Protocol::Auto`] means with parameters.
    pub auto: Protocol,
    /// When statements are prepared.
    pub prepare: Prepare,
    /// Types of parameters go with every execution, not only with the first.
    pub types_each_time: bool,
    /// How a transaction begins, a command each.
    pub begin: &'static [&'static str],
    /// How it ends, a command each.
    pub commit: &'static [&'static str],
}

/// All profiles, the native one first.
const PROFILES: &[Profile] = &[Profile {
    name: "native",
    about: "our own: the least that is needed",
    connect: &[],
    auto: Protocol::Prepared,
    prepare: Prepare::Once,
    types_each_time: false,
    begin: &["BEGIN"],
    commit: &["COMMIT"],
}];

impl Profile {
    /// Our own driver.
    #[must_use]
    pub fn native() -> &'static Profile {
        &PROFILES[0]
    }

    /// The profile of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Profile> {
        PROFILES.iter().find(|profile| profile.name == name)
    }

    /// All names.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        PROFILES.iter().map(|profile| profile.name).collect()
    }

    /// All profiles.
    #[must_use]
    pub fn all() -> &'static [Profile] {
        PROFILES
    }
}
