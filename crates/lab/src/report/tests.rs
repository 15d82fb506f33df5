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
fn the_terminal_shows_results_layers_and_verdict_and_nothing_drives_it() {
    let said = terminal::text(&full(), false);
    for part in
        ["rows=800", "an arm against itself: x", "exponent 2.0", "layer by layer", "confirmed", "SET GLOBAL"]
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
        "client: its busiest thread used up to 47 % of a core",
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
fn a_faster_server_is_not_painted_as_a_regression() {
    let faster = |server: &str, _| if server == "old" { 3e6 } else { 1e6 };
    let mut run = made(12, &[100], 3, faster);
    analyse(&mut run, 7);
    conclude(&mut run, &entries().unwrap(), 7);
    assert_eq!(exit_code(&run), EXIT_NONE);
    assert!(html::page(&run, &[]).contains("class=\"verdict good\""));
    let name = kind_name(run.verdict.as_ref().unwrap().kind);
    assert!(terminal::text(&run, true).contains(&format!("\u{1b}[32m{name}")), "green");
}

#[test]
fn what_was_not_compared_is_said() {
    let mut run = full();
    let said = |run: &Run| comparisons_in_words(run, Metric::ServerCpu).join("\n");
    assert_eq!(said(&run), "", "all arms were compared, and the text of the scenario is not known");
    // One arm of a pair ran in one round only, and one is seen by wall time alone.
    let (lonely, wall) = (1, 4);
    let first = run.blocks.iter().position(|block| block.arm == lonely).unwrap();
    let mut index = 0;
    run.blocks.retain(|block| {
        index += 1;
        block.arm != lonely || index - 1 == first
    });
    for block in run.blocks.iter_mut().filter(|block| block.arm == wall) {
        block.server_cpu_ns_per_op = None;
    }
    analyse(&mut run, 7);
    let lines = said(&run);
    let name = |arm: usize| run.arms[arm].name.clone();
    for line in [
        format!("not compared by server CPU per operation: {} with old/rows=100: one round", name(lonely)),
        format!("not compared by server CPU per operation: {} with old/rows=200: no round", name(wall)),
    ] {
        assert!(lines.contains(&line), "{line} in\n{lines}");
    }
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in [terminal::text(&run, false), markdown::text(&run), html::page(&run, &[])] {
        assert!(flat(&text).contains("one round has a value of both, and two are needed"));
    }

    // Rows: an arm that ended fewer operations is compared by those.
    let mut run = made(2, &[100], 1, |_, _| 1e6);
    run.scenario.text = crate::scenario::shipped::named("point-select").unwrap().to_owned();
    let hashes = |list: &[(u64, &str)]| -> BTreeMap<u64, String> {
        list.iter().map(|(operations, hash)| (*operations, (*hash).to_owned())).collect()
    };
    for block in &mut run.blocks {
        block.result_hash = None;
        block.result_hashes = match block.arm {
            0 => hashes(&[(1, "a"), (2, "b"), (4, "c")]),
            _ => hashes(&[(1, "a"), (2, "b")]),
        };
    }
    let said = |run: &Run| comparisons_in_words(run, Metric::LatencyP50).join("\n");
    assert!(said(&run).contains("rows: the same in all comparisons, over the first 2 operations or more"));
    assert!(!finding::results_differ(&run));
    for block in run.blocks.iter_mut().filter(|block| block.arm == 1) {
        block.result_hashes = hashes(&[(1, "a"), (2, "x")]);
    }
    assert!(
        finding::results_differ(&run) && said(&run).contains("answered others than its base"),
        "{}",
        said(&run)
    );
    for block in run.blocks.iter_mut().filter(|block| block.arm == 1) {
        block.result_hashes.clear();
    }
    assert!(said(&run).contains("rows not compared: new/rows=100"), "{}", said(&run));
    run.scenario.text = crate::scenario::shipped::named("insert").unwrap().to_owned();
    assert!(said(&run).contains("the scenario does not set compare_results"), "{}", said(&run));
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
    for part in [
        "Results by server",
        "layer by layer",
        "Latency over time",
        "Distribution",
        "Growth with size",
        "Counts",
        "Phases",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for part in
        ["Where the difference lies", "Changes that were tried", "Flame graph of old", "drawn elsewhere"]
    {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("<script>alert"), "text is escaped");
    let outside = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!outside.contains("http://") && !outside.contains("https://"), "nothing comes from the network");
    let json = page.split("id=\"run\">").nth(1).unwrap().split("</script>").next().unwrap();
    let back = Run::from_json(json).unwrap();
    // A float may come back one bit off; everything else is as it was.
    let layers =
        |run: &Run| run.layers.iter().map(|one| (one.layer.clone(), one.outcome)).collect::<Vec<_>>();
    assert_eq!((&back.arms, back.blocks.len(), layers(&back)), (&run.arms, run.blocks.len(), layers(&run)));
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

/// Every number that stands before a percent sign.
fn percentages(text: &str) -> Vec<f64> {
    let is_digit = |letter: char| letter.is_ascii_digit() || letter == '.';
    text.match_indices('%')
        .filter_map(|(at, _)| {
            let before = text[..at].trim_end_matches(' ');
            let digits: String = before.chars().rev().take_while(|letter| is_digit(*letter)).collect();
            digits.chars().rev().collect::<String>().parse().ok()
        })
        .collect()
}

/// A run whose figures are drawn by lot: CPU, run queue, waits, taps, stacks, settings, rounds.
fn random_run(seed: u64) -> Run {
    let mut chance = crate::stats::seeded::Seeded::new(seed);
    let mut lot = || chance.unit();
    let ratio = (2.0 * lot() - 1.0) * 3.0;
    let ratio = ratio.exp();
    let base = 10_f64.powf(3.5 + 3.5 * lot());
    let mut run =
        made(
            6 + (lot() * 8.0) as u32,
            &[100],
            seed,
            |server, _| if server == "new" { base * ratio } else { base },
        );
    run.scenario.claim = "it is slow".to_owned();
    run.time_budget_s = 60.0;
    run.measured_s = 60.0 * lot();
    run.machine.cores = 2;
    run.machine.load_average = Some(4.0 * lot());
    let (queue, waits, lock, drift) =
        (lot() * lot(), lot() * lot(), lot() * lot() * lot(), 0.3 * lot() * lot());
    for block in &mut run.blocks {
        let is_new = block.arm == 1;
        let own = block.server_cpu_ns_per_op.unwrap_or(0.0);
        let wait = if is_new { waits * own } else { 0.0 };
        block.server_run_queue_ns_per_op = Some(own * queue * 4.0 * lot());
        let noise = 1.0 + drift * (lot() - 0.5);
        for latency in [&mut block.latency, &mut block.service] {
            latency.mean_ns = (latency.mean_ns + wait + own * queue) * noise;
            latency.p50_ns = latency.mean_ns as u64;
        }
        block.duration_ns = (block.latency.mean_ns * 100.0) as u64;
        if is_new && lock > 0.3 {
            block.status_per_op.insert("Innodb_row_lock_time".to_owned(), lock * own / 1e6 * 3.0);
        } else {
            block.status_per_op.insert("Innodb_row_lock_time".to_owned(), 0.0);
        }
        if lot() < 0.02 {
            block.server_cpu_ns_per_op = None;
        }
    }
    if lot() < 0.6 {
        for arm in [0, 1] {
            let wall =
                run.blocks.iter().find(|block| block.arm == arm).map_or(1e5, |block| block.service.mean_ns);
            run.phases.push(PhaseTimes {
                arm,
                command: "COM_QUERY".to_owned(),
                per_op: 1.0 + (lot() * 3.0).floor() * lot().round(),
                think_ns: wall * lot() * lot(),
                upload_ns: wall * 0.05 * lot(),
                server_ns: wall * lot() * 2.0,
                download_ns: wall * 0.3 * lot(),
                ..PhaseTimes::default()
            });
            run.paths.push(crate::evidence::PathTimes {
                arm,
                ping_ns: wall * lot() * lot(),
                statement_ns: (lot() < 0.7).then(|| wall * 2.0 * lot()),
                sync_ns: Some(wall * 4.0 * lot() * lot()),
                throttled_ns: Some(wall * lot() * lot() * lot()),
                ..crate::evidence::PathTimes::default()
            });
        }
    }
    if lot() < 0.6 {
        for arm in [0, 1] {
            let folded: Vec<(String, u64)> =
                ["my_strnxfrm", "row_search_mvcc", "handler::ha_index_read", "parse"]
                    .iter()
                    .map(|frame| (format!("mysqld;do_command;{frame}"), 1 + (300.0 * lot() * lot()) as u64))
                    .collect();
            run.stacks.push(StackProfile {
                arm,
                samples: folded.iter().map(|(_, count)| count).sum(),
                operations: 100,
                cpu_ns_per_op: Some(base * if arm == 1 { ratio } else { 1.0 }),
                folded,
                ..StackProfile::default()
            });
        }
    }
    if lot() < 0.3 {
        run.equalised.push(Setting {
            name: "log_bin".to_owned(),
            values: BTreeMap::from([
                ("old".to_owned(), "OFF".to_owned()),
                ("new".to_owned(), "ON".to_owned()),
            ]),
            is_accepted: true,
            ..Setting::default()
        });
    }
    run
}

#[test]
fn words_and_numbers_agree_whatever_the_evidence() {
    let entries = entries().unwrap();
    let mut kinds = BTreeMap::new();
    for seed in 0..400 {
        let mut run = random_run(seed);
        analyse(&mut run, seed);
        conclude(&mut run, &entries, seed);
        let verdict = run.verdict.clone().unwrap();
        *kinds.entry(kind_name(verdict.kind)).or_insert(0) += 1;
        let reports = [terminal::text(&run, false), markdown::text(&run), html::page(&run, &[])];
        // The page's styles and its JSON are no words for people.
        let page = reports[2].split("<main>").nth(1).unwrap().split("<script").next().unwrap();
        for text in [&reports[0], &reports[1], page] {
            for share in percentages(text) {
                assert!(share <= 100.0, "seed {seed}: {share} % in\n{}", reports[0]);
            }
        }
        for line in reports[0].lines() {
            assert!(line.chars().count() <= 80, "seed {seed}: {line}");
        }
        let shares: Vec<f64> = run.layers.iter().filter_map(|layer| layer.share).collect();
        assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "seed {seed}: {:?}", run.layers);
        assert!(shares.iter().sum::<f64>() <= 1.0 + 1e-9, "seed {seed}: {:?}", run.layers);
        let blamed: Vec<&str> = run
            .layers
            .iter()
            .filter(|layer| layer.outcome == LayerOutcome::Blamed)
            .map(|layer| layer.layer.as_str())
            .collect();
        assert!(blamed.len() <= 1 || blamed == ["server-sql", "engine"], "seed {seed}: {blamed:?}");
        for found in &run.comparisons {
            let word = judgement_name(found.judgement, found.ratio);
            let is_right = match found.judgement {
                JudgementWord::NoDifference => (found.ci_low..=found.ci_high).contains(&1.0),
                JudgementWord::Slower => found.ci_low > 1.0,
                JudgementWord::Faster => found.ci_high < 1.0,
                _ if word.contains("slower") => found.ratio > 1.0,
                _ if word.contains("faster") => found.ratio < 1.0,
                _ => true,
            };
            assert!(is_right, "seed {seed}: {word}: {found:?}");
        }
        if let (Some(slow), Some(fast)) = (verdict.slow_arm, verdict.fast_arm) {
            let value = |arm| analysis::middle(&run, arm, verdict.metric).unwrap();
            assert!(value(slow) > value(fast) && verdict.ratio.unwrap() > 1.0, "seed {seed}: {verdict:?}");
            // `new` is what is judged.
            let is_slower = run.arms[slow].server == "new";
            let ratio = &verdict.evidence[0];
            assert!(ratio.starts_with("new is "), "seed {seed}: {ratio}");
            assert_eq!(is_slower, ratio.contains("times as slow"), "seed {seed}: {ratio}");
            let says_more = [" longer ", " more "]
                .iter()
                .any(|word| verdict.summary.split(';').next().unwrap().contains(word));
            assert_eq!(is_slower, says_more, "seed {seed}: {}", verdict.summary);
            let accepted = run.equalised.iter().any(|setting| setting.is_accepted);
            assert!(!accepted || verdict.kind != VerdictKind::Novel, "seed {seed}: {}", verdict.summary);
            assert!(!accepted || verdict.summary.contains("log_bin"), "seed {seed}: {}", verdict.summary);
            let is_of_cpu = run.sum.as_ref().is_none_or(|sum| {
                let cpu = crate::verdict::sum::share(sum, "server-cpu").unwrap_or(0.0);
                let queue = crate::verdict::sum::share(sum, crate::verdict::sum::QUEUE_OF_CPU).unwrap_or(0.0);
                !crate::verdict::sum::is_divisible(sum) || cpu + queue >= 0.5
            });
            let blames_function = verdict.summary.contains("functions added");
            let says_of_what = verdict.summary.contains("; cause of the CPU: ");
            assert!(!blames_function || is_of_cpu || says_of_what, "seed {seed}: {}", verdict.summary);
        }
        let is_confirmed = verdict.claim == ClaimOutcome::Confirmed;
        assert_eq!(is_confirmed, verdict.slow_arm.is_some(), "seed {seed}: {verdict:?}");
    }
    assert!(kinds.len() >= 4, "kinds of verdicts that were met: {kinds:?}");
}
