//! Scans as SELECT statements.

use std::any::Any;
use std::fmt::Write as _;
use std::sync::Arc;

use access::{Columns, Error, KeyBound, KeyRange, KeyRanges, Part, Scan, ScanRequest};
use catalog::TableDefinition;
use types::vector::{Batch, BytesColumn, batch_rows_max};
use types::{CollationId, Column, DataType, Physical, TypeKind, Value};

use super::literal::{is_number, push_text, quoted, write_cell, write_value};
use super::table::foreign;

/// A scan: its rows come with the first batch, in one answer.
#[derive(Debug)]
pub(super) struct RemoteScan {
    pub(super) definition: Arc<TableDefinition>,
    pub(super) request: ScanRequest,
    /// What was read, once it was.
    rows: Option<Rows>,
    rows_max: usize,
}

#[derive(Debug)]
struct Rows {
    batch: Batch,
    locators: BytesColumn,
    next: usize,
}

/// The scan behind a handle.
pub(super) fn remote(scan: &mut dyn Scan) -> Result<&mut RemoteScan, Error> {
    (scan as &mut dyn Any).downcast_mut().ok_or_else(foreign)
}

impl Scan for RemoteScan {
    fn set_batch_rows(&mut self, rows_max: usize) {
        self.rows_max = rows_max.clamp(1, batch_rows_max());
    }

    fn restart(&mut self, ranges: KeyRanges) -> Result<(), Error> {
        self.request.ranges = ranges;
        self.rows = None;
        Ok(())
    }
}

impl RemoteScan {
    pub(super) fn new(definition: &Arc<TableDefinition>, request: ScanRequest) -> RemoteScan {
        RemoteScan { definition: Arc::clone(definition), request, rows: None, rows_max: batch_rows_max() }
    }

    /// The statement that reads the rows; `None`: they are here.
    pub(super) fn begin(&mut self) -> Result<Option<String>, Error> {
        if self.rows.is_some() {
            return Ok(None);
        }
        let definition = &self.definition;
        let columns = Columns::new(definition.columns.len(), &self.request.columns, &self.request.parts);
        let selected = Selected::new(definition, columns);
        let shapes = selected.outputs.iter().map(|output| output.shape(definition));
        self.rows = Some(Rows { batch: Batch::new(shapes), locators: BytesColumn::new(), next: 0 });
        let mut conditions = Vec::new();
        match &self.request.ranges {
            KeyRanges::All => {}
            KeyRanges::Bytes(_) => return Err(foreign()),
            KeyRanges::Values(ranges) => {
                let Some(index) = self.request.index else { return Err(foreign()) };
                let ranges: Vec<String> = ranges
                    .iter()
                    .map(|range| range_condition(definition, index, range))
                    .collect::<Result<_, _>>()?;
                conditions.push(if ranges.is_empty() {
                    "FALSE".to_owned()
                } else {
                    format!("({})", ranges.join(" OR "))
                });
            }
        }
        for (ordinal, value) in &self.request.equal {
            let mut condition = format!("{} = ", quoted(&definition.columns[*ordinal].name));
            write_value(value, &mut condition);
            conditions.push(condition);
        }
        let mut sql = format!("SELECT 0, {} FROM {}", selected.list(), super::full_name(definition));
        if !conditions.is_empty() {
            let _ = write!(sql, " WHERE {}", conditions.join(" AND "));
        }
        // In the order of the index; rows with the same key in the order of the primary key.
        let own = definition.clustered.filter(|index| Some(*index) != self.request.index);
        let mut order = Vec::new();
        for index in self.request.index.into_iter().chain(own) {
            for part in &definition.indexes[index].parts {
                let goes_down = part.descending != self.request.reverse;
                let down = if goes_down { " DESC" } else { "" };
                order.push(format!("{}{down}", quoted(&definition.columns[part.column].name)));
            }
        }
        if !order.is_empty() {
            let _ = write!(sql, " ORDER BY {}", order.join(", "));
        }
        Ok(Some(sql))
    }

    /// A row of the answer.
    pub(super) fn push(&mut self, selected: &Selected<'_>, row: client::Row<'_>) -> Result<(), Error> {
        let Some(rows) = &mut self.rows else { return Err(foreign()) };
        rows.locators.push(&selected.locator(row, 1)?);
        selected.push_row(row, 1, &mut rows.batch)
    }

    /// Gives the next rows that were read.
    pub(super) fn give(&mut self, batch: &mut Batch, locators: Option<&mut BytesColumn>) -> bool {
        batch.clear();
        let Some(rows) = &mut self.rows else { return false };
        let end = rows.batch.row_count.min(rows.next.saturating_add(self.rows_max));
        let numbers: Vec<u32> = (rows.next as u32..end as u32).collect();
        batch.gather_from(&rows.batch, &numbers);
        if let Some(locators) = locators {
            locators.clear();
            (rows.next..end).for_each(|row| locators.push(rows.locators.get(row)));
        }
        rows.next = end;
        !numbers.is_empty()
    }
}

/// What stands in a column of a batch.
enum Output<'a> {
    Column(usize),
    Part(&'a Part),
}

impl Output<'_> {
    fn column(&self) -> usize {
        match self {
            Output::Column(ordinal) => *ordinal,
            Output::Part(part) => part.column,
        }
    }

    fn shape(&self, definition: &TableDefinition) -> Physical {
        match self {
            Output::Column(ordinal) => definition.columns[*ordinal].data_type.physical(),
            Output::Part(part) => match part.kind {
                access::PartKind::Length { .. } | access::PartKind::Predicate(_) => Physical::Int,
                _ => Physical::Bytes,
            },
        }
    }
}

