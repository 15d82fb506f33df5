//! Column definitions of a result.

use plan::logical::OutputSource;
use types::charset::{Charset, convert_lossy};
use types::data_type::column_flag;
use types::{DataType, TypeKind};
use wire::{ColumnDefinition, ColumnFlags, ColumnType, EncodedColumns};

/// A column of a result as its definition packet describes it. Names are UTF-8.
#[derive(Clone, Copy, Debug)]
pub struct ResultColumn<'a> {
    /// Schema of its table; empty for an expression.
    pub schema: &'a str,
    /// Alias of its table.
    pub table: &'a str,
    /// The table's own name.
    pub original_table: &'a str,
    /// Alias.
    pub name: &'a str,
    /// The column's own name.
    pub original_name: &'a str,
    /// Type.
    pub data_type: &'a DataType,
    /// May be NULL.
    pub nullable: bool,
    /// Flags of the table's column: keys, AUTO_INCREMENT, no default.
    pub flags: u16,
    /// Where its values come from.
    pub source: OutputSource,
}

/// Encodes the definitions of a result whose strings are sent in `results` (`None`: as they are).
#[must_use]
pub fn encode_columns<'a>(
    columns: impl ExactSizeIterator<Item = ResultColumn<'a>>,
    results: Option<Charset>,
) -> EncodedColumns {
    match names_charset(results) {
        None => EncodedColumns::new(columns.map(|column| definition_of(&column, results))),
        Some(charset) => {
            let columns: Vec<_> = columns.map(|column| (column, Names::of(&column, charset))).collect();
            EncodedColumns::new(columns.iter().map(|(column, names)| names.of_column(column, results)))
        }
    }
}

/// The character set that names must be converted to.
fn names_charset(results: Option<Charset>) -> Option<Charset> {
    results.filter(|charset| !matches!(charset, Charset::Utf8mb4 | Charset::Binary))
}

/// A column's names in the character set of the results.
struct Names {
    schema: Vec<u8>,
    table: Vec<u8>,
    original_table: Vec<u8>,
    name: Vec<u8>,
    original_name: Vec<u8>,
}

impl Names {
    fn of(column: &ResultColumn<'_>, charset: Charset) -> Names {
        let converted = |name: &str| {
            let mut out = Vec::with_capacity(name.len());
            let _ = convert_lossy(Charset::Utf8mb4, name.as_bytes(), charset, &mut out);
            out
        };
        Names {
            schema: converted(column.schema),
            table: converted(column.table),
            original_table: converted(column.original_table),
            name: converted(column.name),
            original_name: converted(column.original_name),
        }
    }

    /// The definition of `column` with these names.
    fn of_column<'a>(&'a self, column: &ResultColumn<'a>, results: Option<Charset>) -> ColumnDefinition<'a> {
        ColumnDefinition {
            schema: &self.schema,
            table: &self.table,
            org_table: &self.original_table,
            name: &self.name,
            org_name: &self.original_name,
            ..definition_of(column, results)
        }
    }
}

/// The same for COM_FIELD_LIST, each column with the text of its default (`None`: NULL).
#[must_use]
pub fn encode_columns_with_defaults<'a>(
    columns: impl ExactSizeIterator<Item = (ResultColumn<'a>, Option<&'a [u8]>)>,
    results: Option<Charset>,
) -> EncodedColumns {
    let Some(charset) = names_charset(results) else {
        return EncodedColumns::with_defaults(
            columns.map(|(column, default)| (definition_of(&column, results), default)),
        );
    };
    let columns: Vec<_> =
        columns.map(|(column, default)| (column, default, Names::of(&column, charset))).collect();
    EncodedColumns::with_defaults(
        columns.iter().map(|(column, default, names)| (names.of_column(column, results), *default)),
    )
}

