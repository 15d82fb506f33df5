//! Inside a crate, too, data flows one way: the order of its top-level modules.
//!
//! A module uses modules on lines before its own, and none beside it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::modules::{Module, of_crate, shown_by_root};

/// A line of [`ORDER`]: modules that do not use each other.
struct Level(&'static [&'static str]);

/// The top-level modules of each crate that has several, lowest first; and the modules of a module that is as large as a crate.
const ORDER: &[(&str, &[Level])] = &[
    (
        "access",
        &[
            Level(&["error", "large", "metadata", "number", "value", "zone"]),
            Level(&["key", "observer", "part"]),
            Level(&["collected"]),
            Level(&["statistics", "table"]),
            Level(&["snapshot"]),
            Level(&["transaction"]),
        ],
    ),
    (
        "catalog",
        &[
            Level(&["name", "view"]),
            Level(&["event", "routine"]),
            Level(&["account"]),
            Level(&["trigger"]),
            Level(&["definition"]),
            Level(&["snapshot"]),
            Level(&["show_create"]),
        ],
    ),
    (
        "cli",
        &[
            Level(&["check", "options", "signals"]),
            Level(&["lab", "serve"]),
            Level(&["local"]),
            Level(&["shard"]),
        ],
    ),
    (
        "client",
        &[
            Level(&["error", "row"]),
            Level(&["options", "statement"]),
            Level(&["stream"]),
            Level(&["transport"]),
            Level(&["login"]),
            Level(&["connection"]),
        ],
    ),
    ("counts", &[Level(&["count", "processor", "stored"]), Level(&["operations"]), Level(&["valgrind"])]),
    (
        "differential",
        &[
            Level(&["collation", "random", "value"]),
            Level(&["schema", "server"]),
            Level(&["cases", "forms"]),
            Level(&["ast"]),
            Level(&["compare", "interpreter", "plain", "walk"]),
            Level(&["hints"]),
            Level(&["alone", "explained", "generate", "probes"]),
            Level(&["round"]),
            Level(&["bad_values", "minimise", "oracle", "sessions"]),
            Level(&["plan_errors", "temporary"]),
        ],
    ),
    (
        "coordinator",
        &[
            Level(&["ids", "planted"]),
            Level(&["heartbeats", "protocol"]),
            Level(&["cleanup", "commit", "recovery"]),
        ],
    ),
    (
        "engine",
        &[
            Level(&["check", "metadata", "store_error"]),
            Level(&["backup_lock", "ddl", "lock_schemas"]),
            Level(&["local"]),
            Level(&["events", "recalculation"]),
            Level(&["engine"]),
        ],
    ),
    (
        "env",
        &[
            Level(&["disk", "memory", "mimalloc", "monotonic", "random", "stack", "sys"]),
            Level(&["blocking", "overlay"]),
            Level(&["clock", "threads"]),
            Level(&["simulated"]),
        ],
    ),
    (
        "exec",
        &[
            Level(&["error", "key", "status_counts"]),
            Level(&["expr", "row_buffer"]),
            Level(&["planned"]),
            Level(&["programs", "spill", "stored_table"]),
            Level(&["long_data"]),
            Level(&["context"]),
            Level(&["output"]),
            Level(&["run"]),
            Level(&["change"]),
            Level(&["prepare"]),
            Level(&["execute"]),
        ],
    ),
    (
        "lab",
        &[
            Level(&["evidence", "interrupt", "stats"]),
            Level(&["analysis", "format"]),
            Level(&["data", "host", "knowledge"]),
            Level(&["server"]),
            Level(&["doctor"]),
            Level(&["drivers"]),
            Level(&["scenario"]),
            Level(&["load"]),
            Level(&["verdict"]),
            Level(&["report"]),
            Level(&["tap"]),
            Level(&["matrix"]),
            Level(&["bench"]),
        ],
    ),
    (
        "plan",
        &[
            Level(&["cost", "document", "function_table", "progress", "stored_function"]),
            Level(&["needs", "trace"]),
            Level(&["error"]),
            Level(&["logical"]),
            Level(&["function"]),
            Level(&["text"]),
            Level(&["rewrite"]),
            Level(&["bind"]),
            Level(&["physical"]),
            Level(&["constants"]),
            Level(&["explain", "feedback", "row_accesses", "safe_updates", "triggers"]),
            Level(&["passes"]),
            Level(&["build"]),
        ],
    ),
    (
        "relay",
        &[
            Level(&["answer", "scan", "settings", "status"]),
            Level(&["entry"]),
            Level(&["client", "upstream"]),
            Level(&["shared"]),
            Level(&["connector"]),
            Level(&["reactor"]),
        ],
    ),
    (
        "server",
        &[
            Level(&["io", "location", "placement", "secrets"]),
            Level(&["handover", "link"]),
            Level(&["logins", "password_checks"]),
            Level(&["authenticate"]),
            Level(&["connection"]),
            Level(&["group"]),
            Level(&["watchdog"]),
        ],
    ),
    ("service", &[Level(&["error"]), Level(&["reply"]), Level(&["control"])]),
    (
        "session",
        &[
            Level(&[
                "column_type",
                "deadlines",
                "event_scheduler",
                "failed_logins",
                "limits",
                "log_file",
                "privilege",
                "references",
                "schema_names",
                "temporary",
                "user_locks",
                "variables",
            ]),
            Level(&["backend", "error_log", "errors"]),
            Level(&["log", "panics"]),
            Level(&["status"]),
            Level(&["session_counts"]),
            Level(&["plans", "processes", "traces"]),
            Level(&["read_lock", "routine"]),
            Level(&["core"]),
            Level(&["server_files", "session_context"]),
            Level(&["system_schemas"]),
            Level(&["conversation"]),
        ],
    ),
    (
        "session::conversation",
        &[
            Level(&["branch"]),
            Level(&[
                "attempt",
                "client",
                "current_account",
                "cursor",
                "diagnostics",
                "firings",
                "function_state",
                "ground",
                "listing",
                "names",
                "passwords",
                "process",
                "query_log",
                "rendered_statement",
                "results",
                "statement_ids",
                "transaction",
                "unescaped",
                "user_variables",
            ]),
            Level(&["into_file"]),
            Level(&[
                "account_names",
                "execution",
                "feedback",
                "locks",
                "memory",
                "prepared",
                "routines",
                "session_variables",
            ]),
            Level(&[
                "access",
                "context",
                "memory_limits",
                "parameters",
                "plan_fit",
                "routine_grants",
                "running",
                "shared",
            ]),
            Level(&["plans", "statement", "table_state"]),
            Level(&["lock_tables", "run"]),
            Level(&["inside"]),
            Level(&["digest_lookup", "routine", "set", "transaction_statements", "xa"]),
            Level(&["hinted_variables"]),
            Level(&["prepared_commands"]),
            Level(&["accounts", "lifetime"]),
            Level(&["event_run", "events", "functions", "views"]),
            Level(&["triggers"]),
            Level(&["histogram", "show"]),
            Level(&["checksum", "definitions", "explain"]),
            Level(&["load"]),
            Level(&["dispatch"]),
        ],
    ),
    (
        "sim",
        &[
            Level(&["append", "inputs", "locks", "lost_sync", "model", "plants", "scheduler"]),
            Level(&["bank", "commits", "crash", "flips", "full", "waits"]),
        ],
    ),
    (
        "store",
        &[
            Level(&["ids", "planted", "sync", "thread_number"]),
            Level(&["checkpoint_latch", "commit_observer", "error", "wal"]),
            Level(&["pager"]),
            Level(&["btree"]),
            Level(&["oplog", "trees"]),
            Level(&["lock"]),
            Level(&["mvcc"]),
            Level(&["store"]),
            Level(&["lock_list", "read", "sample"]),
            Level(&["txn"]),
            Level(&["recovery"]),
        ],
    ),
    (
        "syntax",
        &[
            Level(&["ast", "error", "keywords", "mode"]),
            Level(&["hints", "lexer"]),
            Level(&["print"]),
            Level(&["parser"]),
            Level(&["digest"]),
        ],
    ),
    (
        "table",
        &[
            Level(&["buckets", "codec", "error", "print"]),
            Level(&["chunks", "within"]),
            Level(&["column_sample"]),
            Level(&["statistics"]),
            Level(&["encoding"]),
            Level(&["auto_increment", "entry", "metadata_deadlock"]),
            Level(&["index", "metadata_lock"]),
            Level(&["new_indexes", "view"]),
            Level(&["change_log", "table"]),
            Level(&["collected", "index_sample", "large"]),
            Level(&["materialized", "read"]),
            Level(&["row_change", "sample"]),
            Level(&["write"]),
            Level(&["foreign_key", "index_build"]),
            Level(&["source"]),
            Level(&["check", "describe", "dictionary", "local"]),
            Level(&["gather"]),
            Level(&["histogram"]),
        ],
    ),
    (
        "types",
        &[
            Level(&["decimal", "locale", "planted", "table_file"]),
            Level(&["number"]),
            Level(&["base64", "charset"]),
            Level(&["collation"]),
            Level(&["data_type", "temporal"]),
            Level(&["json", "value", "vector"]),
            Level(&["convert"]),
        ],
    ),
    (
        "wire",
        &[
            Level(&["codec", "flags", "float_text"]),
            Level(&["command", "handshake", "message", "packet", "row"]),
            Level(&["auth", "column", "compress", "parameter"]),
            Level(&["client"]),
        ],
    ),
];

