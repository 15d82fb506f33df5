//! UPDATE: rows come from the source with their locators, locked; assignments go from left to right.

use access::{Error, Updated};
use catalog::{TriggerEvent, TriggerTiming};
use plan::physical::{Node, PhysicalPlan, UpdatePlan, UpdateTarget};
use plan::{Expr, ExprKind};
use types::vector::BytesColumn;
use types::{Batch, Cell, Column};

use super::row::{self, RowWriter, violated};
use super::rules::{self, Computed, Rules, RunningRules};
use super::trigger::{NewRow, NullRules, RowAt, settle_nulls};
use super::values::{Storing, Target as ColumnTarget, changes_row};
use super::{Changed, check_violated, view_check, warn_duplicate};
use crate::context::{ExecContext, MaterializedCursor, MaterializedRows};
use crate::error::{access_error, internal};
use crate::expr::{EvalSettings, SqlResult};
use crate::programs::Programs;
use crate::run::{DistinctKeys, RowKeys, RowQueries, Source};
use crate::status_counts::StatusKind;

/// What of an UPDATE does not depend on the execution.
#[derive(Debug)]
pub(crate) struct Compiled {
    targets: Vec<CompiledTarget>,
    foreign_keys: row::Compiled,
}

#[derive(Debug)]
struct CompiledTarget {
    rules: Rules,
    assignments: Vec<Assignment>,
    /// Columns that may change and their positions in the source's row: assigned ones, each once, then those that follow
    /// from them (ON UPDATE CURRENT_TIMESTAMP, generated).
    columns: Vec<(usize, usize)>,
    /// How many of them are assigned.
    assigned_count: usize,
    /// ON UPDATE CURRENT_TIMESTAMP, not assigned: column and position.
    on_update_now: Vec<(usize, usize)>,
    /// The AUTO_INCREMENT column, if it is assigned: its position.
    numbered: Option<usize>,
    /// What the view through which it is changed asks of its rows.
    view_check: Option<view_check::Compiled>,
}

#[derive(Debug)]
struct Assignment {
    ordinal: usize,
    position: usize,
    value: Assigned,
}

/// What a column is set to.
#[derive(Debug)]
enum Assigned {
    Default,
    /// Stored as it comes, as by INSERT: no program and no columns of its own for it.
    Param(u32),
    /// The column itself: what it holds stays, whatever the session's mode says of it.
    Itself,
    Computed(Computed),
}

impl Compiled {
    pub(super) fn new(
        plan: &PhysicalPlan,
        update: &UpdatePlan,
        programs: &mut Programs<'_>,
    ) -> SqlResult<Compiled> {
        drop(Source::new(plan, &update.source, programs)?);
        drop(RowQueries::new(plan, &update.row_queries, programs)?);
        let targets = update
            .targets
            .iter()
            .map(|target| CompiledTarget::new(plan, &update.source, target))
            .collect::<SqlResult<_>>()?;
        Ok(Compiled { targets, foreign_keys: row::Compiled::new(plan) })
    }
}

impl CompiledTarget {
    fn new(plan: &PhysicalPlan, source: &Node, target: &UpdateTarget) -> SqlResult<CompiledTarget> {
        let entry = &plan.tables[target.table.0 as usize].entry;
        let definition = &entry.definition;
        let place = |ordinal: usize| target.row.get(ordinal).copied().filter(|&at| at != u32::MAX);
        let position = |ordinal: usize| {
            place(ordinal).map(|at| at as usize).ok_or_else(|| internal("a changed column that is not read"))
        };
        let by_default = |ordinal: usize| {
            target.assignments.iter().any(|assign| assign.column == ordinal && assign.value.is_none())
        };
        let mut rules = Rules::compile(entry, &place, &by_default)?;
        let name_of = |position: usize| plan.columns[source.columns[position].0 as usize].name.clone();
        let mut assignments = Vec::new();
        let mut columns: Vec<(usize, usize)> = Vec::new();
        for assign in &target.assignments {
            let ordinal = assign.column;
            let value = match &assign.value {
                Some(Expr { kind: ExprKind::Param(index), .. }) => Assigned::Param(*index),
                Some(Expr { kind: ExprKind::Input(index), .. }) if place(ordinal) == Some(*index) => {
                    Assigned::Itself
                }
                Some(value) => Assigned::Computed(Computed::new(ordinal, value, &name_of)?),
                None => Assigned::Default,
            };
            // A generated column may only be set to DEFAULT, which it has anyway.
            if definition.columns[ordinal].generated.is_some() {
                continue;
            }
            assignments.push(Assignment { ordinal, position: position(ordinal)?, value });
            if !columns.iter().any(|(other, _)| *other == ordinal) {
                columns.push((ordinal, position(ordinal)?));
            }
        }
        let assigned_count = columns.len();
        let numbered = definition
            .auto_increment_column()
            .and_then(|ordinal| columns.iter().find(|column| column.0 == ordinal))
            .map(|column| column.1);
        let mut on_update_now = Vec::new();
        for (ordinal, column) in definition.columns.iter().enumerate() {
            if column.on_update_now && !columns.iter().any(|(other, _)| *other == ordinal) {
                on_update_now.push((ordinal, position(ordinal)?));
            }
        }
        columns.extend(&on_update_now);
        if !rules.generated.is_empty() {
            let written = columns.iter().map(|&(_, position)| position as u32).collect();
            let mut affected = rules.affected(entry, written, &place).into_iter();
            rules.generated.retain(|_| affected.next().unwrap_or(true));
        }
        for generated in &rules.generated {
            columns.push((generated.ordinal, position(generated.ordinal)?));
        }
        let view_check = target.check.as_deref().map(view_check::Compiled::new).transpose()?;
        Ok(CompiledTarget {
            rules,
            assignments,
            columns,
            assigned_count,
            on_update_now,
            numbered,
            view_check,
        })
    }
}

