//! Generated columns and functional key parts: formulas over the columns of a table, and conditions that use them again.
//!
//! A condition that repeats a formula may be answered from an index over it, one that has its operands the other way round may not: both
//! have the same rows.

use super::Generator;
use crate::ast::Expr;
use crate::forms::{self, Form, form};
use crate::schema::{Column, Family, Generated, IndexPart, Table, Type};

/// A formula, and what a column of it is.
struct Formula {
    form: Form,
    /// Families of its arguments.
    takes: &'static [Family],
    /// Its own type; `None`: a text.
    gives: Option<Type>,
    /// Its arguments must be small.
    is_small: bool,
}

const INT: Option<Type> = Some(Type::Integer { bytes: 4, unsigned: false });
const BIGINT: Option<Type> = Some(Type::Integer { bytes: 8, unsigned: false });
const DECIMAL: Option<Type> = Some(Type::Decimal { precision: 20, scale: 4, unsigned: false });

const fn formula(
    template: &'static str,
    takes: &'static [Family],
    gives: Option<Type>,
    is_small: bool,
) -> Formula {
    Formula { form: form(template, "", None), takes, gives, is_small }
}

use Family as F;

static FORMULAS: &[Formula] = &[
    formula("({} + {})", &[F::Integer, F::Integer], BIGINT, true),
    formula("({} * 2)", &[F::Integer], BIGINT, true),
    formula("({} % 3)", &[F::Integer], INT, true),
    formula("({} + 1)", &[F::Integer], INT, true),
    formula("({} - {})", &[F::Integer, F::Integer], BIGINT, true),
    formula("({} / {})", &[F::Integer, F::Integer], DECIMAL, true),
    formula("({} DIV {})", &[F::Integer, F::Integer], INT, true),
    formula("ABS({})", &[F::Integer], BIGINT, false),
    formula("IFNULL({}, 0)", &[F::Integer], BIGINT, false),
    formula("COALESCE({}, {})", &[F::Integer, F::Integer], BIGINT, false),
    formula("({} IS NULL)", &[F::Integer], INT, false),
    formula("({} > {})", &[F::Integer, F::Integer], INT, false),
    formula("ROUND({}, 1)", &[F::Decimal], DECIMAL, true),
    formula("({} / 2)", &[F::Decimal], DECIMAL, true),
    formula("({} + {})", &[F::Decimal, F::Integer], DECIMAL, true),
    formula("CONCAT({}, 'x')", &[F::Text], None, false),
    formula("UPPER({})", &[F::Text], None, false),
    formula("LOWER({})", &[F::Text], None, false),
    formula("LEFT({}, 2)", &[F::Text], None, false),
    formula("REVERSE({})", &[F::Text], None, false),
    formula("CHAR_LENGTH({})", &[F::Text], INT, false),
    formula("HEX({})", &[F::Bytes], None, false),
    formula("LENGTH({})", &[F::Bytes], INT, false),
    formula("YEAR({})", &[F::Date], INT, false),
    formula("({} + INTERVAL 1 DAY)", &[F::Date], Some(Type::Date), false),
    formula("DATE({})", &[F::DateTime], Some(Type::Date), false),
    formula("MONTH({})", &[F::DateTime], INT, false),
    formula("CAST({} AS CHAR(8))", &[F::Decimal], None, false),
    formula("CAST({} AS CHAR(20))", &[F::Real], None, false),
    formula("({} + 0)", &[F::Enum], INT, false),
    formula("JSON_UNQUOTE(JSON_EXTRACT({}, '$.a'))", &[F::Json], None, false),
    formula("JSON_EXTRACT({}, '$.a')", &[F::Json], Some(Type::Json), false),
    formula("CAST(JSON_EXTRACT({}, '$.a') AS SIGNED)", &[F::Json], BIGINT, false),
];

/// A formula over certain columns.
#[derive(Clone, Debug)]
pub(crate) struct Used {
    form: &'static Form,
    columns: Vec<String>,
    family: Family,
}

