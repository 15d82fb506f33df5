//! JSON_TABLE: each input row is a document, which becomes rows.
//!
//! The rows of a document are kept and go to disk above `tmp_table_size`, as MySQL's temporary table does.
//!
//! Invariants:
//! 1. A row has a value for each column: its own, that of the rows around it, or NULL for the columns of nested paths beside the one
//!    that made it.
//! 2. A row without rows of its nested paths is one row, with NULL in their columns.

use plan::expr::JsonAnswer;
use plan::logical::{JsonColumn, JsonRows, JsonSource};
use plan::physical::{Node, PhysicalPlan};
use service::SqlError;
use service::error::{ER_JT_VALUE_OUT_OF_RANGE, ER_MISSING_JSON_TABLE_VALUE, ER_WRONG_JSON_TABLE_VALUE};
use smallvec::SmallVec;
use types::convert::{self, Given, Origin, Severity};
use types::json::{Json, Kind, Path, View};
use types::temporal::parse;
use types::{Batch, Cell, CollationId, Column, DataType, Physical, TypeKind, Value};

use super::pad::{is_padded, pad, pads};
use super::{Operator, Source};
use crate::context::{ExecContext, MaterializedCursor, MaterializedRows};
use crate::error::coded;
use crate::expr::{EvalSettings, SqlResult, json_document};
use crate::programs::Programs;

/// Rows between two looks at KILL.
const CHECK_ROWS: usize = 512;

pub(super) struct JsonTable<'p> {
    input: Source<'p>,
    document_type: &'p DataType,
    /// Values of that type may be documents; else no row has one, not even NULL.
    may_be_document: bool,
    rows: &'p JsonRows,
    types: &'p [DataType],
    /// DEFAULT ON EMPTY and ON ERROR as the columns hold them, by column; made with the first row.
    defaults: Option<Vec<[Option<Column>; 2]>>,
    /// The rows of the documents of an input batch.
    made: MaterializedRows,
    cursor: MaterializedCursor,
}

impl<'p> JsonTable<'p> {
    pub(super) fn new(
        plan: &'p PhysicalPlan,
        node: &'p Node,
        input: &'p Node,
        rows: &'p JsonRows,
        programs: &mut Programs<'_>,
    ) -> SqlResult<JsonTable<'p>> {
        let document_type = &input.types[0];
        Ok(JsonTable {
            document_type,
            may_be_document: plan::function::may_be_document(document_type),
            input: Source::new(plan, input, programs)?,
            rows,
            types: &node.types,
            defaults: None,
            made: MaterializedRows::default(),
            cursor: MaterializedCursor::default(),
        })
    }

    /// The defaults of all columns, those of nested paths included.
    ///
    /// # Errors
    /// 3155, 3156, 3669: one does not fit its column.
    fn defaults_of(&self, settings: &EvalSettings) -> SqlResult<Vec<[Option<Column>; 2]>> {
        let mut defaults: Vec<[Option<Column>; 2]> = Vec::new();
        defaults.resize_with(self.types.len(), || [None, None]);
        let mut failed = None;
        self.rows.each_column(&mut |column| {
            let JsonSource::Value { on_empty, on_error, .. } = &column.source else { return };
            for (at, answer) in [on_empty, on_error].into_iter().enumerate() {
                let JsonAnswer::Default(Value::Json(document)) = answer else { continue };
                let data_type = &self.types[column.output];
                let mut value = Column::new(data_type.physical());
                match store(View::new(document), column, data_type, settings, &mut value) {
                    Ok(()) => defaults[column.output][at] = Some(value),
                    Err(error) => failed = failed.take().or(Some(error)),
                }
            }
        });
        failed.map_or(Ok(defaults), Err)
    }

    /// Makes the rows of the documents of the input batch.
    fn make(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        let defaults = match self.defaults.take() {
            Some(defaults) => defaults,
            None => self.defaults_of(ctx.eval.settings)?,
        };
        let mut maker = Maker {
            types: self.types,
            defaults: &defaults,
            row: self.types.iter().map(null_of).collect(),
            full: Batch::new(self.types.iter().map(DataType::physical)),
            made: MaterializedRows::default(),
            count: 0,
        };
        let input = &self.input.batch;
        let mut document = Column::new(Physical::Bytes);
        for row in 0..input.row_count {
            document.clear();
            let cell = input.columns[0].cell(row);
            if cell == Cell::Null && self.may_be_document {
                continue;
            }
            json_document(cell, self.document_type, (1, "json_table"), &mut ctx.eval, &mut document)?;
            if let Cell::Bytes(bytes) = document.cell(0) {
                maker.rows(self.rows, View::new(bytes), ctx)?;
            }
        }
        maker.flush(ctx)?;
        self.made = maker.made;
        self.made.finish()?;
        self.cursor = MaterializedCursor::default();
        self.defaults = Some(defaults);
        Ok(())
    }
}

