//! The text of SHOW CREATE TABLE and SHOW CREATE DATABASE, byte for byte as MySQL 9.7 prints it.

use std::sync::Arc;

use types::charset::Charset;
use types::collation::CollationId;
use types::{DataType, TypeKind};

use crate::definition::{
    CheckConstraint, ColumnDefault, ColumnDefinition, ForeignKey, ForeignKeyAction, GeneratedKind,
    IndexAlgorithm, IndexDefinition, IndexKind, RowFormatOption, TableDefinition, TableKind,
};
use crate::event::{EventDefinition, EventSchedule, EventStatus};
use crate::routine::{DataAccess, RoutineDefinition, RoutineKind};
use crate::snapshot::Schema;
use crate::trigger::TriggerDefinition;

/// Appends `name` in backticks, or bare if `quote` is off (`sql_quote_show_create`).
pub fn append_identifier(out: &mut Vec<u8>, name: &str) {
    out.push(b'`');
    for &byte in name.as_bytes() {
        if byte == b'`' {
            out.push(b'`');
        }
        out.push(byte);
    }
    out.push(b'`');
}

/// The text of an expression as `information_schema` and SHOW COLUMNS print it: quotes and backslashes are escaped.
#[must_use]
pub fn escaped_expression(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '\'' | '\\') {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// Appends `text` as a string literal with MySQL's escapes.
pub fn append_string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'\'');
    // Most pieces of most texts need no escape, and are copied whole.
    let (pieces, rest) = text.as_chunks::<32>();
    for piece in pieces {
        if piece.iter().fold(false, |found, &byte| found | is_escaped(byte)) {
            append_escaped(out, piece);
        } else {
            out.extend_from_slice(piece);
        }
    }
    append_escaped(out, rest);
    out.push(b'\'');
}

fn is_escaped(byte: u8) -> bool {
    (byte == b'\'') | (byte == b'\\') | (byte == 0) | (byte == b'\n') | (byte == b'\r')
}

