//! Changes of rows and of definitions, in strict and other modes.

use super::queries::column_info;
use super::{Generator, Relation, Visible};
use crate::ast::{Alteration, Expr, ROW_ALIAS, Rows, Source, Statement};
use crate::forms;
use crate::schema::{Column, Family, IndexKind, Table, Type, mentions};

/// Modes that sessions are set to; MySQL's default first.
pub const SQL_MODES: &[&str] = &[
    "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION",
    "ONLY_FULL_GROUP_BY",
    "ONLY_FULL_GROUP_BY,STRICT_ALL_TABLES",
    "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_UNSIGNED_SUBTRACTION",
    "ONLY_FULL_GROUP_BY,PAD_CHAR_TO_FULL_LENGTH",
    "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,TIME_TRUNCATE_FRACTIONAL",
    "ONLY_FULL_GROUP_BY,ALLOW_INVALID_DATES,STRICT_TRANS_TABLES",
    "ONLY_FULL_GROUP_BY,NO_AUTO_VALUE_ON_ZERO,HIGH_NOT_PRECEDENCE",
];

/// Tables of FROM by name and alias.
fn base_tables(source: &Source, found: &mut Vec<(String, String)>) {
    match source {
        Source::Table { name, alias, .. } => found.push((name.clone(), alias.clone())),
        Source::Derived { .. } | Source::JsonTable { .. } => {}
        Source::Join { left, right, .. } => {
            base_tables(left, found);
            base_tables(right, found);
        }
    }
}

/// Columns in no unique key: whether a row violates one depends on what was changed before it.
fn free_columns(table: &Table) -> Vec<Column> {
    let in_unique = |column: &&Column| {
        let mut unique = table.indexes.iter().filter(|index| index.kind != IndexKind::Plain);
        let made_of = |name: &str| {
            let made = table.column(name).and_then(|column| column.generated.as_ref());
            name == column.name
                || name.starts_with('(') && mentions(name, &column.name)
                || made.is_some_and(|generated| mentions(&generated.expression, &column.name))
        };
        column.generated.is_some() || unique.any(|index| index.parts.iter().any(|part| made_of(&part.column)))
    };
    table.columns.iter().filter(|column| !in_unique(column)).cloned().collect()
}

impl Generator {
    fn relation_of(&mut self, table: usize) -> (Source, Relation) {
        let alias = self.fresh("r");
        let table = &self.tables[table];
        let columns = table.columns.iter();
        let columns =
            columns.map(|column| Visible { name: column.name.clone(), info: column_info(column) }).collect();
        let source = Source::Table { name: table.name.clone(), alias: alias.clone(), hint: None };
        (source, Relation { alias, columns })
    }

    /// A statement that changes rows, or the mode of those that follow.
    pub(super) fn change(&mut self) -> Statement {
        match self.random.below(20) {
            0 => {
                let mode = *self.random.pick(SQL_MODES);
                // What 9.7 reads of a VIRTUAL column over a CHAR depends on it.
                let pads = self.settings.generated && mode.contains("PAD_CHAR");
                Statement::Plain(format!("SET sql_mode = '{}'", if pads { SQL_MODES[0] } else { mode }))
            }
            1 => Statement::Plain((*self.random.pick(&["BEGIN", "ROLLBACK", "COMMIT"])).to_owned()),
            2..=8 => self.insert(),
            9..=14 => self.update(),
            _ => self.delete(),
        }
    }

    /// A value to store in a column: mostly one of its type, else whatever must be converted.
    fn assigned(&mut self, column: &Column) -> Option<Expr> {
        if column.generated.is_some() && self.random.chance(90) {
            return None;
        }
        let choice = self.random.below(100);
        if choice < 6 {
            return None;
        }
        if choice < 55 || column.is_plain && choice < 90 {
            return Some(Expr::Literal {
                value: self.stored_value(column),
                is_bound: self.random.chance(50),
            });
        }
        if column.is_plain {
            // Plain columns stay plain: what is known of them holds for the whole round.
            return match column.column_type.family() {
                family @ (Family::Integer | Family::Decimal | Family::Real) => Some(self.literal(family).0),
                _ => None,
            };
        }
        if choice < 66 {
            // A value of another column's type.
            let table = self.random.below(self.tables.len());
            let other = self.random.below(self.tables[table].columns.len());
            let other = self.tables[table].columns[other].clone();
            return Some(Expr::Literal {
                value: self.stored_value(&other),
                is_bound: self.random.chance(50),
            });
        }
        let family = if choice < 92 { column.column_type.family() } else { self.some_family() };
        Some(self.expr(family, 2).0)
    }

