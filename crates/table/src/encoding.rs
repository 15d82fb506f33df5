//! The binary form of definitions in the dictionary: little-endian numbers, length-prefixed strings, a version byte
//! first. A newer program reads older versions; an older one refuses a newer version.

mod collected;
mod event;
mod histograms;
mod routine;
mod trigger;
mod view;

use std::sync::Arc;

use catalog::{
    Account, AccountId, AccountTls, AuthPlugin, CheckConstraint, ColumnDefault, ColumnDefinition,
    ColumnPrivileges, DroppedColumn, EarlierForm, EarlierPassword, ForeignKey, ForeignKeyAction,
    GeneratedColumn, GeneratedKind, IndexAlgorithm, IndexDefinition, IndexKind, IndexPart, NameMap,
    PasswordLocking, PasswordPolicy, Privileges, ResourceLimits, RoutinePrivileges, RowFormatOption, Schema,
    SchemaId, SchemaPrivileges, StoredValue, TableDefinition, TableId, TableKind, TableOptions,
    TablePrivileges, TreeNumber,
};
use types::{CollationId, DataType, Decimal, Members, TypeKind};

pub(crate) use collected::{decode_collected, encode_collected};
pub(crate) use event::{decode_event, encode_event};
pub(crate) use histograms::{decode_histograms, encode_histograms, histogram_form};
pub(crate) use routine::{decode_routine, encode_routine};
pub(crate) use view::{decode_view, encode_view};

/// Newest version of a record.
pub(crate) const VERSION: u8 = 3;
/// Version of records that need nothing newer, so that earlier programs read them.
const USUAL_VERSION: u8 = 2;

/// A record that cannot be read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum DecodeError {
    /// Written by a newer program.
    Newer(u8),
    /// Cut or senseless.
    Damaged,
}

type Decoded<T> = Result<T, DecodeError>;

#[derive(Default)]
struct Writer {
    out: Vec<u8>,
}

impl Writer {
    fn new() -> Self {
        Self { out: vec![USUAL_VERSION] }
    }
    fn u8(&mut self, value: u8) {
        self.out.push(value);
    }
    fn bool(&mut self, value: bool) {
        self.out.push(u8::from(value));
    }
    fn u16(&mut self, value: u16) {
        self.out.extend_from_slice(&value.to_le_bytes());
    }
    fn u32(&mut self, value: u32) {
        self.out.extend_from_slice(&value.to_le_bytes());
    }
    fn u64(&mut self, value: u64) {
        self.out.extend_from_slice(&value.to_le_bytes());
    }
    fn bytes(&mut self, value: &[u8]) {
        self.u32(value.len() as u32);
        self.out.extend_from_slice(value);
    }
    fn str(&mut self, value: &str) {
        self.bytes(value.as_bytes());
    }
    fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.bool(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }
    fn list<T>(&mut self, values: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.u32(values.len() as u32);
        for value in values {
            write(self, value);
        }
    }
}

struct Reader<'a> {
    /// Version of the record. 2: columns say how rows of older layouts hold them. 3: tables have triggers.
    version: u8,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn new(record: &'a [u8]) -> Decoded<Self> {
        match record {
            [newer, ..] if *newer > VERSION => Err(DecodeError::Newer(*newer)),
            [version, rest @ ..] if *version > 0 => Ok(Self { version: *version, rest }),
            _ => Err(DecodeError::Damaged),
        }
    }
    fn take(&mut self, count: usize) -> Decoded<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(DecodeError::Damaged)?;
        self.rest = rest;
        Ok(taken)
    }
    fn array<const N: usize>(&mut self) -> Decoded<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| DecodeError::Damaged)
    }
    fn u8(&mut self) -> Decoded<u8> {
        Ok(self.array::<1>()?[0])
    }
    fn bool(&mut self) -> Decoded<bool> {
        Ok(self.u8()? != 0)
    }
    fn u16(&mut self) -> Decoded<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }
    fn u32(&mut self) -> Decoded<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }
    fn u64(&mut self) -> Decoded<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }
    fn bytes(&mut self) -> Decoded<&'a [u8]> {
        let count = self.u32()? as usize;
        self.take(count)
    }
    fn str(&mut self) -> Decoded<Arc<str>> {
        std::str::from_utf8(self.bytes()?).map(Into::into).map_err(|_| DecodeError::Damaged)
    }
    fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Decoded<T>) -> Decoded<Option<T>> {
        if self.bool()? { read(self).map(Some) } else { Ok(None) }
    }
    fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Decoded<T>) -> Decoded<Vec<T>> {
        let count = self.u32()? as usize;
        if count > self.rest.len() {
            return Err(DecodeError::Damaged); // Every element takes a byte at least.
        }
        (0..count).map(|_| read(self)).collect()
    }
    fn collation(&mut self) -> Decoded<CollationId> {
        CollationId::from_id(self.u16()?).ok_or(DecodeError::Damaged)
    }
    /// One of `all`, by position.
    fn one_of<T: Copy>(&mut self, all: &[T]) -> Decoded<T> {
        all.get(usize::from(self.u8()?)).copied().ok_or(DecodeError::Damaged)
    }
}

