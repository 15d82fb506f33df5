//! Verdicts on made and on recorded evidence.

use std::collections::BTreeMap;

use super::*;
use crate::analysis::{analyse, tests::made};
use crate::evidence::{LayerOutcome, PathTimes, PhaseTimes, Setting, StackProfile};
use crate::knowledge::entries;

fn concluded(mut run: Run) -> Run {
    analyse(&mut run, 7);
    conclude(&mut run, &entries().unwrap(), 7);
    run
}

fn verdict(run: &Run) -> &Verdict {
    run.verdict.as_ref().unwrap()
}

fn outcome(run: &Run, layer: &str) -> LayerOutcome {
    run.layers.iter().find(|finding| finding.layer == layer).unwrap().outcome
}

/// `new` costs three times the CPU.
fn slow_new(server: &str, size: u64) -> f64 {
    size as f64 * if server == "new" { 3e4 } else { 1e4 }
}

fn stacks(run: &mut Run, frame: &str) {
    for (arm, cpu, added) in [(0, 1e6, 0), (1, 3e6, 200)] {
        run.stacks.push(StackProfile {
            arm,
            samples: 100 + added,
            operations: 100,
            cpu_ns_per_op: Some(cpu),
            folded: vec![
                ("mysqld;do_command;execute".to_owned(), 100),
                (format!("mysqld;do_command;{frame}"), added),
            ],
            ..StackProfile::default()
        });
    }
}

#[test]
fn a_server_against_itself_is_no_difference() {
    let run = concluded(made(12, &[100], 3, |_, _| 1e6));
    assert_eq!(verdict(&run).kind, VerdictKind::NoDifference, "{:?}", verdict(&run));
    assert!(run.layers.is_empty());
}

#[test]
fn noise_above_the_effect_is_inconclusive() {
    let mut run = made(6, &[100], 3, |_, _| 1e6);
    for (index, block) in run.blocks.iter_mut().enumerate() {
        let wild = 1.0 + 3.0 * f64::from(u32::try_from(index * 7 % 5).unwrap());
        block.server_cpu_ns_per_op = None;
        block.latency.p50_ns = (1e6 * wild) as u64;
        block.duration_ns = (1e8 * wild) as u64;
    }
    let run = concluded(run);
    assert_eq!(verdict(&run).kind, VerdictKind::Inconclusive);
    assert!(verdict(&run).summary.contains("could hide"), "{}", verdict(&run).summary);
}

#[test]
fn a_smaller_buffer_pool_forbids_a_verdict_and_is_named() {
    let mut run = made(12, &[100], 3, slow_new);
    run.equalised.push(Setting {
        name: "innodb_buffer_pool_size".into(),
        values: BTreeMap::from([("old".into(), "1G".into()), ("new".into(), "128M".into())]),
        is_confound: true,
        reason: Some("a restart would be needed".into()),
        ..Setting::default()
    });
    let run = concluded(run);
    assert_eq!(verdict(&run).kind, VerdictKind::Inconclusive);
    let said = &verdict(&run).summary;
    assert!(said.contains("innodb_buffer_pool_size") && said.contains("128M"), "{said}");
    let advice = &verdict(&run).advice;
    assert!(advice.len() == 1 && advice[0].contains("--accept innodb_buffer_pool_size"), "{advice:?}");
}

#[test]
fn a_saturated_client_makes_the_run_invalid_and_not_the_server_slow() {
    let mut run = made(12, &[100], 3, slow_new);
    for block in run.blocks.iter_mut().filter(|block| block.arm == 1) {
        block.invalid = Some("the client was saturated".to_owned());
    }
    let run = concluded(run);
    assert_eq!(verdict(&run).kind, VerdictKind::Inconclusive);
    assert!(verdict(&run).summary.contains("the client was saturated"));
}

#[test]
fn without_stacks_only_the_server_is_blamed() {
    let run = concluded(made(12, &[100], 3, slow_new));
    let said = verdict(&run);
    assert_eq!((said.kind, said.layer.as_deref()), (VerdictKind::Located, Some("server")), "{said:?}");
    assert_eq!((said.fast_arm, said.slow_arm), (Some(0), Some(1)));
    for layer in ["client", "app", "driver", "proxy", "network", "kernel"] {
        assert_eq!(outcome(&run, layer), LayerOutcome::Excluded, "{layer}: {:?}", run.layers);
    }
    let sum = run.sum.as_ref().unwrap();
    assert!(sum.residual_share < 0.2 && (sum.total.delta_ns - 2e6).abs() < 2e5, "{sum:?}");
}

#[test]
fn the_slower_arm_is_found_on_either_side() {
    let run = concluded(made(12, &[100], 3, |server, _| if server == "old" { 3e6 } else { 1e6 }));
    assert_eq!((verdict(&run).fast_arm, verdict(&run).slow_arm), (Some(1), Some(0)));
}

