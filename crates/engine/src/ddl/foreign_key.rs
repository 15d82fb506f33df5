//! FOREIGN KEY constraints as definitions: whether a parent can be one, what a change of a table does to those that refer to
//! it, and whether the rows that are there fulfil it.
//!
//! A key is checked against its parent when either end is made, renamed or altered. Without `foreign_key_checks` the parent
//! may be missing, and strings may differ in collation; what is there must fit all the same.

use std::sync::Arc;

use catalog::{
    Catalog, ColumnDefinition, ForeignKey, ForeignKeyAction, Reference, TableDefinition, TableEntry,
    TableKind,
};
use catalog::{leading_index, names_equal, unique_index};
use service::error as e;
use service::error::SqlError;
use syntax::ast;
use table::{ForeignKeys, Table, Utc};
use types::{DataType, TypeKind};

use super::expression::columns_of_text;
use super::{Change, Context, Result, Settings, text_of};

/// How far a parent is from being one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Unfit {
    NoColumn(usize),
    Incompatible(usize),
    /// No index begins with the columns.
    NoIndex,
    /// An index does, but no unique one is over just them.
    NotUnique,
}

/// Whether two columns keep their values so that one can refer to the other.
fn compatible(one: &DataType, two: &DataType, checks: bool) -> bool {
    let integer = |data_type: &DataType| match data_type.kind {
        TypeKind::Enum => {
            data_type.members.as_ref().map(|members| (if members.len() > 255 { 2 } else { 1 }, true))
        }
        TypeKind::Year => Some((1, true)),
        _ => data_type.integer_bytes().map(|bytes| (bytes, data_type.unsigned)),
    };
    if one.is_string() && two.is_string() {
        return one.is_binary_string() == two.is_binary_string()
            && (!checks || one.collation == two.collation);
    }
    match (one.kind, two.kind) {
        (TypeKind::DateTime | TypeKind::Timestamp, TypeKind::DateTime | TypeKind::Timestamp) => true,
        (TypeKind::Set, TypeKind::Set) => true,
        (left, right) if left == right && integer(one).is_none() => true,
        _ => integer(one).is_some() && integer(one) == integer(two),
    }
}

/// What keeps `parent` from being the parent of `key` of `child`.
fn unfit(key: &ForeignKey, child: &TableDefinition, parent: &TableDefinition, checks: bool) -> Option<Unfit> {
    let mut columns = Vec::with_capacity(key.columns.len());
    for (number, name) in key.parent_columns.iter().enumerate() {
        let Some(column) = parent.column_ordinal(name) else { return Some(Unfit::NoColumn(number)) };
        columns.push(column);
    }
    for (number, (&one, &two)) in key.columns.iter().zip(&columns).enumerate() {
        if !compatible(&child.columns[one].data_type, &parent.columns[two].data_type, checks) {
            return Some(Unfit::Incompatible(number));
        }
    }
    if unique_index(parent, &columns).is_some() {
        None
    } else if leading_index(parent, &columns).is_some() {
        Some(Unfit::NotUnique)
    } else {
        Some(Unfit::NoIndex)
    }
}

fn unfit_error(unfit: Unfit, key: &ForeignKey, child: &TableDefinition, restrict: bool) -> Box<SqlError> {
    match unfit {
        Unfit::NoColumn(number) => {
            e::ER_FK_NO_COLUMN_PARENT.with(&[&key.parent_columns[number], &key.name, &key.parent_table])
        }
        Unfit::Incompatible(number) => e::ER_FK_INCOMPATIBLE_COLUMNS.with(&[
            &child.columns[key.columns[number]].name,
            &key.parent_columns[number],
            &key.name,
        ]),
        Unfit::NoIndex if !restrict => e::ER_FK_NO_INDEX_PARENT.with(&[&key.name, &key.parent_table]),
        Unfit::NoIndex | Unfit::NotUnique => {
            e::ER_FK_NO_UNIQUE_INDEX_PARENT.with(&[&key.name, &key.parent_table])
        }
    }
}

