//! INSERT, UPDATE and DELETE.

use catalog::TriggerEvent;

use crate::expr::ColumnId;
use crate::logical::{
    BoundAssignment, BoundDelete, BoundInsert, BoundTable, BoundUpdate, BoundViewCheck, InsertCell,
    InsertRows, Logical, TableIndex,
};
use crate::physical::{
    Assign, DeletePlan, InsertPlan, InsertSource, Node, Op, RowQuery, TargetView, UpdatePlan, UpdateTarget,
    ViewCheck,
};
use crate::rewrite;

use super::{Builder, Needed};

/// Position of a column that was not read.
pub(crate) const NOT_READ: u32 = u32::MAX;

impl Builder<'_> {
    /// Takes the cells out of `insert`: literals may be large and are not copied.
    pub(crate) fn insert(&mut self, insert: &mut BoundInsert) -> InsertPlan {
        let table = &self.bound.tables[insert.table.0 as usize];
        let width = table.entry.definition.columns.len();
        let new_row: Vec<ColumnId> = (0..width as u32).map(|at| ColumnId(insert.new_row.0 + at)).collect();
        let mut seen: Vec<ColumnId> = (0..width).map(|at| table.column(at)).collect();
        seen.extend(&new_row);
        let mut collect_first = false;
        let row_queries = std::mem::take(&mut insert.row_queries);
        let in_cells = match &insert.rows {
            InsertRows::Values { cells, .. } => {
                let queries = cells.iter().filter(|cell| matches!(cell, InsertCell::Query(_)));
                queries.count()
            }
            InsertRows::Query(..) => 0,
        };
        let rows = match &mut insert.rows {
            InsertRows::Values { row_count, cells } => {
                let mut cells = std::mem::take(cells);
                for cell in &mut cells {
                    if let InsertCell::Expr(expr) = cell {
                        **expr = self.translate_one(expr, &new_row);
                    }
                }
                InsertSource::Values { row_count: *row_count, cells }
            }
            InsertRows::Query(tree, columns) => {
                let id = table.entry.definition.id;
                let node = self.root(tree, columns);
                let target = insert.table.0 as usize;
                let mut others = self.bound.tables.iter().enumerate().filter(|(at, _)| *at != target);
                collect_first = others.any(|(_, other)| other.entry.definition.id == id);
                seen.extend(&*columns);
                InsertSource::Query(node)
            }
        };
        let on_duplicate = self.assignments(&insert.on_duplicate, insert.table, &seen);
        let view = insert.view.as_ref().map(|view| {
            let check = view.check.as_ref().map(|check| self.view_check(check, &seen[..width]));
            let replaced = view.replaced.as_ref().map(|check| self.view_check(check, &seen[..width]));
            Box::new(TargetView { name: view.name.clone(), check, replaced })
        });
        let row_queries = row_queries
            .iter()
            .enumerate()
            .map(|(number, query)| {
                self.row_query(&query.tree, query.column, if number < in_cells { &new_row } else { &seen })
            })
            .collect();
        InsertPlan {
            table: insert.table,
            view,
            replace: insert.replace,
            ignore: insert.ignore,
            columns: insert.columns.clone(),
            rows,
            collect_first,
            on_duplicate,
            row_queries,
        }
    }

    /// What a view asks of rows with columns `seen`.
    fn view_check(&mut self, check: &BoundViewCheck, seen: &[ColumnId]) -> ViewCheck {
        ViewCheck {
            view: check.view.clone(),
            conditions: check
                .conditions
                .iter()
                .map(|condition| self.translate_one(condition, seen))
                .collect(),
            queries: check.queries.clone(),
        }
    }

    /// A query for a value of a row with columns `seen`.
    pub(crate) fn row_query(&mut self, tree: &Logical, column: ColumnId, seen: &[ColumnId]) -> RowQuery {
        let node = self.root(tree, &[column]);
        let slots: Vec<(u32, u32)> = self
            .outer_slots
            .iter()
            .enumerate()
            .filter_map(|(slot, id)| {
                let position = seen.iter().position(|column| column == id)?;
                Some((slot as u32, position as u32))
            })
            .collect();
        let mut free = Vec::new();
        rewrite::free_columns(tree, &self.bound.tables, &mut free);
        let is_constant = free.iter().all(|id| !seen.contains(id)) && is_stable(tree);
        RowQuery { node, slots, is_constant }
    }

    fn assignments(
        &mut self,
        bound: &[BoundAssignment],
        table: TableIndex,
        seen: &[ColumnId],
    ) -> Vec<Assign> {
        bound
            .iter()
            .filter(|assignment| assignment.table == table)
            .map(|assignment| Assign {
                column: assignment.column,
                value: assignment.value.as_ref().map(|value| self.translate_one(value, seen)),
                query: assignment.query,
            })
            .collect()
    }

    pub(crate) fn update(&mut self, update: &BoundUpdate) -> UpdatePlan {
        let mut needed = self.nothing();
        for assignment in &update.assignments {
            let table = &self.bound.tables[assignment.table.0 as usize];
            needed.add(table.column(assignment.column));
            if let Some(value) = &assignment.value {
                needed.add_expr(value);
            }
        }
        for (_, check) in &update.checks {
            check.conditions.iter().for_each(|condition| needed.add_expr(condition));
        }
        for query in &update.row_queries {
            let mut free = Vec::new();
            rewrite::free_columns(&query.tree, &self.bound.tables, &mut free);
            free.into_iter().for_each(|id| needed.add(id));
        }
        for &target in &update.targets {
            needed.add(self.locator(target));
            let table = &self.bound.tables[target.0 as usize];
            let definition = &table.entry.definition;
            // DEFAULT (expression) may read any column.
            let by_default = |column: usize| {
                let mut assigned = update.assignments.iter().filter(|assign| assign.table == target);
                assigned.any(|assign| assign.column == column && assign.value.is_none())
            };
            let whole_row = !definition.checks.is_empty()
                || table.entry.source.row_trigger().is_some()
                || definition.triggers.iter().any(|trigger| trigger.event == TriggerEvent::Update)
                || definition.columns.iter().enumerate().any(|(ordinal, column)| {
                    matches!(column.default, catalog::ColumnDefault::Expression(_)) && by_default(ordinal)
                })
                || definition.columns.iter().any(|column| column.generated.is_some());
            for (ordinal, column) in definition.columns.iter().enumerate() {
                if whole_row || column.on_update_now {
                    needed.add(table.column(ordinal));
                }
            }
        }
        let source = self.change_source(&update.source, &needed);
        let mut targets = Vec::new();
        // A derived table may read what is changed.
        let joins_tables = update.multi_table || self.bound.tables.len() > 1;
        let mut collect_first = joins_tables;
        for &target in &update.targets {
            let table = &self.bound.tables[target.0 as usize];
            let assignments = self.assignments(&update.assignments, target, &source.columns);
            collect_first |= moves_rows(table, &source, target, &assignments);
            let check = update.checks.iter().find(|(table, _)| *table == target);
            let check = check.map(|(_, check)| Box::new(self.view_check(check, &source.columns)));
            targets.push(UpdateTarget {
                check,
                table: target,
                locator: self.position(&source, self.locator(target)),
                row: (0..table.entry.definition.columns.len())
                    .map(|ordinal| self.position(&source, table.column(ordinal)))
                    .collect(),
                assignments,
            });
        }
        let queries = update.row_queries.iter();
        let row_queries =
            queries.map(|query| self.row_query(&query.tree, query.column, &source.columns)).collect();
        UpdatePlan { source, targets, row_queries, ignore: update.ignore, collect_first, joins_tables }
    }

    pub(crate) fn delete(&mut self, delete: &BoundDelete) -> DeletePlan {
        let mut needed = self.nothing();
        delete.targets.iter().for_each(|&target| needed.add(self.locator(target)));
        let source = self.change_source(&delete.source, &needed);
        let targets = delete
            .targets
            .iter()
            .map(|&target| (target, self.position(&source, self.locator(target))))
            .collect();
        DeletePlan { source, targets, ignore: delete.ignore }
    }

    fn change_source(&mut self, tree: &Logical, needed: &Needed) -> Node {
        self.build(tree, needed)
    }

    fn position(&self, node: &Node, id: ColumnId) -> u32 {
        node.columns.iter().position(|column| *column == id).map_or(NOT_READ, |position| position as u32)
    }
}

