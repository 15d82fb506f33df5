//! JSON_TABLE in MySQL's canonical text.

use super::Printer;
use crate::ast::{DataType, ExprKind, JsonColumn, JsonOn, JsonTable, Literal, TypeName};

impl Printer<'_> {
    pub(super) fn json_table(&mut self, table: &JsonTable<'_>) {
        self.put("json_table(");
        self.expr(&table.doc);
        self.put(", ");
        self.plain_string(table.path);
        self.json_columns(table.columns);
        self.put(")");
        self.alias(table.alias);
    }

    fn json_columns(&mut self, columns: &[JsonColumn<'_>]) {
        self.put(" columns (");
        self.join(columns, ", ", |p, column| match column {
            JsonColumn::Ordinality(name) => {
                p.name(name.text);
                p.put(" for ordinality");
            }
            JsonColumn::Nested { path, columns } => {
                p.put("nested path ");
                p.plain_string(path);
                p.json_columns(columns);
            }
            JsonColumn::Path { name, ty, exists, path, on_empty, on_error } => {
                p.name(name.text);
                p.put(" ");
                p.column_type(ty);
                p.put(if *exists { " exists path " } else { " path " });
                p.plain_string(path);
                p.json_answer(*on_empty, " on empty");
                p.json_answer(*on_error, " on error");
            }
        });
        self.put(")");
    }

    fn json_answer(&mut self, on: Option<JsonOn<'_>>, when: &str) {
        match on {
            None => return,
            Some(JsonOn::Null) => self.put(" null"),
            Some(JsonOn::Error) => self.put(" error"),
            Some(JsonOn::Default(default)) => {
                self.put(" default ");
                match default.kind {
                    ExprKind::Literal(Literal::String { value, .. }) => self.plain_string(value),
                    _ => self.expr(&default),
                }
            }
        }
        self.put(when);
    }

    /// A text without its character set.
    fn plain_string(&mut self, text: &[u8]) {
        super::print_string(text, self.out);
    }

    /// A type as a column has it.
    fn column_type(&mut self, data_type: &DataType<'_>) {
        use TypeName as T;
        let (name, length) = match data_type.name {
            T::TinyInt => ("tinyint", data_type.length.filter(|&length| length == 1)),
            T::SmallInt => ("smallint", None),
            T::MediumInt => ("mediumint", None),
            T::Int => ("int", None),
            T::BigInt => ("bigint", None),
            T::Bit => ("bit", data_type.length.or(Some(1))),
            T::Decimal => ("decimal", data_type.length.or(Some(10))),
            T::Float => ("float", data_type.length.filter(|_| data_type.decimals.is_some())),
            T::Double => ("double", data_type.length.filter(|_| data_type.decimals.is_some())),
            T::Date => ("date", None),
            T::Time => ("time", data_type.length.filter(|&digits| digits > 0)),
            T::DateTime => ("datetime", data_type.length.filter(|&digits| digits > 0)),
            T::Timestamp => ("timestamp", data_type.length.filter(|&digits| digits > 0)),
            T::Year => ("year", None),
            T::Char => ("char", data_type.length.or(Some(1))),
            T::Varchar => ("varchar", data_type.length),
            T::Binary => ("binary", data_type.length.or(Some(1))),
            T::Varbinary => ("varbinary", data_type.length),
            T::TinyText => ("tinytext", None),
            T::Text => ("text", None),
            T::MediumText => ("mediumtext", None),
            T::LongText => ("longtext", None),
            T::TinyBlob => ("tinyblob", None),
            T::Blob => ("blob", None),
            T::MediumBlob => ("mediumblob", None),
            T::LongBlob => ("longblob", None),
            T::Enum => ("enum", None),
            T::Set => ("set", None),
            T::Json => ("json", None),
            T::Vector => ("vector", data_type.length),
            T::Geometry => ("geometry", None),
            T::Point => ("point", None),
            T::LineString => ("linestring", None),
            T::Polygon => ("polygon", None),
            T::MultiPoint => ("multipoint", None),
            T::MultiLineString => ("multilinestring", None),
            T::MultiPolygon => ("multipolygon", None),
            T::GeometryCollection => ("geomcollection", None),
        };
        self.put(name);
        if let Some(length) = length {
            self.put("(");
            self.number(length);
            let decimals = match data_type.name {
                T::Decimal => Some(data_type.decimals.unwrap_or(0)),
                _ => data_type.decimals,
            };
            if let Some(decimals) = decimals {
                self.put(",");
                self.number(decimals);
            }
            self.put(")");
        }
        if matches!(data_type.name, T::Enum | T::Set) {
            self.put("(");
            self.join(data_type.members, ",", |p, member| p.plain_string(member));
            self.put(")");
        }
        if data_type.unsigned {
            self.put(" unsigned");
        }
        let is_text = matches!(
            data_type.name,
            T::Char | T::Varchar | T::TinyText | T::Text | T::MediumText | T::LongText | T::Enum | T::Set
        );
        if is_text {
            match (data_type.charset, data_type.collation) {
                (Some(charset), _) => {
                    self.put(" character set ");
                    self.lower(charset);
                }
                // The name of a collation begins with that of its set.
                (None, Some(collation)) => {
                    self.put(" character set ");
                    self.lower(collation.split(|&byte| byte == b'_').next().unwrap_or(collation));
                }
                (None, None) => {
                    self.put(" character set ");
                    self.put(self.charset);
                }
            }
            if let Some(collation) = data_type.collation {
                self.put(" collate ");
                self.lower(collation);
            } else if data_type.binary {
                self.put(" binary");
            }
        }
    }
}