/// Checks a key that is new, in the table as it will be.
pub(super) fn check_new(
    key: &ForeignKey,
    table: &TableDefinition,
    settings: &Settings<'_>,
    warnings: &mut Vec<service::error::Diagnostic>,
) -> Result<()> {
    if table.kind == TableKind::Temporary {
        return Err(e::ER_CANNOT_ADD_FOREIGN.bare());
    }
    check_not_null(key, table)?;
    let other;
    let parent: &TableDefinition = if refers_to(key, &table.schema, &table.name) {
        let itself = |(name, &column): (&Arc<str>, &usize)| names_equal(name, &table.columns[column].name);
        if key.parent_columns.iter().zip(&key.columns).all(itself) {
            return Err(e::ER_FK_NO_UNIQUE_INDEX_PARENT.with(&[&key.name, &key.parent_table]));
        }
        table
    } else {
        match base_table(settings.catalog, &key.parent_schema, &key.parent_table) {
            Some(found) => {
                other = Arc::clone(found);
                &other.definition
            }
            None if settings.session.foreign_key_checks => {
                return Err(e::ER_FK_CANNOT_OPEN_PARENT.with(&[&key.parent_table]));
            }
            None => return Ok(()),
        }
    };
    match unfit(key, table, parent, settings.session.foreign_key_checks) {
        None => Ok(()),
        Some(Unfit::NotUnique) if !settings.session.restrict_foreign_keys => {
            warnings.push(e::ER_WARN_DEPRECATED_NON_STANDARD_FK.warning(&[&key.name]));
            Ok(())
        }
        Some(unfit) => Err(unfit_error(unfit, key, table, settings.session.restrict_foreign_keys)),
    }
}

/// Checks a key against the generated columns of its tables.
///
/// # Errors
/// 3733, 3104, 1215; 1235 for a key that writes into a column of which VIRTUAL columns are made.
pub(super) fn check_generated(
    key: &ForeignKey,
    table: &TableDefinition,
    settings: &Settings<'_>,
) -> Result<()> {
    use ForeignKeyAction as A;
    let refuse_virtual = |column: &ColumnDefinition| match column.is_virtual() {
        true => Err(e::ER_FK_CANNOT_USE_VIRTUAL_COLUMN.with(&[&key.name, &column.name])),
        false => Ok(()),
    };
    let columns = || key.columns.iter().map(|&column| &table.columns[column]);
    columns().try_for_each(refuse_virtual)?;
    let itself = refers_to(key, &table.schema, &table.name);
    let other = base_table(settings.catalog, &key.parent_schema, &key.parent_table).filter(|_| !itself);
    let parent = if itself { Some(table) } else { other.map(|entry| &*entry.definition) };
    if let Some(parent) = parent {
        let named = key.parent_columns.iter().filter_map(|name| parent.column_ordinal(name));
        named.map(|column| &parent.columns[column]).try_for_each(refuse_virtual)?;
    }
    let word = |action: A| match action {
        A::Cascade => "CASCADE",
        A::SetNull => "SET NULL",
        A::SetDefault => "SET DEFAULT",
        A::NoAction | A::Restrict => "",
    };
    if columns().any(ColumnDefinition::is_stored_generated) {
        let clause = match (key.on_update, key.on_delete) {
            (A::Cascade | A::SetNull | A::SetDefault, _) => format!("ON UPDATE {}", word(key.on_update)),
            (_, A::SetNull | A::SetDefault) => format!("ON DELETE {}", word(key.on_delete)),
            _ => String::new(),
        };
        if !clause.is_empty() {
            return Err(e::ER_WRONG_FK_OPTION_FOR_GENERATED_COLUMN.with(&[&clause]));
        }
    }
    check_bases(key, table, settings)
}

/// Checks a key that changes or deletes rows against what is made of its columns.
///
/// # Errors
/// 1215, 1235.
pub(super) fn check_bases(key: &ForeignKey, table: &TableDefinition, settings: &Settings<'_>) -> Result<()> {
    use ForeignKeyAction as A;
    let acts = |action: A| matches!(action, A::Cascade | A::SetNull | A::SetDefault);
    if !acts(key.on_update) && !acts(key.on_delete) {
        return Ok(());
    }
    // What is made of the key's columns, directly or not.
    let mut is_made = vec![false; table.columns.len()];
    for (ordinal, column) in table.columns.iter().enumerate() {
        let Some(generated) = &column.generated else { continue };
        let named = columns_of_text(&generated.expression, settings)?;
        let mut used = named.iter().filter_map(|name| table.column_ordinal(name));
        is_made[ordinal] = used.any(|used| is_made[used] || key.columns.contains(&used));
        if is_made[ordinal] && column.is_stored_generated() {
            return Err(e::ER_CANNOT_ADD_FOREIGN.bare());
        }
    }
    match writes_columns(key) && is_made.contains(&true) {
        true => {
            Err(e::ER_NOT_SUPPORTED_YET.with(&[&"foreign keys that write into columns of generated columns"]))
        }
        false => Ok(()),
    }
}

