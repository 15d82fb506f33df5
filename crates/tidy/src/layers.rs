//! Data flows one way: the manifests are read and every other edge is refused.

use toml::{Table, Value};

use crate::{LAYERS, NOT_SHIPPED, root};

fn line_of(name: &str) -> Option<usize> {
    LAYERS.iter().position(|line| line.contains(&name))
}

/// The dependencies in the tables of a manifest for which `wanted` holds, by the names of their packages: `rename = { package = "store" }`
/// is the crate `store`.
fn packages_under(manifest: &str, wanted: &[&str]) -> Vec<String> {
    let manifest: Table = manifest.parse().unwrap_or_else(|error| panic!("{error}: {manifest}"));
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    let places = targets.filter_map(Value::as_table).chain([&manifest]);
    let tables = places.flat_map(|place| wanted.iter().filter_map(|name| place.get(*name)?.as_table()));
    let named =
        tables.flatten().map(|(name, how)| how.get("package").and_then(Value::as_str).unwrap_or(name));
    named.map(str::to_owned).collect()
}

/// What a crate ships with: dependencies of its own, of one target, of its build script.
fn dependencies(manifest: &str) -> Vec<String> {
    packages_under(manifest, &["dependencies", "build-dependencies"])
}

/// What is wrong with the edges of one crate.
fn violations(name: &str, manifest: &str) -> Vec<String> {
    if NOT_SHIPPED.contains(&name) {
        return Vec::new();
    }
    let Some(own) = line_of(name) else {
        return vec![format!("crate `{name}` stands on no line of tidy::LAYERS: place it")];
    };
    let mut wrong = Vec::new();
    for used in dependencies(manifest) {
        if NOT_SHIPPED.contains(&used.as_str()) {
            wrong.push(format!("`{name}` ships, so it must not use the test crate `{used}`"));
        }
        if line_of(&used).is_some_and(|line| line >= own) {
            wrong.push(format!("`{name}` must not use `{used}`: it is not on a line below"));
        }
    }
    wrong
}

/// Name, manifest and all sources of each crate.
fn crates() -> Vec<(String, String, String)> {
    let sources = crate::rust_sources();
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let path = entry.unwrap().path();
        let Ok(manifest) = std::fs::read_to_string(path.join("Cargo.toml")) else { continue };
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let folder = format!("crates/{name}/");
        let own = || sources.iter().filter(|(file, _)| file.starts_with(&folder));
        // Files that tests of several crates share.
        let shared = own().flat_map(|(_, text)| text.split("#[path = \"").skip(1)).filter_map(|rest| {
            let path = rest.split('"').next()?.trim_start_matches("../");
            sources.iter().find(|(file, _)| file.ends_with(&format!("/{path}")))
        });
        let text = own().chain(shared).map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n");
        found.push((name, manifest, text));
    }
    assert!(found.len() > 10, "the crates were found");
    found
}

