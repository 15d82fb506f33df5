//! Random statements from fixed seeds, their answers compared with the MySQL 9.7 that `INVAR_ORACLE` names.
//!
//! Without it nothing is tested: the test says LEFT OUT and counts as no passed one, so it has a `main` of its own.
//! A round that differs is repeated and cut down by
//! `cargo run -p differential -- --left URL --right URL --seed N --statements 1 --minimise`.

mod harness;

use std::process::ExitCode;

use differential::compare::Lenience;
use differential::explained;
use differential::generate::Settings;
use differential::minimise::script_text;
use differential::round::Pair;

/// The first round's seed; each round has the next one.
const SEED: u64 = 1_000_000;
/// How many statements.
const STATEMENTS: usize = 20_000;
/// How many changes with bad values.
const BAD_VALUES_STATEMENTS: usize = 1_500;
/// The number of findings that are printed.
const SHOWN_MAX: usize = 10;
/// The number of statements in 100,000 that may differ: those that still do, until each is repaired. It only goes down.
const DIFFERENCES_MAX_PER_100_000: usize = 1_800;

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

/// Compares contents, errors and counts of short cases with bad values. Answers how many differ.
fn bad_values(pair: &mut Pair) -> usize {
    let (mut done, mut seed, mut found) = (0, SEED, 0);
    while done < BAD_VALUES_STATEMENTS {
        let (compared, finding) =
            differential::bad_values::case(pair, seed, None).expect("both servers answer");
        done += compared;
        seed += 1;
        if let Some(finding) = finding {
            found += 1;
            if found <= SHOWN_MAX {
                println!("{finding}");
            }
        }
    }
    println!("{done} changes with bad values, seeds {SEED} to {}: {found} differ", seed - 1);
    found
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
    let Some(oracle) = harness::oracle("INVAR_ORACLE") else { return result(true, 0, 1) };
    let server = harness::Server::start(&[]);
    let lenience = Lenience { columns: false, warnings: false, texts: false };
    let mut pair =
        Pair::connect(&server.options(), &oracle, "differential", lenience).expect("both servers answer");
    let settings = Settings::default();
    let entries = explained::entries();
    let (mut done, mut seed, mut found) = (0, SEED, 0);
    while done < STATEMENTS {
        let ran = pair.round(seed, &settings, |finding| {
            let sql =
                finding.script.statements.last().map_or(String::new(), differential::ast::Statement::sql);
            if explained::explanation(&entries, &sql, &finding.difference).is_none() {
                found += 1;
                if found <= SHOWN_MAX {
                    println!("{}", script_text(&finding));
                }
            }
        });
        done += ran.expect("both servers answer");
        seed += 1;
    }
    let bad_values_found = bad_values(&mut pair);
    found += bad_values_found;
    done += BAD_VALUES_STATEMENTS;
    let is_alike = found * 100_000 <= DIFFERENCES_MAX_PER_100_000 * done;
    println!("{done} random statements, seeds {SEED} to {}: {found} differ", seed - 1);
    println!("test {NAME} ... {}", if is_alike { "ok" } else { "FAILED" });
    result(is_alike, usize::from(is_alike), 0)
}
