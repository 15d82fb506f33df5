//! Random statements from fixed seeds, their answers compared with the MySQL 9.7 that `INVAR_RANDOM_ORACLE` names, or `INVAR_ORACLE`.
//!
//! Some of them make 9.7 overwrite its memory, and it may end minutes later at another statement: the golden scripts had better ask another
//! server. If it ends while it is asked here, what was compared until then is judged, and the test says LEFT OUT.
//!
//! Without a server nothing is tested: the test says LEFT OUT and counts as no passed one, so it has a `main` of its own.
//! A round that differs is repeated and cut down by
//! `cargo run -p differential -- --left URL --right URL --seed N --statements 1 --minimise`.

mod harness;

use std::process::ExitCode;

use client::Error;
use differential::cases::Finding;
use differential::compare::Lenience;
use differential::explained;
use differential::generate::Settings;
use differential::minimise::script_text;
use differential::round::Pair;
use differential::sessions::{Mix, Sessions};

/// The first round's seed; each round has the next one.
const SEED: u64 = 1_000_000;
/// How many statements.
const STATEMENTS: usize = 20_000;
/// How many changes with bad values.
const BAD_VALUES_STATEMENTS: usize = 1_500;
/// How many statements over several connections, of each mix.
const TRANSACTION_STATEMENTS: usize = 600;
/// The number of findings that are printed.
const SHOWN_MAX: usize = 10;
/// The number of statements in 100,000 that may differ: those that still do, until each is repaired. It only goes down.
const DIFFERENCES_MAX_PER_100_000: usize = 700;

/// The environment variable that names a server for these statements alone.
const RANDOM_ORACLE: &str = "INVAR_RANDOM_ORACLE";
/// The test's name, as a filter on the command line may name it.
const NAME: &str = "random_statements_answer_as_mysql";

/// The line that the runner of all tests counts.
fn result(is_good: bool, passed: usize, ignored: usize) -> ExitCode {
    let word = if is_good { "ok" } else { "FAILED" };
    let failed = usize::from(!is_good);
    println!(
        "\ntest result: {word}. {passed} passed; {failed} failed; {ignored} ignored; 0 measured; 0 filtered out"
    );
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What was compared.
#[derive(Default)]
struct Compared {
    statements: usize,
    /// How many differ.
    found: usize,
    /// Why no more were.
    broken: Option<Error>,
}

impl Compared {
    /// Counts a case.
    fn count(&mut self, compared: usize, finding: Option<&Finding>) {
        self.statements += compared;
        if let Some(finding) = finding {
            self.found += 1;
            if self.found <= SHOWN_MAX {
                println!("{finding}");
            }
        }
    }

    fn add(&mut self, other: Compared) {
        self.statements += other.statements;
        self.found += other.found;
        self.broken = self.broken.take().or(other.broken);
    }
}

/// Compares short cases of `what` until at least `statements` statements have run. `case` runs the one of a seed.
fn cases(
    what: &str,
    statements: usize,
    mut case: impl FnMut(u64) -> Result<(usize, Option<Finding>), Error>,
) -> Compared {
    let mut all = Compared::default();
    let mut seed = SEED;
    while all.statements < statements {
        let (compared, finding) = match case(seed) {
            Ok(done) => done,
            Err(error) => {
                all.broken = Some(error);
                break;
            }
        };
        all.count(compared, finding.as_ref());
        seed += 1;
    }
    let (done, found) = (all.statements, all.found);
    println!("{done} {what}, seeds {SEED} to {}: {found} differ", seed - 1);
    all
}

/// Compares rounds of statements over tables of their own.
fn rounds(pair: &mut Pair) -> Compared {
    let settings = Settings::default();
    let entries = explained::entries();
    let mut all = Compared::default();
    let mut seed = SEED;
    while all.statements < STATEMENTS {
        let found = &mut all.found;
        let ran = pair.round(seed, &settings, |finding| {
            let sql =
                finding.script.statements.last().map_or(String::new(), differential::ast::Statement::sql);
            if explained::explanation(&entries, &sql, &finding.difference).is_none() {
                *found += 1;
                if *found <= SHOWN_MAX {
                    println!("{}", script_text(&finding));
                }
            }
        });
        match ran {
            Ok(done) => all.statements += done,
            Err(error) => {
                all.broken = Some(error);
                break;
            }
        }
        seed += 1;
    }
    let (done, found) = (all.statements, all.found);
    println!("{done} random statements, seeds {SEED} to {}: {found} differ", seed - 1);
    all
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--list") {
        println!("{NAME}: test");
        return ExitCode::SUCCESS;
    }
    if words.iter().any(|word| !word.starts_with('-') && !NAME.contains(word.as_str())) {
        return result(true, 0, 0);
    }
    let variable = if std::env::var_os(RANDOM_ORACLE).is_some() { RANDOM_ORACLE } else { "INVAR_ORACLE" };
    let Some(oracle) = harness::oracle(variable) else { return result(true, 0, 1) };
    let server = harness::Server::start(&[]);
    let lenience = Lenience { columns: false, warnings: false, texts: false };
    let mut pair =
        Pair::connect(&server.options(), &oracle, "differential", lenience).expect("both servers answer");
    let mut all = rounds(&mut pair);
    if all.broken.is_none() {
        all.add(cases("changes with bad values", BAD_VALUES_STATEMENTS, |seed| {
            differential::bad_values::case(&mut pair, seed, None)
        }));
        let left = server.options();
        for (what, mix) in [
            ("statements of XA transactions", Mix::Branches),
            ("statements of other transactions", Mix::Transactions),
        ] {
            let sessions = Sessions::new(&left, &oracle, "differential_sessions", mix, false);
            all.add(cases(what, TRANSACTION_STATEMENTS, |seed| sessions.case(seed)));
        }
    }
    let is_alike = all.found * 100_000 <= DIFFERENCES_MAX_PER_100_000 * all.statements;
    println!("test {NAME} ... {}", if is_alike { "ok" } else { "FAILED" });
    let Some(broken) = all.broken else { return result(is_alike, usize::from(is_alike), 0) };
    let own = harness::connect(&server.options()).and_then(|mut connection| connection.ping());
    if let Err(error) = own {
        panic!("Invar does not answer any more: {error}; the comparison ended with {broken}");
    }
    println!("LEFT OUT: MySQL broke off after {} statements: {broken}", all.statements);
    result(is_alike, 0, usize::from(is_alike))
}