fn append_escaped(out: &mut Vec<u8>, text: &[u8]) {
    if !text.iter().fold(false, |found, &byte| found | is_escaped(byte)) {
        out.extend_from_slice(text);
        return;
    }
    for &byte in text {
        match byte {
            b'\'' => out.extend_from_slice(b"''"),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0 => out.extend_from_slice(b"\\0"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            other => out.push(other),
        }
    }
}

fn append_number(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(number.to_string().as_bytes());
}

/// Appends one column's clause as SHOW CREATE TABLE prints it, without indentation and comma.
pub(crate) fn column_clause(out: &mut Vec<u8>, column: &ColumnDefinition, table_collation: CollationId) {
    append_identifier(out, &column.name);
    out.push(b' ');
    column.data_type.print_sql(out);
    append_collation(out, column, table_collation);
    if let Some(generated) = &column.generated {
        out.extend_from_slice(b" GENERATED ALWAYS AS (");
        out.extend_from_slice(generated.expression.as_bytes());
        let stored = generated.kind == GeneratedKind::Stored;
        out.extend_from_slice(if stored { b") STORED" } else { b") VIRTUAL" });
    }
    if !column.nullable {
        out.extend_from_slice(b" NOT NULL");
    } else if column.data_type.kind == TypeKind::Timestamp {
        out.extend_from_slice(b" NULL");
    }
    append_default(out, column);
    if column.on_update_now {
        out.extend_from_slice(b" ON UPDATE CURRENT_TIMESTAMP");
        append_fraction(out, column);
    }
    if column.auto_increment {
        out.extend_from_slice(b" AUTO_INCREMENT");
    }
    if !column.comment.is_empty() {
        out.extend_from_slice(b" COMMENT ");
        append_string(out, column.comment.as_bytes());
    }
    if column.invisible {
        out.extend_from_slice(b" /*!80023 INVISIBLE */");
    }
}

/// CHARACTER SET is printed where it was written or where the collation is not the table's; COLLATE where one of them was written
/// and where the collation is not its character set's default.
fn append_collation(out: &mut Vec<u8>, column: &ColumnDefinition, table_collation: CollationId) {
    let data_type = &column.data_type;
    let has_collation = data_type.is_string() || matches!(data_type.kind, TypeKind::Enum | TypeKind::Set);
    // Binary strings are other types; an ENUM or SET of the binary character set says so.
    if !has_collation || data_type.is_binary_string() {
        return;
    }
    let collation = data_type.collation;
    let charset_shown = column.collation_explicit || collation != table_collation;
    if charset_shown {
        out.extend_from_slice(b" CHARACTER SET ");
        out.extend_from_slice(collation.charset().name().as_bytes());
    }
    // The default of utf8mb4 was another one once, so MySQL names it.
    let is_named = column.collation_explicit
        || !collation.info().is_default()
        || (charset_shown && collation == CollationId::UTF8MB4_0900_AI_CI);
    if is_named && collation != CollationId::BINARY {
        out.extend_from_slice(b" COLLATE ");
        out.extend_from_slice(collation.name().as_bytes());
    }
}

fn append_fraction(out: &mut Vec<u8>, column: &ColumnDefinition) {
    if column.data_type.scale > 0 {
        out.push(b'(');
        append_number(out, u64::from(column.data_type.scale));
        out.push(b')');
    }
}

/// Bytes that are no text, and characters that are none of utf8mb3.
fn is_written_in_hex(column: &ColumnDefinition, text: &[u8]) -> bool {
    const FOUR_BYTES: u8 = 0xf0;
    let is_beyond = || text.iter().any(|byte| *byte >= FOUR_BYTES);
    match std::str::from_utf8(text) {
        Ok(_) => {
            matches!(column.data_type.collation.charset(), Charset::Utf8mb4 | Charset::Binary) && is_beyond()
        }
        Err(_) => column.data_type.is_binary_string(),
    }
}

fn append_default(out: &mut Vec<u8>, column: &ColumnDefinition) {
    match &column.default {
        ColumnDefault::None => {}
        // A TEXT, BLOB or generated column has no default to print.
        ColumnDefault::Null => {
            if !column.data_type.is_text_or_blob() && column.generated.is_none() {
                out.extend_from_slice(b" DEFAULT NULL");
            }
        }
        ColumnDefault::Literal { text, .. } => {
            out.extend_from_slice(b" DEFAULT ");
            if column.data_type.kind == TypeKind::Bit {
                out.extend_from_slice(b"b'");
                out.extend_from_slice(text);
                out.push(b'\'');
            } else if is_written_in_hex(column, text) {
                out.extend_from_slice(b"0x");
                for byte in text {
                    out.extend_from_slice(format!("{byte:02X}").as_bytes());
                }
            } else {
                append_string(out, text);
            }
        }
        ColumnDefault::CurrentTimestamp => {
            out.extend_from_slice(b" DEFAULT CURRENT_TIMESTAMP");
            append_fraction(out, column);
        }
        ColumnDefault::Expression(text) => {
            out.extend_from_slice(b" DEFAULT (");
            out.extend_from_slice(text.as_bytes());
            out.push(b')');
        }
    }
}

fn index_clause(out: &mut Vec<u8>, table: &TableDefinition, index: &IndexDefinition) {
    match index.kind {
        IndexKind::Primary => out.extend_from_slice(b"PRIMARY KEY"),
        IndexKind::Unique => out.extend_from_slice(b"UNIQUE KEY "),
        IndexKind::Plain => out.extend_from_slice(b"KEY "),
    }
    if !index.is_primary() {
        append_identifier(out, &index.name);
    }
    out.extend_from_slice(b" (");
    for (ordinal, part) in index.parts.iter().enumerate() {
        if ordinal > 0 {
            out.push(b',');
        }
        match table.part_expression(part) {
            Some(expression) => {
                out.push(b'(');
                out.extend_from_slice(expression.as_bytes());
                out.push(b')');
            }
            None => append_identifier(out, &table.columns[part.column].name),
        }
        if let Some(length) = part.prefix_length {
            out.push(b'(');
            append_number(out, u64::from(length));
            out.push(b')');
        }
        if part.descending {
            out.extend_from_slice(b" DESC");
        }
    }
    out.push(b')');
    if index.algorithm == IndexAlgorithm::Btree {
        out.extend_from_slice(b" USING BTREE");
    }
    if !index.comment.is_empty() {
        out.extend_from_slice(b" COMMENT ");
        append_string(out, index.comment.as_bytes());
    }
    if !index.visible {
        out.extend_from_slice(b" /*!80000 INVISIBLE */");
    }
}

fn action_name(action: ForeignKeyAction) -> Option<&'static str> {
    match action {
        ForeignKeyAction::NoAction => None,
        ForeignKeyAction::Restrict => Some("RESTRICT"),
        ForeignKeyAction::Cascade => Some("CASCADE"),
        ForeignKeyAction::SetNull => Some("SET NULL"),
        ForeignKeyAction::SetDefault => Some("SET DEFAULT"),
    }
}