/// The position of `value` in `all`, which lists every value of its type.
fn position<T: PartialEq>(all: &[T], value: &T) -> u8 {
    all.iter().position(|other| other == value).unwrap_or(0) as u8
}

const KINDS: [TypeKind; 24] = [
    TypeKind::Null,
    TypeKind::TinyInt,
    TypeKind::SmallInt,
    TypeKind::MediumInt,
    TypeKind::Int,
    TypeKind::BigInt,
    TypeKind::Bit,
    TypeKind::Float,
    TypeKind::Double,
    TypeKind::Decimal,
    TypeKind::Year,
    TypeKind::Date,
    TypeKind::Time,
    TypeKind::DateTime,
    TypeKind::Timestamp,
    TypeKind::Char,
    TypeKind::VarChar,
    TypeKind::TinyText,
    TypeKind::Text,
    TypeKind::MediumText,
    TypeKind::LongText,
    TypeKind::Enum,
    TypeKind::Set,
    TypeKind::Json,
];
const INDEX_KINDS: [IndexKind; 3] = [IndexKind::Primary, IndexKind::Unique, IndexKind::Plain];
const ALGORITHMS: [IndexAlgorithm; 3] =
    [IndexAlgorithm::Default, IndexAlgorithm::Btree, IndexAlgorithm::Hash];
/// In records written before there were key parts: STORED or not.
const GENERATED_KINDS: [GeneratedKind; 3] =
    [GeneratedKind::Virtual, GeneratedKind::Stored, GeneratedKind::KeyPart];
const ACTIONS: [ForeignKeyAction; 5] = [
    ForeignKeyAction::NoAction,
    ForeignKeyAction::Restrict,
    ForeignKeyAction::Cascade,
    ForeignKeyAction::SetNull,
    ForeignKeyAction::SetDefault,
];
const ROW_FORMATS: [RowFormatOption; 6] = [
    RowFormatOption::Default,
    RowFormatOption::Dynamic,
    RowFormatOption::Fixed,
    RowFormatOption::Compressed,
    RowFormatOption::Redundant,
    RowFormatOption::Compact,
];
const PLUGINS: [AuthPlugin; 2] = [AuthPlugin::CachingSha2, AuthPlugin::Native];
const TLS: [AccountTls; 3] = [AccountTls::None, AccountTls::Ssl, AccountTls::X509];

fn write_type(out: &mut Writer, data_type: &DataType) {
    out.u8(position(&KINDS, &data_type.kind));
    out.bool(data_type.unsigned);
    out.bool(data_type.zerofill);
    out.u8(data_type.scale);
    out.u32(data_type.length);
    out.u16(data_type.collation.id());
    out.option(data_type.members.as_ref(), |out, members| {
        out.u32(members.len() as u32);
        for name in members.iter() {
            out.bytes(name);
        }
    });
}

fn read_type(input: &mut Reader<'_>) -> Decoded<DataType> {
    Ok(DataType {
        kind: input.one_of(&KINDS)?,
        unsigned: input.bool()?,
        zerofill: input.bool()?,
        scale: input.u8()?,
        length: input.u32()?,
        collation: input.collation()?,
        members: input
            .option(|input| Ok(Arc::new(Members::new(input.list(|input| Ok(input.bytes()?.into()))?))))?,
    })
}

fn write_stored(out: &mut Writer, value: &StoredValue) {
    match value {
        StoredValue::Null => out.u8(0),
        StoredValue::Int(value) => {
            out.u8(1);
            out.u64(*value as u64);
        }
        StoredValue::Double(value) => {
            out.u8(2);
            out.u64(value.to_bits());
        }
        StoredValue::Decimal(value) => {
            out.u8(3);
            out.u8(value.scale());
            let mut key = Vec::new();
            value.write_key(65, value.scale().min(30), &mut key);
            out.bytes(&key);
        }
        StoredValue::Bytes(value) => {
            out.u8(4);
            out.bytes(value);
        }
    }
}

