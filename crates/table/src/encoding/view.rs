//! Views.

use std::sync::Arc;

use catalog::{CheckOption, SchemaId, TableDefinition, TableId, TableKind, ViewAlgorithm, ViewDefinition};
use types::charset::Charset;

use super::{DecodeError, Decoded, Reader, Writer, position, read_column, write_column};

const ALGORITHMS: [ViewAlgorithm; 3] =
    [ViewAlgorithm::Undefined, ViewAlgorithm::Merge, ViewAlgorithm::Temptable];
const CHECK_OPTIONS: [CheckOption; 3] = [CheckOption::None, CheckOption::Local, CheckOption::Cascaded];

/// A view's record. The name of its schema is not in it, since a schema is found by number.
pub(crate) fn encode_view(table: &TableDefinition, view: &ViewDefinition) -> Vec<u8> {
    let mut w = Writer::new();
    w.u64(table.id.0);
    w.str(&table.name);
    w.u32(table.schema_id.0);
    w.list(&table.columns, write_column);
    w.u64(table.created_micros.cast_unsigned());
    w.str(&view.query);
    w.bool(view.has_column_list);
    w.u8(position(&ALGORITHMS, &view.algorithm));
    w.str(&view.definer.0);
    w.str(&view.definer.1);
    w.bool(view.invoker);
    w.u8(position(&CHECK_OPTIONS, &view.check_option));
    w.bool(view.updatable);
    w.str(view.client_charset.name());
    w.u16(view.connection_collation.id());
    w.list(&view.tables, |w, (schema, name)| {
        w.str(schema);
        w.str(name);
    });
    w.out
}

/// Reads a view's record; `schema_name` gives the name of its schema.
pub(crate) fn decode_view(
    record: &[u8],
    schema_name: impl Fn(SchemaId) -> Option<Arc<str>>,
) -> Decoded<TableDefinition> {
    let r = &mut Reader::new(record)?;
    let id = TableId(r.u64()?);
    let name = r.str()?;
    let schema_id = SchemaId(r.u32()?);
    let schema = schema_name(schema_id).ok_or(DecodeError::Damaged)?;
    let columns = r.list(read_column)?;
    let created_micros = r.u64()?.cast_signed();
    let view = ViewDefinition {
        query: r.str()?,
        has_column_list: r.bool()?,
        algorithm: r.one_of(&ALGORITHMS)?,
        definer: (r.str()?, r.str()?),
        invoker: r.bool()?,
        check_option: r.one_of(&CHECK_OPTIONS)?,
        updatable: r.bool()?,
        client_charset: Charset::from_name(&r.str()?).ok_or(DecodeError::Damaged)?,
        connection_collation: r.collation()?,
        tables: r.list(|r| Ok((r.str()?, r.str()?)))?,
    };
    // Without trees and indexes, as a table whose rows are computed.
    let collation = view.connection_collation;
    Ok(TableDefinition {
        kind: TableKind::View,
        created_micros,
        view: Some(Arc::new(view)),
        ..TableDefinition::system(id, (schema_id, &schema), &name, columns, collation)
    })
}
