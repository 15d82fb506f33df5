//! New columns with an expression as default, and generated columns whose values change: each row that is copied gets its own value.

use std::sync::Arc;

use catalog::{TableDefinition, TableEntry};
use exec::RowDefaults;
use exec::expr::{EvalSettings, Warnings};
use service::error::Diagnostic;
use table::{Utc, rezoned};
use types::{Batch, Column, TypeKind};

use super::instant::is_computed;
use crate::ddl::{Context, Result};

/// Computes the new columns of rows.
pub(super) struct ComputedColumns {
    defaults: RowDefaults,
    settings: EvalSettings,
    /// The row, TIMESTAMPs in the session's zone.
    row: Batch,
    /// By ordinal: is new and computed.
    computed: Vec<bool>,
    timestamps: Vec<bool>,
    warnings: Warnings,
}

impl ComputedColumns {
    /// `None`: there is nothing to compute.
    ///
    /// # Errors
    /// An expression that cannot be computed.
    pub(super) fn new(
        context: &Context<'_>,
        old: &TableEntry,
        table: &TableDefinition,
        mapping: &[Option<usize>],
        recomputed: &[bool],
    ) -> Result<Option<Self>> {
        let has_default = |ordinal: usize| is_computed(table, mapping, ordinal);
        let computed: Vec<bool> =
            (0..mapping.len()).map(|ordinal| has_default(ordinal) || recomputed[ordinal]).collect();
        if !computed.contains(&true) {
            return Ok(None);
        }
        let entry = TableEntry { definition: Arc::new(table.clone()), source: Arc::clone(&old.source) };
        let types = || table.columns.iter().map(|column| &column.data_type);
        Ok(Some(Self {
            defaults: RowDefaults::compile(&Arc::new(entry), &has_default, &|ordinal| recomputed[ordinal])?,
            settings: context.eval_settings(),
            row: Batch::new(types().map(types::DataType::physical)),
            computed,
            timestamps: types().map(|data_type| data_type.kind == TypeKind::Timestamp).collect(),
            warnings: Warnings::default(),
        }))
    }

    /// Puts the values of a row into it: all columns by ordinal, TIMESTAMPs in UTC. `number`: of the row, for messages.
    ///
    /// # Errors
    /// The client's: a value that cannot be computed or does not fit.
    pub(super) fn put(&mut self, columns: &mut [Column], number: u64) -> Result<()> {
        let zone = &self.settings.time_zone;
        self.row.clear();
        for (ordinal, column) in columns.iter().enumerate() {
            let out = &mut self.row.columns[ordinal];
            if self.computed[ordinal] {
                out.push_null();
                continue;
            }
            let cell = column.cell(0);
            out.push_cell(if self.timestamps[ordinal] { rezoned(cell, &Utc, zone) } else { cell });
        }
        self.row.row_count = 1;
        self.defaults.put(&mut self.row, number, &self.settings, &mut self.warnings)?;
        for (ordinal, column) in columns.iter_mut().enumerate().filter(|(ordinal, _)| self.computed[*ordinal])
        {
            column.clear();
            let cell = self.row.columns[ordinal].cell(0);
            column.push_cell(if self.timestamps[ordinal] { rezoned(cell, zone, &Utc) } else { cell });
        }
        Ok(())
    }

    /// What computing the values warned of.
    pub(super) fn into_warnings(self) -> Vec<Diagnostic> {
        self.warnings.entries().to_vec()
    }
}
