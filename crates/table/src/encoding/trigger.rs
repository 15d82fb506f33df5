//! Triggers, which are part of their table's record.

use std::sync::Arc;

use catalog::{TriggerDefinition, TriggerEvent, TriggerTiming};
use types::charset::Charset;

use super::{DecodeError, Decoded, Reader, Writer, position};

const TIMINGS: [TriggerTiming; 2] = [TriggerTiming::Before, TriggerTiming::After];
const EVENTS: [TriggerEvent; 3] = [TriggerEvent::Insert, TriggerEvent::Update, TriggerEvent::Delete];

pub(super) fn write_trigger(w: &mut Writer, trigger: &TriggerDefinition) {
    w.str(&trigger.name);
    w.u8(position(&TIMINGS, &trigger.timing));
    w.u8(position(&EVENTS, &trigger.event));
    w.str(&trigger.body);
    w.str(&trigger.definer.0);
    w.str(&trigger.definer.1);
    w.u64(trigger.sql_mode);
    w.str(trigger.client_charset.name());
    w.u16(trigger.connection_collation.id());
    w.u16(trigger.database_collation.id());
    w.u64(trigger.created_micros.cast_unsigned());
}

pub(super) fn read_trigger(r: &mut Reader<'_>) -> Decoded<Arc<TriggerDefinition>> {
    Ok(Arc::new(TriggerDefinition {
        name: r.str()?,
        timing: r.one_of(&TIMINGS)?,
        event: r.one_of(&EVENTS)?,
        body: r.str()?,
        definer: (r.str()?, r.str()?),
        sql_mode: r.u64()?,
        client_charset: Charset::from_name(&r.str()?).ok_or(DecodeError::Damaged)?,
        connection_collation: r.collation()?,
        database_collation: r.collation()?,
        created_micros: r.u64()?.cast_signed(),
    }))
}