#[test]
fn an_unknown_mechanism_is_novel_and_a_known_one_is_explained() {
    let mut run = made(12, &[100], 3, slow_new);
    stacks(&mut run, "execute;frobnicate");
    let run = concluded(run);
    assert_eq!(verdict(&run).kind, VerdictKind::Novel, "{:?}", verdict(&run));
    assert_eq!(verdict(&run).layer.as_deref(), Some("server-sql"));
    assert!(verdict(&run).summary.contains("frobnicate"));

    let mut run = made(12, &[100], 3, slow_new);
    run.servers[0].version = "5.7.29".into();
    run.servers[1].version = "9.7.4".into();
    for server in &mut run.servers {
        server.flavour = crate::evidence::Flavour::Mysql;
    }
    stacks(&mut run, "setup_fields;find_field_in_table");
    let known = concluded(run.clone());
    assert_eq!(verdict(&known).kind, VerdictKind::Explained, "{:?}", verdict(&known));
    assert_eq!(verdict(&known).cause.as_deref(), Some("wide-select-name-resolution"));
    assert!(!verdict(&known).advice.is_empty());

    // A fix that was tried and did not help is not advised.
    let fix = entries()
        .unwrap()
        .iter()
        .find(|entry| entry.id == "wide-select-name-resolution")
        .unwrap()
        .interventions[0]
        .clone();
    let mut tried = run.clone();
    tried.interventions.push(Intervention {
        what: fix.what.clone(),
        arm: 1,
        before: 3e6,
        during: 3e6,
        after: 3e6,
        ..Intervention::default()
    });
    let advice = |run: Run| verdict(&concluded(run)).advice.join("\n");
    assert!(
        advice(run.clone()).contains(&fix.what) && !advice(tried.clone()).contains(&fix.what),
        "{}",
        advice(tried)
    );

    // The same stacks on a server known to be free of it are another cause.
    run.servers[1].version = "5.7.40".into();
    assert_eq!(verdict(&concluded(run)).cause, None);
}

#[test]
fn confirmed_takes_a_change_that_helped_and_its_return_that_hurt() {
    let mut run = made(12, &[100], 3, slow_new);
    let change = Intervention {
        what: "SET GLOBAL x = OFF".into(),
        arm: 1,
        metric: Metric::ServerCpu,
        before: 3e6,
        during: 1.1e6,
        after: 2.9e6,
        recovered: 0.95,
        is_confirmed: true,
        ..Intervention::default()
    };
    run.interventions = vec![change.clone()];
    let said = concluded(run.clone());
    assert_eq!(verdict(&said).kind, VerdictKind::Confirmed);
    assert!(verdict(&said).summary.contains("SET GLOBAL x = OFF"), "{}", verdict(&said).summary);

    // It helped, but the slowdown did not come back: something else changed meanwhile.
    run.interventions = vec![Intervention { after: 1.2e6, ..change.clone() }];
    assert_eq!(verdict(&concluded(run.clone())).kind, VerdictKind::Located);
    // It did not help.
    run.interventions = vec![Intervention { during: 2.8e6, recovered: 0.1, ..change.clone() }];
    assert_eq!(verdict(&concluded(run.clone())).kind, VerdictKind::Located);
    // It was done to the other arm.
    run.interventions = vec![Intervention { arm: 0, ..change }];
    assert_eq!(verdict(&concluded(run)).kind, VerdictKind::Located);
}

#[test]
fn layers_are_blamed_by_their_own_evidence() {
    let slow = |change: &dyn Fn(&mut crate::evidence::Block)| {
        let mut run = made(12, &[100], 3, |_, _| 1e6);
        for block in run.blocks.iter_mut().filter(|block| block.arm == 1) {
            let added = 4e6;
            for latency in [&mut block.latency, &mut block.service] {
                latency.p50_ns += added as u64;
                latency.mean_ns += added;
            }
            block.duration_ns += 400_000_000;
            change(block);
        }
        run
    };
    let layer = |run: Run| verdict(&concluded(run)).layer.clone();
    // A quota on the server's cores: the run queue.
    let quota = slow(&|block| block.server_run_queue_ns_per_op = Some(4e6));
    assert_eq!(layer(quota).as_deref(), Some("kernel"));
    // A row lock.
    let lock = slow(&|block| {
        block.status_per_op.insert("Innodb_row_lock_time".into(), 4.0);
    });
    let mut lock = lock;
    for block in lock.blocks.iter_mut().filter(|block| block.arm == 0) {
        block.status_per_op.insert("Innodb_row_lock_time".into(), 0.0);
    }
    assert_eq!(layer(lock).as_deref(), Some("engine:row-lock"));
    // A dropped index: more rows examined, more CPU.
    let plan = slow(&|block| {
        block.server_cpu_ns_per_op = block.server_cpu_ns_per_op.map(|cpu| cpu + 4e6);
        block.status_per_op.insert("Handler_read_rnd_next".into(), 10_000.0);
    });
    assert_eq!(layer(plan).as_deref(), Some("server-sql:plan"));
    // Extra round trips by the same driver.
    let trips = slow(&|block| block.statements *= 3);
    assert_eq!(layer(trips).as_deref(), Some("app"));
    // Nothing measured can tell network from proxy from a wait: no layer, and that is said. The difference is certain all the same.
    let unknown = concluded(slow(&|_| ()));
    assert_eq!((verdict(&unknown).kind, &verdict(&unknown).layer), (VerdictKind::Unlocated, &None));
    assert_eq!(crate::report::exit_code(&unknown), crate::report::EXIT_REGRESSION);
    assert!(verdict(&unknown).summary.contains("; do: "), "{}", verdict(&unknown).summary);
    // A tap can.
    let phases = |think: f64, download: f64| {
        let mut run = slow(&|_| ());
        for (arm, factor) in [(0, 0.0), (1, 1.0)] {
            run.phases.push(PhaseTimes {
                arm,
                command: "COM_QUERY".into(),
                per_op: 1.0,
                think_ns: think * factor,
                upload_ns: 1e4,
                server_ns: 1.08e6,
                download_ns: 1e4 + download * factor,
                ..PhaseTimes::default()
            });
        }
        layer(run)
    };
    assert_eq!(phases(4e6, 0.0).as_deref(), Some("app"));
    assert_eq!(phases(0.0, 4e6).as_deref(), Some("network"));
}

