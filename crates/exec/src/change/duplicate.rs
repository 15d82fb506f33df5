//! What INSERT does with a row whose key is there already: REPLACE, ON DUPLICATE KEY UPDATE, IGNORE, or the error.
//!
//! REPLACE changes the other row in place if the key is the table's last unique one (then no further row can stand in the
//! way), and takes it away else; this shows in the count of affected rows, as in MySQL: a row replaced by itself counts
//! once.

use access::{DuplicateKey, Error, Updated};
use catalog::{TableDefinition, TriggerEvent, TriggerTiming};
use plan::physical::{InsertPlan, InsertSource, PhysicalPlan};
use plan::{Expr, ExprKind};
use types::{Batch, Cell, Column};

use super::insert::Insert;
use super::row::violated;
use super::rules::{self, Computed, Rules};
use super::trigger::{NewRow, NullRules, RowAt, Trigger, settle_nulls};
use super::values::{Target, changes_row, given_by_query};
use super::{check_violated, warn_duplicate};
use crate::context::ExecContext;
use crate::error::{access_error, coded, internal};
use crate::expr::SqlResult;
use crate::status_counts::StatusKind;

/// ON DUPLICATE KEY UPDATE, compiled. Expressions read the old row, the new row, the row of the query.
#[derive(Debug)]
pub(super) struct Compiled {
    /// Column and value.
    assignments: Vec<(usize, Value)>,
    /// The columns assigned, each once.
    assigned: Vec<usize>,
    /// By generated column: whether its value may change with them.
    affected: Vec<bool>,
}

/// What a column gets.
#[derive(Debug)]
enum Value {
    Default,
    /// A parameter, which is stored as what it is.
    Param(u32),
    /// What it holds, unchecked.
    Itself,
    Computed(Computed),
    /// See [`InsertPlan::row_queries`].
    Query(u32),
}

/// Its execution.
pub(super) struct Running {
    programs: Vec<Option<rules::Running>>,
    /// Old row (with what is assigned to it), new row, row of the query.
    input: Batch,
    /// The row as it is in the table.
    old: Batch,
    /// All columns of the table.
    ordinals: Vec<usize>,
}

impl Compiled {
    pub(super) fn new(
        plan: &PhysicalPlan,
        insert: &InsertPlan,
        rules: &Rules,
    ) -> SqlResult<Option<Compiled>> {
        if insert.on_duplicate.is_empty() {
            return Ok(None);
        }
        let entry = &plan.tables[insert.table.0 as usize].entry;
        let definition = &entry.definition;
        let count = definition.columns.len();
        let name_of = |position: usize| match &insert.rows {
            InsertSource::Query(node) if position >= 2 * count => {
                plan.columns[node.columns[position - 2 * count].0 as usize].name.clone()
            }
            _ => definition.columns[position % count].name.clone(),
        };
        let mut compiled = Compiled { assignments: Vec::new(), assigned: Vec::new(), affected: Vec::new() };
        // A generated column may only be set to DEFAULT, which it has anyway.
        let is_plain = |column: usize| definition.columns[column].generated.is_none();
        for assign in insert.on_duplicate.iter().filter(|assign| is_plain(assign.column)) {
            let value = match (&assign.value, assign.query) {
                (Some(Expr { kind: ExprKind::Param(index), .. }), _) => Value::Param(*index),
                (Some(Expr { kind: ExprKind::Input(index), .. }), _) if *index as usize == assign.column => {
                    Value::Itself
                }
                (Some(value), _) => Value::Computed(Computed::new(assign.column, value, &name_of)?),
                (None, Some(query)) => Value::Query(query),
                (None, None) => Value::Default,
            };
            compiled.assignments.push((assign.column, value));
            if !compiled.assigned.contains(&assign.column) {
                compiled.assigned.push(assign.column);
            }
        }
        let follows = definition.columns.iter().enumerate().filter(|(_, column)| column.on_update_now);
        let written = compiled.assigned.iter().copied().chain(follows.map(|(ordinal, _)| ordinal));
        let written = written.map(|ordinal| ordinal as u32).collect();
        compiled.affected = rules.affected(entry, written, &|ordinal| Some(ordinal as u32));
        Ok(Some(compiled))
    }

