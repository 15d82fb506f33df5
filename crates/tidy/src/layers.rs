//! Data flows one way: the manifests are read and every other edge is refused.

use crate::{LAYERS, NOT_SHIPPED, root};

fn line_of(name: &str) -> Option<usize> {
    LAYERS.iter().position(|line| line.contains(&name))
}

/// The names under `[dependencies]` of a manifest.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut inside = false;
    let mut names = Vec::new();
    for line in manifest.lines() {
        let line = line.trim();
        if line.starts_with('[') {
            inside = line == "[dependencies]";
        } else if inside && let Some((name, _)) = line.split_once(['.', ' ', '=']) {
            names.push(name.to_owned());
        }
    }
    names
}

#[test]
fn a_crate_uses_only_crates_on_lines_below_its_own() {
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let manifest = std::fs::read_to_string(path.join("Cargo.toml")).unwrap();
        if NOT_SHIPPED.contains(&name.as_str()) {
            continue;
        }
        let Some(own) = line_of(&name) else {
            wrong.push(format!("crate `{name}` stands on no line of tidy::LAYERS: place it"));
            continue;
        };
        for used in dependencies(&manifest) {
            if NOT_SHIPPED.contains(&used.as_str()) {
                wrong.push(format!("`{name}` ships, so it must not use the test crate `{used}`"));
            }
            if line_of(&used).is_some_and(|line| line >= own) {
                wrong.push(format!("`{name}` must not use `{used}`: it is not on a line below"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_crate_inherits_the_workspace() {
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let path = entry.unwrap().path();
        let manifest = std::fs::read_to_string(path.join("Cargo.toml")).unwrap();
        for key in ["edition.workspace = true", "license.workspace = true", "[lints]\nworkspace = true"] {
            assert!(manifest.contains(key), "{}: `{key}` is missing", path.display());
        }
    }
}

#[test]
fn architecture_draws_the_same_layers() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for line in LAYERS {
        let drawn = line.join("  ");
        assert!(
            text.lines().any(|candidate| candidate
                .split_whitespace()
                .collect::<Vec<_>>()
                .join("  ")
                .starts_with(&drawn)),
            "ARCHITECTURE.md draws no line `{drawn}`"
        );
    }
}

#[test]
fn the_reader_of_manifests_sees_dependencies_only() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\nstore.workspace = true\ntypes = { path = \"t\" }\n[dev-dependencies]\nsim = \"1\"\n";
    assert_eq!(dependencies(manifest), ["store", "types"]);
}
