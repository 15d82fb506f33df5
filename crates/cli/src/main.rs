//! Wiring only: reads the command line, starts a subcommand.

mod check;
mod lab;
mod local;
mod options;
mod serve;
mod shard;
mod signals;

use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;

/// Exit code of a command line that is not understood.
const BAD_USE: u8 = 2;

/// Counted, so that statements can be limited.
#[global_allocator]
static ALLOCATOR: env::memory::Counting<env::mimalloc::Mimalloc> =
    env::memory::Counting(env::mimalloc::Mimalloc);

/// A MySQL stack whose speed does not move.
#[derive(Parser)]
// As in MySQL's programs, an option that is given again replaces what it was.
#[command(name = "invar", version, max_term_width = 79, args_override_self = true)]
struct Invar {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// A MySQL-compatible database server; see invar serve --help
    // Its options are those of MySQL's server, which follow rules of their own: crate::options.
    #[command(disable_help_flag = true)]
    Serve {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<String>,
    },
    /// A front door before a MySQL-protocol server; see invar shard --help
    #[command(disable_help_flag = true)]
    Shard {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<String>,
    },
    /// Checks whether a data folder is sound
    Check(check::Arguments),
    /// Reproduces, compares and names slowdowns on any MySQL servers
    Lab(lab::Arguments),
}

/// What clap says of a bad command line, as one line: the error and what was probably meant.
fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let said: Vec<&str> =
        lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more")).collect();
    let said = said.join(" ");
    format!("{}; see --help", said.strip_prefix("error: ").unwrap_or(&said))
}

/// Which bug a test has planted in this process.
#[cfg(feature = "planted-bugs")]
fn plant() -> Result<(), String> {
    if let Ok(name) = std::env::var("INVAR_PLANTED_BUG") {
        let bug = types::planted::named(&name).ok_or_else(|| format!("no planted bug is called {name}"))?;
        types::planted::plant(Some(bug));
    }
    if let Ok(rows) = std::env::var("INVAR_BATCH_ROWS") {
        types::vector::set_batch_rows_max(rows.parse().map_err(|_| format!("{rows} is no number of rows"))?);
    }
    Ok(())
}

fn main() -> ExitCode {
    env::memory::set_return_freed(env::mimalloc::collect);
    #[cfg(feature = "planted-bugs")]
    if let Err(why) = plant() {
        eprintln!("invar: {why}");
        return ExitCode::FAILURE;
    }
    let invar = match Invar::try_parse() {
        Ok(invar) => invar,
        Err(error) if error.use_stderr() => {
            eprintln!("invar: {}", one_line(&error));
            return ExitCode::from(BAD_USE);
        }
        // Help or the version. A reader that stops early is no error.
        Err(text) => {
            let _ = text.print();
            return ExitCode::SUCCESS;
        }
    };
    match invar.command {
        Some(Command::Serve { options }) if options.iter().any(|word| word == "--help" || word == "-?") => {
            println!("{}", serve::HELP);
            ExitCode::SUCCESS
        }
        Some(Command::Serve { options }) => match serve::run::<local::Local>(&options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => {
                eprintln!("invar: {why}");
                ExitCode::FAILURE
            }
        },
        Some(Command::Shard { options }) if options.iter().any(|word| word == "--help" || word == "-?") => {
            println!("{}", shard::HELP);
            ExitCode::SUCCESS
        }
        Some(Command::Shard { options }) => match shard::run(&options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => {
                eprintln!("invar: {why}");
                ExitCode::FAILURE
            }
        },
        Some(Command::Check(arguments)) => check::run(&arguments),
        Some(Command::Lab(arguments)) => lab::run(arguments),
        None => {
            let _ = Invar::command().print_help();
            ExitCode::SUCCESS
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound_and_its_help_fits_a_terminal() {
        fn look(command: &mut clap::Command, columns: usize) {
            for line in command.render_help().to_string().lines() {
                assert!(line.chars().count() <= columns, "{line}");
            }
            command.get_subcommands_mut().for_each(|one| look(one, columns));
        }
        let mut command = Invar::command();
        command.clone().debug_assert();
        command.build();
        look(&mut command, ::lab::format::COLUMNS);
    }

    #[test]
    fn options_of_the_server_pass_unchanged() {
        let line = [
            "invar",
            "serve",
            "--innodb-buffer-pool-size=1G",
            "-P",
            "3307",
            "--skip-networking",
            "--version",
        ];
        let Some(Command::Serve { options }) = Invar::try_parse_from(line).unwrap().command else {
            panic!("serve")
        };
        assert_eq!(options, line[2..]);
        let Some(Command::Serve { options }) =
            Invar::try_parse_from(["invar", "serve", "--help"]).unwrap().command
        else {
            panic!("serve")
        };
        assert_eq!(options, ["--help"]);
    }

    #[test]
    fn what_is_wrong_is_one_line() {
        for (line, want) in [
            (&["frobnicate"][..], "unrecognized subcommand 'frobnicate'"),
            (&["lab", "rum"], "'run'"),
            (&["lab", "restore", "--sever", "x"], "'--server'"),
            (&["lab", "restore", "--json"], "unexpected argument '--json'"),
            (&["check"], "DIR"),
        ] {
            let error = Invar::try_parse_from([&["invar"], line].concat()).map(|_| ()).unwrap_err();
            let said = one_line(&error);
            assert!(said.contains(want) && !said.contains('\n'), "{line:?}: {said}");
        }
    }
}