/// Arm 1 takes `added_ns` longer than arm 0; a tap saw it in the server's phase, and a ping takes 50 us on either way.
fn tapped(
    added_ns: f64,
    block: &dyn Fn(&mut crate::evidence::Block),
    phase: &dyn Fn(&mut PhaseTimes),
    path: &dyn Fn(&mut PathTimes),
) -> Run {
    let mut run = made(12, &[100], 3, |_, _| 1e6);
    for slow in run.blocks.iter_mut().filter(|block| block.arm == 1) {
        for latency in [&mut slow.latency, &mut slow.service] {
            latency.p50_ns += added_ns as u64;
            latency.mean_ns += added_ns;
        }
        slow.duration_ns += 400_000_000;
        block(slow);
    }
    for arm in [0, 1] {
        let added = if arm == 1 { added_ns } else { 0.0 };
        let mut times = PhaseTimes {
            arm,
            command: "COM_QUERY".into(),
            per_op: 1.0,
            think_ns: 2e4,
            server_ns: 1.08e6 + added,
            ..PhaseTimes::default()
        };
        let mut way = PathTimes {
            arm,
            ping_ns: 5e4,
            statement_ns: Some(1.02e6),
            sync_ns: Some(0.0),
            throttled_ns: Some(0.0),
            ..PathTimes::default()
        };
        if arm == 1 {
            phase(&mut times);
            path(&mut way);
        }
        run.phases.push(times);
        run.paths.push(way);
    }
    run
}

#[test]
fn waits_are_distinguished_by_pings_and_the_servers_own_clock() {
    let as_is = |_: &mut crate::evidence::Block| ();
    let same = |_: &mut PhaseTimes| ();
    let layer = |run: &Run| verdict(run).layer.clone();
    let inside = |path: &mut PathTimes| path.statement_ns = Some(5.02e6);

    let link = concluded(tapped(4e6, &as_is, &same, &|path| path.ping_ns += 4e6));
    assert_eq!(layer(&link).as_deref(), Some("network"), "{:?}", link.layers);
    let proxy = concluded(tapped(4e6, &as_is, &same, &|path| path.forwarder = Some("haproxy".into())));
    assert_eq!(layer(&proxy).as_deref(), Some("proxy"), "{:?}", proxy.layers);
    assert!(
        proxy.layers.iter().any(|finding| finding.layer == "proxy" && finding.evidence.contains("haproxy"))
    );
    let wait = concluded(tapped(4e6, &as_is, &same, &inside));
    assert_eq!(layer(&wait).as_deref(), Some("engine"), "{:?}", wait.layers);
    assert!(wait.sum.as_ref().unwrap().residual_share < 0.05, "{:?}", wait.sum);
    let sync = concluded(tapped(4e6, &as_is, &same, &|path| {
        inside(path);
        path.sync_ns = Some(3.9e6);
    }));
    assert_eq!(layer(&sync).as_deref(), Some("engine:sync"));
    let quota = concluded(tapped(4e6, &as_is, &same, &|path| {
        inside(path);
        path.throttled_ns = Some(3.8e6);
    }));
    assert_eq!(layer(&quota).as_deref(), Some("kernel"), "{:?}", quota.layers);
    // A server without such a clock: what stands in front of it may be to blame, what does not cannot.
    let mut silent = tapped(4e6, &as_is, &same, &|_| ());
    for path in &mut silent.paths {
        path.statement_ns = None;
    }
    assert_eq!(layer(&concluded(silent.clone())).as_deref(), Some("engine"));
    silent.paths[1].forwarder = Some("haproxy".to_owned());
    assert_eq!(layer(&concluded(silent)).as_deref(), Some("proxy"));
}

