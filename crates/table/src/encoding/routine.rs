//! Stored procedures and functions.

use catalog::{DataAccess, RoutineDefinition, RoutineId, RoutineKind};
use types::charset::Charset;

use super::{DecodeError, Decoded, Reader, Writer, position};

pub(super) const KINDS: [RoutineKind; 2] = [RoutineKind::Procedure, RoutineKind::Function];
const ACCESSES: [DataAccess; 4] =
    [DataAccess::ContainsSql, DataAccess::NoSql, DataAccess::ReadsSqlData, DataAccess::ModifiesSqlData];

pub(crate) fn encode_routine(routine: &RoutineDefinition) -> Vec<u8> {
    let mut w = Writer::new();
    w.u64(routine.id.0);
    w.u8(position(&KINDS, &routine.kind));
    w.str(&routine.schema);
    w.str(&routine.name);
    w.str(&routine.parameters);
    w.str(&routine.returns);
    w.str(&routine.body);
    w.str(&routine.definer.0);
    w.str(&routine.definer.1);
    w.bool(routine.invoker);
    w.bool(routine.deterministic);
    w.u8(position(&ACCESSES, &routine.data_access));
    w.str(&routine.comment);
    w.u64(routine.sql_mode);
    w.str(routine.client_charset.name());
    w.u16(routine.connection_collation.id());
    w.u16(routine.database_collation.id());
    w.u64(routine.created_micros.cast_unsigned());
    w.u64(routine.modified_micros.cast_unsigned());
    w.out
}

pub(crate) fn decode_routine(record: &[u8]) -> Decoded<RoutineDefinition> {
    let mut r = Reader::new(record)?;
    Ok(RoutineDefinition {
        id: RoutineId(r.u64()?),
        kind: r.one_of(&KINDS)?,
        schema: r.str()?,
        name: r.str()?,
        parameters: r.str()?,
        returns: r.str()?,
        body: r.str()?,
        definer: (r.str()?, r.str()?),
        invoker: r.bool()?,
        deterministic: r.bool()?,
        data_access: r.one_of(&ACCESSES)?,
        comment: r.str()?,
        sql_mode: r.u64()?,
        client_charset: Charset::from_name(&r.str()?).ok_or(DecodeError::Damaged)?,
        connection_collation: r.collation()?,
        database_collation: r.collation()?,
        created_micros: r.u64()?.cast_signed(),
        modified_micros: r.u64()?.cast_signed(),
    })
}
