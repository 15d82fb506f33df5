//! From `columns.tsv` to table definitions.

use std::sync::Arc;

use catalog::{ColumnDefault, ColumnDefinition, StoredValue, TableDefinition, TableId};
use types::collation::CollationId;
use types::{DataType, Members, TypeKind};

use super::{
    INFORMATION_SCHEMA_ID, MYSQL_SCHEMA, MYSQL_SCHEMA_ID, PERFORMANCE_SCHEMA_ID, SYS_SCHEMA, SYS_SCHEMA_ID,
};

const COLUMNS: &str = include_str!("columns.tsv");

/// Table numbers of system tables count down from here, far above any user table's.
const SYSTEM_TABLE_ID_MAX: u64 = u64::MAX >> 1;

fn lines() -> impl Iterator<Item = &'static str> {
    COLUMNS.lines().filter(|line| !line.starts_with('#'))
}

/// Every system table.
pub fn all() -> impl Iterator<Item = TableDefinition> {
    let mut names: Vec<&'static str> = lines().map(|line| line.split('\t').next().unwrap_or(line)).collect();
    names.dedup();
    names.into_iter().enumerate().map(|(number, full_name)| {
        let (schema, name) = full_name.split_once('.').expect("columns.tsv names schema and table");
        let columns: Vec<ColumnDefinition> =
            lines().filter_map(|line| line.strip_prefix(full_name)?.strip_prefix('\t')).map(column).collect();
        let (schema_id, collation) = match schema {
            "information_schema" => (INFORMATION_SCHEMA_ID, CollationId::UTF8MB3_GENERAL_CI),
            MYSQL_SCHEMA => (MYSQL_SCHEMA_ID, CollationId::UTF8MB3_GENERAL_CI),
            SYS_SCHEMA => (SYS_SCHEMA_ID, CollationId::UTF8MB4_0900_AI_CI),
            _ => (PERFORMANCE_SCHEMA_ID, CollationId::UTF8MB4_0900_AI_CI),
        };
        let id = TableId(SYSTEM_TABLE_ID_MAX - number as u64);
        TableDefinition {
            comment: match full_name {
                "mysql.general_log" => "General log".into(),
                "mysql.slow_log" => "Slow log".into(),
                _ => "".into(),
            },
            ..TableDefinition::system(id, (schema_id, schema), name, columns, collation)
        }
    })
}

fn column(line: &str) -> ColumnDefinition {
    let fields: Vec<&str> = line.split('\t').collect();
    let [name, data_type, nullable, collation, default] = fields[..] else {
        panic!("columns.tsv: six fields wanted: {line}");
    };
    let nullable = nullable == "YES";
    let data_type = parse_type(data_type, collation);
    let default = match default {
        "\\N" if nullable => ColumnDefault::Null,
        "\\N" => ColumnDefault::None,
        "CURRENT_TIMESTAMP" | "CURRENT_TIMESTAMP(6)" => ColumnDefault::CurrentTimestamp,
        text => {
            let value = match text.parse() {
                Ok(number) if !data_type.is_string() => StoredValue::Int(number),
                _ => StoredValue::Bytes(text.as_bytes().into()),
            };
            ColumnDefault::Literal { value, text: text.as_bytes().into() }
        }
    };
    // The two columns of MySQL's that have such a default follow each change of their rows, too.
    let on_update_now = matches!(default, ColumnDefault::CurrentTimestamp);
    ColumnDefinition { default, on_update_now, ..ColumnDefinition::new(name, data_type, nullable) }
}

/// Reads a type as `information_schema.COLUMNS.COLUMN_TYPE` writes it; only what the table holds.
fn parse_type(text: &str, collation: &str) -> DataType {
    // MySQL compares names of routines and constraints under a private lower-case collation.
    let collation = match collation {
        "" => CollationId::BINARY,
        "utf8mb3_tolower_ci" => CollationId::UTF8MB3_GENERAL_CI,
        name => CollationId::from_name(name).unwrap_or_else(|| panic!("columns.tsv: collation {name}")),
    };
    let (name, arguments) =
        text.split_once('(').map_or((text, ""), |(name, rest)| (name, rest.trim_end_matches(')')));
    let length = || arguments.parse::<u32>().unwrap_or(0);
    let members = || {
        let names = arguments.split(',').map(|member| member.trim_matches('\'').as_bytes().into()).collect();
        Arc::new(Members::new(names))
    };
    match name {
        "tinyint" => DataType::integer(TypeKind::TinyInt, false),
        "int" => DataType::integer(TypeKind::Int, false),
        "int unsigned" => DataType::integer(TypeKind::Int, true),
        "bigint" => DataType::integer(TypeKind::BigInt, false),
        "bigint unsigned" => DataType::integer(TypeKind::BigInt, true),
        "datetime" => DataType::datetime(0),
        "timestamp" => DataType::timestamp(u8::try_from(length()).unwrap_or(0)),
        "time" => DataType::time(u8::try_from(length()).unwrap_or(0)),
        "mediumblob" => DataType::text(TypeKind::MediumText, CollationId::BINARY),
        "varchar" => DataType::varchar(length(), collation),
        "varbinary" => DataType::varchar(length(), CollationId::BINARY),
        "char" => DataType::char(length(), collation),
        "text" => DataType::text(TypeKind::Text, collation),
        "mediumtext" => DataType::text(TypeKind::MediumText, collation),
        "longtext" => DataType::text(TypeKind::LongText, collation),
        "json" => DataType::JSON,
        "enum" => DataType::with_members(TypeKind::Enum, members(), collation),
        "set" => DataType::with_members(TypeKind::Set, members(), collation),
        other => panic!("columns.tsv: type {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_reads_as_tables() {
        let tables: Vec<TableDefinition> = all().collect();
        assert!(tables.len() > 30);
        let columns = tables.iter().find(|table| &*table.name == "COLUMNS").unwrap();
        assert_eq!(columns.columns.len(), 22);
        assert_eq!(columns.column_ordinal("column_type"), Some(15));
    }
}