#[test]
fn added_commands_are_the_applications_and_work_while_sending_is_the_servers() {
    let trips =
        concluded(tapped(4e6, &|_| (), &|phase| (phase.per_op, phase.server_ns) = (4.0, 1.28e6), &|_| ()));
    assert_eq!(verdict(&trips).layer.as_deref(), Some("app"), "{:?}", trips.layers);
    assert!(trips.layers[1].evidence.contains("4.0 commands per operation instead of 1.0"));
    // Rows that are made while the first of them travel: a long download, and the server on its cores.
    let scan = concluded(tapped(
        4e6,
        &|block| block.server_cpu_ns_per_op = block.server_cpu_ns_per_op.map(|cpu| cpu + 4e6),
        &|phase| (phase.server_ns, phase.download_ns) = (1.08e6, 4e6),
        &|path| path.statement_ns = Some(5.02e6),
    ));
    assert_eq!(verdict(&scan).layer.as_deref(), Some("server"), "{:?}", scan.layers);
    assert_eq!(outcome(&scan, "network"), LayerOutcome::Excluded);
}

#[test]
fn on_a_crowded_machine_more_work_waits_more_and_stays_the_servers() {
    let mut run = tapped(
        16e6,
        &|block| {
            block.server_cpu_ns_per_op = block.server_cpu_ns_per_op.map(|cpu| cpu * 5.0);
            block.server_run_queue_ns_per_op = Some(1.5e7);
            block.status_per_op.insert("Handler_read_rnd_next".into(), 10_000.0);
        },
        &|_| (),
        &|path| path.statement_ns = Some(1.7e7),
    );
    for block in run.blocks.iter_mut().filter(|block| block.arm == 0) {
        block.server_run_queue_ns_per_op = Some(3e6);
    }
    let run = concluded(run);
    assert_eq!(verdict(&run).layer.as_deref(), Some("server-sql:plan"), "{:?}", run.layers);
    assert_eq!(outcome(&run, "kernel"), LayerOutcome::Excluded);
}

#[test]
fn a_changed_variable_is_named_where_its_counter_moved() {
    let mut run = tapped(
        4e6,
        &|block| {
            block.server_cpu_ns_per_op = block.server_cpu_ns_per_op.map(|cpu| cpu + 4e6);
            block.status_per_op.insert("Sort_merge_passes".into(), 3.0);
        },
        &|_| (),
        &|path| path.statement_ns = Some(5.02e6),
    );
    run.equalised.push(Setting {
        name: "sort_buffer_size".into(),
        values: BTreeMap::from([("old".into(), "262144".into()), ("new".into(), "32768".into())]),
        ..Setting::default()
    });
    let run = concluded(run);
    assert_eq!(verdict(&run).layer.as_deref(), Some("server-sql:sort"), "{:?}", run.layers);
    let said = verdict(&run).evidence.join("\n");
    assert!(said.contains("sort_buffer_size = 32768 instead of 262144"), "{said}");
}

#[test]
fn other_rows_are_a_mismatch_whatever_the_times() {
    let mut run = made(12, &[100], 3, |_, _| 1e6);
    for block in run.blocks.iter_mut().filter(|block| block.arm == 1) {
        block.result_hash = Some("other".to_owned());
    }
    assert!(verdict(&concluded(run)).has_result_mismatch);
    assert!(!verdict(&concluded(made(12, &[100], 3, |_, _| 1e6))).has_result_mismatch);
}

#[test]
fn a_dependence_on_another_axis_is_told() {
    // Two servers with and without prepared statements; slow in one of four cells.
    let mut run = made(10, &[100], 3, |_, _| 1e6);
    let with = |run: &mut Run, prep: &str, from: usize| {
        let mut arm = run.arms[from].clone();
        arm.name = format!("{}/prep={prep}", arm.server);
        arm.levels.insert("prep".to_owned(), prep.to_owned());
        run.arms.push(arm);
        run.arms.len() - 1
    };
    let template = run.blocks.clone();
    run.arms.truncate(2);
    let cells: Vec<(usize, usize, f64)> = vec![
        (with(&mut run, "on", 0), 0, 8.0),
        (with(&mut run, "on", 1), 1, 1.0),
        (with(&mut run, "off", 0), 0, 1.0),
        (with(&mut run, "off", 1), 1, 1.0),
    ];
    run.arms.drain(..2);
    run.blocks.clear();
    for (arm, from, factor) in cells {
        for block in template.iter().filter(|block| block.arm == from) {
            let mut block = block.clone();
            block.arm = arm - 2;
            block.server_cpu_ns_per_op = block.server_cpu_ns_per_op.map(|cpu| cpu * factor);
            run.blocks.push(block);
        }
    }
    let run = concluded(run);
    let said = verdict(&run);
    assert!(said.evidence.iter().any(|line| line.starts_with("only where prep is on")), "{said:?}");
}