/// Whether every run of the tree gives the same.
fn is_stable(tree: &Logical) -> bool {
    let mut stable = true;
    tree.each_expr(&mut |expr| stable &= rewrite::is_repeatable(expr));
    if let Logical::Apply { subquery, .. } = tree {
        stable &= is_stable(&subquery.plan);
    }
    tree.each_input(&mut |input| stable = stable && is_stable(input));
    stable
}

/// Whether a change may move a row to where the scan has not been yet.
fn moves_rows(table: &BoundTable, source: &Node, target: TableIndex, assignments: &[Assign]) -> bool {
    let definition = &table.entry.definition;
    let assigned = |column: usize| {
        assignments.iter().any(|assign| assign.column == column)
            || definition.columns[column].on_update_now
            || definition.columns[column].generated.is_some()
    };
    let mut walked = Vec::new();
    scans_of(source, target, &mut walked);
    walked.iter().any(|index| {
        let index = index.or(definition.clustered);
        index.is_some_and(|index| definition.indexes[index].parts.iter().any(|part| assigned(part.column)))
    })
}

fn scans_of(node: &Node, target: TableIndex, out: &mut Vec<Option<usize>>) {
    match &node.op {
        Op::Scan(scan) if scan.table == target => out.push(scan.access.index),
        Op::LookupJoin { scan, .. } if scan.table == target => out.push(scan.access.index),
        _ => {}
    }
    node.each_input(&mut |input| scans_of(input, target, out));
}
