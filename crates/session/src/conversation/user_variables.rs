//! User variables: `@name`.
//!
//! Invariants:
//! 1. A variable holds an integer, a DECIMAL, a DOUBLE or a text: dates, times and documents become their texts when they are assigned.

use env::memory::MemoryCharge;
use hashbrown::HashMap;
use types::{CollationId, Value};

/// User variables by name in lower case, and what they take.
#[derive(Debug, Default)]
pub(crate) struct UserVariables {
    values: HashMap<Vec<u8>, Value>,
    held: MemoryCharge,
}

impl UserVariables {
    pub(crate) fn get(&self, name: &[u8]) -> Option<&Value> {
        self.values.get(name)
    }

    pub(crate) fn insert(&mut self, name: Vec<u8>, value: Value) {
        let value = held(value);
        let bytes = bytes_of(&value) as i64;
        let new_entry = (name.len() + size_of::<(Vec<u8>, Value)>()) as i64;
        let before = match self.values.insert(name, value) {
            Some(before) => bytes_of(&before) as i64,
            None => -new_entry,
        };
        self.held.change(bytes - before);
    }

    /// What they take of memory.
    #[inline]
    pub(super) fn held_bytes(&self) -> u64 {
        self.held.bytes()
    }

    pub(crate) fn clear(&mut self) {
        *self = UserVariables::default();
    }
}

/// What a variable holds of a value.
fn held(value: Value) -> Value {
    let collation = match value {
        Value::Date(_) | Value::DateTime(_) | Value::Time(_) => CollationId::LATIN1_SWEDISH_CI,
        Value::Json(_) => CollationId::UTF8MB4_BIN,
        _ => return value,
    };
    // As many digits of the fraction as there are.
    let data_type = plan::expr::literal_type(&value);
    let (_, column) = types::convert::value_column(&value);
    let mut bytes = Vec::new();
    types::convert::write_text(column.cell(0), &data_type, &mut bytes);
    Value::Bytes { bytes, collation }
}

/// Bytes of a value outside of itself.
fn bytes_of(value: &Value) -> usize {
    match value {
        Value::Bytes { bytes, .. } => bytes.len(),
        Value::Json(document) => document.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_is_set_again_takes_no_more() {
        let mut variables = UserVariables::default();
        let mut held = Vec::new();
        for length in [10, 10, 1000, 10] {
            let value = Value::Bytes { bytes: vec![b'x'; length], collation: CollationId::BINARY };
            variables.insert(b"name".to_vec(), value);
            held.push(variables.held.bytes());
        }
        assert_eq!([held[0], held[2] - 990, held[3]], [held[1]; 3]);
    }
}