#[test]
fn the_growth_of_a_call_is_a_cause_where_operations_cost_alike() {
    let entries = entries().unwrap();
    let entry = entries.iter().find(|entry| entry.by_call_time).unwrap();
    let mut run = entry.example.run.clone();
    run.comparisons.clear();
    conclude(&mut run, &entries, 7);
    let said = verdict(&run).clone();
    assert_eq!(
        (said.kind, said.cause.as_deref()),
        (VerdictKind::Explained, Some(entry.id.as_str())),
        "{said:?}"
    );
    assert!(said.summary.contains("MVCC::clone_oldest_view takes"), "{}", said.summary);
    run.interventions.push(Intervention {
        what: "closed".into(),
        arm: said.slow_arm.unwrap(),
        metric: Metric::Count,
        before: 20e3,
        during: 3e3,
        after: 21e3,
        recovered: 0.85,
        is_confirmed: true,
        ..Intervention::default()
    });
    conclude(&mut run, &entries, 7);
    assert_eq!(verdict(&run).kind, VerdictKind::Confirmed);
    // Where it grows on neither server there is nothing to say.
    run.growth.retain(|growth| growth.count_name.is_none());
    conclude(&mut run, &entries, 7);
    assert_eq!(verdict(&run).cause, None);
}

#[test]
fn two_servers_come_before_two_options_and_the_larger_size_before_a_hair() {
    let mut run = made(12, &[100, 200], 3, slow_new);
    let at = |run: &Run, base: usize, arm: usize, ratio: f64| crate::evidence::Comparison {
        is_significant: true,
        ratio,
        base,
        arm,
        ..run.comparisons[0].clone()
    };
    analyse(&mut run, 7);
    // Arms: old/100, new/100, its twin, old/200, new/200, its twin.
    run.comparisons = vec![at(&run, 0, 1, 3.0), at(&run, 3, 4, 2.9), at(&run, 0, 3, 50.0)];
    let Outcome::Difference(found) = finding::find(&run) else { panic!("{:?}", finding::find(&run)) };
    assert_eq!(found.pair, Pair { fast: 3, slow: 4 }, "{found:?}");
}

/// Two servers; `new` takes 4 ms longer, waiting, and 5 % of that on its cores.
fn waiting_new() -> Run {
    let mut run = made(12, &[100], 3, |server, _| if server == "new" { 1.2e6 } else { 1e6 });
    for block in run.blocks.iter_mut().filter(|block| block.arm == 1) {
        for latency in [&mut block.latency, &mut block.service] {
            latency.p50_ns += 3_800_000;
            latency.mean_ns += 3_800_000.0;
        }
        block.duration_ns += 380_000_000;
        block.status_per_op.insert("Innodb_os_log_fsyncs".into(), 1.0);
    }
    run
}

#[test]
fn an_accepted_difference_is_named_and_a_function_of_little_cpu_is_not_blamed() {
    let mut run = waiting_new();
    stacks(&mut run, "execute;my_strnxfrm");
    run.equalised.push(Setting {
        name: "log_bin".into(),
        values: BTreeMap::from([("old".into(), "OFF".into()), ("new".into(), "ON".into())]),
        is_accepted: true,
        ..Setting::default()
    });
    let run = concluded(run);
    let said = verdict(&run);
    assert_eq!((said.kind, said.layer.as_deref()), (VerdictKind::Located, Some("engine:sync")), "{said:?}");
    assert!(
        !said.summary.contains("my_strnxfrm") && !said.evidence.join(" ").contains("my_strnxfrm"),
        "{said:?}"
    );
    assert!(said.summary.contains("likely because of the accepted difference of log_bin: new: ON; old: OFF"));
    assert!(said.advice[0].contains("log_bin") && said.advice[0].contains("start new with --skip-log-bin"));
    assert_eq!(said.claim, ClaimOutcome::Confirmed);
}

#[test]
fn a_change_that_helps_does_not_hide_an_accepted_difference() {
    let mut run = made(12, &[100], 3, slow_new);
    run.equalised.push(Setting {
        name: "log_bin".into(),
        values: BTreeMap::from([("old".into(), "OFF".into()), ("new".into(), "ON".into())]),
        is_accepted: true,
        ..Setting::default()
    });
    run.interventions.push(Intervention {
        what: "load on several connections at once".into(),
        arm: 1,
        metric: Metric::ServerCpu,
        before: 3e6,
        during: 1.1e6,
        after: 2.9e6,
        recovered: 0.51,
        is_confirmed: true,
        ..Intervention::default()
    });
    let said = verdict(&concluded(run.clone())).clone();
    assert_eq!(said.kind, VerdictKind::Located, "{said:?}");
    assert!(said.summary.contains("because of the accepted difference of log_bin"), "{}", said.summary);
    assert!(!said.summary.contains("proven"), "{}", said.summary);
    assert!(said.advice[0].starts_with("start new with --skip-log-bin"), "{:?}", said.advice);
    assert!(said.advice[1].contains("several connections"), "{:?}", said.advice);
    // An index that only one server has is what differs, whatever else does; what was tried is advised once.
    run.schema_differences =
        vec![schema_difference(SchemaPart::Index, Some("new")), schema_difference(SchemaPart::Plan, None)];
    run.interventions[0].what = "ALTER TABLE `t` ADD INDEX `k` (`k`)".into();
    let said = verdict(&concluded(run)).clone();
    assert_eq!(
        (said.kind, said.cause.as_deref()),
        (VerdictKind::Confirmed, Some("missing-index")),
        "{said:?}"
    );
    assert_eq!(said.advice, ["on new: ALTER TABLE `t` ADD INDEX `k` (`k`) (tried: 51 % of the gap went)"]);
}

