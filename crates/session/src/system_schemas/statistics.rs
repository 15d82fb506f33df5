//! The statistics that the optimizer uses: COLUMN_STATISTICS, `mysql.innodb_table_stats` and `mysql.innodb_index_stats`.

use catalog::{TableEntry, TableKind, VirtualContext, VirtualScan};

use super::rows::{Cell, Rows};
use super::tables::{each_table, wanted};

const PAGE_BYTES: u64 = 16_384;

/// COLUMN_STATISTICS: the histograms of tables that the reader may see.
pub(crate) fn column_statistics(context: &VirtualContext<'_>, scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    each_table(context, wanted(scan, 0), wanted(scan, 1), |entry| {
        let table = &entry.definition;
        let mut histograms = entry.source.statistics().histograms();
        histograms.sort_by_key(|histogram| histogram.column);
        for histogram in histograms {
            rows.push(&[
                Cell::Text(&table.schema),
                Cell::Text(&table.name),
                Cell::Text(&table.columns[histogram.column].name),
                Cell::Bytes(&histogram.document),
            ]);
        }
    });
}

/// Calls `each` for every table with collected statistics, by schema and name.
fn each_collected(
    context: &VirtualContext<'_>,
    mut each: impl FnMut(&TableEntry, &catalog::CollectedStatistics),
) {
    for schema in context.catalog.schemas_sorted() {
        for entry in schema.tables_sorted() {
            if entry.definition.kind != TableKind::Base {
                continue;
            }
            if let Some(collected) =
                entry.source.statistics().collected().filter(|collected| collected.made_micros > 0)
            {
                each(entry, &collected);
            }
        }
    }
}

/// `mysql.innodb_table_stats`.
pub(crate) fn innodb_table_stats(context: &VirtualContext<'_>, _: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    each_collected(context, |entry, collected| {
        let statistics = entry.source.statistics();
        rows.push(&[
            Cell::Text(&entry.definition.schema),
            Cell::Text(&entry.definition.name),
            Cell::Micros(collected.made_micros),
            Cell::UInt(collected.row_count),
            Cell::UInt(statistics.data_bytes() / PAGE_BYTES),
            Cell::UInt(statistics.index_bytes() / PAGE_BYTES),
        ]);
    });
}

/// `mysql.innodb_index_stats`: of each index how many different keys its first parts have, how many leaves and pages it has.
pub(crate) fn innodb_index_stats(context: &VirtualContext<'_>, _: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    each_collected(context, |entry, collected| {
        let table = &entry.definition;
        let mut stat = |index: &str, name: &str, value: u64, sample: Option<u64>, description: &str| {
            rows.push(&[
                Cell::Text(&table.schema),
                Cell::Text(&table.name),
                Cell::Text(index),
                Cell::Micros(collected.made_micros),
                Cell::Text(name),
                Cell::UInt(value),
                Cell::uint_or_null(sample),
                Cell::Text(description),
            ]);
        };
        if table.clustered.is_none() {
            stat(
                "GEN_CLUST_INDEX",
                "n_diff_pfx01",
                collected.row_count,
                Some(collected.leaf_count),
                "DB_ROW_ID",
            );
            for (name, value, description) in sizes(collected.leaf_count) {
                stat("GEN_CLUST_INDEX", name, value, None, description);
            }
        }
        let primary = table.clustered.map(|clustered| &table.indexes[clustered]);
        for (at, index) in table.indexes.iter().enumerate() {
            let Some(known) = &collected.indexes[at] else { continue };
            let mut names: Vec<&str> = Vec::new();
            let mut name_of = |column: usize| {
                names.push(&table.columns[column].name);
                (names.len(), names.join(","))
            };
            for (part, &distinct) in index.parts.iter().zip(&known.distinct) {
                let (number, names) = name_of(part.column);
                stat(
                    &index.name,
                    &format!("n_diff_pfx{number:02}"),
                    distinct,
                    Some(known.sampled_leaves),
                    &names,
                );
            }
            // Entries of an index that is not unique go on with the key of the row, by which each differs.
            let behind =
                primary.filter(|_| !index.is_unique()).into_iter().flat_map(|primary| &primary.parts);
            for part in behind.filter(|part| index.parts.iter().all(|own| own.column != part.column)) {
                let (number, names) = name_of(part.column);
                let sample = Some(known.sampled_leaves);
                stat(&index.name, &format!("n_diff_pfx{number:02}"), collected.row_count, sample, &names);
            }
            for (name, value, description) in sizes(known.leaf_count) {
                stat(&index.name, name, value, None, description);
            }
        }
    });
}

/// What is said of the size of a tree with this number of leaves; above more than one stand inner pages, one at least.
fn sizes(leaves: u64) -> [(&'static str, u64, &'static str); 2] {
    [
        ("n_leaf_pages", leaves, "Number of leaf pages in the index"),
        ("size", leaves + u64::from(leaves > 1), "Number of pages in the index"),
    ]
}
