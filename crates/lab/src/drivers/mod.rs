//! The drivers whose commands the lab can send: profiles that imitate one, and real ones.
//!
//! Read next: [`profile`] (what a driver sends for the same call), `known` (how a real one is started).

mod known;
pub mod profile;

use serde::Deserialize;

use self::profile::Profile;

pub use known::Real;

/// Whether statements are prepared at the server.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// As the driver would by default.
    #[default]
    Auto,
    /// COM_QUERY with the values in the text.
    Text,
    /// COM_STMT_PREPARE and COM_STMT_EXECUTE.
    Prepared,
}

/// Who sends an arm's commands.
#[derive(Clone, Copy, Debug)]
pub enum Sender {
    /// Our own client, like this profile.
    Like(&'static Profile),
    /// A real driver.
    Real(&'static Real),
}

impl Sender {
    /// Our own client, as itself.
    #[must_use]
    pub(crate) fn native() -> Sender {
        Sender::Like(Profile::native())
    }

    /// The driver of this name: a profile's, or `real-` and more.
    #[must_use]
    pub fn named(name: &str) -> Option<Sender> {
        Profile::named(name).map(Sender::Like).or_else(|| Real::named(name).map(Sender::Real))
    }

    /// All names.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        let mut names = Profile::names();
        names.extend(Real::all().iter().map(|real| real.name));
        names
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Sender::Like(profile) => profile.name,
            Sender::Real(real) => real.name,
        }
    }
}
