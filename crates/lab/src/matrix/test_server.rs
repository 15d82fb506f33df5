//! A server under test: what it is, the session that watches it, what was changed on it.

use std::collections::BTreeMap;
use std::fmt;

use client::{Connection, Error, Options, Tls};

use super::MatrixError;
use crate::evidence::{Flavour, Setting};
use crate::scenario::{Scenario, nearest};
use crate::server::describe::UnderTest;
use crate::server::journal::{GlobalChanges, Value, default_folder};
use crate::server::status::Footprint;
use crate::server::variables::{Confound, Demand, Reach};
use crate::server::{describe, equalise, variables};

/// A server under test with the session that watches it.
pub(super) struct TestServer {
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

/// The server's word for "not without TLS".
const DEMANDS_TLS: u16 = 3159;

impl TestServer {
    /// `with_tls`: all connections, those under load too.
    pub(super) fn open(
        name: &str,
        options: &Options,
        allow_global: bool,
        with_tls: bool,
    ) -> Result<TestServer, MatrixError> {
        let mut options = options.clone();
        options.database = None;
        if with_tls {
            options.tls = Tls::Required(client::unverified_tls());
        }
        equalise::connection_options(&mut options, with_tls);
        let fail = |why: String| MatrixError::Server {
            server: name.to_owned(),
            url: describe::url_without_password(&options),
            why,
        };
        let words = |error: Error| fail(error.to_string());
        let mut admin = Connection::connect(&options)
            .map_err(|error| fail(format!("cannot connect: {error}{}", hint(&error))))?;
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
        Ok(TestServer {
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

/// What to do where a server does not let the lab in.
fn hint(error: &Error) -> &'static str {
    match error.number() {
        Some(DEMANDS_TLS) => "; with --tls all arms run inside TLS",
        _ => "",
    }
}

/// Global variables that stay as they are even where they may be set: other clients of the server depend on them.
const LEFT_ALONE: &[&str] = &["max_allowed_packet", "max_connections", "require_secure_transport"];

/// Gives every server the first one's value of each global variable that matters, that all have, and that the scenario does
/// not vary (of the buffer pool the smallest one's: more memory may not be there); and what tables need to
/// mean the same. Only where the user allows it. Returns the names that are alike by this.
pub(super) fn equalise_globals(test_servers: &mut [TestServer], scenario: &Scenario) -> Vec<&'static str> {
    let mut set: Vec<&'static str> = Vec::new();
    let is_global =
        |variable: &&variables::Variable| matches!(variable.reach, Reach::Global | Reach::GlobalOrStart);
    for variable in variables::THAT_MATTER.iter().filter(is_global) {
        let name = variable.name;
        if LEFT_ALONE.contains(&name) || scenario.axes.global.contains_key(name) {
            continue;
        }
        let values: Option<Vec<String>> = test_servers
            .iter()
            .map(|test_server| test_server.under_test.variables.get(name).cloned())
            .collect();
        let Some(values) = values else { continue };
        let wanted = if variable.reach == Reach::GlobalOrStart {
            values.iter().min_by_key(|value| value.parse().unwrap_or(u64::MAX))
        } else {
            values.first()
        };
        let Some(wanted) = wanted else { continue };
        // Our own server takes the value and keeps the pool it was started with.
        let says_only = |test_server: &TestServer| test_server.under_test.flavour == Flavour::Invar;
        if variable.reach == Reach::GlobalOrStart && test_servers.iter().any(says_only) {
            continue;
        }
        let mut differed = false;
        for (test_server, value) in test_servers.iter_mut().zip(&values) {
            if variables::canonical(value) != variables::canonical(wanted) {
                differed = true;
                test_server.set_for_run(name, wanted);
            }
        }
        if differed {
            set.push(name);
        }
    }
    for test_server in test_servers {
        for (name, value, _) in equalise::needs_global(&test_server.under_test) {
            test_server.set_for_run(name, value);
            set.push(name);
        }
    }
    set
}

/// How the request bears on what must be alike.
#[derive(Clone, Copy)]
pub(super) struct Terms<'a> {
    /// The names that [`equalise_globals`] returned.
    pub(super) set: &'a [&'a str],
    /// Global variables may be set, so those that the scenario varies are.
    pub(super) allow_global: bool,
    /// What the scenario does, which decides what matters.
    pub(super) demand: Demand,
    /// Differences that the user wants to be a part of the comparison.
    pub(super) accepted: &'a [String],
    /// All connections in TLS.
    pub(super) with_tls: bool,
}

/// What must be alike and whether it is.
pub(super) fn settings(test_servers: &[TestServer], scenario: &Scenario, terms: &Terms<'_>) -> Vec<Setting> {
    let under_test: Vec<&UnderTest> =
        test_servers.iter().map(|test_server| &test_server.under_test).collect();
    settings_of(&under_test, scenario, terms)
}

fn settings_of(servers: &[&UnderTest], scenario: &Scenario, terms: &Terms<'_>) -> Vec<Setting> {
    let of: Vec<(&str, &BTreeMap<String, String>)> =
        servers.iter().map(|server| (server.name.as_str(), &server.variables)).collect();
    let varied = scenario.axes.global.keys().map(String::as_str).filter(|_| terms.allow_global);
    let varied: Vec<&str> = varied.collect();
    let mut settings = variables::compare(&of, &varied, terms.demand);
    for setting in settings.iter_mut().filter(|setting| terms.set.contains(&setting.name.as_str())) {
        setting.was_set = setting.is_equal;
        if !setting.is_equal {
            setting.reason = Some("a server took another value than was set".to_owned());
        }
    }
    for setting in settings.iter_mut().filter(|setting| !setting.is_equal) {
        if scenario.hold.contains(&setting.name) && variables::has_other_values(setting) {
            setting.is_confound = true;
            add_reason(setting, "the scenario holds it alike");
        }
        if terms.accepted.contains(&setting.name) && !setting.is_confound {
            setting.is_accepted = true;
        }
        if setting.is_confound && terms.accepted.contains(&setting.name) {
            setting.is_confound = false;
            setting.is_accepted = true;
            add_reason(setting, "accepted: what is compared is the servers as they are set");
        }
    }
    let alike = |name: &str, value: &str| Setting {
        name: name.to_owned(),
        values: servers.iter().map(|server| (server.name.clone(), value.to_owned())).collect(),
        is_equal: true,
        was_set: true,
        ..Setting::default()
    };
    if scenario.axes.tls.is_empty() {
        settings.push(alike("tls", if terms.with_tls { "on" } else { "off" }));
    }
    if scenario.axes.compression.is_empty() {
        settings.push(alike("compression", "off"));
    }
    settings.push(alike("row_format", "DYNAMIC"));
    settings.push(alike("charset", equalise::COLLATION));
    // No setting can make these alike; a difference found may be theirs, so they are named.
    let own = |name: &str, of: &dyn Fn(&UnderTest) -> String, why: &str| {
        let values = servers.iter().map(|server| (server.name.clone(), of(server))).collect();
        let mut setting = Setting { name: name.to_owned(), values, ..Setting::default() };
        setting.is_equal = !variables::has_other_values(&setting);
        setting.reason = (!setting.is_equal).then(|| format!("no setting; {why}"));
        setting
    };
    settings.push(own("version", &version, "the servers themselves are what is compared"));
    settings.push(own("build", &build, "compiler, allocator and optimisation come with a build"));
    settings
}

fn add_reason(setting: &mut Setting, more: &str) {
    let reason = setting.reason.take().map_or(String::new(), |reason| reason + "; ");
    setting.reason = Some(reason + more);
}

fn version(server: &UnderTest) -> String {
    format!("{} {}", server.version, server.version_comment).trim().to_owned()
}

fn build(server: &UnderTest) -> String {
    let parts: Vec<&str> = server.build.values().map(String::as_str).collect();
    parts.join(" ")
}

/// Checks names of settings that the user accepts as they are.
///
/// # Errors
/// A name that is not compared, with those that forbid a verdict.
pub(super) fn check_accepted(names: &[String]) -> Result<(), String> {
    let weighs =
        |name: &str| variables::known(name).is_some_and(|variable| variable.confound != Confound::Never);
    match names.iter().find(|name| variables::known(name).is_none()) {
        None => Ok(()),
        Some(unknown) => {
            let list = variables::THAT_MATTER.iter().map(|variable| variable.name);
            let list: Vec<&str> = list.filter(|name| weighs(name)).collect();
            let all = variables::THAT_MATTER.iter().map(|variable| variable.name);
            let meant = nearest(unknown, all).map_or(String::new(), |name| format!("; did you mean {name}?"));
            Err(format!("--accept {unknown}: expected one of: {}{meant}", list.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::shipped;

    fn server(name: &str, pairs: &[(&str, &str)]) -> UnderTest {
        UnderTest {
            name: name.to_owned(),
            options: Options::from_url("mysql://root@127.0.0.1").unwrap(),
            flavour: Flavour::Mysql,
            version: format!("{name}.1"),
            version_comment: String::new(),
            build: BTreeMap::from([("version_compile_machine".to_owned(), "x86_64".to_owned())]),
            process: Err("elsewhere".to_owned()),
            variables: pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            identity: name.to_owned(),
        }
    }

    fn found(scenario: &str, terms: &Terms<'_>) -> Vec<Setting> {
        let own = [("log_bin", "ON"), ("slow_query_log", "ON"), ("innodb_buffer_pool_size", "200")];
        let other = [("log_bin", "OFF"), ("slow_query_log", "OFF"), ("innodb_buffer_pool_size", "100")];
        let scenario = Scenario::parse(scenario).unwrap();
        settings_of(&[&server("old", &own), &server("new", &other)], &scenario, terms)
    }

    fn confounds(settings: &[Setting]) -> Vec<&str> {
        let those = settings.iter().filter(|setting| setting.is_confound && !setting.is_equal);
        those.map(|setting| setting.name.as_str()).collect()
    }

    #[test]
    fn what_forbids_a_verdict_depends_on_what_is_run_and_can_be_accepted() {
        let point_select = shipped::named("point-select").unwrap();
        let demand = Demand { only_reads: true, data_bytes: 1000, redo_bytes: 0 };
        let terms = Terms { set: &[], allow_global: false, demand, accepted: &[], with_tls: false };
        let settings = found(point_select, &terms);
        let pool = "innodb_buffer_pool_size";
        assert_eq!(confounds(&settings), [pool], "the pool alone, for a read knows no binary log");
        let of = |name: &str| settings.iter().find(|setting| setting.name == name).unwrap();
        assert!(!of("log_bin").is_equal && !of("version").is_equal && of("build").is_equal);
        assert_eq!(of("tls").values["old"], "off");

        let writing = found(point_select, &Terms { demand: Demand { only_reads: false, ..demand }, ..terms });
        assert_eq!(confounds(&writing), ["log_bin", pool]);
        let accepted = ["innodb_buffer_pool_size".to_owned(), "log_bin".to_owned()];
        let terms = Terms {
            demand: Demand { only_reads: false, ..demand },
            accepted: &accepted,
            with_tls: true,
            ..terms
        };
        let settings = found(point_select, &terms);
        assert_eq!(confounds(&settings), [] as [String; 0]);
        let pool = settings.iter().find(|setting| setting.name == "innodb_buffer_pool_size").unwrap();
        assert!(!pool.is_equal && pool.reason.as_ref().unwrap().contains("accepted"), "{pool:?}");
        assert!(settings.iter().any(|setting| setting.name == "tls" && setting.values["old"] == "on"));
        check_accepted(&accepted).unwrap();
        let why = check_accepted(&["buffer_pool".to_owned()]).unwrap_err();
        assert!(why.contains("innodb_buffer_pool_size") && !why.contains("sql_mode"), "{why}");
    }

    #[test]
    fn what_a_scenario_holds_must_be_alike() {
        let incident = shipped::named("incident-1-prepared-bulk-insert").unwrap();
        let held = incident.replace("slow_query_log = [\"ON\", \"OFF\"]", "long_query_time = [\"1\", \"2\"]");
        assert_ne!(held, incident);
        let demand = Demand { only_reads: true, data_bytes: 1000, redo_bytes: 0 };
        let terms = Terms { set: &[], allow_global: true, demand, accepted: &[], with_tls: false };
        let of = |text: &str, terms: &Terms<'_>| {
            let settings = found(text, terms);
            confounds(&settings).contains(&"slow_query_log")
        };
        assert!(of(&held, &terms));
        // Varied by the scenario itself it has the same levels everywhere, if it may be set.
        assert!(!of(incident, &terms));
        assert!(of(incident, &Terms { allow_global: false, ..terms }));
        let accepted = ["slow_query_log".to_owned()];
        assert!(!of(&held, &Terms { accepted: &accepted, ..terms }));
    }
}
