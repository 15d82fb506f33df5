//! Columns that a CHECK or another column's default computes with: they are neither dropped nor renamed, since the expression is
//! kept as text.

use std::sync::Arc;

use catalog::{CheckConstraint, ColumnDefault, IndexDefinition, TableDefinition, names_equal};
use service::error as e;
use syntax::ast::{self, AlterAction as A};

use crate::ddl::expression::columns_of_text;
use crate::ddl::{Result, Settings, text_of};

/// Looks at what the actions take away from expressions that stay. Answers the names of the constraints that go with the only
/// column they are about.
///
/// # Errors
/// 3959, 3766, 3108, 3837.
pub(super) fn check_dependents(
    old: &TableDefinition,
    actions: &[A<'_>],
    settings: &Settings<'_>,
) -> Result<Vec<Arc<str>>> {
    let lost = lost_columns(actions)?;
    if lost.is_empty() {
        return Ok(Vec::new());
    }
    let gone = check_constraints(old, actions, &lost, settings)?;
    check_defaults(old, actions, &lost, settings)?;
    check_generated(old, actions, &lost, settings)?;
    Ok(gone)
}

/// Generated columns and functional key parts that stay keep what they are made of.
fn check_generated(
    old: &TableDefinition,
    actions: &[A<'_>],
    lost: &[Lost<'_>],
    settings: &Settings<'_>,
) -> Result<()> {
    let is_dropped = |index: &IndexDefinition| {
        actions.iter().any(|action| match action {
            A::DropIndex(name) | A::DropConstraint(name) => {
                text_of(name.text).is_ok_and(|name| names_equal(name, &index.name))
            }
            _ => false,
        })
    };
    for (ordinal, column) in old.columns.iter().enumerate() {
        let Some(generated) = &column.generated else { continue };
        let is_gone = match column.is_hidden() {
            true => {
                let over = |index: &&IndexDefinition| index.parts.iter().any(|part| part.column == ordinal);
                old.indexes.iter().filter(over).all(is_dropped)
            }
            false => actions.iter().any(|action| writes_default(action, &column.name)),
        };
        if is_gone {
            continue;
        }
        for name in columns_of_text(&generated.expression, settings)? {
            let Some(used) = old.column_ordinal(&name) else { continue };
            if lost.iter().any(|lost| names_equal(lost.name, &name)) {
                let used = &old.columns[used].name;
                return Err(match column.is_hidden() {
                    true => e::ER_DEPENDENT_BY_FUNCTIONAL_INDEX.with(&[used]),
                    false => e::ER_DEPENDENT_BY_GENERATED_COLUMN.with(&[used]),
                });
            }
        }
    }
    Ok(())
}

/// A column whose name goes.
struct Lost<'s> {
    name: &'s str,
    dropped: bool,
}

fn lost_columns<'s>(actions: &[A<'s>]) -> Result<Vec<Lost<'s>>> {
    let mut lost = Vec::new();
    for action in actions {
        if let A::DropColumn(name) = action {
            lost.push(Lost { name: text_of(name.text)?, dropped: true });
        }
    }
    for action in actions {
        let (name, new) = match action {
            A::ChangeColumn(name, column, _) => (name, column.name),
            A::RenameColumn(name, new) => (name, *new),
            _ => continue,
        };
        let (name, new) = (text_of(name.text)?, text_of(new.text)?);
        if !names_equal(name, new) {
            lost.push(Lost { name, dropped: false });
        }
    }
    Ok(lost)
}

fn check_constraints(
    old: &TableDefinition,
    actions: &[A<'_>],
    lost: &[Lost<'_>],
    settings: &Settings<'_>,
) -> Result<Vec<Arc<str>>> {
    let is_dropped = |check: &CheckConstraint| {
        actions.iter().any(|action| match action {
            A::DropCheck(name) | A::DropConstraint(name) => {
                text_of(name.text).is_ok_and(|name| names_equal(name, &check.name))
            }
            _ => false,
        })
    };
    let mut staying = Vec::new();
    for check in old.checks.iter().filter(|check| !is_dropped(check)) {
        staying.push((&check.name, columns_of_text(&check.expression, settings)?));
    }
    let mut gone = Vec::new();
    for column in lost {
        let is_it = |name: &String| names_equal(name, column.name);
        for (check, named) in staying.iter().filter(|(_, named)| named.iter().any(is_it)) {
            if !column.dropped || !named.iter().all(is_it) {
                return Err(e::ER_DEPENDENT_BY_CHECK_CONSTRAINT.with(&[check, &column.name]));
            }
            gone.push(Arc::clone(check));
        }
    }
    Ok(gone)
}

fn check_defaults(
    old: &TableDefinition,
    actions: &[A<'_>],
    lost: &[Lost<'_>],
    settings: &Settings<'_>,
) -> Result<()> {
    let is_written = |column: &str| actions.iter().any(|action| writes_default(action, column));
    let mut named = Vec::new();
    for column in old.columns.iter().filter(|column| !is_written(&column.name)) {
        if let ColumnDefault::Expression(text) = &column.default {
            named.extend(columns_of_text(text, settings)?);
        }
    }
    let is_needed = |column: &str| {
        lost.iter().any(|lost| names_equal(lost.name, column))
            && named.iter().any(|name| names_equal(name, column))
    };
    match old.columns.iter().find(|column| is_needed(&column.name)) {
        Some(column) => Err(e::ER_DEPENDENT_BY_DEFAULT_GENERATED_VALUE.with(&[&column.name, &old.name])),
        None => Ok(()),
    }
}

/// Whether the column's default is not what it was after this action.
fn writes_default(action: &A<'_>, column: &str) -> bool {
    let name: &ast::Ident<'_> = match action {
        A::DropColumn(name) | A::ChangeColumn(name, ..) | A::SetDefault(name, _) | A::DropDefault(name) => {
            name
        }
        A::ModifyColumn(definition, _) => &definition.name,
        _ => return false,
    };
    text_of(name.text).is_ok_and(|name| names_equal(name, column))
}
