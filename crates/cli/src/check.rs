//! `invar check`: looks at a data folder that no server uses and says what is damaged.

use std::path::Path;
use std::process::ExitCode;

use env::Env;

/// What `invar check --help` prints.
pub(crate) const HELP: &str = "\
invar check DIR: whether a data folder is sound; reads only, while no server uses it

  --tmpdir=DIR   where what recovery would write is put meanwhile ($TMPDIR, /tmp)

Checks superblocks, page map, every page (checksum, order, links), free space, the log, definitions against trees, rows
against index entries and large values. Damage is named by file, block, page, tree and table or index.

Exit code: 0 sound, 1 damaged, 2 could not be checked.";

/// Could not be checked.
const UNCHECKED: u8 = 2;

pub(crate) fn run(words: &[String]) -> ExitCode {
    let mut folder = None;
    let mut scratch = std::env::temp_dir();
    for word in words {
        if let Some(path) = word.strip_prefix("--tmpdir=") {
            scratch = path.into();
        } else if word == "--help" || word == "-?" {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        } else if word.starts_with('-') || folder.is_some() {
            eprintln!("invar check: unexpected '{word}'; see invar check --help");
            return ExitCode::from(UNCHECKED);
        } else {
            folder = Some(word);
        }
    }
    let Some(folder) = folder else {
        eprintln!("{HELP}");
        return ExitCode::from(UNCHECKED);
    };
    let absolute = std::path::absolute(Path::new(folder))
        .and_then(|folder| Ok((folder, std::path::absolute(&scratch)?)));
    let checked = absolute
        .map_err(|error| error.to_string())
        .and_then(|(folder, scratch)| engine::check_folder(&Env::real(), &folder, &scratch));
    let report = match checked {
        Ok(report) => report,
        Err(why) => {
            eprintln!("invar check: {why}");
            return ExitCode::from(UNCHECKED);
        }
    };
    let files = &report.files;
    println!(
        "checkpoint {}: {} blocks, {} used; {} trees, {} pages, {} records; {} commits in the log behind it",
        files.checkpoint,
        files.blocks,
        files.used_blocks,
        files.trees,
        files.pages,
        files.records,
        files.commits
    );
    for note in &report.notes {
        println!("note: {note}");
    }
    for damage in &report.damages {
        println!("damaged: {damage}");
    }
    for line in &report.unchecked {
        println!("not checked: {line}");
    }
    if report.damages.is_empty() && !report.unchecked.is_empty() {
        println!("{} tables could not be checked", report.unchecked.len());
        ExitCode::from(UNCHECKED)
    } else if report.damages.is_empty() {
        println!("sound; {} tables compared with their indexes and large values", report.tables);
        ExitCode::SUCCESS
    } else {
        println!("{} damages", report.damages.len());
        ExitCode::FAILURE
    }
}
