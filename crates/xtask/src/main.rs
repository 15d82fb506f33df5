//! `cargo xtask TASK`: what is done by hand in this repository, each with one command.
//!
//! A task is a command of cargo or a script with the environment that it needs. It is printed before it runs, so that it can be
//! repeated and varied without this program.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::{Parser, Subcommand};

/// Tests, golden files, comparisons and measurements of Invar.
#[derive(Parser)]
#[command(name = "cargo xtask", max_term_width = 100)]
struct Xtask {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Runs everything, as continuous integration does; with names, only these golden scripts of SQL
    Test {
        /// Golden scripts: crates/cli/tests/sql/NAME.test
        scripts: Vec<String>,
    },
    /// Rewrites golden files; then review the difference
    Rewrite {
        #[command(flatten)]
        golden: Golden,
        /// A MySQL 9.7 whose answers are stored: mysql://user:password@host:port
        #[arg(long, value_name = "URL")]
        oracle: Option<String>,
    },
    /// Compares golden files with a MySQL 9.7, which nothing else uses meanwhile
    Compare {
        /// mysql://user:password@host:port
        oracle: String,
        #[command(flatten)]
        golden: Golden,
    },
    /// Runs the simulator of the store; without arguments ten thousand runs of each workload
    Simulate {
        /// Arguments of the simulator, as in crates/sim/README.md
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Counts instructions of single operations and compares them with crates/counts/counts.txt
    Counts {
        /// Stores what is counted now
        #[arg(long)]
        write: bool,
        /// Prints the operations whose names begin so
        #[arg(long, value_name = "PREFIX")]
        only: Option<String>,
    },
    /// Measures time and CPU beside other servers (docs/measuring.md)
    Measure {
        /// Arguments of lab/rivals/run.py
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

/// Which golden files.
#[derive(clap::Args)]
struct Golden {
    /// sql, types, privileges, passes, plans or flames
    #[arg(default_value = "sql")]
    what: String,
    /// Of the golden scripts of SQL, only this one
    #[arg(long, value_name = "NAME")]
    script: Option<String>,
}

impl Golden {
    /// The test that compares these files.
    fn test(&self) -> Result<Step, String> {
        let (package, test) = match self.what.as_str() {
            "sql" => ("cli", &["--test", "golden"][..]),
            "types" => ("cli", &["--test", "types"][..]),
            "privileges" => ("cli", &["--test", "privileges"][..]),
            "passes" => ("plan", &["--test", "passes"][..]),
            "plans" => ("exec", &["--test", "queries"][..]),
            "flames" => ("lab", &["--lib", "flame"][..]),
            other => {
                return Err(format!("'{other}' is none of sql, types, privileges, passes, plans, flames"));
            }
        };
        let step = Step::cargo(&["test", "--package", package]).with(test.iter().copied());
        Ok(match &self.script {
            Some(name) => step.env("INVAR_SCRIPT", name),
            None => step,
        })
    }
}

/// A command to run in the repository's root.
struct Step {
    program: String,
    arguments: Vec<String>,
    environment: Vec<(&'static str, String)>,
}

impl Step {
    fn new(program: &str) -> Step {
        Step { program: program.to_owned(), arguments: Vec::new(), environment: Vec::new() }
    }

    fn cargo(arguments: &[&str]) -> Step {
        Step::new("cargo").with(arguments.iter().copied())
    }

    fn with(mut self, arguments: impl IntoIterator<Item = impl Into<String>>) -> Step {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    fn env(mut self, name: &'static str, value: &str) -> Step {
        self.environment.push((name, value.to_owned()));
        self
    }

    /// As a shell would take it.
    fn shown(&self) -> String {
        let environment = self.environment.iter().map(|(name, value)| format!("{name}={value} "));
        format!("{}{} {}", environment.collect::<String>(), self.program, self.arguments.join(" "))
    }

    /// Runs it; whether it succeeded.
    fn run(&self) -> Result<bool, String> {
        println!("$ {}", self.shown());
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).envs(self.environment.iter().map(|(name, value)| (name, value)));
        let status =
            command.current_dir(root).status().map_err(|error| format!("{}: {error}", self.program))?;
        Ok(status.success())
    }
}

/// What a task runs, in order.
fn steps(task: Task) -> Result<Vec<Step>, String> {
    Ok(match task {
        Task::Test { scripts } if scripts.is_empty() => vec![Step::new("./test")],
        Task::Test { scripts } => {
            let script = |name: String| Golden { what: "sql".to_owned(), script: Some(name) }.test();
            scripts.into_iter().map(script).collect::<Result<_, _>>()?
        }
        Task::Rewrite { golden, oracle } => {
            let step = golden.test()?.env("INVAR_REWRITE", "1");
            vec![match oracle {
                Some(url) => step.env("INVAR_ORACLE", &url),
                None => step,
            }]
        }
        Task::Compare { oracle, golden } => vec![golden.test()?.env("INVAR_ORACLE", &oracle)],
        Task::Simulate { arguments } => {
            let all = ["--workload", "all", "--seeds", "10000"].map(str::to_owned).to_vec();
            let arguments = if arguments.is_empty() { all } else { arguments };
            vec![Step::cargo(&["run", "--release", "--package", "sim", "--"]).with(arguments)]
        }
        Task::Counts { write, only } => {
            let step = Step::cargo(&["run", "--quiet", "--profile", "counts", "--package", "counts", "--"]);
            let step = if write { step.with(["--write"]) } else { step };
            vec![match only {
                Some(prefix) => step.with(["--only".to_owned(), prefix]),
                None => step,
            }]
        }
        Task::Measure { arguments } => vec![
            Step::cargo(&["build", "--release", "--bin", "invar"]),
            Step::new("lab/rivals/run.py").with(arguments),
        ],
    })
}

fn main() -> ExitCode {
    let steps = match steps(Xtask::parse().task) {
        Ok(steps) => steps,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(2);
        }
    };
    for step in steps {
        match step.run() {
            Ok(true) => {}
            Ok(false) => return ExitCode::FAILURE,
            Err(why) => {
                eprintln!("{why}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn shown(line: &[&str]) -> Vec<String> {
        let task = Xtask::try_parse_from([&["xtask"], line].concat()).unwrap().task;
        steps(task).unwrap().iter().map(Step::shown).collect()
    }

    #[test]
    fn a_task_is_a_command_that_can_be_repeated() {
        Xtask::command().debug_assert();
        assert_eq!(shown(&["test"]), ["./test "]);
        assert_eq!(shown(&["test", "joins"]), ["INVAR_SCRIPT=joins cargo test --package cli --test golden"]);
        assert_eq!(
            shown(&["rewrite", "--script", "joins"]),
            ["INVAR_SCRIPT=joins INVAR_REWRITE=1 cargo test --package cli --test golden"]
        );
        assert_eq!(
            shown(&["compare", "mysql://u@h", "types"]),
            ["INVAR_ORACLE=mysql://u@h cargo test --package cli --test types"]
        );
        assert_eq!(
            shown(&["simulate", "--workload", "bank"]),
            ["cargo run --release --package sim -- --workload bank"]
        );
        assert_eq!(
            shown(&["counts", "--only", "store."]),
            ["cargo run --quiet --profile counts --package counts -- --only store."]
        );
    }
}