    fn insert(&mut self) -> Statement {
        let at = self.random.below(self.tables.len());
        let table = self.tables[at].clone();
        let has_unique = table.indexes.iter().any(|index| index.kind != IndexKind::Plain);
        self.aim(&table);
        let verb = *self.random.pick(&["INSERT", "INSERT", "INSERT IGNORE", "REPLACE"]);
        let chosen: Vec<&Column> = {
            let wanted = |column: &&Column| {
                self.random.chance(85) && (column.generated.is_none() || self.random.chance(15))
            };
            table.columns.iter().filter(wanted).collect()
        };
        let chosen = if chosen.is_empty() { table.columns.iter().collect() } else { chosen };
        let columns: Vec<String> = chosen.iter().map(|column| column.name.clone()).collect();
        let rows = if self.random.chance(70) {
            let count = *self.random.pick(&[1, 1, 2, 3]);
            let rows = (0..count).map(|_| self.inserted(&table.name, &chosen)).collect();
            Rows::Values(rows)
        } else {
            let families: Vec<Family> = chosen.iter().map(|column| column.column_type.family()).collect();
            let with = if self.random.chance(15) { self.cte_of_change() } else { Vec::new() };
            let mut query = self.rows_of(&families);
            query.with = with;
            Rows::Query(Box::new(query))
        };
        let mut on_duplicate = Vec::new();
        if verb == "INSERT" && has_unique && self.random.chance(40) {
            for _ in 0..1 + self.random.below(2) {
                let column = self.random.pick(&table.columns).clone();
                let named = self.updated(&table, &rows);
                self.scopes.push(named);
                let value = if self.random.chance(35) {
                    let column = Expr::Column { relation: String::new(), name: column.name.clone() };
                    Expr::Call { form: forms::VALUES, arguments: vec![column] }
                } else {
                    self.assigned(&column).unwrap_or(Expr::literal(crate::value::Value::Null))
                };
                self.scopes.pop();
                on_duplicate.push((column.name, value));
            }
        }
        Statement::Insert { verb, table: table.name, columns, rows, on_duplicate }
    }

    /// The statement changes this table: nothing else in it reads that.
    fn aim(&mut self, table: &Table) {
        self.target = Some(table.name.clone());
        self.has_temporary = table.is_temporary;
    }

    /// One row of VALUES. Its values may be those of subqueries, or of columns before them.
    fn inserted(&mut self, table: &str, chosen: &[&Column]) -> Vec<Option<Expr>> {
        let mut before = Vec::new();
        let mut values = Vec::new();
        let choice = self.random.below(100);
        for column in chosen {
            let budget = self.budget;
            if choice < 15 {
                self.scopes.push(Vec::new());
            } else if choice < 40 {
                // A subquery would look for the name in its own tables.
                self.budget = 0;
                self.scopes.push(vec![Relation { alias: table.to_owned(), columns: before.clone() }]);
            }
            values.push(self.assigned(column));
            if choice < 40 {
                self.scopes.pop();
            }
            self.budget = self.budget.max(if choice < 15 { self.budget } else { budget });
            before.push(Visible { name: column.name.clone(), info: column_info(column) });
        }
        values
    }

    /// What ON DUPLICATE KEY UPDATE names: columns of the row that is there, of the one that is inserted, and columns that the
    /// query of the new rows selects.
    fn updated(&mut self, table: &Table, rows: &Rows) -> Vec<Relation> {
        let columns = |table: &Table| {
            let of = |column: &Column| Visible { name: column.name.clone(), info: column_info(column) };
            table.columns.iter().map(of).collect::<Vec<_>>()
        };
        let mut relations = vec![Relation { alias: table.name.clone(), columns: columns(table) }];
        match rows {
            Rows::Values(_) if self.random.chance(30) => {
                relations.push(Relation { alias: ROW_ALIAS.to_owned(), columns: columns(table) });
            }
            Rows::Values(_) => {}
            Rows::Query(query) => {
                let mut tables = Vec::new();
                if let Some(from) = query.select().and_then(|select| select.from.as_ref()) {
                    base_tables(from, &mut tables);
                }
                for item in query.select().into_iter().flat_map(|select| &select.items) {
                    let Expr::Column { relation, name } = &item.expr else { continue };
                    let table = tables.iter().find(|(_, alias)| alias == relation);
                    let table =
                        table.and_then(|(table, _)| self.tables.iter().find(|known| known.name == *table));
                    let Some(column) = table.and_then(|table| table.column(name)) else { continue };
                    let visible = Visible { name: name.clone(), info: column_info(column) };
                    relations.push(Relation { alias: relation.clone(), columns: vec![visible] });
                }
            }
        }
        relations
    }