    pub(super) fn running(&self, definition: &TableDefinition) -> Running {
        let columns = &definition.columns;
        let shapes = || columns.iter().map(|column| column.data_type.physical());
        Running {
            programs: self
                .assignments
                .iter()
                .map(|(_, value)| match value {
                    Value::Computed(computed) => Some(rules::Running::new(computed)),
                    Value::Param(_) | Value::Itself | Value::Query(_) | Value::Default => None,
                })
                .collect(),
            input: Batch::new(shapes().chain(shapes())),
            old: Batch::new(shapes()),
            ordinals: (0..columns.len()).collect(),
        }
    }
}

impl Insert<'_, '_> {
    /// Does what the statement says about a duplicate. Answers whether the row is in the table now; `None`: try again.
    pub(super) fn resolve(
        &mut self,
        duplicate: &DuplicateKey,
        selected: Option<(&Batch, usize)>,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<Option<bool>> {
        if self.plan.replace {
            return self.replace(duplicate, ctx);
        }
        if let (Some(compiled), Some(mut running)) = (&self.compiled.on_duplicate, self.on_duplicate.take()) {
            let result = self.update_duplicate(compiled, &mut running, duplicate, selected, ctx);
            self.on_duplicate = Some(running);
            return result;
        }
        if !self.writer.keep_duplicate(duplicate, ctx)? {
            return Ok(None);
        }
        if self.plan.ignore {
            warn_duplicate(duplicate, ctx.eval.warnings);
            return Ok(Some(false));
        }
        Err(access_error(Error::DuplicateKey(Box::new(duplicate.clone()))))
    }

    fn replace(&mut self, duplicate: &DuplicateKey, ctx: &mut ExecContext<'_>) -> SqlResult<Option<bool>> {
        let (writer, locator) = (&self.writer, &duplicate.locator);
        ctx.status.add(StatusKind::ReadKey, 1);
        if !writer.lock_duplicate(duplicate, &[], &mut Batch::default(), ctx)? {
            return Ok(None);
        }
        if let Some(check) = &self.compiled.replaced_check {
            let mut old = Batch::default();
            if !writer.read_old(locator, &mut old, ctx)? {
                return Ok(None);
            }
            if !check.is_shown(&mut self.replaced_check, &mut self.queries, &old, ctx)? {
                return Err(coded(
                    3059,
                    "REPLACE cannot be executed as it requires deleting rows that are not in the view",
                ));
            }
        }
        if let Some(trigger) = writer.fired_by(TriggerEvent::Delete) {
            return self.replace_with_trigger(trigger, locator, ctx);
        }
        if writer.has_children() {
            // Their foreign keys must see the row go, unless it comes back with the same key.
            let new: Vec<Cell<'_>> = self.row.columns.iter().map(|column| column.cell(0)).collect();
            let gone =
                writer.delete(locator, Some(&new), ctx)?.map_err(|error| writer.failed(&error, ctx))?;
            self.counts.deleted += u64::from(gone);
            ctx.status.add(StatusKind::Delete, u64::from(gone));
            return Ok(None);
        }
        let last_unique = writer.definition.indexes.iter().rposition(catalog::IndexDefinition::is_unique);
        if last_unique != Some(duplicate.index) {
            let gone = writer.delete(locator, None, ctx)?.map_err(|error| writer.failed(&error, ctx))?;
            self.counts.deleted += u64::from(gone);
            ctx.status.add(StatusKind::Delete, u64::from(gone));
            return Ok(None);
        }
        let changes: Vec<(usize, Cell<'_>)> =
            self.row.columns.iter().map(|column| column.cell(0)).enumerate().collect();
        let updated = writer.update(locator, &changes, ctx)?.map_err(|error| writer.failed(&error, ctx))?;
        ctx.status.add(StatusKind::Update, u64::from(updated != Updated::Absent));
        match updated {
            Updated::Changed => {
                self.counts.deleted += 1;
                self.counts.copied += 1;
                Ok(Some(true))
            }
            Updated::Same => {
                self.counts.copied += 1;
                Ok(Some(true))
            }
            Updated::Absent => Ok(None),
        }
    }

    /// As [`Insert::replace`], where triggers must see the other row go: it is not changed in place.
    #[cold]
    fn replace_with_trigger(
        &mut self,
        trigger: &Trigger,
        locator: &[u8],
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<Option<bool>> {
        let writer = &self.writer;
        let mut old = Batch::default();
        if !writer.read_old(locator, &mut old, ctx)? {
            return Ok(None);
        }
        let old = Some(RowAt { batch: &old, row: 0, positions: None });
        trigger.before(TriggerEvent::Delete, old, None, None, ctx)?;
        let new: Vec<Cell<'_>> = self.row.columns.iter().map(|column| column.cell(0)).collect();
        let replaced_by = writer.has_children().then_some(&*new);
        let gone = writer.delete(locator, replaced_by, ctx)?.map_err(|error| writer.failed(&error, ctx))?;
        self.counts.deleted += u64::from(gone);
        ctx.status.add(StatusKind::Delete, u64::from(gone));
        if gone {
            trigger.after(TriggerEvent::Delete, old, None, ctx)?;
        }
        Ok(None)
    }

    fn update_duplicate(
        &mut self,
        compiled: &Compiled,
        running: &mut Running,
        duplicate: &DuplicateKey,
        selected: Option<(&Batch, usize)>,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<Option<bool>> {
        let definition = self.writer.definition;
        let width = definition.columns.len();
        let Running { programs, input, old, ordinals } = running;
        old.clear();
        if !self.writer.lock_duplicate(duplicate, ordinals, old, ctx)? {
            return Ok(None);
        }
        input.columns.truncate(2 * width);
        for (target, source) in input.columns.iter_mut().zip(old.columns.iter().chain(&self.row.columns)) {
            target.copy_from(source);
        }
        if let Some((batch, row)) = selected {
            for column in &batch.columns {
                let mut one = Column::new(column.physical());
                one.push_cell(column.cell(row));
                input.columns.push(one);
            }
        }
        input.row_count = 1;
        let trigger = self.writer.fired_by(TriggerEvent::Update);
        let runs = trigger.is_some_and(|trigger| trigger.runs(TriggerEvent::Update, TriggerTiming::Before));
        for ((ordinal, computed), program) in compiled.assignments.iter().zip(programs) {
            let target = Target { definition, ordinal: *ordinal, row: self.row_number, null_allowed: false };
            match (computed, program) {
                (Value::Param(index), _) => {
                    let value = ctx.eval.params.get(*index as usize);
                    let value = value.ok_or_else(|| internal("a parameter without a value"))?;
                    let out = &mut input.columns[*ordinal];
                    self.storing_changes.put_value(target, value, false, out, ctx.eval.warnings)?;
                }
                (Value::Query(query), _) => {
                    let (value, data_type) = self.queries.eval(*query as usize, input, 0, ctx)?;
                    let out = &mut input.columns[*ordinal];
                    self.storing_changes.put(
                        target,
                        value,
                        given_by_query(data_type),
                        out,
                        ctx.eval.warnings,
                    )?;
                }
                (Value::Itself, _) => {}
                (Value::Computed(computed), Some(program)) => {
                    let value = program.eval(computed, input, &mut ctx.eval)?;
                    let out = &mut input.columns[*ordinal];
                    self.storing_changes.put(target, value, computed.given(), out, ctx.eval.warnings)?;
                }
                _ => match self.compiled.rules.default(&mut self.running, *ordinal) {
                    Some((rule, running)) => {
                        let value = running.eval(rule, input, &mut ctx.eval)?;
                        let out = &mut input.columns[*ordinal];
                        self.storing_changes.put(target, value, rule.given(), out, ctx.eval.warnings)?;
                    }
                    None => {
                        let out = &mut input.columns[*ordinal];
                        rules::put_default(&self.storing_changes, target, out, ctx.eval.warnings)?;
                    }
                },
            }
        }
        self.counts.touched += 1;
        ctx.status.add(StatusKind::ReadKey, 1);
        let differs =
            |ordinal: usize, input: &Batch| input.columns[ordinal].cell(0) != old.columns[ordinal].cell(0);
        let is_changed = |&ordinal: &usize| {
            let data_type = &definition.columns[ordinal].data_type;
            changes_row(old.columns[ordinal].cell(0), input.columns[ordinal].cell(0), data_type)
        };
        let fires = trigger.is_some();
        let before = RowAt { batch: old, row: 0, positions: None };
        if !compiled.assigned.iter().any(is_changed) && !fires {
            return Ok(Some(false));
        }
        let changes_now = !fires || compiled.assigned.iter().any(is_changed);
        for (ordinal, column) in definition.columns.iter().enumerate() {
            if changes_now && column.on_update_now && !compiled.assigned.contains(&ordinal) {
                self.storing_changes.put_now(&column.data_type, &mut input.columns[ordinal]);
            }
        }
        if let Some(trigger) = trigger {
            if runs {
                self.generate_changed(&compiled.affected, false, input, ctx)?;
            }
            let storing = &self.storing_changes;
            let mut new = NewRow::new(definition, input, None, self.row_number);
            trigger.before(TriggerEvent::Update, Some(before), Some(&mut new), Some(storing), ctx)?;
            let rules =
                NullRules { storing, ignore: self.plan.ignore, numbered: None, missing: &[], view: None };
            if !settle_nulls(&mut new, &rules, &mut self.warned, ctx.eval.warnings)? {
                return Ok(Some(false));
            }
            if !(0..width).any(|ordinal| differs(ordinal, input)) {
                let after = RowAt { batch: input, row: 0, positions: None };
                trigger.after(TriggerEvent::Update, Some(before), Some(after), ctx)?;
                return Ok(Some(false));
            }
        }
        self.generate_changed(&compiled.affected, true, input, ctx)?;
        if let Some(check) = &self.compiled.view_check
            && !check.admits(&mut self.view_check, &mut self.queries, input, self.plan.ignore, ctx)?
        {
            return Ok(Some(false));
        }
        if !self.compiled.rules.checks.is_empty()
            && let Some(name) = self.compiled.rules.violated(&mut self.running, input, &mut ctx.eval)?
        {
            check_violated(name, self.plan.ignore, ctx.eval.warnings)?;
            return Ok(Some(false));
        }
        let changes: Vec<(usize, Cell<'_>)> = (0..width)
            .filter(|&ordinal| differs(ordinal, input))
            .map(|ordinal| (ordinal, input.columns[ordinal].cell(0)))
            .collect();
        let writer = &self.writer;
        match writer.update(&duplicate.locator, &changes, ctx)? {
            // A row that triggers have left as it was fires AFTER triggers, too.
            Ok(updated @ (Updated::Changed | Updated::Same)) => {
                if updated == Updated::Changed {
                    self.counts.copied += 1;
                    self.counts.updated += 1;
                    ctx.status.add(StatusKind::Update, 1);
                    if let Some(numbers) = &mut self.numbers
                        && let Cell::Int(value) = input.columns[numbers.ordinal].cell(0)
                    {
                        self.counts.last_updated = Some(value as u64);
                        if compiled.assigned.contains(&numbers.ordinal) {
                            let signed = !definition.columns[numbers.ordinal].data_type.unsigned;
                            numbers.observe(&*writer.table, value as u64, signed).map_err(access_error)?;
                        }
                    }
                }
                if let Some(trigger) = trigger {
                    let after = RowAt { batch: input, row: 0, positions: None };
                    trigger.after(TriggerEvent::Update, Some(before), Some(after), ctx)?;
                }
                Ok(Some(false))
            }
            Ok(Updated::Absent) => Ok(None),
            Err(Error::DuplicateKey(duplicate)) if self.plan.ignore => {
                warn_duplicate(&duplicate, ctx.eval.warnings);
                Ok(Some(false))
            }
            Err(Error::ForeignKey(violation)) => {
                violated(&violation, self.plan.ignore, &mut ctx.eval)?;
                Ok(Some(false))
            }
            Err(error) => Err(writer.failed(&error, ctx)),
        }
    }

    /// Computes the generated columns of a changed row that are affected.
    fn generate_changed(
        &mut self,
        affected: &[bool],
        is_final: bool,
        input: &mut Batch,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        let definition = self.writer.definition;
        // No trigger may replace a NULL any more.
        let settled = if is_final { self.storing_changes.settled() } else { None };
        let storing = settled.as_ref().unwrap_or(&self.storing_changes);
        let rules = self.compiled.rules.generated.iter().zip(&mut self.running.generated);
        for ((generated, program), _) in rules.zip(affected).filter(|(_, is_affected)| **is_affected) {
            let target =
                Target { definition, ordinal: generated.ordinal, row: self.row_number, null_allowed: false };
            let at = generated.ordinal;
            rules::put_generated((generated, program), input, at, target, storing, &mut ctx.eval)?;
        }
        Ok(())
    }
}