fn foreign_key_clause(out: &mut Vec<u8>, table: &TableDefinition, key: &ForeignKey) {
    out.extend_from_slice(b"CONSTRAINT ");
    append_identifier(out, &key.name);
    out.extend_from_slice(b" FOREIGN KEY (");
    for (ordinal, &column) in key.columns.iter().enumerate() {
        if ordinal > 0 {
            out.extend_from_slice(b", ");
        }
        append_identifier(out, &table.columns[column].name);
    }
    out.extend_from_slice(b") REFERENCES ");
    if key.parent_schema != table.schema {
        append_identifier(out, &key.parent_schema);
        out.push(b'.');
    }
    append_identifier(out, &key.parent_table);
    out.extend_from_slice(b" (");
    for (ordinal, column) in key.parent_columns.iter().enumerate() {
        if ordinal > 0 {
            out.extend_from_slice(b", ");
        }
        append_identifier(out, column);
    }
    out.push(b')');
    for (clause, action) in [(" ON DELETE ", key.on_delete), (" ON UPDATE ", key.on_update)] {
        if let Some(name) = action_name(action) {
            out.extend_from_slice(clause.as_bytes());
            out.extend_from_slice(name.as_bytes());
        }
    }
}

fn check_clause(out: &mut Vec<u8>, check: &CheckConstraint) {
    out.extend_from_slice(b"CONSTRAINT ");
    append_identifier(out, &check.name);
    out.extend_from_slice(b" CHECK (");
    out.extend_from_slice(check.expression.as_bytes());
    out.push(b')');
    if !check.enforced {
        out.extend_from_slice(b" /*!80016 NOT ENFORCED */");
    }
}

/// Appends `DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci`. MySQL leaves COLLATE out where it is the default of
/// the character set, except for utf8mb4, whose default has changed once.
fn append_table_collation(out: &mut Vec<u8>, collation: CollationId) {
    out.extend_from_slice(b" DEFAULT CHARSET=");
    out.extend_from_slice(collation.charset().name().as_bytes());
    if !collation.info().is_default() || collation.charset().name() == "utf8mb4" {
        out.extend_from_slice(b" COLLATE=");
        out.extend_from_slice(collation.name().as_bytes());
    }
}

fn append_options(out: &mut Vec<u8>, table: &TableDefinition) {
    let options = &table.options;
    let mut number = |name: &str, value: Option<u64>| {
        if let Some(value) = value {
            out.extend_from_slice(name.as_bytes());
            append_number(out, value);
        }
    };
    number(" MIN_ROWS=", options.min_rows);
    number(" MAX_ROWS=", options.max_rows);
    number(" AVG_ROW_LENGTH=", options.avg_row_length);
    number(" PACK_KEYS=", options.pack_keys.map(u64::from));
    number(" STATS_PERSISTENT=", options.stats_persistent.map(u64::from));
    number(" STATS_AUTO_RECALC=", options.stats_auto_recalc.map(u64::from));
    number(" STATS_SAMPLE_PAGES=", options.stats_sample_pages);
    number(" CHECKSUM=", options.checksum.then_some(1));
    number(" DELAY_KEY_WRITE=", options.delay_key_write.then_some(1));
    if let Some(format) = options.row_format {
        out.extend_from_slice(b" ROW_FORMAT=");
        out.extend_from_slice(match format {
            RowFormatOption::Default => b"DEFAULT".as_slice(),
            RowFormatOption::Dynamic => b"DYNAMIC",
            RowFormatOption::Fixed => b"FIXED",
            RowFormatOption::Compressed => b"COMPRESSED",
            RowFormatOption::Redundant => b"REDUNDANT",
            RowFormatOption::Compact => b"COMPACT",
        });
    }
    if let Some(size) = options.key_block_size {
        out.extend_from_slice(b" KEY_BLOCK_SIZE=");
        append_number(out, size);
    }
    if let Some(compression) = &options.compression {
        out.extend_from_slice(b" COMPRESSION=");
        append_string(out, compression.as_bytes());
    }
    if let Some(encryption) = &options.encryption {
        out.extend_from_slice(b" ENCRYPTION=");
        append_string(out, encryption.as_bytes());
    }
    if !table.comment.is_empty() {
        out.extend_from_slice(b" COMMENT=");
        append_string(out, table.comment.as_bytes());
    }
}