fn read_stored(input: &mut Reader<'_>) -> Decoded<StoredValue> {
    Ok(match input.u8()? {
        0 => StoredValue::Null,
        1 => StoredValue::Int(input.u64()? as i64),
        2 => StoredValue::Double(f64::from_bits(input.u64()?)),
        3 => {
            let scale = input.u8()?.min(30);
            StoredValue::Decimal(Decimal::read_key(65, scale, input.bytes()?).ok_or(DecodeError::Damaged)?)
        }
        4 => StoredValue::Bytes(input.bytes()?.into()),
        _ => return Err(DecodeError::Damaged),
    })
}

fn write_column(out: &mut Writer, column: &ColumnDefinition) {
    out.str(&column.name);
    write_type(out, &column.data_type);
    out.bool(column.nullable);
    match &column.default {
        ColumnDefault::None => out.u8(0),
        ColumnDefault::Null => out.u8(1),
        ColumnDefault::Literal { value, text } => {
            out.u8(2);
            write_stored(out, value);
            out.bytes(text);
        }
        ColumnDefault::CurrentTimestamp => out.u8(3),
        ColumnDefault::Expression(text) => {
            out.u8(4);
            out.str(text);
        }
    }
    out.bool(column.on_update_now);
    out.bool(column.auto_increment);
    out.option(column.generated.as_ref(), |out, generated| {
        out.str(&generated.expression);
        out.u8(position(&GENERATED_KINDS, &generated.kind));
    });
    out.bool(column.invisible);
    out.bool(column.collation_explicit);
    out.str(&column.comment);
    out.u32(column.since_version);
    write_stored(out, &column.instant_default);
    out.u32(column.stored_order);
    out.list(&column.earlier_forms, |out, form| {
        out.u32(form.until_version);
        write_type(out, &form.data_type);
        out.bool(form.nullable);
    });
}

fn read_column(input: &mut Reader<'_>) -> Decoded<ColumnDefinition> {
    Ok(ColumnDefinition {
        name: input.str()?,
        data_type: read_type(input)?,
        nullable: input.bool()?,
        default: match input.u8()? {
            0 => ColumnDefault::None,
            1 => ColumnDefault::Null,
            2 => ColumnDefault::Literal { value: read_stored(input)?, text: input.bytes()?.into() },
            3 => ColumnDefault::CurrentTimestamp,
            4 => ColumnDefault::Expression(input.str()?),
            _ => return Err(DecodeError::Damaged),
        },
        on_update_now: input.bool()?,
        auto_increment: input.bool()?,
        generated: input.option(|input| {
            Ok(GeneratedColumn { expression: input.str()?, kind: input.one_of(&GENERATED_KINDS)? })
        })?,
        invisible: input.bool()?,
        collation_explicit: input.bool()?,
        comment: input.str()?,
        since_version: input.u32()?,
        instant_default: read_stored(input)?,
        stored_order: if input.version < 2 { 0 } else { input.u32()? },
        earlier_forms: if input.version < 2 { Vec::new() } else { input.list(read_earlier_form)? },
    })
}

fn read_earlier_form(input: &mut Reader<'_>) -> Decoded<EarlierForm> {
    Ok(EarlierForm { until_version: input.u32()?, data_type: read_type(input)?, nullable: input.bool()? })
}

/// Flags of an index. Records written before there were flags hold 0 or 1: visible or not.
const INDEX_VISIBLE: u8 = 1;
const INDEX_GENERATED: u8 = 2;

fn write_index(out: &mut Writer, index: &IndexDefinition) {
    out.str(&index.name);
    out.u8(position(&INDEX_KINDS, &index.kind));
    out.u64(index.tree.0);
    out.list(&index.parts, |out, part| {
        out.u32(part.column as u32);
        out.option(part.prefix_length, Writer::u32);
        out.bool(part.descending);
    });
    out.u8((u8::from(index.visible) * INDEX_VISIBLE) | (u8::from(index.generated) * INDEX_GENERATED));
    out.u8(position(&ALGORITHMS, &index.algorithm));
    out.str(&index.comment);
}

