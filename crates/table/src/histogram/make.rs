//! ANALYZE TABLE ... UPDATE HISTOGRAM: the values of a column, counted.

use std::collections::BTreeMap;

use access::TimestampZone;
use catalog::{IndexPart, StoredValue};
use types::json::Json;
use types::temporal::DateTime;
use types::{Cell, Physical};

use super::document::{CHARS_MAX, data_type_name, json_value, printed_collation};
use crate::Utc;
use crate::buckets::bucket_ends;
use crate::check::CheckEnd;
use crate::codec::key::KeyCodec;
use crate::codec::row::{BytesRef, spilled_reference};
use crate::gather::{SampledRows, visit_rows};
use crate::table::Table;

/// Memory that a value is taken to need, beside its key.
const VALUE_BYTES: u64 = 100;

/// What histogram is wanted.
#[derive(Clone, Copy, Debug)]
pub struct HistogramSpec {
    /// Most buckets.
    pub bucket_max: usize,
    /// AUTO UPDATE.
    pub is_auto: bool,
    /// `histogram_generation_max_mem_size`: of a table whose values need more, a sample is read.
    pub memory_bytes_max: u64,
    /// Now, in UTC.
    pub now: DateTime,
}

impl Table {
    /// Makes the histogram of a column, which may have one. `zone`: in which TIMESTAMPs are shown.
    ///
    /// # Errors
    /// `go_on`'s, which is asked for each leaf; the store failed.
    pub fn make_histogram<E>(
        &self,
        column: usize,
        spec: HistogramSpec,
        zone: &dyn TimestampZone,
        go_on: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<Json, CheckEnd<E>> {
        let data_type = &self.definition.columns[column].data_type;
        let prefix_length = (data_type.physical() == Physical::Bytes).then_some(CHARS_MAX);
        let part = IndexPart { column, prefix_length, descending: false };
        let codec = KeyCodec::new(&self.definition, &[part]);
        let mut values: BTreeMap<Box<[u8]>, (StoredValue, u64)> = BTreeMap::new();
        let (mut nulls, mut rows) = (0_u64, 0_u64);
        let mut key = Vec::new();
        let row_max = spec.memory_bytes_max / VALUE_BYTES;
        let SampledRows { row_count, is_whole, .. } =
            visit_rows(self, row_max, go_on, &mut |_, locator, body| {
                // A row stored out of line is not read.
                if spilled_reference(body).is_some() {
                    return;
                }
                rows += 1;
                let row = self.row_view(locator, body);
                if row.is_null(column) {
                    nulls += 1;
                    return;
                }
                let decimal;
                let (cell, value) = match data_type.physical() {
                    Physical::Int => {
                        let number = row.int(column, &Utc);
                        (Cell::Int(number), StoredValue::Int(number))
                    }
                    Physical::Double => {
                        let number = row.double(column);
                        (Cell::Double(number), StoredValue::Double(number))
                    }
                    Physical::Decimal => {
                        decimal = row.decimal(column);
                        (Cell::Decimal(&decimal), StoredValue::Decimal(decimal))
                    }
                    Physical::Bytes => {
                        let (BytesRef::Inline(bytes) | BytesRef::External { prefix: bytes, .. }) =
                            row.bytes(column);
                        (
                            Cell::Bytes(bytes),
                            StoredValue::Bytes(super::document::beginning(bytes, data_type).into()),
                        )
                    }
                };
                key.clear();
                codec.write_part(0, cell, &Utc, &mut key);
                match values.get_mut(&key[..]) {
                    Some((_, count)) => *count += 1,
                    None => {
                        values.insert(key[..].into(), (value, 1));
                    }
                }
            })?;
        let share = |count: u64| if rows == 0 { 0.0 } else { count as f64 / rows as f64 };
        let values: Vec<(StoredValue, u64)> = values.into_values().collect();
        let is_singleton = values.len() <= spec.bucket_max;
        let counts: Vec<u64> = values.iter().map(|(_, count)| *count).collect();
        let ends =
            if is_singleton { (1..=values.len()).collect() } else { bucket_ends(&counts, spec.bucket_max) };
        let (mut begins, mut seen) = (0, 0);
        let mut buckets = Vec::with_capacity(ends.len());
        for end in ends {
            seen += counts[begins..end].iter().sum::<u64>();
            let mut bucket = vec![json_value(&values[begins].0, data_type, zone)];
            if !is_singleton {
                bucket.push(json_value(&values[end - 1].0, data_type, zone));
            }
            bucket.push(Json::Double(share(seen)));
            if !is_singleton {
                bucket.push(Json::Int((end - begins) as i64));
            }
            buckets.push(Json::Array(bucket));
            begins = end;
        }
        let rate = if is_whole || row_count == 0 { 1.0 } else { (rows as f64 / row_count as f64).min(1.0) };
        let text = |text: &str| Json::String(text.as_bytes().to_vec());
        let member = |name: &str, value: Json| (name.as_bytes().to_vec(), value);
        Ok(Json::object(vec![
            member("buckets", Json::Array(buckets)),
            member("data-type", text(data_type_name(data_type).unwrap_or("string"))),
            member("auto-update", Json::Bool(spec.is_auto)),
            member("null-values", Json::Double(share(nulls))),
            member("collation-id", Json::Int(i64::from(printed_collation(data_type)))),
            member("last-updated", Json::DateTime(spec.now)),
            member("sampling-rate", Json::Double(rate)),
            member("histogram-type", text(if is_singleton { "singleton" } else { "equi-height" })),
            member("number-of-buckets-specified", Json::Int(spec.bucket_max as i64)),
        ]))
    }
}