impl Used {
    fn text(&self) -> String {
        let mut columns = self.columns.iter();
        let mut parts = self.form.template.split("{}");
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            out.push_str(columns.next().map_or("NULL", String::as_str));
            out.push_str(part);
        }
        out
    }
}

impl Generator {
    /// A formula that the table's columns allow, with the type of a column of it.
    fn some_formula(&mut self, table: &Table, collation: &'static str) -> Option<(Used, Type)> {
        for _ in 0..8 {
            let formula = &FORMULAS[self.random.below(FORMULAS.len())];
            let mut columns = Vec::new();
            for family in formula.takes {
                let fits = |column: &&Column| {
                    let fits = column.column_type.family() == *family && column.name != "id";
                    fits && (!formula.is_small || column.is_plain)
                };
                let found: Vec<&Column> = table.columns.iter().filter(fits).collect();
                if found.is_empty() {
                    break;
                }
                columns.push(self.random.pick(&found).name.clone());
            }
            if columns.len() != formula.takes.len() {
                continue;
            }
            let text = Type::Text { keyword: "VARCHAR(30)".to_owned(), collation };
            let made = formula.gives.clone().unwrap_or(text);
            let used = Used { form: &formula.form, columns, family: made.family() };
            return Some((used, made));
        }
        None
    }

    /// A generated column over columns of the table.
    pub(super) fn generated_column(
        &mut self,
        table: &Table,
        name: String,
        collation: &'static str,
    ) -> Option<Column> {
        let (used, column_type) = self.some_formula(table, collation)?;
        let expression = used.text();
        self.formulas.push(used);
        Some(Column {
            name,
            column_type,
            is_nullable: self.random.chance(90),
            default: None,
            is_plain: false,
            generated: Some(Generated { expression, is_stored: self.random.chance(45) }),
        })
    }

    /// A functional key part.
    pub(super) fn functional_part(&mut self, table: &Table, collation: &'static str) -> Option<IndexPart> {
        let (used, made) = self.some_formula(table, collation)?;
        if made == Type::Json {
            return None;
        }
        let column = format!("({})", used.text());
        self.formulas.push(used);
        Some(IndexPart { column, prefix: None, is_descending: self.random.chance(12) })
    }

    /// A condition that repeats a formula of the round over a relation in scope.
    pub(super) fn formula_condition(&mut self) -> Option<Expr> {
        let relations = self.scopes.last()?;
        let mut fit: Vec<(String, Used)> = Vec::new();
        for relation in relations {
            for used in &self.formulas {
                let has = |name: &String| relation.columns.iter().any(|column| column.name == *name);
                if used.columns.iter().all(has) {
                    fit.push((relation.alias.clone(), used.clone()));
                }
            }
        }
        if fit.is_empty() {
            return None;
        }
        let (relation, used) = fit.swap_remove(self.random.below(fit.len()));
        let column = |name: &String| Expr::Column { relation: relation.clone(), name: name.clone() };
        let arguments = used.columns.iter().map(column).collect();
        let left = Expr::Call { form: used.form, arguments };
        let other = |generator: &mut Generator| generator.expr(used.family, 0).0;
        if self.random.chance(15) {
            let list = (0..1 + self.random.below(3)).map(|_| other(self)).collect();
            return Some(Expr::In { left: Box::new(left), list, is_negated: self.random.chance(10) });
        }
        let templates = [
            "({} = {})",
            "({} = {})",
            "({} <=> {})",
            "({} < {})",
            "({} >= {})",
            "({} BETWEEN {} AND {})",
            "({} IS NULL)",
        ];
        let form = forms::by_template(self.random.word(&templates)).unwrap_or(forms::EQUAL);
        let mut arguments = vec![left];
        while arguments.len() < form.template.matches("{}").count() {
            arguments.push(other(self));
        }
        if arguments.len() == 2 && self.random.chance(25) {
            arguments.reverse();
        }
        Some(Expr::Call { form, arguments })
    }
}
