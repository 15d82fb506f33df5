//! Rewritings of groups and partitions that leave them as they are.
//!
//! 1. [`with_equal_items`]: an item of the select list that is written as one that GROUP BY names is a key, too. MySQL does not recognise all
//!    expressions that are written alike (1055).
//! 2. [`with_texts_of_documents`]: documents that ROLLUP groups by, or partitions, as their texts. MySQL sorts all arrays and all objects alike, so
//!    that equal ones do not stand together.
//! 3. [`with_numbers_of_members`]: ENUM and SET values that windows are ordered by as numbers, by which they are ordered. MIN and MAX of the same
//!    column are the first or last value then in MySQL, and the least or greatest text otherwise.

use std::collections::HashSet;

use crate::ast::{Expr, Select, Source, Statement};
use crate::forms;
use crate::schema::{Table, Type};
use crate::walk;

/// The statement with further keys; nothing if no item is one.
pub(super) fn with_equal_items(statement: &Statement) -> Option<Statement> {
    let mut varied = statement.clone();
    walk::statement_selects(&mut varied, &mut |select| {
        let named = |key: &Expr| {
            let Expr::Column { relation, name } = key else { return None };
            let is_it = |alias: &Option<String>| relation.is_empty() && alias.as_ref() == Some(name);
            select.items.iter().find(|item| is_it(&item.alias)).map(|item| &item.expr)
        };
        let keys: Vec<&Expr> = select.group.iter().map(|key| named(key).unwrap_or(key)).collect();
        let equal = select.items.iter().filter_map(|item| {
            let alias = item.alias.clone().filter(|_| keys.contains(&&item.expr))?;
            let key = Expr::Column { relation: String::new(), name: alias };
            (!select.group.contains(&key)).then_some(key)
        });
        let equal: Vec<Expr> = equal.collect();
        if !select.is_rollup {
            select.group.extend(equal);
        }
    });
    (varied != *statement).then_some(varied)
}

/// The statement with texts in place of documents; nothing if it groups and parts by none.
pub(super) fn with_texts_of_documents(statement: &Statement, tables: &[Table]) -> Option<Statement> {
    let mut varied = statement.clone();
    let mut others = HashSet::new();
    walk::statement_selects(&mut varied, &mut |select| {
        if let Some(from) = &select.from {
            columns_of(from, tables, &|of| !matches!(of, Type::Json), &mut others);
        }
    });
    let as_text = |expr: &mut Expr| {
        let may_be_document = match expr {
            Expr::Column { relation, name } => !others.contains(&(relation.clone(), name.clone())),
            Expr::Call { form, .. } => form.template.contains("JSON"),
            _ => false,
        };
        if may_be_document {
            let document = std::mem::replace(expr, Expr::Row(Vec::new()));
            *expr = Expr::Call { form: forms::HEX_CHAR, arguments: vec![document] };
        }
    };
    walk::statement_selects(&mut varied, &mut |select: &mut Select| {
        if select.is_rollup {
            select.group.iter_mut().for_each(as_text);
        }
        select.windows.iter_mut().flat_map(|(_, window)| &mut window.partition).for_each(as_text);
    });
    walk::statement_expressions(&mut varied, &mut |expr| {
        if let Expr::Window { window, .. } = expr {
            window.partition.iter_mut().for_each(as_text);
        }
    });
    (varied != *statement).then_some(varied)
}

/// The statement with windows that are ordered by numbers of members in place of members; nothing if there is none.
pub(super) fn with_numbers_of_members(statement: &Statement, tables: &[Table]) -> Option<Statement> {
    let mut varied = statement.clone();
    let mut members = HashSet::new();
    walk::statement_selects(&mut varied, &mut |select| {
        if let Some(from) = &select.from {
            columns_of(from, tables, &|of| matches!(of, Type::Enum(_) | Type::Set(_)), &mut members);
        }
    });
    let as_number = |expr: &mut Expr| {
        if let Expr::Column { relation, name } = expr
            && members.contains(&(relation.clone(), name.clone()))
        {
            let member = std::mem::replace(expr, Expr::Row(Vec::new()));
            *expr = Expr::Call { form: forms::NUMBER, arguments: vec![member] };
        }
    };
    walk::statement_selects(&mut varied, &mut |select: &mut Select| {
        let keys = select.windows.iter_mut().flat_map(|(_, window)| &mut window.order);
        keys.for_each(|(key, _)| as_number(key));
    });
    walk::statement_expressions(&mut varied, &mut |expr| {
        if let Expr::Window { window, .. } = expr {
            window.order.iter_mut().for_each(|(key, _)| as_number(key));
        }
    });
    (varied != *statement).then_some(varied)
}

/// The columns of tables of types that `is_meant`, by alias and name.
fn columns_of(
    source: &Source,
    tables: &[Table],
    is_meant: &dyn Fn(&Type) -> bool,
    found: &mut HashSet<(String, String)>,
) {
    match source {
        Source::Table { name, alias, .. } => {
            let columns = tables.iter().filter(|table| table.name == *name).flat_map(|table| &table.columns);
            let meant = columns.filter(|column| is_meant(&column.column_type));
            found.extend(meant.map(|column| (alias.clone(), column.name.clone())));
        }
        Source::Join { left, right, .. } => {
            columns_of(left, tables, is_meant, found);
            columns_of(right, tables, is_meant, found);
        }
        Source::Derived { .. } | Source::JsonTable { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::{Item, Query, Window};
    use crate::schema::Column;
    use crate::value::Value;

    fn column(name: &str) -> Expr {
        Expr::Column { relation: "r1".to_owned(), name: name.to_owned() }
    }

    fn item(expr: Expr, alias: &str) -> Item {
        Item { expr, alias: Some(alias.to_owned()) }
    }

    #[test]
    fn items_that_are_written_as_a_key_are_keys() {
        let key = Expr::Column { relation: String::new(), name: "x".to_owned() };
        let other = item(Expr::literal(Value::Int(1)), "z");
        let items = vec![item(column("a"), "x"), item(column("a"), "y"), other];
        let select = Select { items, group: vec![key], ..Select::default() };
        let varied = with_equal_items(&Statement::Query(Query::of(select.clone()))).unwrap().sql();
        assert!(varied.ends_with("GROUP BY x, y"), "{varied}");
        let rollup = Select { is_rollup: true, ..select };
        assert_eq!(with_equal_items(&Statement::Query(Query::of(rollup))), None);
    }

    #[test]
    fn documents_in_partitions_become_texts() {
        let columns = [("a", Type::Json), ("b", Type::Date)].map(|(name, column_type)| Column {
            name: name.to_owned(),
            column_type,
            is_nullable: true,
            default: None,
            is_plain: true,
            generated: None,
        });
        let (indexes, rows) = (Vec::new(), Vec::new());
        let name = "t0".to_owned();
        let tables = [Table { name, columns: columns.into(), indexes, is_temporary: false, rows }];
        let varied = |by: &str| {
            let window = Box::new(Window { partition: vec![column(by)], ..Window::default() });
            let ranked = Expr::Window { function: "RANK", arguments: Vec::new(), window };
            let from = Some(Source::Table { name: "t0".to_owned(), alias: "r1".to_owned(), hint: None });
            let select = Select { items: vec![item(ranked, "x")], from, ..Select::default() };
            with_texts_of_documents(&Statement::Query(Query::of(select)), &tables)
        };
        let text = varied("a").unwrap().sql();
        assert!(text.contains("PARTITION BY HEX(CAST(r1.a AS CHAR))"), "{text}");
        assert_eq!(varied("b"), None);
    }
}