fn definition_of<'a>(column: &ResultColumn<'a>, results: Option<Charset>) -> ColumnDefinition<'a> {
    let data_type = column.data_type;
    // A document's text is said to be bytes where a column holds it, and characters where it is computed.
    let is_document = data_type.kind == TypeKind::Json && column.source.is_computed();
    let has_text = is_document
        || (data_type.is_string() || matches!(data_type.kind, TypeKind::Enum | TypeKind::Set))
            && data_type.collation.charset() != Charset::Binary;
    let (collation, char_bytes) = match results {
        // Sent as they are, and said to be bytes.
        Some(Charset::Binary) => (types::collation::CollationId::BINARY, 1),
        Some(results) if has_text => (results.default_collation(), results.max_bytes_per_char()),
        _ if is_document => (types::collation::CollationId::UTF8MB4_BIN, 4),
        _ if has_text => (data_type.collation, data_type.collation.charset().max_bytes_per_char()),
        _ => (types::collation::CollationId::BINARY, 1),
    };
    let mut flags = column.flags | data_type.protocol_flags();
    if column.source.is_computed() {
        // A table stores the value out of line, a computed one is stored nowhere.
        flags &= !column_flag::BLOB;
    }
    if is_member(data_type.kind)
        && !matches!(column.source, OutputSource::Column | OutputSource::SetOperation)
    {
        flags &= !(column_flag::ENUM | column_flag::SET);
    }
    if !column.nullable {
        flags |= column_flag::NOT_NULL;
    }
    if data_type.kind == TypeKind::Null || (column.source.is_computed() && is_number(data_type.kind)) {
        // Numbers sort and compare as bytes do, says the protocol's flag; of a table's columns it does not.
        flags |= column_flag::BINARY;
    }
    ColumnDefinition {
        schema: column.schema.as_bytes(),
        table: column.table.as_bytes(),
        org_table: column.original_table.as_bytes(),
        name: column.name.as_bytes(),
        org_name: column.original_name.as_bytes(),
        collation: collation.id(),
        length: if has_text && matches!(results, None | Some(Charset::Binary)) && data_type.is_text_or_blob()
        {
            data_type.length
        } else if is_document {
            // The number of the client's widest characters that fit.
            u32::MAX / 4 * 4
        } else {
            data_type.protocol_length(u32::try_from(char_bytes).unwrap_or(4))
        },
        column_type: ColumnType::from_byte(protocol_type(column)).unwrap_or(ColumnType::VarString),
        flags: ColumnFlags(flags),
        decimals: match decimals(data_type) {
            0 if column.source.is_computed() && (is_text(data_type) || is_member(data_type.kind)) => {
                DECIMALS_NOT_FIXED
            }
            decimals => decimals,
        },
    }
}

/// The type as the protocol names it: computed texts by their size, those of columns all as BLOB.
fn protocol_type(column: &ResultColumn<'_>) -> u8 {
    let is_computed = column.source.is_computed();
    match column.data_type.kind {
        TypeKind::Enum if column.source == OutputSource::Expression => ColumnType::Enum as u8,
        TypeKind::Set if column.source == OutputSource::Expression => ColumnType::Set as u8,
        kind if is_member(kind) && column.source == OutputSource::TemporaryTable => {
            ColumnType::VarString as u8
        }
        TypeKind::MediumText if is_computed => 250,
        TypeKind::LongText if is_computed => 251,
        _ => column.data_type.protocol_type(),
    }
}

/// Digits after the point of what may have any number of them; MySQL says so of computed strings.
const DECIMALS_NOT_FIXED: u8 = 31;

fn is_text(data_type: &DataType) -> bool {
    (data_type.is_string() && !data_type.is_hex_literal()) || data_type.kind == TypeKind::Json
}

fn is_member(kind: TypeKind) -> bool {
    matches!(kind, TypeKind::Enum | TypeKind::Set)
}

fn is_number(kind: TypeKind) -> bool {
    matches!(
        kind,
        TypeKind::TinyInt
            | TypeKind::SmallInt
            | TypeKind::MediumInt
            | TypeKind::Int
            | TypeKind::BigInt
            | TypeKind::Float
            | TypeKind::Double
            | TypeKind::Decimal
            | TypeKind::Year
    )
}

fn decimals(data_type: &DataType) -> u8 {
    match data_type.kind {
        TypeKind::Float | TypeKind::Double | TypeKind::Decimal => data_type.scale,
        TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp => data_type.scale,
        _ => 0,
    }
}