/// The base table of this name: temporary ones are nobody's parents.
pub(super) fn base_table<'c>(catalog: &'c Catalog, schema: &str, name: &str) -> Option<&'c Arc<TableEntry>> {
    catalog.table(schema, name).filter(|entry| entry.definition.kind != TableKind::Temporary)
}

fn refers_to(key: &ForeignKey, schema: &str, name: &str) -> bool {
    *key.parent_schema == *schema && *key.parent_table == *name
}

/// SET NULL needs columns that can be NULL.
pub(super) fn check_not_null(key: &ForeignKey, table: &TableDefinition) -> Result<()> {
    if key.on_delete != ForeignKeyAction::SetNull && key.on_update != ForeignKeyAction::SetNull {
        return Ok(());
    }
    match key.columns.iter().find(|&&column| !table.columns[column].nullable) {
        Some(&column) => Err(e::ER_FK_COLUMN_NOT_NULL.with(&[&table.columns[column].name, &key.name])),
        None => Ok(()),
    }
}

/// Whether the key writes into its own columns, so that no CHECK may look at them.
pub(super) fn writes_columns(key: &ForeignKey) -> bool {
    use ForeignKeyAction as A;
    matches!(key.on_update, A::Cascade | A::SetNull | A::SetDefault)
        || matches!(key.on_delete, A::SetNull | A::SetDefault)
}

/// A name for a new key that no other table of the schema has.
pub(super) fn check_name_is_free(catalog: &Catalog, table: &TableDefinition, name: &str) -> Result<()> {
    match catalog.references().named(&table.schema, name) {
        Some(other) if other.child.definition.id != table.id => Err(e::ER_FK_DUP_NAME.with(&[&name])),
        _ => Ok(()),
    }
}

/// Checks a table that comes under a name that foreign keys wait for. `made`: it is new, not renamed.
pub(super) fn check_awaited(
    catalog: &Catalog,
    table: &TableDefinition,
    settings: &Settings<'_>,
    made: bool,
) -> Result<()> {
    if table.kind != TableKind::Base {
        return Ok(());
    }
    let waiting = catalog.references().naming(&table.schema, &table.name);
    for reference in waiting.filter(|reference| reference.parent.is_none()) {
        check_parent(reference, table, settings, made)?;
    }
    Ok(())
}

fn check_parent(
    reference: &Reference,
    parent: &TableDefinition,
    settings: &Settings<'_>,
    made: bool,
) -> Result<()> {
    let (key, child) = (reference.definition(), &reference.child.definition);
    match unfit(key, child, parent, settings.session.foreign_key_checks) {
        None => Ok(()),
        Some(Unfit::NotUnique) if !settings.session.restrict_foreign_keys => Ok(()),
        Some(found @ Unfit::NotUnique) => Err(unfit_error(found, key, child, true)),
        Some(_) if settings.session.foreign_key_checks && made => Err(e::ER_CANNOT_ADD_FOREIGN.bare()),
        Some(found) => Err(unfit_error(found, key, child, settings.session.restrict_foreign_keys)),
    }
}

/// Whether values of a column may no longer be what they were: MySQL does not allow it at either end of a key.
fn type_changes(before: &DataType, after: &DataType) -> bool {
    if before.is_string() {
        return before.kind != after.kind
            || after.length < before.length
            || before.collation != after.collation;
    }
    before.kind != after.kind
        || before.unsigned != after.unsigned
        || before.scale != after.scale
        || before.length != after.length && before.kind == TypeKind::Decimal
}