impl Operator for JsonTable<'_> {
    fn start(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.made = MaterializedRows::default();
        self.cursor = MaterializedCursor::default();
        self.input.start(ctx)
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        loop {
            if let Some(batch) = self.cursor.next(&self.made)? {
                out.extend_from(batch);
                return Ok(true);
            }
            if !self.input.next(ctx)? {
                return Ok(false);
            }
            self.make(ctx)?;
        }
    }
}

/// Makes the rows of documents.
struct Maker<'m> {
    types: &'m [DataType],
    defaults: &'m [[Option<Column>; 2]],
    /// The row that is made: one value a column.
    row: Vec<Column>,
    /// Rows that are made.
    full: Batch,
    made: MaterializedRows,
    count: usize,
}

impl Maker<'_> {
    /// Makes the rows that the path of `rows` names in `view`; whether there are any.
    fn rows(&mut self, rows: &JsonRows, view: View<'_>, ctx: &mut ExecContext<'_>) -> SqlResult<bool> {
        let found = all(&rows.path, view, ctx)?;
        for (number, &view) in found.iter().enumerate() {
            for column in &rows.columns {
                self.value(column, view, number as i64 + 1, ctx)?;
            }
            let mut has_nested = false;
            for nested in &rows.nested {
                has_nested |= self.rows(nested, view, ctx)?;
                self.clear(nested);
            }
            if !has_nested {
                self.emit(ctx)?;
            }
        }
        Ok(!found.is_empty())
    }

    /// NULL in all columns of a nested path.
    fn clear(&mut self, rows: &JsonRows) {
        rows.each_column(&mut |column| {
            self.row[column.output].clear();
            self.row[column.output].push_null();
        });
    }

    fn emit(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        for (target, value) in self.full.columns.iter_mut().zip(&self.row) {
            target.push_cell(value.cell(0));
        }
        self.full.row_count += 1;
        self.count += 1;
        if self.count.is_multiple_of(CHECK_ROWS) {
            ctx.check()?;
        }
        if self.full.is_full() { self.flush(ctx) } else { Ok(()) }
    }

    fn flush(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        if self.full.row_count > 0 {
            if pads(ctx.eval.settings) {
                let chars = self.full.columns.iter_mut().zip(self.types).filter(|(_, of)| is_padded(of));
                chars.for_each(|(column, of)| pad(column, of));
            }
            self.made.push(&self.full, ctx.limits.temporary_bytes, ctx)?;
            self.full.clear();
        }
        Ok(())
    }

    /// Puts the value of a column into the row.
    fn value(
        &mut self,
        column: &JsonColumn,
        view: View<'_>,
        number: i64,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        let data_type = &self.types[column.output];
        let out = &mut self.row[column.output];
        out.clear();
        let (path, on_empty, on_error) = match &column.source {
            JsonSource::Ordinality => {
                out.push_int(number);
                return Ok(());
            }
            JsonSource::Exists(path) => {
                let exists = i64::from(!first_two(path, view, ctx)?.is_empty());
                let given = Given { data_type: &DataType::BIGINT, origin: Origin::Computed(&column.name) };
                // What does not fit is cut off, as without strict mode.
                convert::store(Cell::Int(exists), given, data_type, &ctx.eval.settings.store_options(), out);
                return Ok(());
            }
            JsonSource::Value { path, on_empty, on_error } => (path, on_empty, on_error),
        };
        let name = &*column.name;
        let [default_on_empty, default_on_error] = &self.defaults[column.output];
        let is_document = data_type.kind == TypeKind::Json;
        // Several values are an array of them.
        let found = if is_document { all(path, view, ctx)?.into() } else { first_two(path, view, ctx)? };
        let value = match found.as_slice() {
            [] => {
                let error = || ER_MISSING_JSON_TABLE_VALUE.with(&[&name]);
                return answer(on_empty, default_on_empty.as_ref(), error, out);
            }
            [value] => *value,
            several if is_document => {
                let mut bytes = Vec::new();
                Json::Array(several.iter().map(|value| value.tree()).collect()).encode(&mut bytes);
                out.push_bytes(&bytes);
                return Ok(());
            }
            _ => return answer(on_error, default_on_error.as_ref(), || not_scalar(name), out),
        };
        if value.kind() == Kind::Null {
            out.push_null();
            return Ok(());
        }
        if !is_document && matches!(value.kind(), Kind::Array | Kind::Object) {
            return answer(on_error, default_on_error.as_ref(), || not_scalar(name), out);
        }
        if let Err(error) = store(value, column, data_type, ctx.eval.settings, out) {
            out.clear();
            return answer(on_error, default_on_error.as_ref(), || error, out);
        }
        Ok(())
    }
}

fn null_of(data_type: &DataType) -> Column {
    let mut column = Column::new(data_type.physical());
    column.push_null();
    column
}

#[cold]
fn not_scalar(name: &str) -> Box<SqlError> {
    ER_WRONG_JSON_TABLE_VALUE.with(&[&name])
}

