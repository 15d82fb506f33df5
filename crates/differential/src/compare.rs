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
    /// The right server's answer; none for warnings.
    pub right: Option<Answer>,
    /// Where descriptions of columns differ: the right server's.
    pub right_columns: Vec<Described>,
    /// Where descriptions of columns differ: in what, by column. Those that [`crate::oracle`] explains are taken out.
    pub unlike: Vec<(usize, Attribute)>,
    /// The statement that read the content of a table, if that differs.
    pub content_of: Option<String>,
    /// The lines of SHOW WARNINGS of both, if they differ.
    pub warnings: Option<[Vec<String>; 2]>,
}

impl Difference {
    /// Whether it may be the same defect.
    #[must_use]
    pub fn is_like(&self, other: &Difference) -> bool {
        let has = |attribute: Attribute| other.unlike.iter().any(|(_, unlike)| *unlike == attribute);
        self.kind == other.kind
            && self.errors == other.errors
            && self.unlike.first().is_none_or(|(_, attribute)| has(*attribute))
    }
}

impl Difference {
    /// Leaves these of the attributes that differ.
    pub fn narrow(&mut self, unlike: Vec<(usize, Attribute)>) {
        if let (Kind::Columns, Some(Answer::Rows { columns, .. })) = (self.kind, &self.left)
            && !unlike.is_empty()
        {
            self.text = show_unlike(columns, &self.right_columns, &unlike);
            self.unlike = unlike;
        }
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

/// What is said of a difference in nothing but the rows that a change counts, if the left server counts fewer.
const FEWER_ROWS: &str = "\nnothing else differs; fewer rows on the left";

/// Compares two answers to a statement, without their warnings.
#[must_use]
pub fn compare(
    left: &Answer,
    right: &Answer,
    statement: &Statement,
    lenience: Lenience,
) -> Option<Difference> {
    let difference = |kind: Kind, text: String| {
        let errors = (left.error(), right.error());
        let (left, right) = (Some(left.clone()), Some(right.clone()));
        let (right_columns, unlike) = (Vec::new(), Vec::new());
        Some(Difference {
            kind,
            errors,
            text,
            left,
            right,
            right_columns,
            unlike,
            content_of: None,
            warnings: None,
        })
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
                if left_columns.len() != right_columns.len() {
                    return both(Kind::Columns);
                }
                let unlike = unlike(left_columns, right_columns);
                if !unlike.is_empty() {
                    let text = show_unlike(left_columns, right_columns, &unlike);
                    let found = difference(Kind::Columns, text);
                    return found.map(|found| Difference {
                        right_columns: right_columns.clone(),
                        unlike,
                        ..found
                    });
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
            let is_same_text = cut(left_info) == cut(right_info);
            if same && is_same_text {
                return None;
            }
            let mut found = both(Kind::Counts)?;
            if left_id == right_id && is_same_text && left_rows < right_rows {
                found.text.push_str(FEWER_ROWS);
            }
            Some(found)
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

/// One thing that is said of a column.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Attribute {
    /// Its name.
    Name,
    /// Its type.
    Type,
    /// The most bytes of a value.
    Length,
    /// Digits after the point.
    Decimals,
    /// Its collation.
    Collation,
    /// One bit of its flags.
    Flag(u16),
}

/// Whether both columns say the same of this.
#[must_use]
pub fn agree(attribute: Attribute, left: &Described, right: &Described) -> bool {
    match attribute {
        Attribute::Name => left.name == right.name,
        Attribute::Type => left.column_type == right.column_type,
        Attribute::Length => left.length == right.length,
        Attribute::Decimals => left.decimals == right.decimals,
        Attribute::Collation => left.collation == right.collation,
        Attribute::Flag(bit) => left.flags.0 & bit == right.flags.0 & bit,
    }
}

/// In what two lists of columns differ: the column's position, and what of it. Nothing if they are not as many.
#[must_use]
pub fn unlike(left: &[Described], right: &[Described]) -> Vec<(usize, Attribute)> {
    use Attribute as A;
    if left.len() != right.len() {
        return Vec::new();
    }
    let all = || {
        let flags = (0..u16::BITS).map(|bit| A::Flag(1 << bit));
        [A::Name, A::Type, A::Length, A::Decimals, A::Collation].into_iter().chain(flags)
    };
    let mut found = Vec::new();
    for (at, (left, right)) in left.iter().zip(right).enumerate() {
        found.extend(
            all().filter(|attribute| !agree(*attribute, left, right)).map(|attribute| (at, attribute)),
        );
    }
    found
}

/// Both descriptions of the columns that are unlike.
#[must_use]
pub fn show_unlike(left: &[Described], right: &[Described], unlike: &[(usize, Attribute)]) -> String {
    let mut lines = Vec::new();
    for (at, (left, right)) in left.iter().zip(right).enumerate() {
        if unlike.iter().any(|(other, _)| *other == at) {
            lines.push(format!("left:  {}\nright: {}", left.show(), right.show()));
        }
    }
    lines.join("\n")
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

/// Whether a line of SHOW WARNINGS is about an optimizer hint.
#[must_use]
pub fn is_of_hint(line: &str) -> bool {
    let number = line.split(" | ").nth(1).unwrap_or_default();
    matches!(number, "1064" | "3125" | "3126" | "3127" | "3128" | "3515" | "3637")
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
        right: None,
        right_columns: Vec::new(),
        unlike: Vec::new(),
        content_of: None,
        warnings: Some([left.to_vec(), right.to_vec()]),
    })
}
