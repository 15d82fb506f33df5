//! A server under test: what it is, the session that watches it, what was changed on it.

use std::collections::BTreeMap;
use std::fmt;

use client::{Connection, Error, Options};

use super::MatrixError;
use crate::evidence::Setting;
use crate::scenario::Scenario;
use crate::server::describe::UnderTest;
use crate::server::journal::{GlobalChanges, Value, default_folder};
use crate::server::status::Footprint;
use crate::server::variables::Reach;
use crate::server::{describe, equalise, variables};

/// A server under test with the session that watches it.
pub(super) struct Subject {
    pub(super) under_test: UnderTest,
    pub(super) admin: Connection,
    pub(super) footprint: Footprint,
    pub(super) session: Vec<String>,
    pub(super) changes: Option<GlobalChanges>,
    /// Global variables as this run set them.
    pub(super) global: BTreeMap<String, String>,
    /// What those were before.
    pub(super) before: BTreeMap<String, Value>,
    pub(super) warnings: Vec<String>,
}

impl Subject {
    pub(super) fn open(name: &str, options: &Options, allow_global: bool) -> Result<Subject, MatrixError> {
        let mut options = options.clone();
        options.database = None;
        equalise::connection_options(&mut options, false);
        let fail = |why: String| MatrixError::Server {
            server: name.to_owned(),
            url: describe::url_without_password(&options),
            why,
        };
        let words = |error: Error| fail(error.to_string());
        let mut admin =
            Connection::connect(&options).map_err(|error| fail(format!("cannot connect: {error}")))?;
        let under_test = UnderTest::describe(name, &options, &mut admin).map_err(words)?;
        let mut warnings = Vec::new();
        let refused = equalise::prepare_session(&under_test, &mut admin).map_err(words)?;
        let mut session = equalise::session_statements(&under_test);
        for (statement, why) in refused {
            session.retain(|one| *one != statement);
            // A server without a query cache has nothing to switch off.
            if !statement.contains("query_cache") {
                warnings.push(format!("server {name} refused {statement}: {why}"));
            }
        }
        if let Err(why) = &under_test.process {
            warnings.push(format!("no CPU or run-queue time of server {name}: {why}"));
        }
        let footprint = Footprint::measure(&mut admin).map_err(words)?;
        let changes = if allow_global {
            let (changes, recovered) = GlobalChanges::open(&default_folder(), &under_test)
                .map_err(|error| fail(error.to_string()))?;
            for (change, outcome) in recovered {
                warnings.push(format!("left by an earlier run on server {name}: {change:?}: {outcome:?}"));
            }
            Some(changes)
        } else {
            None
        };
        Ok(Subject {
            under_test,
            admin,
            footprint,
            session,
            changes,
            global: BTreeMap::new(),
            before: BTreeMap::new(),
            warnings,
        })
    }

    /// Sets a global variable for as long as the run takes. A server that refuses keeps its value: the run says so.
    fn set_for_run(&mut self, name: &str, value: &str) {
        let Some(changes) = &mut self.changes else { return };
        let server = &self.under_test.name;
        match changes.set(name, &Value::from(value)) {
            Ok(is) => {
                let was = self.under_test.variables.insert(name.to_owned(), is.to_string());
                let was = was.unwrap_or_default();
                self.warnings.push(format!("{name} of server {server} is {is} for this run; it was {was}"));
            }
            Err(why) => self.warnings.push(format!("{name} of server {server} stays: {why}")),
        }
    }

    pub(super) fn fail(&self, why: impl fmt::Display) -> MatrixError {
        MatrixError::Server {
            server: self.under_test.name.clone(),
            url: describe::url_without_password(&self.under_test.options),
            why: why.to_string(),
        }
    }
}

/// Global variables that stay as they are even where they may be set: other clients of the server depend on them.
const LEFT_ALONE: &[&str] = &["max_allowed_packet", "max_connections", "require_secure_transport"];

/// Gives every server the first one's value of each global variable that matters, that all have, and that the scenario does
/// not vary; and what tables need to mean the same. Only where the user allows it. Returns the names that are alike by this.
pub(super) fn equalise_globals(subjects: &mut [Subject], scenario: &Scenario) -> Vec<&'static str> {
    let mut set: Vec<&'static str> = Vec::new();
    for variable in variables::THAT_MATTER.iter().filter(|variable| variable.reach == Reach::Global) {
        let name = variable.name;
        if LEFT_ALONE.contains(&name) || scenario.axes.global.contains_key(name) {
            continue;
        }
        let values: Option<Vec<String>> =
            subjects.iter().map(|subject| subject.under_test.variables.get(name).cloned()).collect();
        let Some(values) = values else { continue };
        let Some(wanted) = values.first() else { continue };
        let mut differed = false;
        for (subject, value) in subjects.iter_mut().zip(&values) {
            if variables::canonical(value) != variables::canonical(wanted) {
                differed = true;
                subject.set_for_run(name, wanted);
            }
        }
        if differed {
            set.push(name);
        }
    }
    for subject in subjects {
        for (name, value, _) in equalise::needs_global(&subject.under_test) {
            subject.set_for_run(name, value);
            set.push(name);
        }
    }
    set
}

/// What must be alike and whether it is. `set` are the names that [`equalise_globals`] returned.
pub(super) fn settings(subjects: &[Subject], scenario: &Scenario, set: &[&str]) -> Vec<Setting> {
    let of: Vec<(&str, &BTreeMap<String, String>)> = subjects
        .iter()
        .map(|subject| (subject.under_test.name.as_str(), &subject.under_test.variables))
        .collect();
    let varied: Vec<&str> = scenario.axes.global.keys().map(String::as_str).collect();
    let mut settings = variables::compare(&of, &varied);
    for setting in settings.iter_mut().filter(|setting| set.contains(&setting.name.as_str())) {
        setting.was_set = setting.is_equal;
        if !setting.is_equal {
            setting.reason = Some("a server took another value than was set".to_owned());
        }
    }
    for (name, value) in
        [("tls", "off"), ("compression", "off"), ("row_format", "DYNAMIC"), ("charset", equalise::COLLATION)]
    {
        let is_varied = match name {
            "tls" => !scenario.axes.tls.is_empty(),
            "compression" => !scenario.axes.compression.is_empty(),
            _ => false,
        };
        if is_varied {
            continue;
        }
        settings.push(Setting {
            name: name.to_owned(),
            values: subjects
                .iter()
                .map(|subject| (subject.under_test.name.clone(), value.to_owned()))
                .collect(),
            is_equal: true,
            was_set: true,
            reason: None,
            is_confound: false,
        });
    }
    settings
}
