//! ANALYZE TABLE ... UPDATE HISTOGRAM and DROP HISTOGRAM.

use ::access::MetadataMode;
use catalog::{TableEntry, TableKind};
use service::Outcome;
use service::error::{ER_DATA_OUT_OF_RANGE, ER_DUP_FIELDNAME, ER_NONUNIQ_TABLE};
use syntax::ast::{HistogramChange as Wanted, Maintain};
use types::temporal::DateTime;
use types::temporal::zone::TimeZone;

use super::Session;
use super::listing::Listing;
use super::names::name_text;
use crate::backend::{Backend, HistogramChange, HistogramOutcome};
use crate::system_schemas::rows::Cell;
use crate::variables::definition::known;

/// Buckets if the statement does not say.
const BUCKETS_DEFAULT: u64 = 100;
/// Most buckets of a histogram, as in MySQL.
const BUCKETS_MAX: u64 = 1024;

/// Makes or drops histograms of columns of one table; adds what it did to `listing`.
pub(super) fn change<B: Backend>(
    session: &mut Session<B>,
    maintain: &Maintain<'_>,
    wanted: &Wanted<'_>,
    listing: &mut Listing,
) -> Outcome {
    if let Wanted::Update { buckets: Some(buckets), .. } = wanted
        && !(1..=BUCKETS_MAX).contains(buckets)
    {
        return Err(ER_DATA_OUT_OF_RANGE.with(&[&"Number of buckets", &"ANALYZE TABLE"]));
    }
    let mut columns: Vec<String> = Vec::with_capacity(maintain.histogram_columns.len());
    for column in maintain.histogram_columns {
        let name = name_text(column.text);
        if columns.iter().any(|other| catalog::fold_name(other) == catalog::fold_name(&name)) {
            return Err(ER_DUP_FIELDNAME.with(&[&name]));
        }
        columns.push(name);
    }
    for (at, name) in maintain.tables.iter().enumerate() {
        let (schema, table) = session.names().table(name)?;
        for other in &maintain.tables[..at] {
            if session.names().table(other)? == (schema.clone(), table.clone()) {
                return Err(ER_NONUNIQ_TABLE.with(&[&table]));
            }
        }
    }
    let mut say = |table: &str, kind: &str, message: &str| {
        listing.push(&[Cell::Text(table), Cell::Text("histogram"), Cell::Text(kind), Cell::Text(message)]);
    };
    let [name] = maintain.tables else {
        say("", "Error", "Only one table can be specified while modifying histogram statistics.");
        return Ok(());
    };
    let (schema, table) = session.names().table(name)?;
    let full = format!("{schema}.{table}");
    let entry = match session.names().entry(name) {
        Ok(entry) => entry,
        Err(error) => {
            say(&full, "Error", &error.message);
            return Ok(());
        }
    };
    if entry.definition.kind == TableKind::Temporary {
        say(&full, "Error", "Cannot create histogram statistics for a temporary table.");
        return Ok(());
    }
    if !session.shared.backend.looks_after(&entry) {
        say(&full, "Error", "Histograms are not supported on the MySQL system schema.");
        return Ok(());
    }
    if let Err(error) = session.tables.require_locked(&schema, &table, false) {
        say(&full, "Error", &error.message);
        return Ok(());
    }
    // Nobody changes the definition meanwhile.
    session.tables.lock_entry(&session.shared, &session.variables, &entry, MetadataMode::Read)?;
    let entry = session.names().entry(name)?;
    let data = match wanted {
        Wanted::Update { data, .. } => *data,
        Wanted::Drop => None,
    };
    if data.is_some() && columns.len() > 1 {
        say(
            &full,
            "Error",
            "Only one column can be specified while modifying histogram statistics with JSON data.",
        );
        return Ok(());
    }
    // In the order of their names, as 9.7 answers.
    let mut columns: Vec<(String, Option<usize>)> = columns
        .into_iter()
        .map(|name| match ordinal(&entry, &name) {
            Some(ordinal) => (entry.definition.columns[ordinal].name.to_string(), Some(ordinal)),
            None => (name, None),
        })
        .collect();
    columns.sort();
    let zone = session.variables.settings().time_zone.clone();
    for (column, ordinal) in columns {
        let Some(ordinal) = ordinal else {
            say(&full, "Error", &format!("The column '{column}' does not exist."));
            continue;
        };
        match one(session, &entry, ordinal, wanted, data, &zone)? {
            HistogramOutcome::Made => {
                say(&full, "status", &format!("Histogram statistics created for column '{column}'."));
            }
            HistogramOutcome::Dropped => {
                say(&full, "status", &format!("Histogram statistics removed for column '{column}'."));
            }
            HistogramOutcome::None => {
                say(&full, "Error", &format!("No histogram statistics found for column '{column}'."));
            }
            HistogramOutcome::Unique => say(
                &full,
                "Error",
                &format!("The column '{column}' is covered by a single-part unique index."),
            ),
            HistogramOutcome::Type => {
                say(&full, "Error", &format!("The column '{column}' has an unsupported data type."));
            }
            HistogramOutcome::Data { before, complaint } => {
                if let Some(before) = before {
                    say(&full, "Error", &before);
                }
                let of = format!(
                    "Unable to build histogram statistics for column '{column}' in table '{schema}'.'{table}'"
                );
                say(&full, "Error", &of);
                say(&full, "Error", &complaint);
            }
        }
    }
    Ok(())
}

fn one<B: Backend>(
    session: &Session<B>,
    entry: &TableEntry,
    column: usize,
    wanted: &Wanted<'_>,
    data: Option<&[u8]>,
    zone: &TimeZone,
) -> Result<HistogramOutcome, Box<service::SqlError>> {
    let change = match (wanted, data) {
        (Wanted::Drop, _) => HistogramChange::Drop,
        (_, Some(text)) => HistogramChange::Read(text),
        (Wanted::Update { buckets, is_auto, .. }, None) => HistogramChange::Make {
            bucket_max: buckets.unwrap_or(BUCKETS_DEFAULT) as usize,
            is_auto: *is_auto,
            memory_bytes_max: session.variables.unsigned(known::histogram_generation_max_mem_size()),
        },
    };
    let now: DateTime = TimeZone::UTC.from_utc(session.functions.now_micros(&session.shared.core));
    session.shared.backend.change_histogram(entry, column, change, zone, now, &mut || {
        env::blocking::tick();
        crate::limits::check_interrupted(&session.shared.control)
    })
}

fn ordinal(entry: &TableEntry, name: &str) -> Option<usize> {
    entry
        .definition
        .columns
        .iter()
        .position(|column| catalog::fold_name(&column.name) == catalog::fold_name(name))
}
