//! `invar check`: looks at a data folder that no server uses and says what is damaged.

use std::path::PathBuf;
use std::process::ExitCode;

use env::Env;

/// Checks whether a data folder is sound; reads only, while no server uses it.
///
/// Checks superblocks, page map, every page (checksum, order, links), free space, the log, definitions against trees, rows
/// against index entries and large values. Damage is named by file, block, page, tree and table or index.
///
/// Exit code: 0 sound, 1 damaged, 2 could not be checked.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The data folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Where what recovery would write is put meanwhile [default: $TMPDIR or /tmp]
    #[arg(long, value_name = "DIR")]
    tmpdir: Option<PathBuf>,
}

/// Could not be checked.
const UNCHECKED: u8 = 2;

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let scratch = arguments.tmpdir.clone().unwrap_or_else(std::env::temp_dir);
    let absolute = std::path::absolute(&arguments.folder)
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
