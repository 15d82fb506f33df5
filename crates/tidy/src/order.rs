//! Inside a crate, too, data flows one way: the order of its top-level modules.
//!
//! A module uses modules on lines before its own, and none beside it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::modules::{Module, of_crate, shown_by_root};

/// A line of [`ORDER`]: modules that do not use each other.
struct Apart(&'static [&'static str]);

/// The top-level modules of each crate that has several, lowest first; and the modules of a module that is as large as a crate.
const ORDER: &[(&str, &[Apart])] = &[
    (
        "access",
        &[
            Apart(&["error", "large", "metadata", "number", "value", "zone"]),
            Apart(&["key", "observer", "part"]),
            Apart(&["collected"]),
            Apart(&["statistics", "table"]),
            Apart(&["snapshot"]),
            Apart(&["transaction"]),
        ],
    ),
    (
        "catalog",
        &[
            Apart(&["account", "name"]),
            Apart(&["definition"]),
            Apart(&["routine"]),
            Apart(&["snapshot"]),
            Apart(&["show_create"]),
        ],
    ),
    ("cli", &[Apart(&["check", "options", "signals"]), Apart(&["lab", "serve"]), Apart(&["local"])]),
    (
        "client",
        &[
            Apart(&["error", "row"]),
            Apart(&["options", "statement"]),
            Apart(&["stream"]),
            Apart(&["transport"]),
            Apart(&["login"]),
            Apart(&["connection"]),
        ],
    ),
    ("counts", &[Apart(&["count", "processor", "stored"]), Apart(&["operations"]), Apart(&["valgrind"])]),
    (
        "differential",
        &[
            Apart(&["collation", "random", "value"]),
            Apart(&["schema", "server"]),
            Apart(&["forms"]),
            Apart(&["ast"]),
            Apart(&["compare", "interpreter", "plain", "walk"]),
            Apart(&["alone", "explained", "generate", "probes"]),
            Apart(&["round"]),
            Apart(&["bad_values", "minimise", "oracle"]),
            Apart(&["plan_errors", "temporary"]),
        ],
    ),
    (
        "coordinator",
        &[
            Apart(&["ids", "planted"]),
            Apart(&["heartbeats", "protocol"]),
            Apart(&["cleanup", "commit", "recovery"]),
        ],
    ),
    (
        "engine",
        &[
            Apart(&["check", "metadata", "store_error"]),
            Apart(&["backup_lock", "ddl", "lock_schemas"]),
            Apart(&["local"]),
            Apart(&["recalculation"]),
            Apart(&["engine"]),
        ],
    ),
    (
        "env",
        &[
            Apart(&["disk", "memory", "monotonic", "random", "stack", "sys"]),
            Apart(&["blocking", "overlay"]),
            Apart(&["clock", "threads"]),
            Apart(&["simulated"]),
        ],
    ),
    (
        "exec",
        &[
            Apart(&["error", "key", "status_counts"]),
            Apart(&["expr", "row_buffer"]),
            Apart(&["planned"]),
            Apart(&["programs", "spill", "stored_table"]),
            Apart(&["long_data"]),
            Apart(&["context"]),
            Apart(&["output"]),
            Apart(&["run"]),
            Apart(&["change"]),
            Apart(&["prepare"]),
            Apart(&["execute"]),
        ],
    ),
    (
        "lab",
        &[
            Apart(&["evidence", "interrupt", "stats"]),
            Apart(&["analysis", "format"]),
            Apart(&["data", "host", "knowledge"]),
            Apart(&["server"]),
            Apart(&["doctor"]),
            Apart(&["drivers"]),
            Apart(&["scenario"]),
            Apart(&["load"]),
            Apart(&["verdict"]),
            Apart(&["report"]),
            Apart(&["tap"]),
            Apart(&["matrix"]),
            Apart(&["bench"]),
        ],
    ),
    (
        "plan",
        &[
            Apart(&["cost", "function_table", "needs", "progress"]),
            Apart(&["error"]),
            Apart(&["logical"]),
            Apart(&["function"]),
            Apart(&["text"]),
            Apart(&["rewrite"]),
            Apart(&["bind"]),
            Apart(&["physical"]),
            Apart(&["constants"]),
            Apart(&["explain", "row_accesses", "safe_updates"]),
            Apart(&["passes"]),
            Apart(&["build"]),
        ],
    ),
    (
        "server",
        &[
            Apart(&["io", "location", "placement", "secrets"]),
            Apart(&["link"]),
            Apart(&["logins", "password_checks"]),
            Apart(&["authenticate"]),
            Apart(&["connection"]),
            Apart(&["group"]),
            Apart(&["watchdog"]),
        ],
    ),
    ("service", &[Apart(&["error"]), Apart(&["reply"]), Apart(&["control"])]),
    (
        "session",
        &[
            Apart(&[
                "column_type",
                "deadlines",
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
            Apart(&["backend", "error_log", "errors"]),
            Apart(&["log", "panics"]),
            Apart(&["status"]),
            Apart(&["session_counts"]),
            Apart(&["plans", "processes"]),
            Apart(&["read_lock", "routine"]),
            Apart(&["core"]),
            Apart(&["session_context"]),
            Apart(&["system_schemas"]),
            Apart(&["conversation"]),
        ],
    ),
    (
        "session::conversation",
        &[
            Apart(&[
                "attempt",
                "client",
                "current_account",
                "cursor",
                "diagnostics",
                "function_state",
                "listing",
                "names",
                "process",
                "query_log",
                "rendered_statement",
                "results",
                "statement_ids",
                "transaction",
                "unescaped",
                "user_variables",
            ]),
            Apart(&[
                "account_names",
                "execution",
                "locks",
                "memory",
                "prepared",
                "routines",
                "session_variables",
            ]),
            Apart(&["access", "context", "memory_limits", "parameters", "plan_fit", "running", "shared"]),
            Apart(&["plans", "statement", "table_state"]),
            Apart(&["lock_tables", "run"]),
            Apart(&["prepared_commands", "recognise", "routine", "set", "transaction_statements"]),
            Apart(&["accounts", "lifetime"]),
            Apart(&["histogram", "show"]),
            Apart(&["definitions", "explain"]),
            Apart(&["load"]),
            Apart(&["dispatch"]),
        ],
    ),
    (
        "sim",
        &[
            Apart(&["append", "inputs", "locks", "lost_sync", "model", "plants", "scheduler"]),
            Apart(&["bank", "commits", "crash", "flips", "full", "waits"]),
        ],
    ),
    (
        "store",
        &[
            Apart(&["ids", "planted", "sync", "thread_number"]),
            Apart(&["checkpoint_latch", "commit_observer", "error", "wal"]),
            Apart(&["pager"]),
            Apart(&["btree"]),
            Apart(&["oplog", "trees"]),
            Apart(&["lock"]),
            Apart(&["mvcc"]),
            Apart(&["store"]),
            Apart(&["lock_list", "read", "sample"]),
            Apart(&["txn"]),
            Apart(&["recovery"]),
        ],
    ),
    (
        "syntax",
        &[
            Apart(&["ast", "error", "keywords", "mode"]),
            Apart(&["lexer", "print"]),
            Apart(&["parser"]),
            Apart(&["digest"]),
        ],
    ),
    (
        "table",
        &[
            Apart(&["buckets", "codec", "error", "print"]),
            Apart(&["chunks", "within"]),
            Apart(&["column_sample"]),
            Apart(&["statistics"]),
            Apart(&["encoding"]),
            Apart(&["auto_increment", "entry", "metadata_deadlock"]),
            Apart(&["index", "metadata_lock"]),
            Apart(&["new_indexes"]),
            Apart(&["change_log", "table"]),
            Apart(&["collected", "index_sample", "large"]),
            Apart(&["materialized", "read"]),
            Apart(&["row_change", "sample"]),
            Apart(&["write"]),
            Apart(&["foreign_key", "index_build"]),
            Apart(&["source"]),
            Apart(&["check", "describe", "dictionary", "local"]),
            Apart(&["gather"]),
            Apart(&["histogram"]),
        ],
    ),
    (
        "types",
        &[
            Apart(&["decimal", "locale", "planted"]),
            Apart(&["number"]),
            Apart(&["base64", "charset"]),
            Apart(&["collation"]),
            Apart(&["data_type", "temporal"]),
            Apart(&["json", "value", "vector"]),
            Apart(&["convert"]),
        ],
    ),
    (
        "wire",
        &[
            Apart(&["codec", "flags", "float_text"]),
            Apart(&["command", "handshake", "message", "packet", "row"]),
            Apart(&["auth", "column", "compress", "parameter"]),
            Apart(&["client"]),
        ],
    ),
];

/// What is wrong with the uses of a crate's modules, by its lines.
fn violations(edges: &BTreeMap<String, BTreeMap<String, String>>, lines: &[Apart]) -> Vec<String> {
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
    let lines = [Apart(&["low", "beside"]), Apart(&["high"])];
    let wrong = |low: &[&str], high: &[&str]| {
        violations(&edges(&[("low", low), ("beside", &[]), ("high", high)]), &lines)
    };
    assert_eq!(wrong(&[], &["low"]), Vec::<String>::new());
    assert_eq!(wrong(&["high"], &[]).len(), 1, "upwards");
    assert_eq!(wrong(&["beside"], &[]).len(), 1, "on its own line");
    assert_eq!(violations(&edges(&[("low", &[]), ("new", &[])]), &[Apart(&["low", "gone"])]).len(), 2);
}
