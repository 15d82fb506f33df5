//! Events.

use catalog::{EventDefinition, EventId, EventInterval, EventSchedule, EventStatus, EventUnit, LastExecuted};
use types::charset::Charset;

use super::{DecodeError, Decoded, Reader, Writer, position};

const STATUSES: [EventStatus; 3] =
    [EventStatus::Enabled, EventStatus::Disabled, EventStatus::ReplicaSideDisabled];
/// One time, recurring, recurring with an end.
const SCHEDULES: [u8; 3] = [0, 1, 2];

pub(crate) fn encode_event(event: &EventDefinition) -> Vec<u8> {
    let mut w = Writer::new();
    let moment = |w: &mut Writer, micros: i64| w.u64(micros.cast_unsigned());
    w.u64(event.id.0);
    w.str(&event.schema);
    w.str(&event.name);
    w.str(&event.definer.0);
    w.str(&event.definer.1);
    match event.schedule {
        EventSchedule::At(at) => {
            w.u8(0);
            moment(&mut w, at);
        }
        EventSchedule::Every { interval, starts_micros, ends_micros } => {
            w.u8(if ends_micros.is_some() { 2 } else { 1 });
            w.u64(interval.count.cast_unsigned());
            w.u8(position(&EventUnit::ALL, &interval.unit));
            moment(&mut w, starts_micros);
            if let Some(ends) = ends_micros {
                moment(&mut w, ends);
            }
        }
    }
    w.bool(event.preserve);
    w.u8(position(&STATUSES, &event.status));
    w.str(&event.comment);
    w.str(&event.body);
    w.str(&event.time_zone);
    w.u64(event.sql_mode);
    w.str(event.client_charset.name());
    w.u16(event.connection_collation.id());
    w.u16(event.database_collation.id());
    w.u64(u64::from(event.originator));
    moment(&mut w, event.created_micros);
    moment(&mut w, event.modified_micros);
    moment(&mut w, event.executed.micros().unwrap_or(0));
    w.out
}

pub(crate) fn decode_event(record: &[u8]) -> Decoded<EventDefinition> {
    let mut r = Reader::new(record)?;
    let id = EventId(r.u64()?);
    let (schema, name) = (r.str()?, r.str()?);
    let definer = (r.str()?, r.str()?);
    let schedule = match r.one_of(&SCHEDULES)? {
        0 => EventSchedule::At(r.u64()?.cast_signed()),
        kind => EventSchedule::Every {
            interval: EventInterval { count: r.u64()?.cast_signed(), unit: r.one_of(&EventUnit::ALL)? },
            starts_micros: r.u64()?.cast_signed(),
            ends_micros: if kind == 2 { Some(r.u64()?.cast_signed()) } else { None },
        },
    };
    if matches!(schedule, EventSchedule::Every { interval, .. } if interval.count <= 0) {
        return Err(DecodeError::Damaged);
    }
    Ok(EventDefinition {
        id,
        schema,
        name,
        definer,
        schedule,
        preserve: r.bool()?,
        status: r.one_of(&STATUSES)?,
        comment: r.str()?,
        body: r.str()?,
        time_zone: r.str()?,
        sql_mode: r.u64()?,
        client_charset: Charset::from_name(&r.str()?).ok_or(DecodeError::Damaged)?,
        connection_collation: r.collation()?,
        database_collation: r.collation()?,
        originator: u32::try_from(r.u64()?).map_err(|_| DecodeError::Damaged)?,
        created_micros: r.u64()?.cast_signed(),
        modified_micros: r.u64()?.cast_signed(),
        executed: LastExecuted::at(Some(r.u64()?.cast_signed())),
    })
}