#[test]
fn a_sync_is_not_blamed_where_a_core_was_waited_for_nor_a_cause_of_cpu() {
    let mut run = waiting_new();
    for block in run.blocks.iter_mut().filter(|block| block.arm == 1) {
        block.server_run_queue_ns_per_op = Some(3.6e6);
    }
    stacks(&mut run, "execute;find_field_in_table");
    run.servers[0].version = "5.7.29".into();
    run.servers[1].version = "9.7.4".into();
    let run = concluded(run);
    let said = verdict(&run);
    assert_eq!((said.layer.as_deref(), said.cause.as_deref()), (Some("kernel"), None), "{said:?}");
}

#[test]
fn syncs_of_all_threads_are_no_more_than_what_was_added() {
    let run = concluded(tapped(4e6, &|_| (), &|_| (), &|path| {
        path.statement_ns = Some(5.02e6);
        path.sync_ns = Some(9e6);
    }));
    let engine = run.layers.iter().find(|finding| finding.layer == "engine").unwrap();
    assert!(engine.share.unwrap() <= 1.0, "{engine:?}");
    assert!(engine.evidence.contains("summed over all threads it is 9.00 ms"), "{}", engine.evidence);
}

#[test]
fn waiting_that_goes_with_the_servers_work_is_said_so() {
    let mut run = made(12, &[100], 3, slow_new);
    for block in &mut run.blocks {
        let cpu = block.server_cpu_ns_per_op.unwrap();
        block.server_run_queue_ns_per_op = Some(3.0 * cpu);
        block.service.mean_ns += 3.0 * cpu;
    }
    let run = concluded(run);
    let kernel = run.layers.iter().find(|finding| finding.layer == "kernel").unwrap();
    assert_eq!(kernel.outcome, LayerOutcome::Excluded, "{kernel:?}");
    assert!(kernel.evidence.contains("of waiting goes with the server's added CPU"), "{}", kernel.evidence);
    assert_eq!(verdict(&run).layer.as_deref(), Some("server"));
}

fn schema_difference(part: SchemaPart, server: Option<&str>) -> SchemaDifference {
    SchemaDifference {
        part,
        of: if part == SchemaPart::Plan { "SELECT * FROM t WHERE k = ?" } else { "t" }.into(),
        what: if part == SchemaPart::Index { "index k (k)" } else { "estimated rows" }.into(),
        values: BTreeMap::from([("old".into(), "this".into()), ("new".into(), "that".into())]),
        server: server.map(str::to_owned),
        remedy: Some("ALTER TABLE `t` ADD INDEX `k` (`k`)".into()),
    }
}

#[test]
fn an_index_that_is_missing_and_statistics_that_are_stale_are_causes_where_the_plan_differs() {
    let with = |differences: Vec<SchemaDifference>| {
        let mut run = made(12, &[100], 3, slow_new);
        run.schema_differences = differences;
        verdict(&concluded(run)).clone()
    };
    let plan = || schema_difference(SchemaPart::Plan, None);
    let index = |server| schema_difference(SchemaPart::Index, Some(server));
    let said = with(vec![index("new"), plan()]);
    assert_eq!(
        (said.kind, said.cause.as_deref()),
        (VerdictKind::Explained, Some("missing-index")),
        "{said:?}"
    );
    assert!(
        said.summary.contains("index k (k) of table t is not there on new; do: on new: ALTER TABLE"),
        "{said:?}"
    );
    let said = with(vec![schema_difference(SchemaPart::Statistics, Some("new")), plan()]);
    assert_eq!(said.cause.as_deref(), Some("stale-statistics"));
    assert_eq!(with(vec![plan()]).cause.as_deref(), Some("other-plan"));
    // The fast server lacks it, or the plans are the same: then it is no cause, and is reported all the same.
    assert_eq!(with(vec![index("old"), plan()]).cause.as_deref(), Some("other-plan"));
    let said = with(vec![index("new")]);
    assert_eq!(said.cause, None);
    assert!(said.evidence.iter().any(|line| line.starts_with("index k (k) of table t")), "{said:?}");
}