/// A target under way.
struct Target<'p> {
    plan: &'p UpdateTarget,
    compiled: &'p CompiledTarget,
    writer: RowWriter<'p>,
    running: RunningRules,
    programs: Vec<Option<rules::Running>>,
    view_check: view_check::Running,
    /// Rows changed already, where a join may give a row several times; `None` where none does.
    seen: Option<DistinctKeys>,
    /// It has BEFORE triggers.
    delays_nulls: bool,
    /// Columns whose NULL was warned of.
    warned: Vec<usize>,
}

struct Update<'p, 's> {
    plan: &'p UpdatePlan,
    targets: Vec<Target<'p>>,
    /// How values are stored, for each target.
    storing: Vec<Storing<'s>>,
    /// Conditions of views with subqueries.
    queries: RowQueries<'p>,
    /// The row of the source by itself.
    row: Batch,
    changed: Changed,
}

/// How values are stored in the columns of each target.
fn storing_of<'s>(
    plan: &'s PhysicalPlan,
    update: &UpdatePlan,
    targets: &[Target<'_>],
    settings: &'s EvalSettings,
) -> Vec<Storing<'s>> {
    let storing = targets.iter().map(|target| {
        let alias = &plan.tables[target.plan.table.0 as usize].alias;
        Storing::new(settings, update.ignore, true).delaying_nulls(target.delays_nulls).naming(alias)
    });
    storing.collect()
}

/// Runs an UPDATE.
pub(super) fn run(
    plan: &PhysicalPlan,
    update: &UpdatePlan,
    compiled: &Compiled,
    programs: &mut Programs<'_>,
    ctx: &mut ExecContext<'_>,
) -> SqlResult<Changed> {
    let mut source = Source::new(plan, &update.source, programs)?;
    // A join may give a row several times; one table's own rows come once.
    let mut targets = Vec::with_capacity(update.targets.len());
    let compiled_keys = &compiled.foreign_keys;
    for (target, compiled) in update.targets.iter().zip(&compiled.targets) {
        let writer = compiled_keys.writer(plan, target.table, ctx)?;
        targets.push(Target {
            plan: target,
            compiled,
            delays_nulls: writer
                .fired_by(TriggerEvent::Update)
                .is_some_and(|trigger| trigger.runs(TriggerEvent::Update, TriggerTiming::Before)),
            writer,
            running: compiled.rules.running(),
            programs: compiled
                .assignments
                .iter()
                .map(|assign| match &assign.value {
                    Assigned::Computed(value) => Some(rules::Running::new(value)),
                    Assigned::Param(_) | Assigned::Itself | Assigned::Default => None,
                })
                .collect(),
            view_check: compiled.view_check.as_ref().map(view_check::Compiled::running).unwrap_or_default(),
            seen: update.joins_tables.then(|| DistinctKeys::new(update.source.shapes(), &RowKeys::default())),
            warned: Vec::new(),
        });
    }
    let mut row = Batch::new(update.source.shapes());
    row.row_count = 1;
    let queries = RowQueries::new(plan, &update.row_queries, programs)?;
    let mut run = Update {
        plan: update,
        storing: storing_of(plan, update, &targets, ctx.eval.settings),
        targets,
        queries,
        row,
        changed: Changed { is_update: true, ..Changed::default() },
    };
    if update.collect_first {
        let keep = MaterializedRows::all(&mut source, ctx.limits.temporary_bytes, ctx)?;
        let mut cursor = MaterializedCursor::default();
        while let Some(batch) = cursor.next(&keep)? {
            run.update_batch(batch, ctx)?;
        }
        run.update_spilled(ctx)?;
    } else {
        source.start(ctx)?;
        // Two batches take turns, since the source is borrowed while its rows are changed.
        let mut batch = Batch::new(update.source.shapes());
        while source.next(ctx)? {
            std::mem::swap(&mut batch, &mut source.batch);
            run.update_batch(&batch, ctx)?;
        }
    }
    let mut changed = run.changed;
    changed.affected = if ctx.change.found_rows { changed.matched } else { changed.changed };
    Ok(changed)
}

