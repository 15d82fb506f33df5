//! Schemas, tables and accounts as immutable snapshots, and the traits by which queries reach tables.
