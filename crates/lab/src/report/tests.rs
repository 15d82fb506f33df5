//! The reports of a made run, read back.

use std::collections::BTreeMap;
use std::time::Duration;

use super::*;
use crate::analysis::{analyse, tests::made};
use crate::evidence::{Intervention, PhaseTimes, Run, Setting, StackProfile, Verdict};
use crate::knowledge::entries;
use crate::verdict::conclude;

const HOSTILE: &str = "</script><script>alert(1)</script>&\"'\u{1b}[31m";

/// A run with something in every place of the report.
pub(super) fn full() -> Run {
    let mut run = made(10, &[100, 200, 400, 800], 3, |server, size| {
        let size = size as f64;
        if server == "old" { size * size * 60.0 } else { size * 9e3 }
    });
    run.scenario.id = "a-made-run".to_owned();
    run.scenario.claim = format!("inserting is slow {HOSTILE}");
    run.scenario.text = "id = \"a-made-run\"\n".to_owned();
    run.servers[0].version = HOSTILE.to_owned();
    run.warnings.push(format!("a warning {HOSTILE}"));
    run.commands.push("invar lab run a-made-run --server old=... --server new=...".to_owned());
    run.duration_s = 71.0;
    for (index, block) in run.blocks.iter_mut().enumerate() {
        let middle = block.latency.p50_ns;
        block.latency.buckets = vec![
            (middle * 8 / 10, 10),
            (middle, 40),
            (middle * 12 / 10, 35 + index as u64 % 5),
            (middle * 2, 9),
            (middle * 6, 1),
        ];
    }
    for (name, is_equal) in [("sql_mode", true), ("innodb_flush_method", false)] {
        run.equalised.push(Setting {
            name: name.to_owned(),
            values: BTreeMap::from([("old".to_owned(), "a".to_owned()), ("new".to_owned(), "b".to_owned())]),
            is_equal,
            ..Setting::default()
        });
    }
    let (slow, fast) = (9, 10);
    assert_eq!((run.arms[slow].server.as_str(), run.arms[slow].scale), ("old", Some(800)));
    for (arm, server_ns) in [(slow, 38.4e6), (fast, 7.2e6)] {
        for (command, per_op, share) in [("COM_STMT_PREPARE", 0.1, 0.02), ("COM_STMT_EXECUTE", 1.0, 1.0)] {
            run.phases.push(PhaseTimes {
                arm,
                command: command.to_owned(),
                per_op,
                think_ns: 10e3,
                upload_ns: 30e3,
                server_ns: server_ns * share,
                download_ns: 20e3,
                ..PhaseTimes::default()
            });
        }
        run.stacks.push(StackProfile {
            arm,
            samples: 100,
            operations: 10,
            cpu_ns_per_op: Some(server_ns),
            folded: vec![
                ("mysqld;execute;rebuild_text".to_owned(), if arm == slow { 90 } else { 10 }),
                ("mysqld;execute;insert".to_owned(), 10),
            ],
            ..StackProfile::default()
        });
    }
    run.interventions.push(Intervention {
        what: "SET GLOBAL slow_query_log = OFF".to_owned(),
        arm: slow,
        metric: Metric::ServerCpu,
        before: 38.4e6,
        during: 8.0e6,
        after: 37.9e6,
        recovered: 0.97,
        is_confirmed: true,
        ..Intervention::default()
    });
    analyse(&mut run, 7);
    conclude(&mut run, &entries().unwrap(), 7);
    run
}

pub(super) fn figures() -> Vec<html::Figure> {
    vec![html::Figure {
        name: "old".to_owned(),
        title: "Flame graph of old".to_owned(),
        svg: "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 60\"><rect width=\"720\" height=\"60\" fill=\"#eee\"/><text x=\"8\" y=\"34\">drawn elsewhere</text></svg>".to_owned(),
    }]
}

#[test]
fn exit_codes() {
    let mut run = made(2, &[1], 1, |_, _| 1.0);
    assert_eq!(exit_code(&run), EXIT_FAILED);
    let mut say = |kind, has_result_mismatch| {
        run.verdict = Some(Verdict { kind, has_result_mismatch, ..Verdict::default() });
        exit_code(&run)
    };
    assert_eq!(say(VerdictKind::NoDifference, false), EXIT_NONE);
    assert_eq!(say(VerdictKind::Located, false), EXIT_REGRESSION);
    assert_eq!(say(VerdictKind::Inconclusive, false), EXIT_INCONCLUSIVE);
    assert_eq!(say(VerdictKind::NoDifference, true), EXIT_MISMATCH);
    // In the full run the base is the slow one at most sizes, but not at the smallest.
    let mut full = full();
    assert_eq!(exit_code(&full), EXIT_REGRESSION);
    full.comparisons.retain(|found| found.judgement != JudgementWord::Slower);
    assert_eq!(exit_code(&full), EXIT_NONE);
}

#[test]
fn the_terminal_shows_matrix_ladder_and_verdict_and_nothing_drives_it() {
    let said = terminal::text(&full(), false);
    for part in
        ["rows=800", "noise floor x", "exponent 2.0", "Ladder of exclusion", "confirmed", "SET GLOBAL"]
    {
        assert!(said.contains(part), "{part} in\n{said}");
    }
    assert!(!said.contains('\u{1b}'), "no escape sequence of a server reaches the terminal");
    assert!(terminal::text(&full(), true).contains("\u{1b}[31m"));
    assert_eq!(
        terminal::progress(Duration::from_secs(240), Duration::from_secs(180), "old/rows=100"),
        "[###.........]  25 %  at most 3:00 left  old/rows=100"
    );
}

