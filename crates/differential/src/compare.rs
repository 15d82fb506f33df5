//! Whether two answers are the same.

use crate::ast::{Query, Statement};
use crate::server::{Answer, Cells, Described};

/// In what two answers differ, most harmful first.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Kind {
    /// The left server's connection broke.
    Crash,
    /// Rows.
    Rows,
    /// The order of rows.
    Order,
    /// The content of a table after a change.
    Content,
    /// One refuses, or both with other numbers.
    Error,
    /// Rows changed, LAST_INSERT_ID or the text beside them.
    Counts,
    /// Types, lengths, flags or names of columns.
    Columns,
    /// Warnings.
    Warnings,
    /// Texts of errors.
    Message,
}

/// One difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// In what.
    pub kind: Kind,
    /// Numbers of the errors of both.
    pub errors: (Option<u16>, Option<u16>),
    /// Both answers, as a person reads them.
    pub text: String,
    /// The left server's answer; none for warnings.
    pub left: Option<Answer>,
    /// The statement that read the content of a table, if that differs.
    pub content_of: Option<String>,
}

impl Difference {
    /// Whether it may be the same defect.
    #[must_use]
    pub fn is_like(&self, other: &Difference) -> bool {
        self.kind == other.kind && self.errors == other.errors
    }
}

/// What is compared.
#[derive(Clone, Copy, Debug)]
pub struct Lenience {
    /// Types, lengths and flags of columns.
    pub columns: bool,
    /// Warnings of statements that evaluate each expression once for each row.
    pub warnings: bool,
    /// Texts of errors and warnings, not their numbers only.
    pub texts: bool,
}

fn sorted(rows: &[Cells]) -> Vec<&Cells> {
    let mut sorted: Vec<&Cells> = rows.iter().collect();
    sorted.sort();
    sorted
}

/// Compares two answers to a statement; warnings apart.
#[must_use]
pub fn compare(
    left: &Answer,
    right: &Answer,
    statement: &Statement,
    lenience: Lenience,
) -> Option<Difference> {
    let difference = |kind: Kind, text: String| {
        let errors = (left.error(), right.error());
        Some(Difference { kind, errors, text, left: Some(left.clone()), content_of: None })
    };
    let both = |kind: Kind| difference(kind, format!("left:  {}\nright: {}", left.show(12), right.show(12)));
    match (left, right) {
        (Answer::Broken(_), _) => both(Kind::Crash),
        (
            Answer::Rows { columns: left_columns, rows: left_rows, .. },
            Answer::Rows { columns: right_columns, rows: right_rows, .. },
        ) => {
            let (left_sorted, right_sorted) = (sorted(left_rows), sorted(right_rows));
            if left_sorted != right_sorted {
                return both(Kind::Rows);
            }
            if let Statement::Query(query) = statement
                && in_order(query, left_rows) != in_order(query, right_rows)
            {
                return both(Kind::Order);
            }
            if lenience.columns {
                let pairs = left_columns.iter().zip(right_columns);
                let lines: Vec<String> = pairs
                    .filter(|(left, right)| left != right)
                    .map(|(left, right)| differing(left, right))
                    .collect();
                if !lines.is_empty() {
                    return difference(Kind::Columns, lines.join("\n"));
                }
            }
            None
        }
        (
            Answer::Done { affected: left_rows, insert_id: left_id, info: left_info, .. },
            Answer::Done { affected: right_rows, insert_id: right_id, info: right_info, .. },
        ) => {
            let same = left_rows == right_rows && left_id == right_id;
            // The numbers of warnings stand in the text, too.
            let cut = |info: &[u8]| {
                let text = String::from_utf8_lossy(info).into_owned();
                text.split("  Warnings").next().unwrap_or("").to_owned()
            };
            if same && cut(left_info) == cut(right_info) { None } else { both(Kind::Counts) }
        }
        (
            Answer::Refused { number: left_number, message: left_message },
            Answer::Refused { number: right_number, message: right_message },
        ) => {
            if left_number != right_number {
                return both(Kind::Error);
            }
            if lenience.texts && left_message != right_message {
                return both(Kind::Message);
            }
            None
        }
        _ => both(Kind::Error),
    }
}

fn differing(left: &Described, right: &Described) -> String {
    let text = |side: &Described| format!("{} {}", String::from_utf8_lossy(&side.name), side.description);
    format!("left:  {}\nright: {}", text(left), text(right))
}

/// The columns by which the query orders, of each row.
fn in_order<'a>(query: &Query, rows: &'a [Cells]) -> Vec<Vec<&'a Option<Vec<u8>>>> {
    let positions: Vec<usize> =
        query.order.iter().take(query.order_checked).map(|(position, _)| *position).collect();
    rows.iter().map(|row| positions.iter().filter_map(|position| row.get(*position)).collect()).collect()
}

/// Whether the warnings of a statement are certain: each expression is evaluated once for each row, whatever the plan.
#[must_use]
pub fn has_certain_warnings(statement: &Statement) -> bool {
    match statement {
        Statement::Query(query) => query.select().is_some_and(|select| {
            select.from.is_none() && query.with.is_empty() && query.order.is_empty() && query.limit.is_none()
        }),
        Statement::Insert { rows: crate::ast::Rows::Values(_), on_duplicate, .. } => on_duplicate.is_empty(),
        Statement::Alter { .. } => true,
        _ => false,
    }
}

/// Compares the lines of SHOW WARNINGS.
#[must_use]
pub fn compare_warnings(left: &[String], right: &[String], lenience: Lenience) -> Option<Difference> {
    let number = |line: &String| line.split(" | ").take(2).collect::<Vec<_>>().join(" ");
    let same =
        if lenience.texts { left == right } else { left.iter().map(number).eq(right.iter().map(number)) };
    let show = |lines: &[String]| lines.iter().take(12).cloned().collect::<Vec<_>>().join("\n    ");
    (!same).then(|| Difference {
        kind: Kind::Warnings,
        errors: (None, None),
        text: format!("left:  {}\nright: {}", show(left), show(right)),
        left: None,
        content_of: None,
    })
}