#[test]
fn advice_fits_the_scenario_and_what_was_measured() {
    let mut run = made(12, &[100], 3, slow_new);
    run.scenario.text = crate::scenario::shipped::named("point-select").unwrap().to_owned();
    let all = entries().unwrap();
    let fixes: Vec<_> = all.iter().flat_map(|entry| entry.interventions.clone()).collect();
    let said = advice::fixes(&run, 1, &fixes).join("\n");
    assert!(!said.contains("LOAD DATA") && said.contains("index on the sort key"), "{said}");
    let mut insert = run.clone();
    insert.scenario.text = crate::scenario::shipped::named("insert").unwrap().to_owned();
    assert!(advice::fixes(&insert, 1, &fixes).join("\n").contains("LOAD DATA"));
    assert!(sentence::operation(&run, 1) == "query" && sentence::operation(&insert, 1) == "insert");

    run.scenario.scale_name = None;
    let said = verdict(&concluded(run.clone())).advice.join("\n");
    assert!(!said.contains("values of"), "nothing grows in this scenario: {said}");
    run.commands = vec!["invar lab run x --only-timing".to_owned()];
    assert_eq!(verdict(&concluded(run.clone())).advice.len(), 1);
    assert!(verdict(&concluded(run)).advice[0].contains("without --only-timing"));

    let mut noisy = made(6, &[100], 3, |_, _| 1e6);
    (noisy.time_budget_s, noisy.measured_s) = (100.0, 20.0);
    (noisy.machine.cores, noisy.machine.load_average) = (2, Some(6.5));
    let said = advice::against_noise(&noisy).join("\n");
    assert!(said.contains("6.5 on 2 cores") && !said.contains("time-budget"), "{said}");
    noisy.measured_s = 99.0;
    assert!(advice::against_noise(&noisy).join("\n").contains("--time-budget 100 was used"));
}

#[test]
fn a_faster_server_is_said_to_be_faster() {
    let run = concluded(made(12, &[100], 3, |server, _| if server == "old" { 3e6 } else { 1e6 }));
    let said = verdict(&run);
    let sentence = said.summary.split(';').next().unwrap();
    let cell = crate::report::table(&run, said.metric).rows[0].1[1].unwrap().value;
    let now = format::value(said.metric, cell);
    assert!(
        sentence.contains(&format!("({now} instead of ")),
        "the sentence has the table's numbers: {now}: {sentence}"
    );
    assert!(sentence.contains(" less on new than on old") && !sentence.contains("longer"), "{sentence}");
    assert!(
        said.evidence[0].starts_with("new is 3.") || said.evidence[0].starts_with("new is 2.9"),
        "{said:?}"
    );
    assert!(said.evidence[0].contains("times as fast as old"), "{said:?}");
    assert_eq!(said.claim_reason, "it holds for old/rows=100; new/rows=100 is faster");
}

#[test]
fn a_small_difference_is_no_lack_of_one() {
    let mut run = made(12, &[100], 3, |server, _| if server == "new" { 4_000.0 } else { 3_000.0 });
    for block in &mut run.blocks {
        let wall = if block.arm == 1 { 14_000.0 } else { 10_000.0 };
        (block.latency.p50_ns, block.latency.mean_ns) = (wall as u64, wall);
        block.service = block.latency.clone();
        block.duration_ns = (wall * 100.0) as u64;
    }
    let run = concluded(run);
    let found = run.comparisons.iter().find(|found| found.metric == Metric::LatencyP50).unwrap();
    assert_eq!(found.judgement, crate::evidence::JudgementWord::Small, "{found:?}");
    let said = verdict(&run);
    assert_eq!((said.kind, said.claim), (VerdictKind::NoDifference, ClaimOutcome::Refuted));
    assert!(
        said.summary.contains("1.40 times as slow") && said.summary.contains("4.00 us an operation"),
        "{said:?}"
    );
}

#[test]
fn what_a_server_does_beside_its_statements_is_not_on_their_way() {
    // Background threads: 9 ms of CPU for an operation that takes 3 ms longer.
    let mut run = made(12, &[100], 3, |_, _| 1e6);
    for block in run.blocks.iter_mut().filter(|block| block.arm == 1) {
        for latency in [&mut block.latency, &mut block.service] {
            latency.p50_ns += 3_000_000;
            latency.mean_ns += 3e6;
        }
        block.duration_ns += 300_000_000;
        block.server_cpu_ns_per_op = block.server_cpu_ns_per_op.map(|cpu| cpu + 9e6);
    }
    let run = concluded(run);
    let sum = run.sum.as_ref().unwrap();
    assert!(sum::added_ns(sum) <= 1.2 * sum.total.delta_ns, "{}", sum::in_words(&run, sum));
    let said = verdict(&run).evidence.join("\n");
    assert!(said.contains("were beside its statements (background threads)"), "{said}");
}