/// Checks what ALTER TABLE makes of a table against the keys it has and those that refer to it. `mapping`: where its columns
/// come from.
pub(super) fn check_altered(
    old: &TableDefinition,
    new: &TableDefinition,
    mapping: &[Option<usize>],
    settings: &Settings<'_>,
) -> Result<()> {
    let references = settings.catalog.references();
    let checks = settings.session.foreign_key_checks;
    for key in &new.foreign_keys {
        let Some(before) = old.foreign_keys.iter().find(|other| other.name == key.name) else { continue };
        check_not_null(key, new)?;
        if leading_index(new, &key.columns).is_none() {
            return Err(needed_index(old, &before.columns));
        }
        let itself = refers_to(key, &old.schema, &old.name);
        let parent = base_table(settings.catalog, &key.parent_schema, &key.parent_table);
        if let Some(parent) = parent.filter(|_| !itself)
            && let Some(found @ Unfit::Incompatible(_)) = unfit(key, new, &parent.definition, checks)
        {
            return Err(unfit_error(found, key, new, true));
        }
        for (&column, &origin) in key.columns.iter().zip(&before.columns) {
            let (one, two) = (&old.columns[origin].data_type, &new.columns[column].data_type);
            if checks && type_changes(one, two) {
                return Err(e::ER_FK_COLUMN_CANNOT_CHANGE.with(&[&new.columns[column].name, &key.name]));
            }
        }
    }
    for reference in references.of_parent(old.id) {
        let child = &reference.child.definition;
        let itself = child.id == old.id;
        let key = reference.definition();
        if itself && !new.foreign_keys.iter().any(|other| other.name == key.name) {
            continue;
        }
        let Some(columns) = reference.parent_columns() else { continue };
        let mut now = Vec::with_capacity(columns.len());
        for (number, &column) in columns.iter().enumerate() {
            let Some(position) = mapping.iter().position(|origin| *origin == Some(column)) else {
                let name = &old.columns[column].name;
                return Err(e::ER_FK_COLUMN_CANNOT_DROP_CHILD.with(&[name, &key.name, &child.name]));
            };
            let (before, after) = (&old.columns[column].data_type, &new.columns[position].data_type);
            if before != after && !itself {
                let child_type = &child.columns[key.columns[number]].data_type;
                if !compatible(child_type, after, checks) {
                    return Err(unfit_error(Unfit::Incompatible(number), key, child, true));
                }
                if checks && type_changes(before, after) {
                    let shown = format!("{}.{}", child.schema, child.name);
                    let name = &new.columns[position].name;
                    return Err(e::ER_FK_COLUMN_CANNOT_CHANGE_CHILD.with(&[name, &key.name, &shown]));
                }
            }
            now.push(position);
        }
        let was_unique = unique_index(old, &columns).is_some();
        let serves =
            if was_unique { unique_index(new, &now).is_some() } else { leading_index(new, &now).is_some() };
        if !serves {
            return Err(needed_index(old, &columns));
        }
    }
    Ok(())
}

/// 1553: the index over these columns cannot go.
#[cold]
fn needed_index(table: &TableDefinition, columns: &[usize]) -> Box<SqlError> {
    let index = unique_index(table, columns).or_else(|| leading_index(table, columns));
    let name = index.map_or("", |index| &table.indexes[index].name);
    e::ER_DROP_INDEX_FK.with(&[&name])
}

/// Gives the keys that refer to an altered table its new name and the new names of its columns.
pub(super) fn follow_altered(
    change: &mut Change<'_>,
    old: &TableDefinition,
    new: &mut TableDefinition,
    mapping: &[Option<usize>],
) -> Result<()> {
    let names = [Renamed {
        from: (Arc::clone(&old.schema), Arc::clone(&old.name)),
        to: (Arc::clone(&new.schema), Arc::clone(&new.name)),
    }];
    let is_renamed = names[0].from != names[0].to;
    let renamed = |name: &Arc<str>, new: &TableDefinition| -> Option<Arc<str>> {
        let column = old.column_ordinal(name)?;
        let position = mapping.iter().position(|origin| *origin == Some(column))?;
        let now = &new.columns[position].name;
        (now != name).then(|| Arc::clone(now))
    };
    let rename = |key: &mut ForeignKey, new: &TableDefinition| {
        let mut changed = false;
        for name in &mut key.parent_columns {
            if let Some(now) = renamed(name, new) {
                *name = now;
                changed = true;
            }
        }
        changed
    };
    let references = Arc::clone(change.catalog.references());
    let mut children: Vec<Arc<TableEntry>> = references
        .of_parent(old.id)
        .map(|reference| Arc::clone(&reference.child))
        .filter(|child| child.definition.id != old.id)
        .collect();
    children.dedup_by_key(|child| child.definition.id);
    for child in children {
        let mut table = (*child.definition).clone();
        let mut changed = false;
        for key in &mut table.foreign_keys {
            if refers_to(key, &old.schema, &old.name) {
                changed |= rename(key, new);
            }
        }
        changed |= is_renamed && follow_names(&mut table, &names);
        if changed {
            change.put_altered(Arc::new(table), &child)?;
        }
    }
    let mut own = std::mem::take(&mut new.foreign_keys);
    for key in own.iter_mut().filter(|key| refers_to(key, &old.schema, &old.name)) {
        // A key of the statement itself uses the new names already.
        if old.foreign_keys.iter().any(|before| before.name == key.name) {
            rename(key, new);
        }
    }
    new.foreign_keys = own;
    follow_names(new, &names);
    Ok(())
}