#[test]
fn a_crate_uses_only_crates_on_lines_below_its_own() {
    let wrong: Vec<String> =
        crates().iter().flat_map(|(name, manifest, _)| violations(name, manifest)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_edge_that_points_up_is_refused_however_it_is_written() {
    let refused = |name: &str, manifest: &str| violations(name, manifest).len();
    assert_eq!(refused("store", "[dependencies]\nenv.workspace = true\n"), 0);
    assert_eq!(refused("store", "[dependencies]\ntable.workspace = true\n"), 1, "upwards");
    assert_eq!(refused("store", "[dependencies]\ncatalog = { workspace = true }\n"), 1, "beside");
    assert_eq!(refused("store", "[dependencies.table]\nworkspace = true\n"), 1, "a section of its own");
    assert_eq!(refused("store", "[build-dependencies]\ntable = \"1\"\n"), 1);
    assert_eq!(refused("store", "[target.'cfg(unix)'.dependencies]\ntable = \"1\"\n"), 1);
    assert_eq!(refused("store", "[target.'cfg(unix)'.dependencies.table]\npath = \"..\"\n"), 1);
    assert_eq!(refused("store", "[dependencies]\nsim.workspace = true\n"), 1, "a test crate");
    assert_eq!(refused("store", "[dev-dependencies]\nsim.workspace = true\n"), 0, "tests may use anything");
    assert_eq!(
        refused("store", "[dependencies]\nrows = { package = \"table\", path = \"../table\" }\n"),
        1,
        "renamed"
    );
    assert_eq!(refused("newcomer", "[dependencies]\n"), 1, "placed nowhere");
    assert_eq!(refused("sim", "[dependencies]\nserver.workspace = true\n"), 0, "not shipped");
}

#[test]
fn every_dependency_is_used() {
    let mut wrong = Vec::new();
    for (name, manifest, text) in crates() {
        let development = packages_under(&manifest, &["dev-dependencies"]);
        for used in dependencies(&manifest).into_iter().chain(development) {
            let path = used.replace('-', "_");
            if ["::", ";", " as "].iter().all(|after| !text.contains(&format!("{path}{after}"))) {
                wrong.push(format!("`{name}` names `{used}` in its manifest and nowhere else: remove it"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_crate_inherits_the_workspace() {
    for (name, manifest, _) in crates() {
        for key in ["edition.workspace = true", "license.workspace = true", "[lints]\nworkspace = true"] {
            assert!(manifest.contains(key), "{name}: `{key}` is missing");
        }
    }
}

#[test]
fn architecture_draws_the_same_layers() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let drawing =
        text.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a drawing");
    let drawn: Vec<Vec<&str>> = drawing
        .lines()
        .take_while(|line| !line.starts_with('('))
        // Names stand two blanks apart, what they are further off.
        .map(|line| line.split("   ").next().unwrap_or_default().split_whitespace().collect())
        .collect();
    let highest_first: Vec<Vec<&str>> = LAYERS.iter().rev().map(|line| line.to_vec()).collect();
    assert_eq!(drawn, highest_first, "ARCHITECTURE.md draws other layers than tidy::LAYERS");
    let tools = drawing.split('(').nth(1).and_then(|rest| rest.split(':').next()).expect("the tools");
    let tools: Vec<&str> = tools.split(", ").map(str::trim).collect();
    assert_eq!(tools, NOT_SHIPPED, "ARCHITECTURE.md names other tools than tidy::NOT_SHIPPED");
}

/// What a page names that is not there: paths in backquotes that begin with a crate, or with a folder of the root.
fn paths_that_are_gone(text: &str) -> Vec<String> {
    let is_there = |path: &str| {
        let path = path.split_once('*').map_or(path, |(before, _)| before);
        root().join("crates").join(path).exists() || root().join(path).exists()
    };
    let begins_at_the_root = |path: &&str| {
        path.split_once('/').is_some_and(|(first, _)| root().join("crates").join(first).is_dir())
    };
    let quoted = text.split('`').skip(1).step_by(2).filter(|path| !path.contains(char::is_whitespace));
    quoted.filter(begins_at_the_root).filter(|path| !is_there(path)).map(str::to_owned).collect()
}

#[test]
fn architecture_names_what_is_there() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    assert_eq!(paths_that_are_gone(&text), Vec::<String>::new(), "ARCHITECTURE.md names paths that are gone");
    assert_eq!(
        paths_that_are_gone("`store/src/lib.rs`, `store/src/gone.rs`, `select/from`"),
        ["store/src/gone.rs"]
    );
    let table = text.split("| crate | job |").nth(1).and_then(|rest| rest.split("\n\n").next());
    let mut rows: Vec<&str> = table
        .expect("the table of crates")
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    let mut shipped: Vec<&str> = LAYERS.iter().flat_map(|line| line.iter().copied()).collect();
    rows.sort_unstable();
    shipped.sort_unstable();
    assert_eq!(rows, shipped, "ARCHITECTURE.md's table has other crates than tidy::LAYERS");
}

#[test]
fn the_reader_of_manifests_sees_dependencies_only() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\nstore.workspace = true\ntypes = { path = \"t\" }\n[dev-dependencies]\nsim = \"1\"\n";
    assert_eq!(dependencies(manifest), ["store", "types"]);
}
