//! What a client sees of an error of the store where the engine itself uses it: definitions, commits, points.

use std::borrow::Borrow;

use service::error::SqlError;
use store::StoreError;

/// The store's error, as statements on its tables show it.
#[cold]
pub(crate) fn store_error(error: impl Borrow<StoreError>) -> Box<SqlError> {
    exec::access_error(table::access_error(error.borrow()))
}