fn answer(
    answer: &JsonAnswer,
    default: Option<&Column>,
    error: impl FnOnce() -> Box<SqlError>,
    out: &mut Column,
) -> SqlResult<()> {
    match (answer, default) {
        (JsonAnswer::Error, _) => return Err(error()),
        (JsonAnswer::Default(_), Some(value)) => out.push_cell(value.cell(0)),
        _ => out.push_null(),
    }
    Ok(())
}

/// Stores a value as the column holds it.
///
/// # Errors
/// 3155, 3156, 3669: it does not fit.
fn store(
    value: View<'_>,
    column: &JsonColumn,
    data_type: &DataType,
    settings: &EvalSettings,
    out: &mut Column,
) -> SqlResult<()> {
    let mut bytes = Vec::new();
    value.copy_to(&mut bytes);
    let origin = Origin::Column(&column.name);
    let options = settings.store_options();
    let given = Given { data_type: &DataType::JSON, origin };
    let issue = match data_type.kind {
        TypeKind::Bit => {
            let mut integer = Column::new(Physical::Int);
            convert::store(Cell::Bytes(&bytes), given, &DataType::BIGINT_UNSIGNED, &options, &mut integer)
                .or_else(|| {
                    let given = Given { data_type: &DataType::BIGINT_UNSIGNED, origin };
                    convert::store(integer.cell(0), given, data_type, &options, out)
                })
        }
        // All that BIGINT UNSIGNED holds, which a column of a table does not take of a document.
        _ if value.kind() == Kind::UInt && data_type.is_integer() => {
            let given = Given { data_type: &DataType::BIGINT_UNSIGNED, origin };
            convert::store(Cell::Int(value.int()), given, data_type, &options, out)
        }
        // A negative DECIMAL, DOUBLE or text is the BIGINT that it is, and its bits are those of the column.
        TypeKind::BigInt if data_type.unsigned && is_negative_unless_integer(value) => {
            let mut integer = Column::new(Physical::Int);
            convert::store(Cell::Bytes(&bytes), given, &DataType::BIGINT, &options, &mut integer).or_else(
                || {
                    out.push_cell(integer.cell(0));
                    None
                },
            )
        }
        TypeKind::Json | TypeKind::Year => {
            convert::store(Cell::Bytes(&bytes), given, data_type, &options, out)
        }
        _ if data_type.is_numeric() => convert::store(Cell::Bytes(&bytes), given, data_type, &options, out),
        // Everything else takes the text of the value.
        _ => {
            let mut text = Vec::new();
            match value.kind() {
                Kind::Opaque => text.extend_from_slice(value.opaque().1),
                _ => types::json::unquote(&bytes, &mut text),
            }
            // A number with an exponent is no time.
            let is_no_time = data_type.kind == TypeKind::Time && parse::has_exponent(&text);
            if is_no_time || text.is_empty() && data_type.is_temporal() {
                return Err(out_of_range(column));
            }
            let of_text = DataType::varchar(text.len() as u32, CollationId::UTF8MB4_BIN);
            let given = Given { data_type: &of_text, origin };
            convert::store(Cell::Bytes(&text), given, data_type, &options, out)
        }
    };
    let Some(issue) = issue else { return Ok(()) };
    let report = issue.report(true, "", &column.name, 1);
    match (report.severity, report.number) {
        (Severity::Note, _) => Ok(()),
        (_, 1317 | 3155 | 3156) => Err(coded(report.number, &report.message)),
        _ => Err(out_of_range(column)),
    }
}

/// Whether it is less than zero, and no integer.
fn is_negative_unless_integer(value: View<'_>) -> bool {
    let mut bytes = Vec::new();
    match value.kind() {
        Kind::Double | Kind::Decimal | Kind::String => {
            value.copy_to(&mut bytes);
            let mut text = Vec::new();
            types::json::unquote(&bytes, &mut text);
            text.first() == Some(&b'-')
        }
        _ => false,
    }
}

#[cold]
fn out_of_range(column: &JsonColumn) -> Box<SqlError> {
    ER_JT_VALUE_OUT_OF_RANGE.with(&[&column.name])
}

/// All values that a path names.
fn all<'v>(path: &Path, view: View<'v>, ctx: &mut ExecContext<'_>) -> SqlResult<Vec<View<'v>>> {
    let mut found = Vec::new();
    let searched = path.each_from(view, &mut |value| {
        found.push(value);
        true
    });
    ctx.eval.searched(searched)?;
    Ok(found)
}

/// The first two values that a path names, at most.
fn first_two<'v>(
    path: &Path,
    view: View<'v>,
    ctx: &mut ExecContext<'_>,
) -> SqlResult<SmallVec<[View<'v>; 2]>> {
    let mut found = SmallVec::new();
    let searched = path.each_from(view, &mut |value| {
        found.push(value);
        found.len() < 2
    });
    ctx.eval.searched(searched)?;
    Ok(found)
}
