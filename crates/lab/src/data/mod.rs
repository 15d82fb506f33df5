//! Data that is the same everywhere: what a cell or a parameter is, made from a seed.
//!
//! A row is a function of (seed, table, row number), so two servers hold the same bytes whatever the size of the batches
//! they were loaded with. A parameter is a function of (seed, connection, how many came before).
//!
//! Read next: [`fill`] (one value); `scenario::load_data` puts whole tables into a server.

pub mod fill;
pub mod random;
