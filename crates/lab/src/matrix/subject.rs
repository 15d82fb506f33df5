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

    pub(super) fn fail(&self, why: impl fmt::Display) -> MatrixError {
        MatrixError::Server {
            server: self.under_test.name.clone(),
            url: describe::url_without_password(&self.under_test.options),
            why: why.to_string(),
        }
    }
}

/// What must be alike and whether it is.
pub(super) fn settings(subjects: &[Subject], scenario: &Scenario) -> Vec<Setting> {
    let of: Vec<(&str, &BTreeMap<String, String>)> = subjects
        .iter()
        .map(|subject| (subject.under_test.name.as_str(), &subject.under_test.variables))
        .collect();
    let varied: Vec<&str> = scenario.axes.global.keys().map(String::as_str).collect();
    let mut settings = variables::compare(&of, &varied);
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
