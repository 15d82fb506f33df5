//! Stored functions as expressions call them.
//!
//! What one computes is the session's business; here it is a name, a type, and how often it must be called.

use std::sync::Arc;

use catalog::RoutineDefinition;
use types::DataType;

/// A stored function as its definition is now.
#[derive(Debug)]
pub struct StoredFunction {
    /// Its definition.
    pub definition: Arc<RoutineDefinition>,
    /// The type of its value.
    pub returns: DataType,
    /// How many arguments it takes.
    pub parameter_count: usize,
}

/// A call of a stored function.
#[derive(Clone, Debug)]
pub struct StoredCall {
    /// What is called.
    pub function: Arc<StoredFunction>,
    /// What messages about its value call it: the column that it makes, else its name.
    pub shown: Arc<str>,
    /// User and host of the account that the view runs as which holds the call.
    pub definer: Option<(Arc<str>, Arc<str>)>,
}

/// Two calls are the same if they call one definition.
impl PartialEq for StoredCall {
    fn eq(&self, other: &StoredCall) -> bool {
        Arc::ptr_eq(&self.function.definition, &other.function.definition) && self.definer == other.definer
    }
}

impl Eq for StoredCall {}