fn read_index(input: &mut Reader<'_>) -> Decoded<IndexDefinition> {
    let mut index = IndexDefinition {
        name: input.str()?,
        kind: input.one_of(&INDEX_KINDS)?,
        tree: TreeNumber(input.u64()?),
        parts: input.list(|input| {
            Ok(IndexPart {
                column: input.u32()? as usize,
                prefix_length: input.option(Reader::u32)?,
                descending: input.bool()?,
            })
        })?,
        visible: false,
        generated: false,
        algorithm: IndexAlgorithm::Default,
        comment: Arc::from(""),
    };
    let flags = input.u8()?;
    index.visible = flags & INDEX_VISIBLE != 0;
    index.generated = flags & INDEX_GENERATED != 0;
    index.algorithm = input.one_of(&ALGORITHMS)?;
    index.comment = input.str()?;
    Ok(index)
}

fn write_options(out: &mut Writer, options: &TableOptions) {
    out.option(options.min_rows, Writer::u64);
    out.option(options.max_rows, Writer::u64);
    out.option(options.avg_row_length, Writer::u64);
    out.option(options.pack_keys, Writer::bool);
    out.option(options.stats_persistent, Writer::bool);
    out.option(options.stats_auto_recalc, Writer::bool);
    out.option(options.stats_sample_pages, Writer::u64);
    out.bool(options.checksum);
    out.bool(options.delay_key_write);
    out.option(options.row_format, |out, format| out.u8(position(&ROW_FORMATS, &format)));
    out.option(options.key_block_size, Writer::u64);
    out.option(options.compression.as_deref(), Writer::str);
    out.option(options.encryption.as_deref(), Writer::str);
}

fn read_options(input: &mut Reader<'_>) -> Decoded<TableOptions> {
    Ok(TableOptions {
        min_rows: input.option(Reader::u64)?,
        max_rows: input.option(Reader::u64)?,
        avg_row_length: input.option(Reader::u64)?,
        pack_keys: input.option(Reader::bool)?,
        stats_persistent: input.option(Reader::bool)?,
        stats_auto_recalc: input.option(Reader::bool)?,
        stats_sample_pages: input.option(Reader::u64)?,
        checksum: input.bool()?,
        delay_key_write: input.bool()?,
        row_format: input.option(|input| input.one_of(&ROW_FORMATS))?,
        key_block_size: input.option(Reader::u64)?,
        compression: input.option(Reader::str)?,
        encryption: input.option(Reader::str)?,
    })
}

/// A table's record. Its name is in it; the name of its schema is not, since a schema is found by number.
pub(crate) fn encode_table(table: &TableDefinition) -> Vec<u8> {
    let mut out = Writer::new();
    out.u64(table.id.0);
    out.str(&table.name);
    out.u32(table.schema_id.0);
    out.list(&table.columns, write_column);
    out.list(&table.indexes, write_index);
    out.u64(table.rows_tree.0);
    out.u64(table.large_values_tree.0);
    out.u32(table.row_version);
    out.list(&table.dropped_columns, |out, dropped| {
        write_column(out, &dropped.column);
        out.u32(dropped.until_version);
    });
    out.u16(table.collation.id());
    out.str(&table.comment);
    out.u64(table.created_micros as u64);
    write_options(&mut out, &table.options);
    out.list(&table.foreign_keys, |out, key| {
        out.str(&key.name);
        out.list(&key.columns, |out, column| out.u32(*column as u32));
        out.str(&key.parent_schema);
        out.str(&key.parent_table);
        out.list(&key.parent_columns, |out, column| out.str(column));
        out.u8(position(&ACTIONS, &key.on_delete));
        out.u8(position(&ACTIONS, &key.on_update));
    });
    out.list(&table.checks, |out, check| {
        out.str(&check.name);
        out.str(&check.expression);
        out.bool(check.enforced);
    });
    if !table.triggers.is_empty() {
        out.out[0] = VERSION;
        out.list(&table.triggers, |out, trigger| trigger::write_trigger(out, trigger));
    }
    out.out
}