/// What is wrong with the uses of a crate's modules, by its lines.
fn violations(edges: &BTreeMap<String, BTreeMap<String, String>>, lines: &[Level]) -> Vec<String> {
    let line_of = |module: &str| lines.iter().position(|line| line.0.contains(&module));
    let mut wrong = Vec::new();
    for line in lines {
        for gone in line.0.iter().filter(|module| !edges.contains_key(**module)) {
            wrong.push(format!("there is no module `{gone}`: take it out of tidy's ORDER"));
        }
    }
    for (module, used) in edges {
        let Some(own) = line_of(module) else {
            wrong.push(format!("module `{module}` stands on no line of tidy's ORDER: place it"));
            continue;
        };
        for (used, at) in used {
            let Some(line) = line_of(used) else { continue };
            if line >= own {
                wrong.push(format!(
                    "{at}: `{module}` must not use `{used}`, which is not on a line before it"
                ));
            }
        }
    }
    wrong
}

/// The modules below `parent` (empty: the top-level ones of the crate) that each of them uses, with one line that says so.
fn edges(modules: &[Module], parent: &[&str]) -> BTreeMap<String, BTreeMap<String, String>> {
    let depth = parent.len();
    let is_below =
        |path: &[String]| path.len() > depth && path.iter().zip(parent).all(|(own, name)| own == name);
    let tops: BTreeSet<&str> = modules
        .iter()
        .filter(|module| module.path.len() == depth + 1 && is_below(&module.path))
        .map(|module| module.path[depth].as_str())
        .collect();
    let mut shown = HashMap::new();
    for root in modules.iter().filter(|module| module.path == parent) {
        shown.extend(shown_by_root(root));
    }
    let mut found: BTreeMap<String, BTreeMap<String, String>> =
        tops.iter().map(|top| ((*top).to_owned(), BTreeMap::new())).collect();
    for module in modules.iter().filter(|module| is_below(&module.path)) {
        let own = &module.path[depth];
        for path in module.named_paths() {
            let Some(names) = module.within_crate(&path) else { continue };
            let Some(&first) = names.strip_prefix(parent).and_then(|names| names.first()) else { continue };
            let used = shown.get(first).map_or(first, String::as_str);
            if tops.contains(used) && used != own {
                let at = format!("{}:{}", module.file, path.line);
                found.entry(own.clone()).or_default().entry(used.to_owned()).or_insert(at);
            }
        }
    }
    found
}