    /// The other side of a change of several tables: a table, a CTE or a derived table; and the number of the table, where it is one
    /// that the statement may change as well.
    fn beside(&mut self, target: usize) -> (Source, Relation, Option<usize>) {
        if self.random.chance(40) {
            // A derived table sees no other table of the statement.
            let scopes = std::mem::take(&mut self.scopes);
            let (source, relation) = self.relation();
            self.scopes = scopes;
            return (source, relation, None);
        }
        let mut other = self.random.below(self.tables.len());
        if self.tables[other].is_temporary && self.has_temporary {
            other = (other + 1) % self.tables.len();
        }
        self.has_temporary |= self.tables[other].is_temporary;
        let (source, relation) = self.relation_of(other);
        (source, relation, (other != target).then_some(other))
    }

    /// The columns of the primary key, by which the order of changes is certain.
    fn key_order(table: &Table, alias: &str) -> Vec<(Expr, bool)> {
        let primary = table.indexes.iter().find(|index| index.kind == IndexKind::Primary);
        let parts = primary.filter(|index| index.parts.iter().all(|part| part.prefix.is_none()));
        let column = |name: &str| Expr::Column { relation: alias.to_owned(), name: name.to_owned() };
        parts.map_or(Vec::new(), |index| {
            index.parts.iter().map(|part| (column(&part.column), false)).collect()
        })
    }

    fn update(&mut self) -> Statement {
        let at = self.random.below(self.tables.len());
        let (mut from, relation) = self.relation_of(at);
        let table = self.tables[at].clone();
        let alias = relation.alias.clone();
        self.aim(&table);
        let order = Self::key_order(&table, &alias);
        let with = if self.random.chance(12) { self.cte_of_change() } else { Vec::new() };
        let free = free_columns(&table);
        let candidates = if free.is_empty() || !order.is_empty() && self.random.chance(15) {
            &table.columns
        } else {
            &free
        };
        let is_ignore = self.random.chance(15);
        self.scopes.push(vec![relation.clone()]);
        let mut sets = Vec::new();
        for _ in 0..1 + self.random.below(2) {
            let column = self.random.pick(candidates).clone();
            if sets.iter().any(|(set, _)| matches!(set, Expr::Column { name, .. } if *name == column.name)) {
                continue;
            }
            let value = self.assigned(&column).unwrap_or(Expr::literal(crate::value::Value::Null));
            sets.push((Expr::Column { relation: alias.clone(), name: column.name }, value));
        }
        let is_multi = self.random.chance(30) || !with.is_empty();
        if is_multi {
            let (right, other, number) = self.beside(at);
            if let Some(number) = number.filter(|_| self.random.chance(25)) {
                // Both tables are changed, each by its own columns: a subquery may read neither.
                self.budget = 0;
                let free = free_columns(&self.tables[number]);
                if !free.is_empty() {
                    let column = self.random.pick(&free).clone();
                    self.scopes.push(vec![other.clone()]);
                    let value = self.assigned(&column).unwrap_or(Expr::literal(crate::value::Value::Null));
                    self.scopes.pop();
                    sets.push((Expr::Column { relation: other.alias.clone(), name: column.name }, value));
                }
            }
            let kind = *self.random.pick(&["JOIN", "LEFT JOIN"]);
            self.scopes.push(vec![relation, other]);
            let on = Some(self.condition(1).0);
            from = Source::Join { kind, left: Box::new(from), right: Box::new(right), on, using: Vec::new() };
        }
        let filter = self.random.chance(85).then(|| self.condition(2).0);
        self.scopes.clear();
        let has_order = !is_multi && !order.is_empty() && self.random.chance(70);
        let limit = (has_order && self.random.chance(30)).then(|| self.random.below(4) as u64);
        let order = if has_order { order } else { Vec::new() };
        Statement::Update { with, is_ignore, from, sets, filter, order, limit }
    }