#[test]
fn a_line_of_progress_never_wraps() {
    let budget = Duration::from_secs(120);
    let line = terminal::progress(budget, Duration::ZERO, &"x".repeat(200));
    assert!(
        line.starts_with("[############] 100 %  at most 0:00 left  xxx") && line.chars().count() == 79,
        "{line}"
    );
    // Loading data took longer than what is measured after it may: nothing is spent of that yet.
    assert!(
        terminal::progress(budget, budget * 2, "\u{1b}[2J")
            .starts_with("[............]   0 %  at most 4:00 left   [2J")
    );
}

#[test]
fn what_is_alike_is_said_and_how_the_client_fared() {
    let mut run = full();
    let own = |value: &str| {
        BTreeMap::from([("old".to_owned(), value.to_owned()), ("new".to_owned(), value.to_owned())])
    };
    for (name, value, was_set) in [
        ("tls", "off", true),
        ("innodb_buffer_pool_size", "134217728", false),
        ("innodb_io_capacity", "200", false),
    ] {
        run.equalised.push(Setting {
            name: name.to_owned(),
            values: own(value),
            is_equal: true,
            was_set,
            ..Setting::default()
        });
    }
    // Sessions were given one: the servers' own values still differ.
    run.equalised[0].was_set = true;
    run.equalised[1].is_confound = true;
    run.blocks[0].client_busy = 0.47;
    let said = terminal::text(&run, false);
    for line in [
        "\nmade equal sql_mode, tls off\n",
        "\nequal innodb_buffer_pool_size 134217728\n",
        "\nCONFOUND innodb_flush_method: new: b; old: a\n",
        "\nclient: its busiest thread used up to 47 % of a core",
    ] {
        assert!(said.contains(line), "{line} in\n{said}");
    }
    assert!(!said.contains("late or later"), "a closed loop has no starts to be late for");
    run.blocks[0].lag_p99_ns = 7_000_000;
    run.blocks[0].skips = 3;
    let said = markdown::text(&run);
    assert!(said.contains("noticed 7.00 ms late or later in the worst block; 3 skipped"), "{said}");
    assert!(
        said.contains("**CONFOUND** innodb") && said.contains("- made equal: sql\\_mode, tls off"),
        "{said}"
    );
    run.servers.truncate(1);
    assert_eq!(alike(&run), []);
}

#[test]
fn markdown_keeps_its_tables_whole() {
    let said = markdown::text(&full());
    let table: Vec<&str> = said.lines().filter(|line| line.starts_with("| rows")).collect();
    assert_eq!(table.len(), 4, "{said}");
    assert!(table.iter().all(|line| line.matches(" | ").count() == 2), "{table:?}");
    assert!(!said.contains("<script>"));
}

#[test]
fn the_page_is_whole_and_names_nothing_outside() {
    let run = full();
    let page = html::page(&run, &figures());
    for part in
        ["Matrix", "Ladder", "Latency over time", "Distribution", "Growth with size", "Counts", "Phases"]
    {
        assert!(page.contains(part), "{part}");
    }
    for part in ["Where the difference lies", "Before and after", "Flame graph of old", "drawn elsewhere"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("<script>alert"), "text is escaped");
    let outside = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!outside.contains("http://") && !outside.contains("https://"), "nothing comes from the network");
    let json = page.split("id=\"run\">").nth(1).unwrap().split("</script>").next().unwrap();
    let back = Run::from_json(json).unwrap();
    // A float may come back one bit off; everything else is as it was.
    assert_eq!((&back.arms, back.blocks.len(), &back.ladder), (&run.arms, run.blocks.len(), &run.ladder));
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
}

#[test]
fn an_empty_run_and_one_with_wild_numbers_can_be_drawn() {
    let mut run = Run::new();
    assert!(html::page(&run, &[]).contains("no verdict"));
    assert!(!terminal::text(&run, true).is_empty() && !markdown::text(&run).is_empty());
    run = full();
    for block in &mut run.blocks {
        block.server_cpu_ns_per_op = Some(f64::NAN);
        block.service.mean_ns = f64::INFINITY;
        block.latency.buckets.clear();
    }
    analyse(&mut run, 1);
    conclude(&mut run, &entries().unwrap(), 1);
    let page = html::page(&run, &[]);
    assert!(!page.contains("NaN\"") && !page.contains("inf\""), "no coordinate is no number");
}

#[test]
fn the_schema_names_every_field_of_the_evidence() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../docs/lab-run.schema.json")).unwrap();
    let source = include_str!("../evidence.rs");
    let mut owner = String::new();
    let mut fields = 0;
    for line in source.lines().take_while(|line| !line.starts_with("#[cfg(test)]")) {
        if let Some(name) = line.strip_prefix("pub struct ") {
            owner = name.trim_end_matches(" {").to_owned();
        }
        if let Some((field, _)) = line.strip_prefix("    pub ").and_then(|rest| rest.split_once(": "))
            && !field.contains("fn ")
        {
            let place =
                if owner == "Run" { &schema["properties"] } else { &schema["$defs"][&owner]["properties"] };
            assert!(
                place.get(field).is_some(),
                "docs/lab-run.schema.json lacks {owner}.{field}: run lab/schema.py"
            );
            fields += 1;
        }
    }
    assert!(fields > 100, "{fields} fields were read");
}
