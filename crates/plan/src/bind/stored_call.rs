//! Calls of stored functions: which function a name means, and what its value is to the statement around it.
//!
//! A native function hides a stored one of its name, unless the name has a schema. A function that is DETERMINISTIC gives one value for
//! arguments that are constant, and then is called once; every other is called for each row, where the statement has it.

use std::sync::Arc;

use catalog::RoutineKind;
use syntax::ast;

use super::{Binder, utf8};
use crate::error::{PlanError, PlanResult};
use crate::expr::{CallOption, Coercibility, Expr, ExprKind};
use crate::function::FunctionId;
use crate::logical::FunctionNeed;
use crate::stored_function::StoredCall;

impl<'a> Binder<'a> {
    /// A call of the stored function of this schema.
    ///
    /// # Errors
    /// 1059, 1305, 1318; those of its arguments.
    pub(super) fn stored_function(
        &mut self,
        schema: &str,
        call: &'a ast::FunctionCall<'a>,
    ) -> PlanResult<Expr> {
        let name = utf8(call.name.name.text);
        let Some(definition) = self.catalog.routines.get(schema, RoutineKind::Function, &name) else {
            if super::is_too_long(&name) {
                return Err(super::too_long(&name));
            }
            self.missing_function = Some((schema.to_owned(), name.to_string()));
            return Err(PlanError::new(1305, format!("FUNCTION {schema}.{name} does not exist")));
        };
        if let Some(names) = &mut self.names {
            names.functions.insert(call.name.name.span.start, schema.into());
        }
        let function = self.session.stored_function(definition)?;
        let actor = self.actor_in_view();
        let definer = actor.map(|actor| (Arc::clone(&actor.user), Arc::clone(&actor.host)));
        let shown = Arc::clone(&definition.name);
        let call_of = StoredCall { function: Arc::clone(&function), shown, definer };
        let need = FunctionNeed {
            call: call_of.clone(),
            definer: self.open_views.last().and_then(|open| open.definer),
            view: self.outermost_view(),
        };
        if !self.needs.functions.contains(&need) {
            self.needs.functions.push(need);
        }
        if function.parameter_count != call.args.len() {
            let text = format!(
                "Incorrect number of arguments for FUNCTION {}.{}; expected {}, got {}",
                definition.schema,
                definition.name,
                function.parameter_count,
                call.args.len()
            );
            return Err(PlanError::new(1318, text));
        }
        let args = self.exprs(call.args)?;
        let is_stable = definition.deterministic && args.iter().all(Expr::is_constant);
        let id = if is_stable { FunctionId::DeterministicFunction } else { FunctionId::StoredFunction };
        let kind = ExprKind::Call { function: id, args, option: CallOption::Function(Arc::new(call_of)) };
        // As of a literal, whatever its type: a column beside it decides the collation.
        let coercibility = Coercibility::Literal;
        Ok(Expr { kind, data_type: function.returns.clone(), nullable: true, coercibility })
    }

    /// This expression makes the column `name` of a result: if it is a call, messages about its value name the column.
    pub(super) fn name_call(expr: &mut Expr, name: &Arc<str>) {
        if let ExprKind::Call { option: CallOption::Function(call), .. } = &mut expr.kind {
            Arc::make_mut(call).shown = Arc::clone(name);
        }
    }
}