    fn delete(&mut self) -> Statement {
        let at = self.random.below(self.tables.len());
        let (mut from, relation) = self.relation_of(at);
        let table = self.tables[at].clone();
        let alias = relation.alias.clone();
        self.aim(&table);
        let order = Self::key_order(&table, &alias);
        let with = if self.random.chance(12) { self.cte_of_change() } else { Vec::new() };
        let is_multi = self.random.chance(35) || !with.is_empty();
        let mut targets = Vec::new();
        self.scopes.push(vec![relation.clone()]);
        if is_multi {
            let (right, other, number) = self.beside(at);
            targets.push(alias);
            if number.is_some() && self.random.chance(25) {
                self.budget = 0;
                targets.push(other.alias.clone());
            }
            let kind = *self.random.pick(&["JOIN", "LEFT JOIN"]);
            self.scopes.push(vec![relation, other]);
            let on = Some(self.condition(1).0);
            from = Source::Join { kind, left: Box::new(from), right: Box::new(right), on, using: Vec::new() };
        }
        let filter = Some(self.condition(2).0);
        self.scopes.clear();
        let has_order = !is_multi && !order.is_empty() && self.random.chance(50);
        let limit = (has_order && self.random.chance(50)).then(|| self.random.below(4) as u64);
        let order = if has_order { order } else { Vec::new() };
        let is_ignore = self.random.chance(12);
        Statement::Delete { with, is_ignore, targets, from, filter, order, limit }
    }

    /// A statement that changes a definition.
    pub(super) fn definition(&mut self) -> Statement {
        let at = self.random.below(self.tables.len());
        let table = self.tables[at].clone();
        let number = self.random.below(1000);
        let change = match self.random.below(10) {
            0..=3 => {
                let collation = match &table.columns[self.random.below(table.columns.len())].column_type {
                    Type::Text { collation, .. } => collation,
                    _ => "utf8mb4_0900_ai_ci",
                };
                let column = self.random.pick(&table.columns).name.clone();
                Alteration::Modify(self.column(column, collation))
            }
            4 if self.settings.generated && self.random.chance(70) => {
                match self.generated_column(&table, format!("n{number}"), "utf8mb4_0900_ai_ci") {
                    Some(column) => Alteration::Add(column),
                    None => return Statement::Plain(format!("SHOW CREATE TABLE {}", table.name)),
                }
            }
            4 => Alteration::Add(self.column(format!("n{number}"), "utf8mb4_0900_ai_ci")),
            5 if table.columns.len() > 2 => Alteration::Drop(self.random.pick(&table.columns).name.clone()),
            6 if !table.indexes.is_empty() => {
                Alteration::DropIndex(self.random.pick(&table.indexes).name.clone())
            }
            7 => {
                let families: Vec<Family> = (0..2).map(|_| self.some_family()).collect();
                let query = self.rows_of(&families);
                return Statement::CreateSelect { table: format!("made{number}"), query };
            }
            _ => {
                let kind = if self.random.chance(25) { IndexKind::Unique } else { IndexKind::Plain };
                match self.index(&table, format!("i{number}"), kind) {
                    Some(index) => Alteration::AddIndex(index),
                    None => return Statement::Plain(format!("SHOW CREATE TABLE {}", table.name)),
                }
            }
        };
        Statement::Alter { table: table.name, change }
    }

    /// Notes that an ALTER TABLE succeeded, so that later statements know the table as it is.
    pub fn altered(&mut self, table: &str, change: &Alteration) {
        let Some(table) = self.tables.iter_mut().find(|known| known.name == table) else { return };
        match change {
            Alteration::Modify(column) => {
                if let Some(known) = table.columns.iter_mut().find(|known| known.name == column.name) {
                    // What was stored before may be anything after conversion.
                    *known = Column { is_plain: false, ..column.clone() };
                }
            }
            Alteration::Add(column) => table.columns.push(column.clone()),
            Alteration::Drop(name) => {
                if let Some(at) = table.columns.iter().position(|column| column.name == *name) {
                    table.rows.clear();
                    table.remove_column(at);
                }
            }
            Alteration::AddIndex(index) => table.indexes.push(index.clone()),
            Alteration::DropIndex(name) => table.indexes.retain(|index| index.name != *name),
        }
    }
}