/// The columns that a statement selects: those of the batch, then those that name the row.
pub(super) struct Selected<'a> {
    definition: &'a TableDefinition,
    outputs: Vec<Output<'a>>,
    key: Vec<usize>,
}

impl<'a> Selected<'a> {
    pub(super) fn new(definition: &'a TableDefinition, columns: Columns<'a>) -> Selected<'a> {
        let outputs = columns
            .ordinals
            .iter()
            .map(|&ordinal| columns.part(ordinal).map_or(Output::Column(ordinal), Output::Part))
            .collect();
        let key = match definition.clustered {
            Some(index) => definition.indexes[index].parts.iter().map(|part| part.column).collect(),
            None => (0..definition.columns.len()).collect(),
        };
        Selected { definition, outputs, key }
    }

    /// As a statement lists them.
    pub(super) fn list(&self) -> String {
        let columns = self.outputs.iter().map(Output::column).chain(self.key.iter().copied());
        let written = columns.map(|ordinal| {
            let column = &self.definition.columns[ordinal];
            let name = quoted(&column.name);
            match column.data_type.kind {
                _ if is_number(&column.data_type) => format!("CAST({name} AS UNSIGNED)"),
                // As text it has six digits.
                TypeKind::Float => format!("{name} * 1e0"),
                _ => name,
            }
        });
        written.collect::<Vec<_>>().join(", ")
    }

    /// Appends the columns of a row to a batch; they begin at `first`.
    pub(super) fn push_row(
        &self,
        row: client::Row<'_>,
        first: usize,
        batch: &mut Batch,
    ) -> Result<(), Error> {
        for (number, (output, column)) in self.outputs.iter().zip(&mut batch.columns).enumerate() {
            let cell = row.cell(first + number);
            let data_type = &self.definition.columns[output.column()].data_type;
            match output {
                Output::Column(_) => push_text(cell.as_bytes(), data_type, column)?,
                Output::Part(part) => {
                    let mut whole = Column::new(Physical::Bytes);
                    push_text(cell.as_bytes(), data_type, &mut whole)?;
                    match whole.cell(0) {
                        types::Cell::Bytes(bytes) => part.push_of(Some(bytes), column),
                        _ => part.push_of(None, column),
                    }
                }
            }
        }
        batch.row_count += 1;
        Ok(())
    }

    /// The condition that names a row.
    pub(super) fn locator(&self, row: client::Row<'_>, first: usize) -> Result<Vec<u8>, Error> {
        let mut condition = String::new();
        for (number, &ordinal) in self.key.iter().enumerate() {
            let column = &self.definition.columns[ordinal];
            let mut value = Column::new(column.data_type.physical());
            let cell = row.cell(first + self.outputs.len() + number);
            push_text(cell.as_bytes(), &column.data_type, &mut value)?;
            let (and, name) = (if number > 0 { " AND " } else { "" }, quoted(&column.name));
            // Without a key, rows that differ in the case of a letter are distinguished.
            let is_exact = self.definition.clustered.is_none() && column.data_type.is_string();
            let (name, data_type) = if is_exact {
                (format!("CAST({name} AS BINARY)"), DataType::varchar(0, CollationId::BINARY))
            } else {
                (name, column.data_type.clone())
            };
            let _ = write!(condition, "{and}{name} <=> ");
            write_cell(value.cell(0), &data_type, &mut condition);
        }
        Ok(condition.into_bytes())
    }
}

/// The condition that the first parts of an index equal these values.
pub(super) fn ranges_condition(
    definition: &TableDefinition,
    index: Option<usize>,
    values: &[Value],
) -> String {
    let parts = index.map(|index| &definition.indexes[index].parts);
    let mut condition = "TRUE".to_owned();
    for (part, value) in parts.into_iter().flatten().zip(values) {
        let _ = write!(condition, " AND {} <=> ", quoted(&definition.columns[part.column].name));
        write_value(value, &mut condition);
    }
    condition
}

/// The condition that the key of an index lies in a range: equal parts, then at most one with ends.
fn range_condition(definition: &TableDefinition, index: usize, range: &KeyRange) -> Result<String, Error> {
    let values = |bound: &KeyBound| match bound {
        KeyBound::Unbounded => (Vec::new(), false),
        KeyBound::Inclusive(values) => (values.clone(), false),
        KeyBound::Exclusive(values) => (values.clone(), true),
    };
    let (lower, lower_out) = values(&range.lower);
    let (upper, upper_out) = values(&range.upper);
    // The last value of an end that is out is no equal part.
    let shared = (lower.len() - usize::from(lower_out)).min(upper.len() - usize::from(upper_out));
    let equal = lower.iter().zip(&upper).take(shared).take_while(|(one, two)| one == two).count();
    let mut condition = format!("({}", ranges_condition(definition, Some(index), &lower[..equal]));
    for (values, is_out, is_lower) in [(&lower, lower_out, true), (&upper, upper_out, false)] {
        let value = match &values[equal..] {
            [] => continue,
            [value] => value,
            _ => return Err(Error::Storage("a range over several parts".into())),
        };
        let part = &definition.indexes[index].parts[equal];
        let name = quoted(&definition.columns[part.column].name);
        if *value == Value::Null {
            let _ = write!(condition, " AND {name} IS NOT NULL");
            continue;
        }
        let _ = write!(condition, " AND {name} {}", if is_lower != part.descending { '>' } else { '<' });
        condition.push_str(if is_out { " " } else { "= " });
        write_value(value, &mut condition);
    }
    condition.push(')');
    Ok(condition)
}
