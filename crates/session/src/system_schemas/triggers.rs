//! TRIGGERS.

use catalog::{Privileges, VirtualContext, VirtualScan};

use super::rows::{Cell, Rows};
use super::tables::{each_table, wanted};
use crate::privilege;
use crate::session_context::SessionContext;
use crate::variables::sql_mode::SqlModes;

/// TRIGGERS: those of tables on which the reader has the privilege.
pub(crate) fn triggers(context: &VirtualContext<'_>, scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    let account = SessionContext::of(context).account.as_deref();
    each_table(context, wanted(scan, 5), wanted(scan, 6), |entry| {
        let table = &entry.definition;
        let may_see =
            |account| privilege::on_table(account, &table.schema, &table.name).contains(Privileges::TRIGGER);
        if table.triggers.is_empty() || !account.is_none_or(|account| may_see(account)) {
            return;
        }
        let mut order = 0;
        let mut group = None;
        for trigger in table.triggers_in_order() {
            let own = Some((trigger.event, trigger.timing));
            order = if group == own { order + 1 } else { 1 };
            group = own;
            rows.push(&[
                Cell::Text("def"),
                Cell::Text(&table.schema),
                Cell::Text(&trigger.name),
                Cell::Text(trigger.event.word()),
                Cell::Text("def"),
                Cell::Text(&table.schema),
                Cell::Text(&table.name),
                Cell::UInt(order),
                Cell::Null,
                Cell::Text(&trigger.body),
                Cell::Text("ROW"),
                Cell::Text(trigger.timing.word()),
                Cell::Null,
                Cell::Null,
                Cell::Text("OLD"),
                Cell::Text("NEW"),
                Cell::Moment(trigger.created_micros),
                Cell::Text(&SqlModes(trigger.sql_mode).names()),
                Cell::Text(&format!("{}@{}", trigger.definer.0, trigger.definer.1)),
                Cell::Text(trigger.client_charset.name()),
                Cell::Text(trigger.connection_collation.name()),
                Cell::Text(trigger.database_collation.name()),
            ]);
        }
    });
}
