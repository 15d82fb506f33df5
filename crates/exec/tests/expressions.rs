//! Expressions against the answers of a real MySQL 9.7: value, column metadata, warnings, errors.
//!
//! `expressions/expressions.txt` lists the expressions, `expressions/answers.tsv` holds the answers, fetched by
//! `expressions/ask_oracle.py`. Lines of `expressions/differences.txt` are known to differ; the test fails when one
//! of them agrees after all, so the list only holds what is true.

use std::sync::Arc;

use catalog::Catalog;
use exec::expr::{EvalContext, EvalSettings, Program, SessionState, Warnings};
use plan::bind::{Session, bind};
use plan::function::TypeContext;
use plan::physical::{Node, Op, PlanKind};
use plan::{Options, PlanError, PlanResult, optimize};
use std::collections::BTreeMap;
use syntax::ast::VarScope;
use types::{Batch, CollationId, Column, DataType, Value};

struct TestSession;

impl Session for TestSession {
    fn database(&self) -> Option<&str> {
        None
    }
    fn connection_collation(&self) -> CollationId {
        CollationId::UTF8MB4_0900_AI_CI
    }
    fn only_full_group_by(&self) -> bool {
        true
    }
    fn type_context(&self) -> TypeContext {
        TypeContext::default()
    }
    fn system_variable(&self, _scope: VarScope, name: &str) -> PlanResult<Value> {
        Err(PlanError::new(1193, format!("Unknown system variable '{name}'")))
    }
    fn user_variable(&self, _name: &str) -> Option<DataType> {
        None
    }
}

impl SessionState for TestSession {}

/// What an expression gives: value, metadata, warnings, or an error; in the form of answers.tsv.
fn answer(text: &str) -> (String, String, String) {
    match evaluate(text) {
        Ok(answer) => answer,
        Err((number, message)) => (format!("ERROR {number} {message}"), String::new(), String::new()),
    }
}

fn project(node: &Node) -> Option<&[plan::Expr]> {
    match &node.op {
        Op::Project { exprs, .. } => Some(exprs),
        Op::Values(rows) => rows.first().map(Vec::as_slice),
        _ => None,
    }
}

fn failed(error: &service::SqlError) -> (u16, String) {
    (error.number, error.message.clone())
}

fn evaluate(text: &str) -> Result<(String, String, String), (u16, String)> {
    let sql = format!("SELECT {text}");
    let arena = bumpalo::Bump::new();
    let parsed = syntax::parse(sql.as_bytes(), &arena, syntax::SqlMode::default())
        .map_err(|error| (error.number, error.to_string()))?;
    let catalog = Catalog::new();
    let bound = bind(&parsed.statement, sql.as_bytes(), &catalog, &TestSession)
        .map_err(|error| (error.number, error.message.clone()))?;
    let physical = Arc::new(optimize(bound, &Options::new(&catalog)));
    let prepared = exec::Prepared::new(Arc::clone(&physical)).map_err(|error| failed(&error))?;
    let PlanKind::Query(root) = &physical.kind else {
        return Err((0, "not a query".to_owned()));
    };
    let exprs = project(root).ok_or_else(|| (0, format!("no projection: {:?}", root.op)))?;
    let data_type = exprs[0].data_type.clone();
    let program = Program::compile(exprs).map_err(|error| failed(&error))?;
    let settings = EvalSettings { now_utc_micros: 1_706_700_000_123_456, ..EvalSettings::default() };
    let mut warnings = Warnings::default();
    let mut session = TestSession;
    let mut ctx = EvalContext {
        settings: &settings,
        params: &[],
        outer: Vec::new(),
        session: &mut session,
        warnings: &mut warnings,
        snapshot: None,
        transaction: None,
    };
    prepared.check_constants(&mut ctx).map_err(|error| failed(&error))?;
    let mut out = vec![Column::new(data_type.physical())];
    let input = Batch { columns: Vec::new(), row_count: 1 };
    program.eval(&mut program.scratch(), &input, &mut ctx, &mut out).map_err(|error| failed(&error))?;
    let value = if out[0].is_null(0) {
        "\\N".to_owned()
    } else {
        let mut bytes = Vec::new();
        match (out[0].cell(0), &data_type) {
            // A result column shows doubles in full width.
            (types::Cell::Double(value), of) if of.scale == types::data_type::SCALE_NOT_FIXED => {
                if of.kind == types::TypeKind::Float {
                    types::number::write_float(value, &mut bytes);
                } else {
                    types::number::write_double(value, &mut bytes);
                }
            }
            (cell, of) => types::convert::write_text(cell, of, &mut bytes),
        }
        escape(&bytes)
    };
    let list: Vec<String> = warnings
        .entries()
        .iter()
        .map(|entry| format!("{} {} {}", entry.level.name(), entry.number, entry.message))
        .collect();
    Ok((value, metadata(&data_type), list.join("; ")))
}

fn metadata(data_type: &DataType) -> String {
    let name = match data_type.protocol_type() {
        1 => "TINY",
        2 => "SHORT",
        3 => "LONG",
        4 => "FLOAT",
        5 => "DOUBLE",
        6 => "NULL",
        7 => "TIMESTAMP",
        8 => "LONGLONG",
        9 => "INT24",
        10 => "DATE",
        11 => "TIME",
        12 => "DATETIME",
        13 => "YEAR",
        16 => "BIT",
        245 => "JSON",
        246 => "NEWDECIMAL",
        252 => "BLOB",
        253 => "VAR_STRING",
        254 => "STRING",
        _ => "?",
    };
    format!("{name} {}", if data_type.unsigned { "U" } else { "-" })
}

fn escape(bytes: &[u8]) -> String {
    let mut out = String::new();
    for &byte in bytes {
        if (32..127).contains(&byte) && byte != b'\\' {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out
}

/// Metadata as compared: the wire type (all BLOB sizes alike) and the sign.
fn wanted_metadata(text: &str) -> String {
    let parts: Vec<&str> = text.split(' ').collect();
    match parts.as_slice() {
        [name, _, _, _, sign] => {
            let name = match *name {
                "TINY_BLOB" | "MEDIUM_BLOB" | "LONG_BLOB" => "BLOB",
                other => other,
            };
            format!("{name} {sign}")
        }
        _ => text.to_owned(),
    }
}

#[test]
fn expressions_answer_as_the_reference() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/expressions");
    let read = |name: &str| std::fs::read_to_string(format!("{folder}/{name}")).unwrap_or_default();
    let known: BTreeMap<String, ()> = read("differences.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| (line.to_owned(), ()))
        .collect();
    let (mut agreed, mut differing, mut unexpected) = (0, Vec::new(), Vec::new());
    for line in read("answers.tsv").lines() {
        let mut fields = line.split('\t');
        let mut next = || fields.next().unwrap_or("").to_owned();
        let (text, value, meta, warnings) = (next(), next(), wanted_metadata(&next()), next());
        let found = answer(&text);
        let wanted = (value, meta, warnings);
        if found == wanted {
            agreed += 1;
            if known.contains_key(&text) {
                unexpected.push(format!("{text}\n  is listed as different but agrees"));
            }
        } else {
            differing.push(text.clone());
            if !known.contains_key(&text) {
                unexpected.push(format!("{text}\n  reference {wanted:?}\n  here      {found:?}"));
            }
        }
    }
    println!("{agreed} agree, {} differ", differing.len());
    assert!(agreed > 0, "no answers were read");
    assert!(unexpected.is_empty(), "{} differences:\n{}", unexpected.len(), unexpected.join("\n"));
}