/// A rename: schema and name before and after.
pub(super) struct Renamed {
    pub(super) from: (Arc<str>, Arc<str>),
    pub(super) to: (Arc<str>, Arc<str>),
}

/// Gives the keys of `table` the new names of their parents. Answers whether there were any.
pub(super) fn follow_names(table: &mut TableDefinition, renamed: &[Renamed]) -> bool {
    let mut changed = false;
    for key in &mut table.foreign_keys {
        let found = renamed.iter().find(|renamed| refers_to(key, &renamed.from.0, &renamed.from.1));
        if let Some(Renamed { to: (schema, name), .. }) = found {
            key.parent_schema = Arc::clone(schema);
            key.parent_table = Arc::clone(name);
            changed = true;
        }
    }
    changed
}

/// Gives the keys of all tables but `moved` the new names of their parents.
pub(super) fn follow_rename(
    change: &mut Change<'_>,
    renamed: &[Renamed],
    moved: &[catalog::TableId],
) -> Result<()> {
    let children: Vec<Arc<TableEntry>> = change
        .catalog
        .base_tables()
        .filter(|child| !child.definition.foreign_keys.is_empty() && !moved.contains(&child.definition.id))
        .cloned()
        .collect();
    for child in children {
        let mut table = (*child.definition).clone();
        if follow_names(&mut table, renamed) {
            change.put_altered(Arc::new(table), &child)?;
        }
    }
    Ok(())
}

/// The tables that refer to a table.
pub(super) fn children(catalog: &Catalog, table: &TableDefinition) -> Vec<Arc<TableEntry>> {
    catalog.references().of_parent(table.id).map(|reference| Arc::clone(&reference.child)).collect()
}

/// The base table that REFERENCES names, in a table of `schema`.
pub(super) fn parent_of(
    catalog: &Catalog,
    schema: &str,
    references: &ast::References<'_>,
) -> Result<Option<Arc<TableEntry>>> {
    let schema = match references.table.schema {
        Some(schema) => text_of(schema.text)?,
        None => schema,
    };
    let found = base_table(catalog, schema, text_of(references.table.name.text)?);
    Ok(found.filter(|entry| entry.definition.kind == TableKind::Base).cloned())
}

/// Checks the rows of a table, as the change made it, against all its keys. Answers how many there are.
///
/// # Errors
/// 1452; the store's.
pub(super) fn check_rows(
    context: &Context<'_>,
    change: &mut Change<'_>,
    table: &Arc<TableDefinition>,
    replaced: &TableDefinition,
) -> Result<u64> {
    let source = Table::open(context.definitions.store(), Arc::clone(table)).map_err(crate::store_error)?;
    let reading = Arc::clone(&source);
    let entry = Arc::new(TableEntry { definition: Arc::clone(table), source });
    let mut catalog = change.catalog.clone();
    if let Some(schema) = catalog.schema_mut(&replaced.schema) {
        schema.remove(&replaced.name);
    }
    if let Some(schema) = catalog.schema_mut(&table.schema) {
        schema.insert(Arc::clone(&entry));
    }
    catalog.find_references();
    let Some(graph) = catalog.references().graph(&[&entry]) else { return Ok(0) };
    let Some(keys) = ForeignKeys::new(&graph) else { return Ok(0) };
    let Some(node) = keys.node_of(table.id) else { return Ok(0) };
    let view = context.definitions.store().read_view();
    let mut scan = reading.scan(table::ScanRequest {
        index: None,
        ranges: vec![table::KeyBytesRange::ALL],
        reverse: false,
        columns: (0..table.columns.len()).collect(),
        parts: Vec::new(),
    });
    let shapes = table.columns.iter().map(|column| column.data_type.physical());
    let mut batch = types::Batch::new(shapes);
    let mut key = Vec::new();
    let mut row_count = 0;
    loop {
        let reader = change.transaction.reader(&view);
        if !scan.next_batch(reader, &Utc, &mut batch, None).map_err(crate::store_error)? {
            return Ok(row_count);
        }
        row_count += batch.row_count as u64;
        for row in 0..batch.row_count {
            let cells: Vec<types::Cell<'_>> = batch.columns.iter().map(|column| column.cell(row)).collect();
            keys.check_existing(node, &change.transaction, &cells, &mut key).map_err(exec::access_error)?;
        }
        env::blocking::tick();
    }
}

/// Whether a key of `new` is not in `old`.
pub(super) fn adds_keys(old: &TableDefinition, new: &TableDefinition) -> bool {
    new.foreign_keys
        .iter()
        .any(|key| !old.foreign_keys.iter().any(|other| names_equal(&other.name, &key.name)))
}
