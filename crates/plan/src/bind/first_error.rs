//! Which of several errors of a statement is given: that of the part that MySQL resolves first.
//!
//! | order | part of a block |
//! | --- | --- |
//! | 1 | tables, derived tables with their parts, windows that OVER names and WINDOW does not define |
//! | 2 | the select list |
//! | 3 | WHERE, then the conditions of joins |
//! | 4 | GROUP BY, HAVING, ORDER BY |
//! | 5 | windows, those of the WINDOW clause first |
//! | 6 | subqueries that become joins |
//!
//! Conditions and windows are bound earlier than that: what is wrong with them is held until it is their turn ([`HeldError`]).
//!
//! A text beside a date that is none is an error, too (1525), but one that is found when the statement runs
//! ([`super::constant_checks`]): it counts here only if an error of a name, a place or a collation follows.

use syntax::ast;
use types::TypeKind;
use types::temporal::parse::parse_datetime;

use super::Binder;
use crate::error::{PlanError, PlanResult};
use crate::expr::Expr;

/// Something wrong with a part of a block whose turn has not come.
#[derive(Clone, Debug)]
pub(crate) struct HeldError {
    error: Box<PlanError>,
    /// Else it is one only if another error follows.
    is_certain: bool,
    missing_column: Option<String>,
    missing_function: Option<(String, String)>,
}

/// The first of what is wrong with several parts, in this order.
pub(super) fn first_of<const N: usize>(parts: [Option<HeldError>; N]) -> Option<HeldError> {
    let mut parts = parts.into_iter().flatten();
    let mut first = parts.next()?;
    first.is_certain |= parts.any(|part| part.is_certain);
    Some(first)
}

/// Whether an error is one that a wrong text before it keeps from being found.
fn is_of_resolution(number: u16) -> bool {
    matches!(number, 1052 | 1054 | 1055 | 1056 | 1111 | 1140 | 1222 | 1241 | 1247 | 1267 | 1270 | 1271 | 3065)
}

impl<'a> Binder<'a> {
    /// Binds a part of the block; what is wrong with it is no error yet. A missing table is one at once, as is what this server does not run.
    ///
    /// # Errors
    /// Those two.
    pub(super) fn hold<R>(
        &mut self,
        bind: impl FnOnce(&mut Self) -> PlanResult<R>,
    ) -> PlanResult<(Option<R>, Option<HeldError>)> {
        let ctes = self.ctes.len();
        let before = self.wrong_text.take();
        let bound = bind(self);
        let wrong_text = std::mem::replace(&mut self.wrong_text, before);
        let error = match bound {
            Ok(bound) => {
                let held = wrong_text.map(|error| HeldError {
                    error,
                    is_certain: false,
                    missing_column: None,
                    missing_function: None,
                });
                return Ok((Some(bound), held));
            }
            Err(error) if self.missing_table.borrow().is_some() || error.number == 1235 => return Err(error),
            Err(error) => error,
        };
        self.ctes.truncate(ctes);
        let missing_column = self.missing_column.take();
        let missing_function = self.missing_function.take();
        let held = match wrong_text {
            Some(wrong_text) if is_of_resolution(error.number) => HeldError {
                error: wrong_text,
                is_certain: true,
                missing_column: None,
                missing_function: None,
            },
            _ => HeldError { error, is_certain: true, missing_column, missing_function },
        };
        Ok((None, Some(held)))
    }

    /// It is the turn of a part.
    ///
    /// # Errors
    /// What was wrong with it.
    pub(super) fn release(&mut self, held: Option<HeldError>) -> PlanResult<()> {
        let Some(held) = held else { return Ok(()) };
        if held.is_certain {
            self.missing_column = held.missing_column;
            self.missing_function = held.missing_function;
            return Err(held.error);
        }
        self.wrong_text.get_or_insert(held.error);
        Ok(())
    }

    /// Notes a text that is written beside a date and is none.
    pub(super) fn note_wrong_text(&mut self, sides: [(&ast::Expr<'_>, &Expr); 2]) {
        // A strict change gives other errors of texts, which stand in no order with those of names.
        if self.wrong_text.is_some() || self.is_change || self.in_view() {
            return;
        }
        for ((written, _), (_, beside)) in [(sides[0], sides[1]), (sides[1], sides[0])] {
            let ast::ExprKind::Literal(ast::Literal::String { value, charset: None }) = written.kind else {
                continue;
            };
            let name = match beside.data_type.kind {
                TypeKind::Date => "DATE",
                TypeKind::DateTime => "DATETIME",
                TypeKind::Timestamp => "TIMESTAMP",
                _ => continue,
            };
            if parse_datetime(value, self.session.date_mode()).is_err() {
                self.wrong_text = Some(super::literal::wrong_value(name, value));
            }
        }
    }

    /// The error of a statement that cannot be bound.
    #[cold]
    pub(super) fn first_error(&mut self, error: Box<PlanError>) -> Box<PlanError> {
        let is_missing_table = self.missing_table.borrow().is_some();
        match self.wrong_text.take() {
            Some(wrong_text) if !is_missing_table && is_of_resolution(error.number) => {
                self.missing_column = None;
                wrong_text
            }
            _ => error,
        }
    }
}
