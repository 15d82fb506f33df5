//! Binding, logical plan, optimizer passes, physical plan, EXPLAIN.
