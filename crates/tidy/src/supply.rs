//! What comes from others: licences, sources and duplicate versions, by the lists of `deny.toml`.
//!
//! `cargo deny check` does the same and looks at advisories too, where it is installed and its database can be reached. These tests
//! need neither, so no dependency comes in unseen.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;
use spdx::{Expression, ParseMode};
use toml::Table;

use crate::root;

/// A package that is built here, or may be with other features.
struct Package {
    name: String,
    version: String,
    licence: Option<String>,
    /// `None` for our own.
    source: Option<String>,
}

fn packages() -> Vec<Package> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // Those of other systems may not be on this machine; cargo-deny looks at them.
    let version = Command::new("rustc").arg("-vV").output().expect("rustc runs").stdout;
    let version = String::from_utf8(version).expect("text");
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("the host's name");
    let arguments =
        ["metadata", "--format-version", "1", "--locked", "--all-features", "--filter-platform", host];
    let out = Command::new(cargo).args(arguments).current_dir(root()).output().expect("cargo runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let metadata: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let package = |value: &Value| Package {
        name: text(&value["name"]).expect("a name"),
        version: text(&value["version"]).expect("a version"),
        licence: text(&value["license"]),
        source: text(&value["source"]),
    };
    metadata["packages"].as_array().expect("packages").iter().map(package).collect()
}

/// A list of texts in a section of `deny.toml`; of tables, their `key`.
fn listed(rules: &Table, section: &str, list: &str, key: &str) -> Vec<String> {
    let list = rules[section][list].as_array().expect("a list");
    let text = |value: &toml::Value| {
        let value = value.get(key).unwrap_or(value);
        value.as_str().expect("a text").to_owned()
    };
    list.iter().map(text).collect()
}

/// Whether one of the licences that the expression leaves to choose is allowed.
fn is_allowed(licence: &str, allowed: &[String]) -> bool {
    let expression = Expression::parse_mode(licence, ParseMode::LAX);
    expression.is_ok_and(|expression| {
        expression.evaluate(|licence| allowed.iter().any(|one| *one == licence.to_string()))
    })
}

/// What of the packages the rules do not allow.
fn violations(packages: &[Package], rules: &Table) -> Vec<String> {
    let allowed = listed(rules, "licenses", "allow", "name");
    let skipped = listed(rules, "bans", "skip", "crate");
    let mut wrong = Vec::new();
    let mut versions: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for Package { name, version, licence, source } in packages {
        if !licence.as_ref().is_some_and(|licence| is_allowed(licence, &allowed)) {
            wrong.push(format!("{name} {version}: its licence {licence:?} is not allowed by deny.toml"));
        }
        if source.as_ref().is_some_and(|source| !source.contains("//github.com/rust-lang/crates.io-index")) {
            wrong.push(format!("{name} {version} comes from {source:?} and not from crates.io"));
        }
        versions.entry(name).or_default().push(format!("{name}@{version}"));
    }
    for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
        let left = versions.iter().filter(|version| !skipped.contains(version)).count();
        if left > 1 {
            wrong.push(format!("{name} has several versions: {}", versions.join(", ")));
        }
    }
    for skip in skipped {
        let name = skip.split('@').next().unwrap_or_default();
        // A package that is not there at all is one of other systems.
        if versions.get(name).is_some_and(|versions| versions.len() < 2 || !versions.contains(&skip)) {
            wrong.push(format!("{skip} is no duplicate any more: take it out of deny.toml"));
        }
    }
    wrong
}

fn rules() -> Table {
    std::fs::read_to_string(root().join("deny.toml")).expect("deny.toml").parse().expect("it is TOML")
}

#[test]
fn dependencies_have_allowed_licences_and_sources_and_one_version() {
    let packages = packages();
    assert!(packages.len() > 100, "they were listed");
    let wrong = violations(&packages, &rules());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_not_allowed_is_found() {
    let crates_io = "registry+https://github.com/rust-lang/crates.io-index";
    let package = |name: &str, version: &str, licence: Option<&str>, source: &str| Package {
        name: name.to_owned(),
        version: version.to_owned(),
        licence: licence.map(str::to_owned),
        source: Some(source.to_owned()),
    };
    let rules: Table = "licenses.allow = [\"MIT\", \"Apache-2.0 WITH LLVM-exception\"]\n\
                        bans.skip = [{ crate = \"old@1.0.0\", reason = \"r\" }]"
        .parse()
        .unwrap();
    let two =
        [package("old", "1.0.0", Some("MIT"), crates_io), package("old", "2.0.0", Some("MIT"), crates_io)];
    assert_eq!(violations(&two, &rules), Vec::<String>::new());
    let found = |more: Package| {
        let [first, second] = &two;
        let copy = |one: &Package| package(&one.name, &one.version, one.licence.as_deref(), crates_io);
        violations(&[copy(first), copy(second), more], &rules).len()
    };
    assert_eq!(found(package("a", "1.0.0", Some("GPL-3.0 OR MIT"), crates_io)), 0, "one may be chosen");
    assert_eq!(found(package("a", "1.0.0", Some("Apache-2.0 WITH LLVM-exception"), crates_io)), 0);
    assert_eq!(found(package("a", "1.0.0", Some("MIT AND GPL-3.0"), crates_io)), 1, "both hold");
    assert_eq!(found(package("a", "1.0.0", None, crates_io)), 1, "no licence");
    assert_eq!(found(package("a", "1.0.0", Some("MIT"), "git+https://example.org/a")), 1, "not crates.io");
    assert_eq!(found(package("old", "3.0.0", Some("MIT"), crates_io)), 1, "one more version");
    assert_eq!(violations(&two[1..], &rules).len(), 1, "a skip that is needed no more");
}
