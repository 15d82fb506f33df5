//! Counters and histograms with the unit in the name.
