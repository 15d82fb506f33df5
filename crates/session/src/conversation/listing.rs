//! Small tables made in memory: what SHOW statements and table maintenance answer with.

use exec::output::{ResultColumn, RowEncoder, encode_columns};
use plan::logical::OutputSource;
use service::{OkSummary, Outcome, Reply, StatusFlags};
use types::charset::Charset;
use types::collation::CollationId;
use types::vector::Batch;
use types::{DataType, TypeKind};

use super::Session;
use crate::backend::Backend;
use crate::system_schemas::rows::{Cell, push_cell};

/// A column of a listing.
#[derive(Clone, Debug)]
pub struct ListingColumn {
    /// Shown name.
    pub name: String,
    /// Type.
    pub data_type: DataType,
    /// May be NULL.
    pub nullable: bool,
}

/// Rows made in memory with their columns.
#[derive(Clone, Debug)]
pub struct Listing {
    /// Columns.
    pub columns: Vec<ListingColumn>,
    /// Rows.
    pub rows: Batch,
    /// Its columns are described as expressions are, not as those of a table.
    pub of_expressions: bool,
}

/// Type of a text column of at most `length` characters.
#[must_use]
pub fn text(length: u32) -> DataType {
    DataType::varchar(length, CollationId::UTF8MB4_0900_AI_CI)
}

/// Type of a number that is never negative.
#[must_use]
pub fn unsigned() -> DataType {
    DataType::integer(TypeKind::BigInt, true)
}

impl Listing {
    /// An empty listing with these columns.
    #[must_use]
    pub fn new(columns: &[(&str, DataType)]) -> Self {
        let columns: Vec<ListingColumn> = columns
            .iter()
            .map(|(name, data_type)| ListingColumn {
                name: (*name).to_owned(),
                data_type: data_type.clone(),
                nullable: true,
            })
            .collect();
        let rows = Batch::new(columns.iter().map(|column| column.data_type.physical()));
        Self { columns, rows, of_expressions: false }
    }

    /// An empty listing whose columns are described as expressions that are never NULL: so are those of SHOW CREATE.
    #[must_use]
    pub(crate) fn of_expressions(columns: &[(&str, DataType)]) -> Self {
        let mut made = Self::new(columns);
        made.columns.iter_mut().for_each(|column| column.nullable = false);
        Self { of_expressions: true, ..made }
    }