/// The table with the defaults of its CHAR columns padded to their length, as a session with PAD_CHAR_TO_FULL_LENGTH reads them.
#[must_use]
pub fn with_padded_defaults(table: &TableDefinition) -> TableDefinition {
    let mut padded = table.clone();
    for column in &mut padded.columns {
        let DataType { kind: TypeKind::Char, length, collation, .. } = column.data_type else { continue };
        if collation == CollationId::BINARY {
            continue;
        }
        if let ColumnDefault::Literal { text, .. } = &mut column.default {
            let missing = (length as usize).saturating_sub(Charset::Utf8mb4.char_count(text));
            let mut longer = std::mem::take(text).into_vec();
            longer.resize(longer.len() + missing, b' ');
            *text = longer.into_boxed_slice();
        }
    }
    padded
}

/// The text of SHOW CREATE TABLE. `auto_increment_next` is the value the next row would get; it is printed when it is
/// above 1. The text is UTF-8 except for the bytes of binary defaults.
#[must_use]
pub fn show_create_table(table: &TableDefinition, auto_increment_next: Option<u64>) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 + 48 * table.columns.len());
    out.extend_from_slice(match table.kind {
        TableKind::Base => b"CREATE TABLE ".as_slice(),
        TableKind::System if &*table.schema == "mysql" => b"CREATE TABLE ",
        TableKind::Temporary | TableKind::System | TableKind::View => b"CREATE TEMPORARY TABLE ",
    });
    append_identifier(&mut out, &table.name);
    out.extend_from_slice(b" (");
    let mut first = true;
    let mut line = |out: &mut Vec<u8>| {
        out.extend_from_slice(if first { b"\n  " } else { b",\n  " });
        first = false;
    };
    for column in table.seen_columns() {
        line(&mut out);
        column_clause(&mut out, column, table.collation);
    }
    for index in &table.indexes {
        line(&mut out);
        index_clause(&mut out, table, index);
    }
    let mut keys: Vec<_> = table.foreign_keys.iter().collect();
    keys.sort_by_cached_key(|key| crate::fold_name(&key.name));
    for key in keys {
        line(&mut out);
        foreign_key_clause(&mut out, table, key);
    }
    let mut checks: Vec<_> = table.checks.iter().collect();
    checks.sort_by_cached_key(|check| crate::fold_name(&check.name));
    for check in checks {
        line(&mut out);
        check_clause(&mut out, check);
    }
    out.extend_from_slice(b"\n) ENGINE=");
    out.extend_from_slice(match table.kind {
        TableKind::System if &*table.schema == "mysql" => b"CSV",
        TableKind::System => b"MEMORY",
        _ => b"InnoDB",
    });
    if let Some(next) = auto_increment_next
        && next > 1
    {
        out.extend_from_slice(b" AUTO_INCREMENT=");
        append_number(&mut out, next);
    }
    append_table_collation(&mut out, table.collation);
    append_options(&mut out, table);
    out
}

/// The text of SHOW CREATE DATABASE.
#[must_use]
pub fn show_create_schema(schema: &Schema, if_not_exists: bool) -> Vec<u8> {
    let mut out = b"CREATE DATABASE ".to_vec();
    if if_not_exists {
        out.extend_from_slice(b"/*!32312 IF NOT EXISTS*/ ");
    }
    append_identifier(&mut out, &schema.name);
    out.extend_from_slice(b" /*!40100 DEFAULT CHARACTER SET ");
    let collation = schema.collation;
    out.extend_from_slice(collation.charset().name().as_bytes());
    if !collation.info().is_default() || collation.charset().name() == "utf8mb4" {
        out.extend_from_slice(b" COLLATE ");
        out.extend_from_slice(collation.name().as_bytes());
    }
    out.extend_from_slice(b" */ /*!80016 DEFAULT ENCRYPTION='N' */");
    out
}

