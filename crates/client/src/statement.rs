//! A prepared statement: its number, and what was sent for it before and need not be sent again.

use wire::codec::put_lenenc_int;
use wire::parameter::{ParameterType, ParameterValue};

use crate::error::Error;
use crate::row::Columns;

/// A prepared statement of one connection.
#[derive(Debug)]
pub struct Statement {
    pub(crate) id: u32,
    pub(crate) parameter_count: usize,
    /// Of its result as prepared, then of its open cursor.
    pub(crate) columns: Columns,
    pub(crate) parameters: Columns,
    /// Types sent with the last execution; empty before.
    kinds: Vec<ParameterType>,
}

impl Statement {
    pub(crate) fn new(id: u32, parameter_count: usize) -> Statement {
        Statement {
            id,
            parameter_count,
            columns: Columns::default(),
            parameters: Columns::default(),
            kinds: Vec::new(),
        }
    }

    /// Its number on its connection.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// How many `?` it has.
    #[must_use]
    pub fn parameter_count(&self) -> usize {
        self.parameter_count
    }

    /// The columns of its result, as they were when it was prepared or its cursor opened.
    #[must_use]
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// What the server says of its parameters.
    #[must_use]
    pub fn parameters(&self) -> &Columns {
        &self.parameters
    }

    /// Appends the parameters of one execution; types only if the server does not know them.
    #[inline]
    pub(crate) fn put_parameters(
        &mut self,
        values: &[ParameterValue<'_>],
        with_attributes: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        if values.len() != self.parameter_count {
            return Err(Error::Parameters { wanted: self.parameter_count, given: values.len() });
        }
        if with_attributes {
            put_lenenc_int(out, values.len() as u64);
        }
        if values.is_empty() {
            return Ok(());
        }
        let bitmap = out.len();
        out.resize(bitmap + values.len().div_ceil(8), 0);
        let mut is_known = self.kinds.len() == values.len();
        for (index, value) in values.iter().enumerate() {
            if matches!(value, ParameterValue::Null) {
                out[bitmap + index / 8] |= 1 << (index % 8);
            } else {
                is_known = is_known && self.kinds[index] == value.kind();
            }
        }
        out.push(u8::from(!is_known));
        if !is_known {
            self.kinds.clear();
            for value in values {
                let kind = value.kind();
                out.extend_from_slice(&[kind.column_type as u8, if kind.unsigned { 0x80 } else { 0 }]);
                if with_attributes {
                    out.push(0); // No name.
                }
                self.kinds.push(kind);
            }
        }
        for value in values {
            value.put(out);
        }
        Ok(())
    }
}