/// Reads a table's record; `schema_name` gives the name of its schema.
pub(crate) fn decode_table(
    record: &[u8],
    schema_name: impl Fn(SchemaId) -> Option<Arc<str>>,
) -> Decoded<TableDefinition> {
    let input = &mut Reader::new(record)?;
    let id = TableId(input.u64()?);
    let name = input.str()?;
    let schema_id = SchemaId(input.u32()?);
    let mut table = TableDefinition {
        id,
        name,
        schema_id,
        schema: schema_name(schema_id).ok_or(DecodeError::Damaged)?,
        kind: TableKind::Base,
        columns: input.list(read_column)?,
        indexes: input.list(read_index)?,
        clustered: None,
        rows_tree: TreeNumber(input.u64()?),
        large_values_tree: TreeNumber(input.u64()?),
        row_version: input.u32()?,
        dropped_columns: if input.version < 2 {
            Vec::new()
        } else {
            input.list(|input| {
                Ok(DroppedColumn { column: read_column(input)?, until_version: input.u32()? })
            })?
        },
        collation: input.collation()?,
        comment: input.str()?,
        created_micros: input.u64()? as i64,
        options: read_options(input)?,
        foreign_keys: input.list(|input| {
            Ok(ForeignKey {
                name: input.str()?,
                columns: input.list(|input| Ok(input.u32()? as usize))?,
                parent_schema: input.str()?,
                parent_table: input.str()?,
                parent_columns: input.list(Reader::str)?,
                on_delete: input.one_of(&ACTIONS)?,
                on_update: input.one_of(&ACTIONS)?,
            })
        })?,
        checks: input.list(|input| {
            Ok(CheckConstraint { name: input.str()?, expression: input.str()?, enforced: input.bool()? })
        })?,
        triggers: if input.version < 3 { Vec::new() } else { input.list(trigger::read_trigger)? },
        view: None,
        column_names: NameMap::default(),
    };
    if input.version < 2 {
        for (ordinal, column) in table.columns.iter_mut().enumerate() {
            column.stored_order = ordinal as u32;
        }
    }
    let count = table.columns.len();
    let in_range = |column: usize| column < count;
    if !table.indexes.iter().all(|index| index.parts.iter().all(|part| in_range(part.column)))
        || !table.foreign_keys.iter().all(|key| key.columns.iter().copied().all(in_range))
    {
        return Err(DecodeError::Damaged);
    }
    table.index_names();
    Ok(table)
}

/// A schema's record.
pub(crate) fn encode_schema(schema: &Schema) -> Vec<u8> {
    let mut out = Writer::new();
    out.u32(schema.id.0);
    out.str(&schema.name);
    out.u16(schema.collation.id());
    out.out
}

/// Reads a schema's record.
pub(crate) fn decode_schema(record: &[u8]) -> Decoded<Schema> {
    let input = &mut Reader::new(record)?;
    let id = SchemaId(input.u32()?);
    let name = input.str()?;
    Ok(Schema::new(id, &name, input.collation()?, false))
}

/// An account's record.
pub(crate) fn encode_account(account: &Account) -> Vec<u8> {
    let mut out = Writer::new();
    out.u32(account.id.0);
    out.str(&account.user);
    out.str(&account.host);
    out.u8(position(&PLUGINS, &account.plugin));
    out.bytes(&account.auth_string);
    out.bool(account.locked);
    out.bool(account.password_expired);
    out.u64(account.password_changed_micros as u64);
    out.u8(position(&TLS, &account.tls));
    let limits = &account.limits;
    for limit in [
        limits.queries_per_hour,
        limits.updates_per_hour,
        limits.connections_per_hour,
        limits.user_connections,
    ] {
        out.u32(limit);
    }
    out.str(&account.attributes);
    out.bool(account.role);
    out.list(&account.granted_roles, |out, (user, host, admin)| {
        out.str(user);
        out.str(host);
        out.bool(*admin);
    });
    out.list(&account.default_roles, |out, (user, host)| {
        out.str(user);
        out.str(host);
    });
    out.u64(account.global.0);
    out.list(&account.dynamic, |out, (name, grant)| {
        out.str(name);
        out.bool(*grant);
    });
    out.list(&account.schemas, |out, schema| {
        out.str(&schema.pattern);
        out.u64(schema.privileges.0);
    });
    out.list(&account.tables, |out, table| {
        out.str(&table.schema);
        out.str(&table.table);
        out.u64(table.privileges.0);
        out.list(&table.columns, |out, column| {
            out.str(&column.column);
            out.u64(column.privileges.0);
        });
    });
    out.u16(account.password_locking.failed_attempts_max);
    out.u32(account.password_locking.lock_days as u32);
    let has_policy = account.password_policy != PasswordPolicy::default()
        || !account.earlier_passwords.is_empty()
        || !account.second_auth_string.is_empty();
    if has_policy || !account.routines.is_empty() {
        out.list(&account.routines, |out, granted| {
            out.u8(position(&routine::KINDS, &granted.kind));
            out.str(&granted.schema);
            out.str(&granted.name);
            out.u64(granted.privileges.0);
        });
    }
    if has_policy {
        let policy = &account.password_policy;
        for number in [
            policy.lifetime_days.map(u32::from),
            policy.history,
            policy.reuse_days,
            policy.require_current.map(u32::from),
        ] {
            out.bool(number.is_some());
            out.u32(number.unwrap_or_default());
        }
        out.list(&account.earlier_passwords, |out, earlier| {
            out.bytes(&earlier.stored);
            out.u64(earlier.set_micros as u64);
        });
        out.bytes(&account.second_auth_string);
    }
    out.out
}

