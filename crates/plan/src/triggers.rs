//! Which triggers a plan may fire.

use catalog::TriggerEvent;

use crate::logical::TableIndex;
use crate::physical::{PhysicalPlan, PlanKind};

impl PhysicalPlan {
    /// What the plan may do to rows of a table itself.
    #[must_use]
    pub fn events(&self, table: TableIndex) -> &'static [TriggerEvent] {
        match &self.kind {
            PlanKind::Insert(insert) if insert.table == table => {
                match (insert.replace, insert.on_duplicate.is_empty()) {
                    (true, _) => &[TriggerEvent::Insert, TriggerEvent::Delete],
                    (false, false) => &[TriggerEvent::Insert, TriggerEvent::Update],
                    (false, true) => &[TriggerEvent::Insert],
                }
            }
            PlanKind::Update(update) if update.targets.iter().any(|target| target.table == table) => {
                &[TriggerEvent::Update]
            }
            PlanKind::Delete(delete) if delete.targets.iter().any(|(target, _)| *target == table) => {
                &[TriggerEvent::Delete]
            }
            _ => &[],
        }
    }

    /// Whether it may run stored programs: fire triggers or call functions.
    #[must_use]
    pub fn runs_programs(&self) -> bool {
        !self.needs.functions.is_empty() || self.fires()
    }

    /// Whether it may fire triggers of definitions.
    #[must_use]
    pub fn fires(&self) -> bool {
        self.tables.iter().enumerate().any(|(index, table)| {
            let triggers = &table.entry.definition.triggers;
            !triggers.is_empty() && {
                let events = self.events(TableIndex(index as u32));
                triggers.iter().any(|trigger| events.contains(&trigger.event))
            }
        })
    }
}
