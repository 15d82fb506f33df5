//! Data flows one way: the manifests are read and every other edge is refused.

use crate::{LAYERS, NOT_SHIPPED, root};

fn line_of(name: &str) -> Option<usize> {
    LAYERS.iter().position(|line| line.contains(&name))
}

/// The names under the sections of a manifest for which `wanted` holds, written as a list or one section each.
fn names_under(manifest: &str, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let mut inside = false;
    let mut names = Vec::new();
    for line in manifest.lines() {
        let line = line.trim();
        if let Some(section) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            inside = wanted(section);
            if let Some((outer, name)) = section.rsplit_once('.').filter(|(outer, _)| wanted(outer)) {
                assert!(!outer.is_empty());
                names.push(name.to_owned());
            }
        } else if inside
            && !line.starts_with('#')
            && let Some((name, _)) = line.split_once(['.', ' ', '='])
        {
            names.push(name.to_owned());
        }
    }
    names
}

/// What a crate ships with: dependencies of its own, of one target, of its build script.
fn dependencies(manifest: &str) -> Vec<String> {
    names_under(manifest, |section| {
        section == "dependencies" || section == "build-dependencies" || section.ends_with(".dependencies")
    })
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
        let text =
            sources.iter().filter(|(file, _)| file.starts_with(&folder)).map(|(_, text)| text.as_str());
        let text = text.collect::<Vec<_>>().join("\n");
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
    assert_eq!(refused("newcomer", "[dependencies]\n"), 1, "placed nowhere");
    assert_eq!(refused("sim", "[dependencies]\nserver.workspace = true\n"), 0, "not shipped");
}

#[test]
fn every_dependency_is_used() {
    let mut wrong = Vec::new();
    for (name, manifest, text) in crates() {
        let development = names_under(&manifest, |section| section == "dev-dependencies");
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