/// Reads an account's record.
pub(crate) fn decode_account(record: &[u8]) -> Decoded<Account> {
    let input = &mut Reader::new(record)?;
    let mut account = Account {
        id: AccountId(input.u32()?),
        user: input.str()?,
        host: input.str()?,
        plugin: input.one_of(&PLUGINS)?,
        auth_string: input.bytes()?.into(),
        second_auth_string: Box::default(),
        locked: input.bool()?,
        password_expired: input.bool()?,
        password_changed_micros: input.u64()? as i64,
        tls: input.one_of(&TLS)?,
        limits: ResourceLimits {
            queries_per_hour: input.u32()?,
            updates_per_hour: input.u32()?,
            connections_per_hour: input.u32()?,
            user_connections: input.u32()?,
        },
        password_locking: PasswordLocking::default(),
        password_policy: PasswordPolicy::default(),
        earlier_passwords: Vec::new(),
        attributes: input.str()?,
        role: input.bool()?,
        granted_roles: input.list(|input| Ok((input.str()?, input.str()?, input.bool()?)))?,
        default_roles: input.list(|input| Ok((input.str()?, input.str()?)))?,
        global: Privileges(input.u64()?),
        dynamic: input.list(|input| Ok((input.str()?, input.bool()?)))?,
        schemas: input.list(|input| {
            Ok(SchemaPrivileges { pattern: input.str()?, privileges: Privileges(input.u64()?) })
        })?,
        tables: input.list(|input| {
            Ok(TablePrivileges {
                schema: input.str()?,
                table: input.str()?,
                privileges: Privileges(input.u64()?),
                columns: input.list(|input| {
                    Ok(ColumnPrivileges { column: input.str()?, privileges: Privileges(input.u64()?) })
                })?,
            })
        })?,
        routines: Vec::new(),
    };
    // Records of earlier versions end here.
    if !input.rest.is_empty() {
        account.password_locking.failed_attempts_max = input.u16()?;
        account.password_locking.lock_days = input.u32()? as i32;
    }
    if !input.rest.is_empty() {
        account.routines = input.list(|input| {
            Ok(RoutinePrivileges {
                kind: input.one_of(&routine::KINDS)?,
                schema: input.str()?,
                name: input.str()?,
                privileges: Privileges(input.u64()?),
            })
        })?;
    }
    if !input.rest.is_empty() {
        let mut number = || {
            let is_some = input.bool()?;
            let number = input.u32()?;
            Ok(is_some.then_some(number))
        };
        account.password_policy = PasswordPolicy {
            lifetime_days: number()?.map(|days| u16::try_from(days).unwrap_or(u16::MAX)),
            history: number()?,
            reuse_days: number()?,
            require_current: number()?.map(|required| required != 0),
        };
        account.earlier_passwords = input.list(|input| {
            Ok(EarlierPassword { stored: input.bytes()?.into(), set_micros: input.u64()? as i64 })
        })?;
        account.second_auth_string = input.bytes()?.into();
    }
    Ok(account)
}

/// A persisted variable's record.
pub(crate) fn encode_variable(name: &str, value: &str) -> Vec<u8> {
    let mut out = Writer::new();
    out.str(name);
    out.str(value);
    out.out
}

/// Reads a persisted variable's record.
pub(crate) fn decode_variable(record: &[u8]) -> Decoded<(Arc<str>, Arc<str>)> {
    let input = &mut Reader::new(record)?;
    Ok((input.str()?, input.str()?))
}