    /// A listing of text columns.
    #[must_use]
    pub(crate) fn of_text(names: &[&str]) -> Self {
        let columns: Vec<(&str, DataType)> = names.iter().map(|name| (*name, text(1024))).collect();
        Self::new(&columns)
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If it has not as many cells as there are columns.
    pub fn push(&mut self, cells: &[Cell<'_>]) {
        assert_eq!(cells.len(), self.columns.len());
        for ((column, definition), cell) in self.rows.columns.iter_mut().zip(&self.columns).zip(cells) {
            push_cell(column, &definition.data_type, *cell);
        }
        self.rows.row_count += 1;
    }

    /// Keeps the rows whose first column is like `pattern`.
    pub(crate) fn retain_like(&mut self, pattern: &[u8]) {
        let collation = CollationId::UTF8MB4_0900_AI_CI;
        let kept: Vec<u32> = (0..self.rows.row_count)
            .filter(|&row| {
                matches!(self.rows.columns[0].cell(row), types::vector::Cell::Bytes(text) if collation.like(text, pattern, Some(u32::from(b'\\'))))
            })
            .filter_map(|row| u32::try_from(row).ok())
            .collect();
        let mut rows = Batch::new(self.columns.iter().map(|column| column.data_type.physical()));
        rows.gather_from(&self.rows, &kept);
        self.rows = rows;
    }

    /// Keeps the first `rows_max` rows.
    pub fn truncate(&mut self, rows_max: u64) {
        if rows_max < self.rows.row_count as u64 {
            let kept: Vec<u32> = (0..rows_max as u32).collect();
            let mut rows = Batch::new(self.columns.iter().map(|column| column.data_type.physical()));
            rows.gather_from(&self.rows, &kept);
            self.rows = rows;
        }
    }

    /// Sends the listing as a result.
    ///
    /// # Errors
    /// The client is gone.
    pub fn send(
        &self,
        reply: &mut Reply<'_>,
        results: Option<Charset>,
        status: StatusFlags,
        warnings: u16,
    ) -> Outcome {
        let columns = encode_columns(
            self.columns.iter().map(|column| ResultColumn {
                schema: "",
                table: "",
                original_table: "",
                name: &column.name,
                original_name: "",
                data_type: &column.data_type,
                nullable: column.nullable,
                flags: 0,
                source: if self.of_expressions { OutputSource::Expression } else { OutputSource::Column },
            }),
            results,
        );
        reply.columns(&columns, status, warnings)?;
        let types = self.columns.iter().map(|column| &column.data_type);
        let mut encoder = RowEncoder::new(types, results, reply.row_format());
        for row in 0..self.rows.row_count {
            encoder.put_row(&self.rows, row, reply.begin_row());
            reply.end_row()?;
        }
        reply.end_rows_with(&OkSummary { status, warnings, ..OkSummary::default() })
    }
}

/// A listing as a table that a query can read: what SHOW ... WHERE filters.
#[derive(Debug)]
pub struct ListingTable {
    listing: Listing,
}

/// Schema and name under which a SHOW's rows are found while its WHERE is evaluated. The schema's name is none that CREATE
/// DATABASE takes.
pub(crate) const LISTING_SCHEMA: &str = "\u{1}show";
/// See [`LISTING_SCHEMA`].
pub(crate) const LISTING_TABLE: &str = "rows";

impl ListingTable {
    /// A catalog that holds everything `catalog` does and this listing.
    #[must_use]
    pub(crate) fn catalog_with(listing: Listing, catalog: &catalog::Catalog) -> catalog::Catalog {
        use std::sync::Arc;
        let columns: Vec<catalog::ColumnDefinition> = listing
            .columns
            .iter()
            .map(|column| {
                catalog::ColumnDefinition::new(&column.name, column.data_type.clone(), column.nullable)
            })
            .collect();
        let schema_id = catalog::SchemaId(u32::MAX - 2);
        let definition = Arc::new(catalog::TableDefinition::system(
            catalog::TableId(u64::MAX),
            (schema_id, LISTING_SCHEMA),
            LISTING_TABLE,
            columns,
            CollationId::UTF8MB4_0900_AI_CI,
        ));
        let mut schema =
            catalog::Schema::new(schema_id, LISTING_SCHEMA, CollationId::UTF8MB4_0900_AI_CI, false);
        schema.insert(Arc::new(catalog::TableEntry { definition, source: Arc::new(Self { listing }) }));
        let mut extended = catalog.clone();
        extended.insert_schema(Arc::new(schema));
        extended
    }
}

impl catalog::TableSource for ListingTable {
    fn statistics(&self) -> &dyn catalog::TableStatistics {
        self
    }

    fn as_virtual(&self) -> Option<&dyn catalog::VirtualTable> {
        Some(self)
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

impl catalog::TableStatistics for ListingTable {
    fn row_count(&self) -> u64 {
        self.listing.rows.row_count as u64
    }

    fn distinct_count(&self, _index: usize, _part_count: usize) -> u64 {
        1
    }

    fn estimate_rows(&self, _index: usize, _range: &catalog::KeyRange) -> u64 {
        self.row_count()
    }

    fn data_bytes(&self) -> u64 {
        0
    }

    fn index_bytes(&self) -> u64 {
        0
    }
}

impl catalog::VirtualTable for ListingTable {
    fn scan(
        &self,
        _context: &catalog::VirtualContext<'_>,
        scan: &catalog::VirtualScan<'_>,
        emit: &mut dyn FnMut(&mut Batch) -> bool,
    ) -> Result<(), catalog::VirtualError> {
        let all: Vec<u32> =
            (0..self.listing.rows.row_count).filter_map(|row| u32::try_from(row).ok()).collect();
        for rows in all.chunks(types::vector::batch_rows_max()) {
            let mut batch = Batch::new(
                scan.columns.iter().map(|&column| self.listing.columns[column].data_type.physical()),
            );
            for (target, &column) in batch.columns.iter_mut().zip(scan.columns) {
                target.gather_from(&self.listing.rows.columns[column], rows);
            }
            batch.row_count = rows.len();
            if !emit(&mut batch) {
                break;
            }
        }
        Ok(())
    }
}

/// Answers with a listing.
pub(super) fn send<B: Backend>(
    session: &mut Session<B>,
    listing: &Listing,
    reply: &mut Reply<'_>,
) -> Outcome {
    session.results.end_query(listing.rows.row_count as u64);
    listing.send(
        reply,
        session.variables.settings().results_charset,
        session.status_flags(),
        session.diagnostics.packet_count(),
    )
}