impl Update<'_, '_> {
    fn update_batch(&mut self, batch: &Batch, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        for row in 0..batch.row_count {
            for target in 0..self.targets.len() {
                self.update_row(batch, row, target, ctx)?;
            }
        }
        ctx.check()
    }

    /// Rows that wait on disk because nothing more could be remembered of their tables in memory.
    fn update_spilled(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        let mut batch = Batch::new(self.row.columns.iter().map(Column::physical));
        let mut locators = BytesColumn::new();
        for target in 0..self.targets.len() {
            while let Some(seen) = &mut self.targets[target].seen
                && seen.next_spilled(&mut batch, &mut locators)?
            {
                for row in 0..batch.row_count {
                    self.update_row(&batch, row, target, ctx)?;
                }
                batch.clear();
                locators.clear();
                ctx.check()?;
            }
        }
        Ok(())
    }

    /// Changes a target's row as a row of the source says, unless that was done.
    fn update_row(
        &mut self,
        batch: &Batch,
        row: usize,
        position: usize,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        let target = &mut self.targets[position];
        let Cell::Bytes(locator) = batch.columns[target.plan.locator as usize].cell(row) else {
            return Ok(());
        };
        if let Some(seen) = &mut target.seen {
            let cells = batch.columns.iter().map(|column| column.cell(row));
            if !seen.is_new(locator, cells, &RowKeys::default(), ctx.limits.temporary_bytes, ctx)? {
                return Ok(());
            }
        }
        for (column, source) in self.row.columns.iter_mut().zip(&batch.columns) {
            column.clear();
            column.push_cell(source.cell(row));
        }
        self.changed.matched += 1;
        let number = self.changed.matched;
        let storing = &self.storing[position];
        let rest = Rest { ignore: self.plan.ignore, storing, queries: &mut self.queries };
        let became = target.update(&mut self.row, (batch, row), locator, number, rest, ctx)?;
        self.changed.changed += u64::from(became);
        Ok(())
    }
}

/// What all targets of the statement share.
struct Rest<'u, 'p> {
    ignore: bool,
    storing: &'u Storing<'u>,
    queries: &'u mut RowQueries<'p>,
}

