//! Cuts a finding down while its difference stays: statements, tables, rows, columns, indexes, clauses, expressions.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::ast::{Script, Statement};
use crate::compare::Difference;
use crate::round::{Finding, Pair};
use crate::value::{Value, write_quoted};
use crate::walk;

/// How long one finding is worked on.
const TIME_MAX: Duration = Duration::from_secs(25);

struct Minimiser<'a> {
    pair: &'a mut Pair,
    finding: Finding,
    begin: Instant,
}

impl Minimiser<'_> {
    fn has_time(&self) -> bool {
        self.begin.elapsed() < TIME_MAX
    }

    /// The difference, if the script still shows it.
    fn check(&mut self, script: &Script, is_prepared: bool) -> Option<Difference> {
        let (last, before) = script.statements.split_last()?;
        self.pair.load(&script.tables).ok()?;
        for statement in before {
            self.pair.ask(&statement.sql());
        }
        self.try_statement(last, is_prepared)
    }

    fn try_statement(&mut self, statement: &Statement, is_prepared: bool) -> Option<Difference> {
        let outcome = self.pair.run(statement, is_prepared);
        outcome.differences.into_iter().find(|found| found.is_like(&self.finding.difference))
    }

    /// Takes over the script if the difference stays.
    fn keep(&mut self, script: Script, is_prepared: bool) -> bool {
        if !self.has_time() {
            return false;
        }
        match self.check(&script, is_prepared) {
            Some(difference) => {
                self.finding.script = script;
                self.finding.is_prepared = is_prepared;
                self.finding.difference = difference;
                true
            }
            None => false,
        }
    }

    fn cut_history(&mut self) {
        let mut script = self.finding.script.clone();
        let count = script.statements.len();
        script.statements.drain(..count - 1);
        if count == 1 || self.keep(script, self.finding.is_prepared) {
            return;
        }
        let mut step = count / 2;
        while step > 0 {
            let mut at = 0;
            while at + step < self.finding.script.statements.len() {
                let mut script = self.finding.script.clone();
                script.statements.drain(at..at + step);
                if !self.keep(script, self.finding.is_prepared) {
                    at += step;
                }
            }
            step /= 2;
        }
    }

    fn cut_tables(&mut self) {
        for at in (0..self.finding.script.tables.len()).rev() {
            let mut script = self.finding.script.clone();
            script.tables.remove(at);
            self.keep(script, self.finding.is_prepared);
        }
    }

    fn cut_rows(&mut self) {
        for table in 0..self.finding.script.tables.len() {
            let mut step = self.finding.script.tables[table].rows.len();
            while step > 0 {
                let mut at = 0;
                while at + step <= self.finding.script.tables[table].rows.len() {
                    let mut script = self.finding.script.clone();
                    script.tables[table].rows.drain(at..at + step);
                    if !self.keep(script, self.finding.is_prepared) {
                        at += step;
                    }
                }
                step /= 2;
            }
        }
    }

    fn cut_columns(&mut self) {
        for table in 0..self.finding.script.tables.len() {
            for at in (0..self.finding.script.tables[table].indexes.len()).rev() {
                let mut script = self.finding.script.clone();
                script.tables[table].indexes.remove(at);
                self.keep(script, self.finding.is_prepared);
            }
            for at in (0..self.finding.script.tables[table].columns.len()).rev() {
                let mut script = self.finding.script.clone();
                if script.tables[table].columns.len() > 1 {
                    script.tables[table].remove_column(at);
                    self.keep(script, self.finding.is_prepared);
                }
            }
            for at in 0..self.finding.script.tables[table].columns.len() {
                let mut script = self.finding.script.clone();
                let column = &mut script.tables[table].columns[at];
                if !column.is_nullable || column.default.is_some() {
                    column.is_nullable = true;
                    column.default = None;
                    self.keep(script, self.finding.is_prepared);
                }
            }
        }
    }

    /// Cuts the last statement once; `false` if no cut keeps the difference.
    fn cut_statement(&mut self) -> bool {
        let Some(last) = self.finding.script.statements.last().cloned() else { return false };
        let mut candidates = Vec::new();
        walk::smaller_statement(&last, &mut |smaller| candidates.push(smaller));
        let own = last.sql().len();
        // What cuts most is tried first.
        candidates.sort_by_cached_key(|candidate| candidate.sql().len());
        candidates.retain(|candidate| candidate.sql().len() <= own + 8 && *candidate != last);
        let is_query = matches!(last, Statement::Query(_));
        let script = self.finding.script.clone();
        if self.check(&script, self.finding.is_prepared).is_none() {
            return false;
        }
        for candidate in candidates {
            if !self.has_time() {
                return false;
            }
            // A literal made of another literal is no progress.
            if candidate.sql().len() >= own && size(&candidate) >= size(&last) {
                continue;
            }
            let found = if is_query {
                self.try_statement(&candidate, self.finding.is_prepared)
            } else {
                let mut script = self.finding.script.clone();
                script.statements.pop();
                script.statements.push(candidate.clone());
                self.check(&script, self.finding.is_prepared)
            };
            if let Some(difference) = found {
                self.finding.difference = difference;
                self.finding.script.statements.pop();
                self.finding.script.statements.push(candidate);
                return true;
            }
        }
        false
    }

    fn cut_all(&mut self) {
        if self.finding.is_prepared {
            let script = self.finding.script.clone();
            self.keep(script, false);
        }
        self.cut_history();
        self.cut_tables();
        while self.cut_statement() {}
        self.cut_tables();
        self.cut_rows();
        self.cut_columns();
        while self.cut_statement() {}
        self.cut_tables();
        self.cut_rows();
        self.cut_columns();
        self.cut_history();
    }
}

fn size(statement: &Statement) -> usize {
    statement.prepared_sql().1.len() * 4 + statement.sql().split(['(', ' ']).count()
}

/// The smallest script found that shows the difference; the finding as it is if it does not come again.
pub fn minimise(pair: &mut Pair, finding: Finding) -> Finding {
    pair.views = finding.views;
    let mut minimiser = Minimiser { pair, finding, begin: Instant::now() };
    let script = minimiser.finding.script.clone();
    if minimiser.check(&script, minimiser.finding.is_prepared).is_some() {
        minimiser.cut_all();
    }
    minimiser.finding
}

/// The finding as a script to run by hand, with both answers as comments.
#[must_use]
pub fn script_text(finding: &Finding) -> String {
    let mut out = format!("-- {:?}, seed {}\n", finding.difference.kind, finding.seed);
    for sql in crate::round::database_sql(&finding.script.tables, finding.views) {
        let _ = writeln!(out, "{sql};");
    }
    let count = finding.script.statements.len();
    for (index, statement) in finding.script.statements.iter().enumerate() {
        if index + 1 == count && finding.is_prepared {
            let (sql, values) = statement.prepared_sql();
            let mut text = String::new();
            write_quoted(&sql, &mut text);
            let _ = writeln!(out, "-- binary protocol, parameters {}", show_values(&values));
            let _ = writeln!(out, "PREPARE s FROM {text};");
        } else {
            let _ = writeln!(out, "{};", statement.sql());
        }
    }
    for line in finding.difference.text.lines() {
        let _ = writeln!(out, "-- {line}");
    }
    out
}

fn show_values(values: &[Value]) -> String {
    let mut out = String::new();
    for value in values {
        out.push_str(if out.is_empty() { "" } else { ", " });
        value.write_literal(&mut out);
    }
    out
}