#[test]
fn taps_say_where_time_goes_and_timed_blocks_how_much() {
    let wait = |added_timed: f64, added_tapped: f64| {
        let mut run =
            tapped(added_timed, &|_| (), &|_| (), &|path| path.statement_ns = Some(1.02e6 + added_tapped));
        for phase in run.phases.iter_mut().filter(|phase| phase.arm == 1) {
            phase.server_ns = 1.08e6 + added_tapped;
        }
        concluded(run)
    };
    let more = wait(2e6, 8e6);
    let sum = more.sum.as_ref().unwrap();
    assert!(sum::added_ns(sum) <= 1.2 * sum.total.delta_ns, "{}", sum::in_words(&more, sum));
    assert_eq!(verdict(&more).layer.as_deref(), Some("engine"), "{:?}", more.layers);
    // Parts that cancel each other are noise: waking up moves time between client and server.
    let mut swap = tapped(4e6, &|_| (), &|_| (), &|path| path.statement_ns = Some(5.02e6));
    for phase in swap.phases.iter_mut().filter(|phase| phase.arm == 1) {
        (phase.think_ns, phase.server_ns) = (7e6, -1.9e6);
    }
    let swap = concluded(swap);
    assert!(!sum::is_seen_by_taps(swap.sum.as_ref().unwrap()), "{:?}", swap.sum);
    assert!(verdict(&swap).evidence.iter().any(|line| line.contains("is left out")), "{:?}", verdict(&swap));
    assert_ne!(verdict(&swap).layer.as_deref(), Some("app"));
    // Taps that did not see the difference do not say where it lies.
    let none = wait(4e6, 1e5);
    assert!(none.sum.as_ref().unwrap().parts.iter().all(|part| part.name != "app"), "{:?}", none.sum);
    assert_eq!(verdict(&none).kind, VerdictKind::Unlocated);
}

#[test]
fn a_certain_difference_of_cpu_is_the_servers_where_no_part_of_wall_time_has_half() {
    // CPU grows by 60 us; wall time by 200 us, which nothing accounts for.
    let mut run = made(12, &[100], 3, |server, _| if server == "new" { 1.6e5 } else { 1e5 });
    for block in run.blocks.iter_mut().filter(|block| block.arm == 1) {
        for latency in [&mut block.latency, &mut block.service] {
            latency.p50_ns += 140_000;
            latency.mean_ns += 140_000.0;
        }
        block.duration_ns += 14_000_000;
    }
    let mut run = concluded(run);
    // Wall time differs by more: what is judged is CPU only where that is most of what is certain.
    run.comparisons.retain(|found| found.metric == Metric::ServerCpu);
    conclude(&mut run, &entries().unwrap(), 7);
    let said = verdict(&run);
    assert_eq!((said.kind, said.layer.as_deref()), (VerdictKind::Located, Some("server")), "{said:?}");
    let sql = run.layers.iter().find(|finding| finding.layer == "server-sql").unwrap();
    assert!(sql.evidence.contains("CPU of the server grew for certain"), "{}", sql.evidence);
    assert!(said.summary.contains("; cause of the CPU: CPU in the server"), "{}", said.summary);
    assert!(run.layers.iter().all(|finding| !finding.evidence.contains("added (")), "{:?}", run.layers);
}

#[test]
fn an_insert_of_values_has_no_other_plan() {
    let mut run = made(12, &[100], 3, slow_new);
    for block in run.blocks.iter_mut().filter(|block| block.arm == 1) {
        block.status_per_op.insert("Handler_read_rnd_next".into(), 71.0);
    }
    let layer = |run: &Run| verdict(&concluded(run.clone())).layer.clone();
    run.scenario.text = crate::scenario::shipped::named("point-select").unwrap().to_owned();
    assert_eq!(layer(&run).as_deref(), Some("server-sql:plan"));
    run.scenario.text = crate::scenario::shipped::named("bulk-load").unwrap().to_owned();
    assert_eq!(layer(&run).as_deref(), Some("server"));
    assert!(!verdict(&concluded(run)).advice.join(" ").contains("EXPLAIN"));
    assert_eq!(crate::evidence::Block::default().rows_read_per_op().to_string(), "0", "and not -0");
}

#[test]
fn functions_without_names_are_no_mechanism_and_tell_no_layers_apart() {
    let mut run = made(12, &[100], 3, slow_new);
    stacks(&mut run, "execute;[invar]");
    let said = verdict(&concluded(run.clone())).clone();
    assert_eq!((said.kind, said.layer.as_deref()), (VerdictKind::Located, Some("server")), "{said:?}");
    assert!(!said.summary.contains("[invar]"), "{}", said.summary);
    // Names of another server's functions say nothing about an engine they are not part of.
    run.stacks.clear();
    stacks(&mut run, "execute;read_row");
    run.servers[1].flavour = crate::evidence::Flavour::Invar;
    assert_eq!(verdict(&concluded(run)).layer.as_deref(), Some("server"));
}
