//! Descriptions of columns that tell only whether the right server keeps a result's rows in a temporary table.
//!
//! MySQL keeps them where neither an index nor a sort of the first table gives the order or the groups that are asked for. Which table is
//! the first one, and which are read before the rest is planned, follows from its cost model and from the statistics of the rows, which
//! no plan of the left server follows. A value that is kept is described as a column is: a number without the flag BINARY, a text
//! with no digits after the point instead of any number of them; a column of a table loses its keys.
//!
//! Invariant: nothing else of a column is left out: its type, length, collation and whether it may be NULL are compared.

use client::ColumnType;

use crate::ast::Statement;
use crate::compare::Attribute;
use crate::round::Finding;
use crate::server::{Answer, Described};

/// Flags of the protocol: the keys of a column, and BINARY.
const KEYS: u16 = 2 | 4 | 8 | 16_384;
const BINARY: u16 = 128;
/// Digits of what may have any number of them.
const DECIMALS_NOT_FIXED: u8 = 31;

/// Those attributes that the right server's temporary tables do not account for.
#[must_use]
pub fn beyond(finding: &Finding, unlike: Vec<(usize, Attribute)>) -> Vec<(usize, Attribute)> {
    let Some(Answer::Rows { columns: left, .. }) = &finding.difference.left else { return unlike };
    let sql = finding.script.statements.last().map_or(String::new(), Statement::sql);
    if !has_choice(&sql) {
        return unlike;
    }
    let right = &finding.difference.right_columns;
    let counts = |(at, attribute): &(usize, Attribute)| match (left.get(*at), right.get(*at)) {
        (Some(left), Some(right)) => !tells_of_table(*attribute, left, right),
        _ => true,
    };
    unlike.into_iter().filter(counts).collect()
}

/// Whether the statement joins tables and orders or groups their rows, so that there is a choice.
#[must_use]
pub fn has_choice(sql: &str) -> bool {
    let is_ordered = ["ORDER BY", "GROUP BY", "DISTINCT"].iter().any(|word| sql.contains(word));
    is_ordered && (sql.contains(" JOIN ") || sql.contains(" STRAIGHT_JOIN "))
}

/// Whether both columns say what they say of this by whether their values are kept.
#[must_use]
pub fn tells_of_table(attribute: Attribute, left: &Described, right: &Described) -> bool {
    match attribute {
        Attribute::Flag(BINARY) => is_number(left.column_type) && left.column_type == right.column_type,
        Attribute::Flag(bit) => bit & KEYS != 0,
        Attribute::Decimals => {
            let is_text = |column: &Described| column.column_type == ColumnType::VarString;
            let digits = [left.decimals.min(right.decimals), left.decimals.max(right.decimals)];
            is_text(left) && is_text(right) && digits == [0, DECIMALS_NOT_FIXED]
        }
        _ => false,
    }
}

fn is_number(column_type: ColumnType) -> bool {
    use ColumnType as T;
    matches!(
        column_type,
        T::Tiny | T::Short | T::Int24 | T::Long | T::LongLong | T::Float | T::Double | T::NewDecimal
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::unlike;
    use client::ColumnFlags;

    fn column(column_type: ColumnType, decimals: u8, flags: u16) -> Described {
        Described {
            name: b"c".to_vec(),
            column_type,
            length: 10,
            decimals,
            collation: 63,
            flags: ColumnFlags(flags),
        }
    }

    fn is_left_out(left: &Described, right: &Described) -> bool {
        let unlike = unlike(std::slice::from_ref(left), std::slice::from_ref(right));
        !unlike.is_empty() && unlike.iter().all(|(_, attribute)| tells_of_table(*attribute, left, right))
    }

    #[test]
    fn kept_and_computed_values_are_distinguished_by_little() {
        let number = |flags| column(ColumnType::LongLong, 0, flags);
        assert!(is_left_out(&number(BINARY), &number(0)));
        assert!(is_left_out(&number(2 | 16_384), &number(0)));
        let text = |decimals| column(ColumnType::VarString, decimals, 0);
        assert!(is_left_out(&text(31), &text(0)));
    }

    #[test]
    fn all_else_that_is_said_of_a_column_counts() {
        let number = column(ColumnType::LongLong, 0, BINARY);
        assert!(!is_left_out(&number, &column(ColumnType::LongLong, 0, 1)), "NOT NULL");
        assert!(!is_left_out(&number, &column(ColumnType::Long, 0, 0)), "another type");
        assert!(!is_left_out(&number, &Described { length: 11, ..column(ColumnType::LongLong, 0, 0) }));
        let text = column(ColumnType::VarString, 31, 0);
        assert!(!is_left_out(&text, &column(ColumnType::VarString, 30, 0)), "digits");
        assert!(!is_left_out(&text, &column(ColumnType::VarString, 31, BINARY)), "a collation");
        assert!(!is_left_out(&text, &Described { collation: 255, ..column(ColumnType::VarString, 0, 0) }));
    }

    #[test]
    fn there_is_a_choice_where_joined_rows_are_ordered() {
        assert!(has_choice("SELECT 1 FROM t JOIN u ORDER BY 1"));
        assert!(has_choice("SELECT 1 FROM t STRAIGHT_JOIN u ORDER BY 1"), "tables of one row are read first");
        assert!(!has_choice("SELECT 1 FROM t ORDER BY 1"));
        assert!(!has_choice("SELECT 1 FROM t JOIN u"));
    }
}
