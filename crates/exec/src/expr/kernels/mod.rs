//! Function kernels: one row in, one value out.
//!
//! Arguments arrive in the classes that the [`ScalarKernel`] names, so a kernel only computes.

mod json;
mod misc;
mod number;
mod pattern;
mod temporal;
mod text;

use super::compile::ScalarKernel;
use super::context::SqlResult;
use super::program::Row;
use plan::expr::{CallOption, Expr};
use plan::function::FunctionId;
use types::{Column, DataType};

pub(super) use text::property;

/// How a function is computed, if it runs.
pub(super) fn scalar_kernel(
    function: FunctionId,
    args: &[Expr],
    option: &CallOption,
    result: &DataType,
) -> Option<ScalarKernel> {
    text::scalar_kernel(function, args, result)
        .or_else(|| number::scalar_kernel(function, args, result))
        .or_else(|| temporal::scalar_kernel(function, args, option, result))
        .or_else(|| pattern::scalar_kernel(function, args))
        .or_else(|| json::scalar_kernel(function, args))
        .or_else(|| misc::scalar_kernel(function, args))
}

impl<'a> Row<'a, '_> {
    pub(super) fn count(&self) -> usize {
        self.args.len()
    }

    pub(super) fn is_null(&self, arg: usize) -> bool {
        self.args[arg].is_null(self.row)
    }

    pub(super) fn int(&self, arg: usize) -> i64 {
        self.args[arg].int(self.row)
    }

    pub(super) fn double(&self, arg: usize) -> f64 {
        self.args[arg].double(self.row)
    }

    pub(super) fn decimal(&self, arg: usize) -> types::Decimal {
        *self.args[arg].decimal(self.row)
    }

    pub(super) fn bytes(&self, arg: usize) -> &'a [u8] {
        self.args[arg].bytes(self.row)
    }

    /// The original type of an argument is unsigned.
    pub(super) fn is_unsigned(&self, arg: usize) -> bool {
        self.call.types[arg].unsigned
    }

    /// An integer argument as a number of any sign.
    pub(super) fn wide(&self, arg: usize) -> i128 {
        let value = self.int(arg);
        if self.is_unsigned(arg) { i128::from(value as u64) } else { i128::from(value) }
    }

    /// An integer argument of which MySQL takes the lowest 32 bits.
    pub(super) fn narrow(&self, arg: usize) -> i32 {
        self.int(arg) as i32
    }

    /// The tree of a JSON document, which may take several times its bytes.
    ///
    /// # Errors
    /// The statement may not have them.
    pub(super) fn tree(&mut self, arg: usize) -> SqlResult<types::json::Json> {
        /// A number of a few bytes is a value of 32.
        const TREE_BYTES_PER_BYTE: usize = 4;
        self.require_room(self.bytes(arg).len().saturating_mul(TREE_BYTES_PER_BYTE))?;
        Ok(types::json::View::new(self.bytes(arg)).tree())
    }

    pub(super) fn null(&mut self) -> SqlResult<()> {
        self.out.push_null();
        Ok(())
    }

    pub(super) fn put_int(&mut self, value: i64) -> SqlResult<()> {
        self.out.push_int(value);
        Ok(())
    }

    pub(super) fn put_bool(&mut self, value: bool) -> SqlResult<()> {
        self.put_int(i64::from(value))
    }

    pub(super) fn put_bytes(&mut self, value: &[u8]) -> SqlResult<()> {
        self.out.push_bytes(value);
        Ok(())
    }

    /// Pushes what `write` appends.
    pub(super) fn put_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> SqlResult<()> {
        put(self.out, write);
        Ok(())
    }

    /// Checks the memory limits before a value of `bytes` bytes is built.
    ///
    /// # Errors
    /// The statement may not have them.
    pub(super) fn require_room(&mut self, bytes: usize) -> SqlResult<()> {
        if bytes >= env::memory::STEP_BYTES && !env::memory::may_take(bytes) {
            return self.ctx.session.check_killed();
        }
        Ok(())
    }

    /// NULL with warning 1301 if a result of this many bytes is larger than `max_allowed_packet`.
    ///
    /// # Errors
    /// 1301 in strict data changes.
    pub(super) fn too_large(&mut self, bytes: usize) -> SqlResult<bool> {
        let limit = self.ctx.settings.max_allowed_packet;
        if bytes > limit {
            let name = self.call.name;
            let code = service::error::ER_WARN_ALLOWED_PACKET_OVERFLOWED;
            self.ctx.warn_or_fail(code, &[&name, &limit])?;
            self.out.push_null();
            return Ok(true);
        }
        Ok(false)
    }
}

pub(super) fn put(out: &mut Column, write: impl FnOnce(&mut Vec<u8>)) {
    out.bytes_mut().push_with(write);
    out.nulls.push(false);
}
