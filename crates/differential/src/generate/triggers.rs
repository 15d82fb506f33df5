//! Triggers for the tables of a round.
//!
//! What they do has one right answer, whatever the order of the rows: they note rows in `audit`, count in `tally`, repair values of the
//! new row, set a user variable, or refuse a row for what it holds. All of them are made before the first statement, as statements
//! of the round, so that what is found and cut down has them.

use super::Generator;
use crate::ast::Statement;
use crate::schema::{Column, Family, IndexKind, Table};

/// The tables that triggers write, beside those of the round.
pub const AUDITED: [&str; 2] = ["audit", "tally"];

/// A column of NEW or OLD as text that is the same on both servers.
fn shown(row: &str, column: &Column) -> String {
    let name = format!("{row}.{}", column.name);
    match column.column_type.family() {
        Family::Integer | Family::Date | Family::Year | Family::Condition => name,
        Family::Decimal | Family::Time | Family::DateTime => format!("CAST({name} AS CHAR)"),
        Family::Real => format!("ROUND({name}, 2)"),
        Family::Text | Family::Bytes | Family::Enum | Family::Set | Family::Bit => format!("HEX({name})"),
        Family::Json => format!("HEX(CAST({name} AS CHAR))"),
    }
}

impl Generator {
    /// The statements that make the triggers.
    pub(super) fn make_triggers(&mut self) -> Vec<Statement> {
        let mut sql = vec![
            "CREATE TABLE audit (what VARCHAR(40), held LONGTEXT)".to_owned(),
            "CREATE TABLE tally (k INT PRIMARY KEY, n INT NOT NULL)".to_owned(),
            "SET @fired = 0".to_owned(),
        ];
        let tables = self.tables.clone();
        for table in tables.iter().filter(|table| !table.is_temporary) {
            for event in ["INSERT", "UPDATE", "DELETE"] {
                for timing in ["BEFORE", "AFTER"] {
                    for number in 0..*self.random.pick(&[0, 1, 1, 2]) {
                        let body = self.trigger_body(table, event, timing);
                        let name = format!("{}_{timing}_{event}_{number}", table.name).to_lowercase();
                        sql.push(format!(
                            "CREATE TRIGGER {name} {timing} {event} ON {} FOR EACH ROW {body}",
                            table.name
                        ));
                    }
                }
            }
        }
        sql.into_iter().map(Statement::Plain).collect()
    }

    fn noted(&mut self, table: &Table, event: &str, timing: &str) -> String {
        let rows: &[&str] = match event {
            "INSERT" => &["NEW"],
            "UPDATE" => &["OLD", "NEW"],
            _ => &["OLD"],
        };
        let mut held = Vec::new();
        for row in rows {
            for column in &table.columns {
                if self.random.chance(70) {
                    held.push(format!("IFNULL({}, 'NULL')", shown(row, column)));
                }
            }
        }
        held.push("''".to_owned());
        format!(
            "INSERT INTO audit VALUES ('{} {timing} {event}', CONCAT_WS('|', {}))",
            table.name,
            held.join(", ")
        )
    }

    /// A column that no unique key holds, so that what it becomes violates nothing.
    fn free_column<'t>(&mut self, table: &'t Table) -> Option<&'t Column> {
        let in_unique = |column: &Column| {
            let mut unique = table.indexes.iter().filter(|index| index.kind != IndexKind::Plain);
            unique.any(|index| index.parts.iter().any(|part| part.column == column.name))
        };
        let free: Vec<&Column> = table.columns.iter().filter(|column| !in_unique(column)).collect();
        if free.is_empty() { None } else { Some(free[self.random.below(free.len())]) }
    }

    fn trigger_body(&mut self, table: &Table, event: &str, timing: &str) -> String {
        let row = if event == "DELETE" { "OLD" } else { "NEW" };
        let choice = self.random.below(100);
        if timing == "BEFORE"
            && event != "DELETE"
            && choice < 45
            && let Some(column) = self.free_column(table)
        {
            let name = &column.name;
            let value = match column.column_type.family() {
                Family::Integer | Family::Decimal => (*self.random.pick(&["1", "7", "'5'"])).to_owned(),
                Family::Real => "1.5".to_owned(),
                Family::Text | Family::Bytes => "'t'".to_owned(),
                Family::Date => "'2021-03-04'".to_owned(),
                Family::DateTime => "'2021-03-04 05:06:07'".to_owned(),
                Family::Time => "'01:02:03'".to_owned(),
                Family::Year => "2021".to_owned(),
                _ => format!("{row}.{name}"),
            };
            return match self.random.below(3) {
                0 => format!("SET NEW.{name} = COALESCE(NEW.{name}, {value})"),
                1 if event == "UPDATE" => {
                    format!("IF OLD.{name} <=> NEW.{name} THEN SET NEW.{name} = {value}; END IF")
                }
                _ => format!(
                    "BEGIN DECLARE held LONGTEXT; SET held = HEX(NEW.{name}); IF held IS NULL THEN SET NEW.{name} = {value}; END IF; END"
                ),
            };
        }
        match choice {
            0..=59 => self.noted(table, event, timing),
            60..=74 => {
                let key = self.random.below(3);
                format!("INSERT INTO tally VALUES ({key}, 1) ON DUPLICATE KEY UPDATE n = n + 1")
            }
            75..=84 => {
                let noted = self.noted(table, event, timing);
                format!(
                    "BEGIN DECLARE n INT DEFAULT 0; DECLARE CONTINUE HANDLER FOR 1062 SET n = n + 10; INSERT INTO tally VALUES (9, 1); \
                     SELECT n + COUNT(*) INTO n FROM tally WHERE k = 9; UPDATE tally SET n = n + 1 WHERE k = 9; \
                     IF n > 5 THEN {noted}; END IF; END"
                )
            }
            85..=91 => "SET @fired = @fired + 1".to_owned(),
            _ => {
                let column = self.random.pick(&table.columns).clone();
                let refused = match column.column_type.family() {
                    Family::Integer => format!("{row}.{} = 3", column.name),
                    Family::Text => format!("LENGTH({row}.{}) = 9", column.name),
                    _ => format!("HEX({row}.{}) = '41'", column.name),
                };
                format!("IF {refused} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF")
            }
        }
    }
}