/// ``CREATE DEFINER=`user`@`host` KIND `name` ``.
fn create_of((user, host): &(Arc<str>, Arc<str>), kind: &str, name: &str) -> Vec<u8> {
    let mut out = b"CREATE DEFINER=".to_vec();
    append_identifier(&mut out, user);
    out.push(b'@');
    append_identifier(&mut out, host);
    out.extend_from_slice(format!(" {kind} ").as_bytes());
    append_identifier(&mut out, name);
    out
}

/// The CREATE TRIGGER that would make a trigger of the table `table` again.
#[must_use]
pub fn show_create_trigger(trigger: &TriggerDefinition, table: &str) -> String {
    let mut out = create_of(&trigger.definer, "TRIGGER", &trigger.name);
    out.extend_from_slice(format!(" {} {} ON ", trigger.timing.word(), trigger.event.word()).as_bytes());
    append_identifier(&mut out, table);
    out.extend_from_slice(b" FOR EACH ROW ");
    out.extend_from_slice(trigger.body.as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}

/// The text of SHOW CREATE EVENT.
#[must_use]
pub fn show_create_event(event: &EventDefinition) -> String {
    let zone = event.zone();
    let mut out = create_of(&event.definer, "EVENT", &event.name);
    let moment = |out: &mut Vec<u8>, word: &str, micros: i64| {
        out.extend_from_slice(word.as_bytes());
        out.push(b'\'');
        zone.from_utc(micros).write_datetime(0, out);
        out.push(b'\'');
    };
    match &event.schedule {
        EventSchedule::At(at) => moment(&mut out, " ON SCHEDULE AT ", *at),
        EventSchedule::Every { interval, starts_micros, ends_micros } => {
            let every = format!(" ON SCHEDULE EVERY {} {}", interval.shown(), interval.unit.name());
            out.extend_from_slice(every.as_bytes());
            moment(&mut out, " STARTS ", *starts_micros);
            if let Some(ends) = ends_micros {
                moment(&mut out, " ENDS ", *ends);
            }
        }
    }
    let completion = if event.preserve { " ON COMPLETION PRESERVE" } else { " ON COMPLETION NOT PRESERVE" };
    out.extend_from_slice(completion.as_bytes());
    let status = match event.status {
        EventStatus::Enabled => " ENABLE",
        EventStatus::Disabled => " DISABLE",
        EventStatus::ReplicaSideDisabled => " DISABLE ON REPLICA",
    };
    out.extend_from_slice(status.as_bytes());
    if !event.comment.is_empty() {
        out.extend_from_slice(b" COMMENT ");
        append_string(&mut out, event.comment.as_bytes());
    }
    out.extend_from_slice(b" DO ");
    out.extend_from_slice(event.body.as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}

/// The text of SHOW CREATE PROCEDURE and SHOW CREATE FUNCTION.
#[must_use]
pub fn show_create_routine(routine: &RoutineDefinition) -> String {
    let mut out = create_of(&routine.definer, routine.kind.word(), &routine.name);
    out.push(b'(');
    out.extend_from_slice(routine.parameters.as_bytes());
    out.push(b')');
    if routine.kind == RoutineKind::Function {
        out.extend_from_slice(b" RETURNS ");
        out.extend_from_slice(routine.returns.as_bytes());
    }
    out.push(b'\n');
    if routine.data_access != DataAccess::ContainsSql {
        out.extend_from_slice(format!("    {}\n", routine.data_access.words()).as_bytes());
    }
    if routine.deterministic {
        out.extend_from_slice(b"    DETERMINISTIC\n");
    }
    if routine.invoker {
        out.extend_from_slice(b"    SQL SECURITY INVOKER\n");
    }
    if !routine.comment.is_empty() {
        out.extend_from_slice(b"    COMMENT ");
        append_string(&mut out, routine.comment.as_bytes());
        out.push(b'\n');
    }
    out.extend_from_slice(routine.body.as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}
