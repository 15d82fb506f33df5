//! `invar check`: whether a data folder that nobody uses is sound, without changing it.
//!
//! 1. The files as they are: superblocks, map, every page of every tree, the log (`store::check_files`).
//! 2. The store as the next start would find it: recovery runs over the folder, and what it writes goes to a scratch folder
//!    (`env::overlay`).
//! 3. Definitions against trees, and of each table rows against index entries and large values (`Table::check`).
//!
//! A table with a damaged page is named by the first step and left out of the third.

use std::collections::BTreeSet;
use std::path::Path;

use env::Env;
use store::wal::LogOptions;
use store::{Damage, FileReport, Options, Store, StoreError, TreeId};
use table::dictionary::Dictionary;
use table::{CheckDepth, CheckEnd, Table, check_dictionary, tree_owners};

/// The file that says that a server uses the folder.
const LOCK: &str = "lock";
/// Memory for pages.
const POOL_BYTES: u64 = 64 << 20;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct FolderReport {
    /// What the files hold.
    pub files: FileReport,
    /// One line for each thing that is damaged.
    pub damages: Vec<String>,
    /// One line for each thing worth knowing that is no damage.
    pub notes: Vec<String>,
    /// One line for each table that could not be compared, though nothing is known to be damaged.
    pub unchecked: Vec<String>,
    /// Tables whose rows and indexes were compared.
    pub tables: u64,
}

/// Checks the data folder `path`; what recovery would write goes to `scratch`.
///
/// # Errors
/// One line that says why it could not be checked.
pub fn check_folder(env: &Env, path: &Path, scratch: &Path) -> Result<FolderReport, String> {
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::WouldBlock => format!("a server is using {}", path.display()),
        _ => format!("cannot open {}: {error}", path.display()),
    };
    env.disk.folder(path, false).map_err(failed)?;
    let scratch = env
        .disk
        .folder(scratch, true)
        .map_err(|error| format!("cannot open the scratch folder {}: {error}", scratch.display()))?;
    let over = env::overlay::over(env, path, LOCK, scratch).map_err(failed)?;
    let mut report = FolderReport {
        files: store::check_files(&over, path).map_err(|error| error.to_string())?,
        ..FolderReport::default()
    };
    let options = Options {
        buffer_pool_bytes: POOL_BYTES,
        log: LogOptions { segment_bytes: 1 << 20, ..LogOptions::default() },
        background_threads: false,
        ..Options::default()
    };
    let (store, opened) = match Store::open(&over, path, options) {
        Ok(store) => {
            let opened = Dictionary::open(&store).map_err(|error| error.to_string());
            (Some(store), opened)
        }
        Err(error) => (None, Err(error.to_string())),
    };
    let catalog = match &opened {
        Ok((_, catalog)) => Some(catalog),
        Err(_) => None,
    };
    let owners = catalog.map(tree_owners).unwrap_or_default();
    let name = |tree: TreeId| match tree.0 {
        0 => "the tree of trees".to_owned(),
        1 => "definitions".to_owned(),
        2 => "AUTO_INCREMENT counters".to_owned(),
        _ => owners.get(&tree).cloned().unwrap_or_else(|| "of no known table".to_owned()),
    };
    report.damages.extend(report.files.damages.iter().map(|damage| line(damage, &name)));
    if report.files.damage_count > report.files.damages.len() as u64 {
        report
            .damages
            .push(format!("and {} more", report.files.damage_count - report.files.damages.len() as u64));
    }
    if report.files.lost_pages > 0 {
        report.notes.push(format!("{} pages belong to no tree: lost space", report.files.lost_pages));
    }
    if let Err(error) = &opened {
        report.damages.push(format!("the next start would fail: {error}"));
    }
    if let (Some(store), Some(catalog)) = (&store, catalog) {
        report.notes.extend(
            check_dictionary(store, catalog)
                .into_iter()
                .map(|line| format!("{line}; a start frees trees that belong to no table")),
        );
        let damaged: BTreeSet<TreeId> =
            report.files.damages.iter().filter_map(|damage| damage.tree).collect();
        let mut tables: Vec<_> = catalog.base_tables().collect();
        tables.sort_by_key(|entry| (entry.definition.schema.clone(), entry.definition.name.clone()));
        for entry in tables {
            let Some(table) = Table::of(&entry.source) else { continue };
            let full = format!("{}.{}", entry.definition.schema, entry.definition.name);
            if table.trees().iter().any(|(tree, _)| damaged.contains(tree)) {
                report
                    .notes
                    .push(format!("table {full}: pages are damaged, so rows and indexes were not compared"));
                continue;
            }
            report.tables += 1;
            match table.check(CheckDepth::Entries, || Ok::<(), std::convert::Infallible>(())) {
                Ok(problems) => {
                    report.damages.extend(problems.iter().map(|problem| format!("table {full}: {problem}")));
                }
                Err(CheckEnd::Store(error @ StoreError::Corrupt { .. })) => {
                    report.damages.push(format!("table {full}: {error}"));
                }
                Err(CheckEnd::Store(error)) => report.unchecked.push(format!("table {full}: {error}")),
                Err(CheckEnd::Asked(never)) => match never {},
            }
        }
    }
    Ok(report)
}

/// `file data, block 77, page 41, tree 19 (shop.orders, index k): checksum`
fn line(damage: &Damage, name: &impl Fn(TreeId) -> String) -> String {
    let mut text = format!("file {}", damage.file);
    if let Some(block) = damage.block {
        text.push_str(&format!(", block {block}"));
    }
    if let Some(page) = damage.page {
        text.push_str(&format!(", page {page}"));
    }
    if let Some(tree) = damage.tree {
        text.push_str(&format!(", tree {tree} ({})", name(tree)));
    }
    format!("{text}: {}", damage.why)
}
