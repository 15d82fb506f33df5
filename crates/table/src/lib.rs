//! Rows over bytes: key and row codecs, index upkeep, constraints, statistics.