impl Target<'_> {
    /// Changes one row. Answers whether it became different. `before`: the row as the source gave it; `input`: a copy.
    fn update(
        &mut self,
        input: &mut Batch,
        before: (&Batch, usize),
        locator: &[u8],
        number: u64,
        Rest { ignore, storing, queries }: Rest<'_, '_>,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<bool> {
        let compiled = self.compiled;
        let definition = self.writer.definition;
        let trigger = self.writer.fired_by(TriggerEvent::Update);
        for (assign, program) in compiled.assignments.iter().zip(&mut self.programs) {
            let ordinal = assign.ordinal;
            let target = ColumnTarget { definition, ordinal, row: number, null_allowed: false };
            match (&assign.value, program) {
                (Assigned::Param(index), _) => {
                    let value = ctx.eval.params.get(*index as usize);
                    let value = value.ok_or_else(|| internal("a parameter without a value"))?;
                    let out = &mut input.columns[assign.position];
                    storing.put_value(target, value, false, out, ctx.eval.warnings)?;
                }
                (Assigned::Itself, _) => {}
                (Assigned::Computed(computed), Some(program)) => {
                    let value = program.eval(computed, input, &mut ctx.eval)?;
                    let out = &mut input.columns[assign.position];
                    storing.put(target, value, computed.given(), out, ctx.eval.warnings)?;
                }
                _ => match compiled.rules.default(&mut self.running, ordinal) {
                    Some((rule, running)) => {
                        let value = running.eval(rule, input, &mut ctx.eval)?;
                        let out = &mut input.columns[assign.position];
                        storing.put(target, value, rule.given(), out, ctx.eval.warnings)?;
                    }
                    None => {
                        let out = &mut input.columns[assign.position];
                        rules::put_default(storing, target, out, ctx.eval.warnings)?;
                    }
                },
            }
        }
        let (old, row) = before;
        let differs = |position: usize, input: &Batch| {
            input.columns[position].cell(0) != old.columns[position].cell(row)
        };
        let assigned = &compiled.columns[..compiled.assigned_count];
        let is_changed = |&(ordinal, position): &(usize, usize)| {
            let data_type = &definition.columns[ordinal].data_type;
            changes_row(old.columns[position].cell(row), input.columns[position].cell(0), data_type)
        };
        let is_changed = assigned.iter().any(is_changed);
        if !is_changed && trigger.is_none() {
            return Ok(false);
        }
        if is_changed {
            for &(ordinal, position) in &compiled.on_update_now {
                storing.put_now(&definition.columns[ordinal].data_type, &mut input.columns[position]);
            }
        }
        let positions = Some(&*self.plan.row);
        let before = RowAt { batch: old, row, positions };
        if let Some(trigger) = trigger {
            if self.delays_nulls {
                // Triggers see what they would be without them.
                self.generate(input, number, storing, ctx)?;
            }
            let mut new = NewRow::new(definition, input, positions, number);
            trigger.before(TriggerEvent::Update, Some(before), Some(&mut new), Some(storing), ctx)?;
            let rules = NullRules { storing, ignore, numbered: None, missing: &[], view: None };
            if !settle_nulls(&mut new, &rules, &mut self.warned, ctx.eval.warnings)? {
                return Ok(false);
            }
            if !self.plan.row.iter().any(|&position| differs(position as usize, input)) {
                let after = RowAt { batch: input, row: 0, positions };
                trigger.after(TriggerEvent::Update, Some(before), Some(after), ctx)?;
                return Ok(false);
            }
        }
        let settled = storing.settled();
        self.generate(input, number, settled.as_ref().unwrap_or(storing), ctx)?;
        if let Some(check) = &compiled.view_check
            && !check.admits(&mut self.view_check, queries, input, ignore, ctx)?
        {
            return Ok(false);
        }
        if !compiled.rules.checks.is_empty()
            && let Some(name) = compiled.rules.violated(&mut self.running, input, &mut ctx.eval)?
        {
            check_violated(name, ignore, ctx.eval.warnings)?;
            return Ok(false);
        }
        let mut changes: smallvec::SmallVec<[(usize, Cell<'_>); 8]> = compiled
            .columns
            .iter()
            .filter(|&&(_, position)| differs(position, input))
            .map(|&(ordinal, position)| (ordinal, input.columns[position].cell(0)))
            .collect();
        if trigger.is_some() {
            // It may have set any column.
            let row = self.plan.row.iter().map(|&position| position as usize).enumerate();
            let row = row.filter(|&(_, position)| differs(position, input));
            changes = row.map(|(ordinal, position)| (ordinal, input.columns[position].cell(0))).collect();
        }
        let writer = &self.writer;
        match writer.update(locator, &changes, ctx)? {
            // A row that triggers have left as it was fires AFTER triggers, too.
            Ok(updated @ (Updated::Changed | Updated::Same)) => {
                let is_changed = updated == Updated::Changed;
                ctx.status.add(StatusKind::Update, u64::from(is_changed));
                if is_changed
                    && let Some(position) = compiled.numbered
                    && let Cell::Int(value) = input.columns[position].cell(0)
                    && value > 0
                {
                    writer.table.observe_number(value as u64).map_err(access_error)?;
                }
                if let Some(trigger) = trigger {
                    let after = Some(RowAt { batch: input, row: 0, positions });
                    trigger.after(TriggerEvent::Update, Some(before), after, ctx)?;
                }
                Ok(is_changed)
            }
            Ok(Updated::Absent) => Ok(false),
            Err(Error::DuplicateKey(duplicate)) => {
                // Gone or not by now, it was in the way.
                writer.keep_duplicate(&duplicate, ctx)?;
                if !ignore {
                    return Err(writer.failed(&Error::DuplicateKey(duplicate), ctx));
                }
                warn_duplicate(&duplicate, ctx.eval.warnings);
                Ok(false)
            }
            Err(Error::ForeignKey(violation)) => {
                violated(&violation, ignore, &mut ctx.eval)?;
                Ok(false)
            }
            Err(error) => Err(writer.failed(&error, ctx)),
        }
    }

    /// Computes the generated columns of the row.
    fn generate(
        &mut self,
        input: &mut Batch,
        number: u64,
        storing: &Storing<'_>,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        let compiled = self.compiled;
        let definition = self.writer.definition;
        let followers = &compiled.columns[compiled.columns.len() - compiled.rules.generated.len()..];
        for ((generated, program), &(ordinal, position)) in
            compiled.rules.generated.iter().zip(&mut self.running.generated).zip(followers)
        {
            let target = ColumnTarget { definition, ordinal, row: number, null_allowed: false };
            rules::put_generated((generated, program), input, position, target, storing, &mut ctx.eval)?;
        }
        Ok(())
    }
}