#[test]
fn a_module_uses_modules_on_lines_before_its_own() {
    let mut wrong = Vec::new();
    for name in crate::crate_names() {
        let modules = of_crate(&name);
        let mut is_ordered = false;
        for (ordered, lines) in ORDER {
            let parent: Vec<&str> = ordered.split("::").collect();
            if parent[0] != name {
                continue;
            }
            is_ordered |= parent.len() == 1;
            let found = violations(&edges(&modules, &parent[1..]), lines);
            wrong.extend(found.into_iter().map(|what| format!("`{ordered}`: {what}")));
        }
        if !is_ordered && edges(&modules, &[]).len() > 1 {
            wrong.push(format!("crate `{name}` has no lines in tidy's ORDER"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_use_that_points_up_is_refused() {
    let edges = |uses: &[(&str, &[&str])]| {
        let used =
            |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), "file:1".to_owned())).collect();
        uses.iter().map(|(name, names)| ((*name).to_owned(), used(names))).collect::<BTreeMap<_, _>>()
    };
    let lines = [Level(&["low", "beside"]), Level(&["high"])];
    let wrong = |low: &[&str], high: &[&str]| {
        violations(&edges(&[("low", low), ("beside", &[]), ("high", high)]), &lines)
    };
    assert_eq!(wrong(&[], &["low"]), Vec::<String>::new());
    assert_eq!(wrong(&["high"], &[]).len(), 1, "upwards");
    assert_eq!(wrong(&["beside"], &[]).len(), 1, "on its own line");
    assert_eq!(violations(&edges(&[("low", &[]), ("new", &[])]), &[Level(&["low", "gone"])]).len(), 2);
}
