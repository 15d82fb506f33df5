//! From a body's tree to a program.
//!
//! One pass. Statements and expressions are cut out of the text and planned later, by themselves; what is done here is
//! all that jumps, and all names that only a body has: labels, variables, conditions, cursors.

use std::sync::Arc;

use catalog::{TableDefinition, TriggerEvent, TriggerTiming, fold_name, names_equal};
use service::SqlError;
use service::error as e;
use service::error::Diagnostic;
use syntax::ast::{
    self, Block, ConditionValue, CreateRoutine, Declaration, DiagnosticsItems, DiagnosticsTarget, Expr,
    ExprKind, Ident, IntoVar, Labels, RoutineStatement, RoutineStatementKind as Kind, SetItem, Span,
    Statement, VarScope,
};
use types::{CollationId, DataType};

use super::in_function;
use super::program::{
    Argument, At, Condition, CursorDefinition, CursorId, Diagnose, DiagnoseItems, Embedded, EmbeddedKind,
    Handler, Instruction, Program, Raise, Region, RegionId, RowSlot, Scope, ScopeId, Slot, SlotType,
    StatementId, Target, Variable,
};
use super::row_names::row_names;
use crate::variables::by_name;
use crate::variables::sql_mode::SqlModes;

type Result<T> = std::result::Result<T, Box<SqlError>>;

/// What compiling depends on.
pub(crate) struct Settings<'a> {
    /// The text of the whole CREATE.
    pub(crate) text: &'a [u8],
    /// Of variables without a character set of their own.
    pub(crate) collation: CollationId,
    /// `sql_mode` is strict.
    pub(crate) strict: bool,
}

/// Compiles a routine. Warnings are about the types of its variables.
///
/// # Errors
/// MySQL's for labels, names and statements that cannot stand in a routine.
pub(crate) fn compile(
    create: &CreateRoutine<'_>,
    body: &RoutineStatement<'_>,
    settings: &Settings<'_>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Program> {
    let mut compiler = Compiler::new(settings, warnings, None);
    if let Some(returns) = &create.returns {
        compiler.program.returns = Some(compiler.local_type("", returns)?);
    }
    for parameter in create.parameters {
        let name = compiler.new_name(&parameter.name, e::ER_SP_DUP_PARAM)?;
        compiler.declare(name, &parameter.data_type)?;
        compiler.program.parameters.push(parameter.mode);
    }
    compiler.statement(body)?;
    compiler.emit(if create.returns.is_some() { Instruction::NoReturn } else { Instruction::Return });
    Ok(compiler.program)
}

/// Compiles an event's body, as that of a procedure without parameters.
///
/// # Errors
/// As [`compile`].
pub(crate) fn compile_event(
    body: &RoutineStatement<'_>,
    settings: &Settings<'_>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Program> {
    let mut compiler = Compiler::new(settings, warnings, None);
    compiler.statement(body)?;
    compiler.emit(Instruction::Return);
    Ok(compiler.program)
}

/// Where a trigger stands.
pub(crate) struct TriggerPlace<'a> {
    pub(crate) table: &'a TableDefinition,
    pub(crate) event: TriggerEvent,
    pub(crate) timing: TriggerTiming,
}

/// Compiles a trigger's body. Warnings are about the types of its variables.
///
/// # Errors
/// As [`compile`]; 1054, 1336, 1362, 1363, 1415, 1422, 1445.
pub(crate) fn compile_trigger(
    body: &RoutineStatement<'_>,
    place: &TriggerPlace<'_>,
    mode: SqlModes,
    settings: &Settings<'_>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Program> {
    let mut compiler = Compiler::new(settings, warnings, Some(place));
    let text = compiler.text(body.span).to_vec();
    for named in row_names(&text, mode.has(SqlModes::ANSI_QUOTES)) {
        let word = if named.is_new { "NEW" } else { "OLD" };
        if named.is_set && !named.is_new {
            let after = if place.timing == TriggerTiming::After { "after " } else { "" };
            return Err(e::ER_TRG_CANT_CHANGE_ROW.with(&[&word, &after]));
        }
        if !(if named.is_new { place.event.has_new() } else { place.event.has_old() }) {
            return Err(e::ER_TRG_NO_SUCH_ROW_IN_TRG.with(&[&word, &place.event.word()]));
        }
        if let Some(at) = compiler.program.find_row_slot(named.is_new, &named.column) {
            compiler.program.row_slots[at].uses += 1;
            continue;
        }
        let Some(ordinal) = place.table.column_names.get(&named.column) else {
            return Err(e::ER_BAD_FIELD_ERROR.with(&[&named.column, &word]));
        };
        let column = &place.table.columns[ordinal];
        let slot = compiler.program.variables.len();
        compiler.program.variables.push(Variable {
            name: Arc::clone(&column.name),
            slot_type: SlotType::Declared(column.data_type.clone()),
        });
        compiler.program.row_slots.push(RowSlot {
            slot,
            is_new: named.is_new,
            ordinal,
            name: named.column.into(),
            uses: 1,
            sets: 0,
        });
    }
    compiler.statement(body)?;
    compiler.emit(Instruction::Return);
    Ok(compiler.program)
}

struct Label {
    name: String,
    /// Where ITERATE goes; `None` for a block.
    start: Option<At>,
    /// Jumps to the end, whose position they do not have yet.
    leaves: Vec<At>,
    first_cursor: CursorId,
}

struct Compiler<'c, 's> {
    /// It is a trigger's body.
    place: Option<&'c TriggerPlace<'c>>,
    settings: &'c Settings<'s>,
    warnings: &'c mut Vec<Diagnostic>,
    program: Program,
    scope: ScopeId,
    region: Option<RegionId>,
    handler_depth: usize,
    labels: Vec<Label>,
    /// Declared conditions in sight, innermost last.
    conditions: Vec<(String, Condition)>,
    /// Declared cursors in sight, innermost last.
    cursors: Vec<(String, CursorId)>,
}

/// A jump whose end is not known yet.
const OPEN: At = At::MAX;

impl<'c, 's> Compiler<'c, 's> {
    fn new(
        settings: &'c Settings<'s>,
        warnings: &'c mut Vec<Diagnostic>,
        place: Option<&'c TriggerPlace<'c>>,
    ) -> Self {
        let mut program = Program::default();
        program.scopes.push(Scope::default());
        Compiler {
            place,
            settings,
            warnings,
            program,
            scope: 0,
            region: None,
            handler_depth: 0,
            labels: Vec::new(),
            conditions: Vec::new(),
            cursors: Vec::new(),
        }
    }

    /// What it is that runs inside other statements, if it does.
    fn inside_word(&self) -> Option<&'static str> {
        match (self.place, &self.program.returns) {
            (Some(_), _) => Some("trigger"),
            (None, Some(_)) => Some("function"),
            (None, None) => None,
        }
    }

    fn emit(&mut self, instruction: Instruction) -> At {
        self.program.instructions.push(instruction);
        self.program.region_of.push(self.region);
        self.program.instructions.len() - 1
    }

    fn here(&self) -> At {
        self.program.instructions.len()
    }

    /// Tells a jump where it goes.
    fn land(&mut self, jump: At) {
        let here = self.here();
        match &mut self.program.instructions[jump] {
            Instruction::Jump(to) | Instruction::JumpUnless { to, .. } => *to = here,
            _ => {}
        }
    }

    /// Tells where a failed condition or operand goes on.
    fn resume_here(&mut self, at: At) {
        let here = self.here();
        match &mut self.program.instructions[at] {
            Instruction::JumpUnless { resume, .. } | Instruction::Assign { resume, .. } => *resume = here,
            _ => {}
        }
    }

    fn text(&self, span: Span) -> &[u8] {
        self.settings.text.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    fn embed_text(&mut self, text: Box<[u8]>, kind: EmbeddedKind) -> StatementId {
        self.program.statements.push(Embedded { text, scope: self.scope, kind });
        self.program.statements.len() - 1
    }

    fn embed(&mut self, span: Span, kind: EmbeddedKind) -> StatementId {
        self.embed_text(self.text(span).into(), kind)
    }

    fn expression(&mut self, expr: &Expr<'_>) -> StatementId {
        self.embed(expr.span, EmbeddedKind::Expression)
    }

    // Names.

    /// The text of a name that is new in this block.
    fn new_name(&self, name: &Ident<'_>, taken: e::Code) -> Result<String> {
        let text = String::from_utf8_lossy(name.text).into_owned();
        let folded = fold_name(&text);
        if self.program.scopes[self.scope].names.iter().any(|(other, _)| *other == folded) {
            return Err(taken.with(&[&text]));
        }
        Ok(text)
    }

    /// A type as it is written for the variable `name`.
    fn local_type(&mut self, name: &str, written: &ast::LocalType<'_>) -> Result<DataType> {
        crate::column_type::local_type(
            written,
            name,
            self.settings
                .text
                .get(written.span.start as usize..written.span.end as usize)
                .unwrap_or_default(),
            self.settings.collation,
            self.settings.strict,
            self.warnings,
        )
    }

    fn declare(&mut self, name: String, written: &ast::LocalType<'_>) -> Result<Slot> {
        let data_type = self.local_type(&name, written)?;
        Ok(self.new_slot(name, SlotType::Declared(data_type)))
    }

    fn new_slot(&mut self, name: String, slot_type: SlotType) -> Slot {
        let slot = self.program.variables.len();
        self.program.scopes[self.scope].names.push((fold_name(&name), slot));
        self.program.variables.push(Variable { name: name.into(), slot_type });
        slot
    }

    fn find(&self, name: &Ident<'_>) -> Option<Slot> {
        self.program.find(self.scope, &String::from_utf8_lossy(name.text))
    }

    fn variable(&self, name: &Ident<'_>) -> Result<Slot> {
        self.find(name).ok_or_else(|| e::ER_SP_UNDECLARED_VAR.with(&[&String::from_utf8_lossy(name.text)]))
    }

    fn cursor(&self, name: &Ident<'_>) -> Result<CursorId> {
        let text = String::from_utf8_lossy(name.text);
        self.cursors
            .iter()
            .rev()
            .find(|(candidate, _)| names_equal(candidate, &text))
            .map(|(_, cursor)| *cursor)
            .ok_or_else(|| e::ER_SP_CURSOR_MISMATCH.with(&[&text]))
    }

    fn condition(&self, value: &ConditionValue<'_>) -> Result<Condition> {
        Ok(match *value {
            ConditionValue::Number(0) => return Err(e::ER_WRONG_VALUE.with(&[&"CONDITION", &0])),
            // Numbers beyond all errors are allowed and never met.
            ConditionValue::Number(number) => Condition::Number(u16::try_from(number).unwrap_or(u16::MAX)),
            ConditionValue::State(state) => Condition::State(checked_state(state)?),
            ConditionValue::Name(name) => {
                let text = String::from_utf8_lossy(name.text);
                let found = self.conditions.iter().rev().find(|(candidate, _)| names_equal(candidate, &text));
                return found
                    .map(|(_, condition)| condition.clone())
                    .ok_or_else(|| e::ER_SP_COND_MISMATCH.with(&[&text]));
            }
            ConditionValue::Warning => Condition::Warning,
            ConditionValue::NotFound => Condition::NotFound,
            ConditionValue::Exception => Condition::Exception,
        })
    }

    // Statements.

    fn statements(&mut self, statements: &[RoutineStatement<'_>]) -> Result<()> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &RoutineStatement<'_>) -> Result<()> {
        match &statement.kind {
            Kind::Block(block) => self.block(block),
            Kind::If { branches, otherwise } => self.branches(None, branches, *otherwise, false),
            Kind::Case { operand, branches, otherwise } => {
                self.branches(operand.as_ref(), branches, *otherwise, true)
            }
            Kind::Loop(labels, body) => {
                let start = self.begin_label(labels, true)?;
                self.statements(body)?;
                self.emit(Instruction::Jump(start));
                self.end_label(labels)
            }
            Kind::While(labels, condition, body) => {
                let start = self.begin_label(labels, true)?;
                let jump = self.jump_unless(condition);
                self.statements(body)?;
                self.emit(Instruction::Jump(start));
                self.land(jump);
                self.resume_here(jump);
                self.end_label(labels)
            }
            Kind::Repeat(labels, body, until) => {
                let start = self.begin_label(labels, true)?;
                self.statements(body)?;
                let condition = self.embed(until.span, EmbeddedKind::Condition);
                let at = self.emit(Instruction::JumpUnless { condition, to: start, resume: OPEN });
                self.resume_here(at);
                self.end_label(labels)
            }
            Kind::Return(_) if self.program.returns.is_none() => Err(e::ER_SP_BADRETURN.bare()),
            Kind::Return(value) => {
                let value = self.expression(value);
                self.emit(Instruction::ReturnValue(value));
                Ok(())
            }
            Kind::Leave(name) => {
                let label = self.label(name, "LEAVE", false)?;
                self.close_inner_cursors(label);
                let jump = self.emit(Instruction::Jump(OPEN));
                self.labels[label].leaves.push(jump);
                Ok(())
            }
            Kind::Iterate(name) => {
                let label = self.label(name, "ITERATE", true)?;
                self.close_inner_cursors(label);
                let start = self.labels[label].start.unwrap_or_default();
                self.emit(Instruction::Jump(start));
                Ok(())
            }
            Kind::Open(name) => {
                let cursor = self.cursor(name)?;
                self.emit(Instruction::Open(cursor));
                Ok(())
            }
            Kind::Close(name) => {
                let cursor = self.cursor(name)?;
                self.emit(Instruction::Close(cursor));
                Ok(())
            }
            Kind::Fetch { cursor, into } => {
                let cursor = self.cursor(cursor)?;
                let into = into.iter().map(|name| self.variable(name)).collect::<Result<_>>()?;
                self.emit(Instruction::Fetch { cursor, into });
                Ok(())
            }
            Kind::Statement(inner) => self.sql(inner, statement.span),
        }
    }

    fn jump_unless(&mut self, condition: &Expr<'_>) -> At {
        let condition = self.embed(condition.span, EmbeddedKind::Condition);
        self.emit(Instruction::JumpUnless { condition, to: OPEN, resume: OPEN })
    }

    /// IF and CASE. The operand of a CASE is computed once, into a slot without a name that could be written.
    fn branches(
        &mut self,
        operand: Option<&Expr<'_>>,
        branches: &[(Expr<'_>, &[RoutineStatement<'_>])],
        otherwise: Option<&[RoutineStatement<'_>]>,
        case: bool,
    ) -> Result<()> {
        let outer = self.scope;
        let mut failing = Vec::new();
        let mut slot = None;
        if let Some(operand) = operand {
            let value = self.expression(operand);
            self.program.scopes.push(Scope { parent: Some(outer), names: Vec::new() });
            self.scope = self.program.scopes.len() - 1;
            let name = operand_name(self.program.variables.len());
            let new = self.new_slot(name, SlotType::Of(value));
            failing.push(self.emit(Instruction::Assign { slot: new, value, resume: OPEN }));
            slot = Some(new);
        }
        let mut ends = Vec::new();
        for (value, statements) in branches {
            let condition = match slot {
                Some(slot) => self.embed(value.span, EmbeddedKind::Equals(slot)),
                None => self.embed(value.span, EmbeddedKind::Condition),
            };
            let jump = self.emit(Instruction::JumpUnless { condition, to: OPEN, resume: OPEN });
            failing.push(jump);
            self.statements(statements)?;
            ends.push(self.emit(Instruction::Jump(OPEN)));
            self.land(jump);
        }
        match otherwise {
            Some(statements) => self.statements(statements)?,
            None if case => {
                self.emit(Instruction::CaseNotFound);
            }
            None => {}
        }
        for end in ends {
            self.land(end);
        }
        for at in failing {
            self.resume_here(at);
        }
        self.scope = outer;
        Ok(())
    }

    // Labels.

    fn begin_label(&mut self, labels: &Labels<'_>, is_loop: bool) -> Result<At> {
        let start = self.here();
        if let Some(name) = &labels.begin {
            let name = String::from_utf8_lossy(name.text).into_owned();
            if self.labels.iter().any(|label| names_equal(&label.name, &name)) {
                return Err(e::ER_SP_LABEL_REDEFINE.with(&[&name]));
            }
            self.labels.push(Label {
                name,
                start: is_loop.then_some(start),
                leaves: Vec::new(),
                first_cursor: self.program.cursors.len(),
            });
        }
        Ok(start)
    }

    fn end_label(&mut self, labels: &Labels<'_>) -> Result<()> {
        if labels.begin.is_none() {
            return Ok(());
        }
        let Some(label) = self.labels.pop() else { return Ok(()) };
        for jump in label.leaves {
            self.land(jump);
        }
        match &labels.end {
            Some(end) if !names_equal(&label.name, &String::from_utf8_lossy(end.text)) => {
                Err(e::ER_SP_LABEL_MISMATCH.with(&[&String::from_utf8_lossy(end.text)]))
            }
            _ => Ok(()),
        }
    }

    fn label(&self, name: &Ident<'_>, word: &str, wants_loop: bool) -> Result<usize> {
        let text = String::from_utf8_lossy(name.text);
        self.labels
            .iter()
            .rposition(|label| names_equal(&label.name, &text))
            .filter(|at| !wants_loop || self.labels[*at].start.is_some())
            .ok_or_else(|| e::ER_SP_LILABEL_MISMATCH.with(&[&word, &text]))
    }

    fn close_inner_cursors(&mut self, label: usize) {
        let (first, end) = (self.labels[label].first_cursor, self.program.cursors.len());
        if first < end {
            self.emit(Instruction::CloseAll { first, end });
        }
    }

    // Blocks.

    fn block(&mut self, block: &Block<'_>) -> Result<()> {
        self.begin_label(&block.labels, false)?;
        let outer = (self.scope, self.region, self.conditions.len(), self.cursors.len());
        let first_cursor = self.program.cursors.len();
        self.program.scopes.push(Scope { parent: Some(self.scope), names: Vec::new() });
        self.scope = self.program.scopes.len() - 1;
        let handlers = self.declarations(block.declarations, outer.2, outer.3)?;
        let own_cursors = self.program.cursors.len();
        let region = (!handlers.is_empty()).then(|| {
            self.program.regions.push(Region {
                parent: outer.1,
                handlers,
                inner_cursors: (own_cursors, own_cursors),
                handler_depth: self.handler_depth,
            });
            self.program.regions.len() - 1
        });
        self.region = region.or(outer.1);
        self.statements(block.statements)?;
        self.region = outer.1;
        let end = self.here();
        let last_cursor = self.program.cursors.len();
        if let Some(region) = region.map(|region| &mut self.program.regions[region]) {
            region.inner_cursors.1 = last_cursor;
            for handler in &mut region.handlers {
                handler.exit = handler.exit.map(|_| end);
            }
        }
        if first_cursor < last_cursor {
            self.emit(Instruction::CloseAll { first: first_cursor, end: last_cursor });
        }
        self.scope = outer.0;
        self.conditions.truncate(outer.2);
        self.cursors.truncate(outer.3);
        self.end_label(&block.labels)
    }

    fn declarations(
        &mut self,
        declarations: &[Declaration<'_>],
        first_condition: usize,
        first_cursor: usize,
    ) -> Result<Vec<Handler>> {
        let mut handlers: Vec<Handler> = Vec::new();
        for declaration in declarations {
            match declaration {
                Declaration::Variables { .. } | Declaration::Condition { .. }
                    if !handlers.is_empty() || self.cursors.len() > first_cursor =>
                {
                    return Err(e::ER_SP_VARCOND_AFTER_CURSHNDLR.bare());
                }
                Declaration::Variables { names, data_type, default } => {
                    self.variables(names, data_type, default.as_ref())?;
                }
                Declaration::Condition { name, value } => {
                    let text = String::from_utf8_lossy(name.text).into_owned();
                    if self.conditions[first_condition..].iter().any(|(other, _)| names_equal(other, &text)) {
                        return Err(e::ER_SP_DUP_COND.with(&[&text]));
                    }
                    let condition = self.condition(value)?;
                    self.conditions.push((text, condition));
                }
                Declaration::Cursor { .. } if !handlers.is_empty() => {
                    return Err(e::ER_SP_CURSOR_AFTER_HANDLER.bare());
                }
                Declaration::Cursor { name, query, span } => {
                    if query.into.is_some() {
                        return Err(e::ER_SP_BAD_CURSOR_SELECT.bare());
                    }
                    let text = String::from_utf8_lossy(name.text).into_owned();
                    if self.cursors[first_cursor..].iter().any(|(other, _)| names_equal(other, &text)) {
                        return Err(e::ER_SP_DUP_CURS.with(&[&text]));
                    }
                    let statement = self.embed(*span, EmbeddedKind::Planned);
                    self.cursors.push((text, self.program.cursors.len()));
                    self.program.cursors.push(CursorDefinition { statement });
                }
                Declaration::Handler { resumes, conditions, statement } => {
                    let conditions =
                        conditions.iter().map(|value| self.condition(value)).collect::<Result<Vec<_>>>()?;
                    let taken = |condition| handlers.iter().any(|other| other.conditions.contains(condition));
                    let twice = (1..conditions.len()).any(|at| conditions[..at].contains(&conditions[at]));
                    if twice || conditions.iter().any(taken) {
                        return Err(e::ER_SP_DUP_HANDLER.bare());
                    }
                    handlers.push(self.handler(*resumes, conditions, statement)?);
                }
            }
        }
        Ok(handlers)
    }

    fn variables(
        &mut self,
        names: &[Ident<'_>],
        data_type: &ast::LocalType<'_>,
        default: Option<&Expr<'_>>,
    ) -> Result<()> {
        // The default does not see the variables it is for.
        let value = default.map(|default| self.expression_before(default));
        let first = self.program.variables.len();
        for name in names {
            let name = self.new_name(name, e::ER_SP_DUP_VAR)?;
            self.declare(name, data_type)?;
        }
        let end = self.program.variables.len();
        match value {
            Some(value) => {
                for slot in first..end {
                    let resume = self.here() + 1;
                    self.emit(Instruction::Assign { slot, value, resume });
                }
            }
            None => {
                self.emit(Instruction::Clear { first, end });
            }
        }
        Ok(())
    }

    /// An expression that sees the names declared so far: later ones of the block go to a scope inside.
    fn expression_before(&mut self, expr: &Expr<'_>) -> StatementId {
        let names = &self.program.scopes[self.scope];
        let seen = Scope { parent: names.parent, names: names.names.clone() };
        self.program.scopes.push(seen);
        let frozen = self.program.scopes.len() - 1;
        let block = std::mem::replace(&mut self.scope, frozen);
        let statement = self.expression(expr);
        self.scope = block;
        statement
    }

    fn handler(
        &mut self,
        resumes: bool,
        conditions: Vec<Condition>,
        statement: &RoutineStatement<'_>,
    ) -> Result<Handler> {
        let over = self.emit(Instruction::Jump(OPEN));
        let at = self.here();
        // A handler does not see the labels around it.
        let labels = std::mem::take(&mut self.labels);
        self.handler_depth += 1;
        let compiled = self.statement(statement);
        self.handler_depth -= 1;
        self.labels = labels;
        compiled?;
        self.emit(Instruction::HandlerEnd);
        self.land(over);
        Ok(Handler { conditions, at, exit: (!resumes).then_some(OPEN) })
    }

    // SQL.

    fn sql(&mut self, statement: &Statement<'_>, span: Span) -> Result<()> {
        let refused = |what: &str| Err(e::ER_SP_BADSTATEMENT.with(&[&what]));
        if let Some(word) = self.inside_word() {
            in_function::require_allowed(statement, word)?;
        }
        let kind = match statement {
            Statement::Query(query) => match query.into {
                None => EmbeddedKind::Rows,
                Some(ast::Into::Variables(targets)) => {
                    for target in *targets {
                        if let IntoVar::Local(name) = target {
                            self.variable(name)?;
                        }
                    }
                    EmbeddedKind::Planned
                }
                Some(ast::Into::Outfile { .. } | ast::Into::Dumpfile(_)) => EmbeddedKind::Planned,
            },
            Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) | Statement::Do(_) => {
                EmbeddedKind::Planned
            }
            Statement::Call(call) => return self.call(call),
            Statement::Set(items) => return self.set(items, span),
            Statement::Signal(signal) => return self.signal(signal),
            Statement::GetDiagnostics(get) => return self.diagnose(get),
            Statement::CreateRoutine(create) => {
                return Err(e::ER_SP_NO_RECURSIVE_CREATE.with(&[&create.kind.word()]));
            }
            Statement::DropRoutine(drop) => return Err(e::ER_SP_NO_DROP_SP.with(&[&drop.kind.word()])),
            Statement::AlterRoutine(alter) => return Err(e::ER_SP_NO_DROP_SP.with(&[&alter.kind.word()])),
            Statement::CreateEvent(_) => return Err(e::ER_EVENT_RECURSION_FORBIDDEN.bare()),
            Statement::AlterEvent(alter) if alter.clauses.body.is_some() => {
                return Err(e::ER_EVENT_RECURSION_FORBIDDEN.bare());
            }
            Statement::Use(_) => return refused("USE"),
            Statement::LockTables(_) => return refused("LOCK"),
            Statement::UnlockTables => return refused("UNLOCK"),
            Statement::LoadData(_) => return refused("LOAD DATA"),
            Statement::Prepare { .. } | Statement::Execute { .. } => EmbeddedKind::Dynamic,
            _ => EmbeddedKind::Other,
        };
        let statement = self.embed(span, kind);
        self.emit(Instruction::Run(statement));
        Ok(())
    }

    /// The variable an expression is, if it is nothing else: where an OUT parameter may go.
    fn target(&self, expr: &Expr<'_>) -> Option<Target> {
        match expr.kind {
            ExprKind::Column(column) if column.table.is_none() => self.find(&column.name).map(Target::Local),
            ExprKind::UserVar(name) => Some(Target::User(name.to_ascii_lowercase())),
            ExprKind::Column(column) if column.schema.is_none() => {
                let row = column.table.as_ref()?;
                let is_new = row.text.eq_ignore_ascii_case(b"NEW");
                let may_set = self.place.is_some_and(|place| place.timing == TriggerTiming::Before);
                if !is_new || !may_set {
                    return None;
                }
                let name = String::from_utf8_lossy(column.name.text);
                self.program.find_row_slot(true, &name).map(Target::New)
            }
            _ => None,
        }
    }

    /// The column of NEW that an item of SET names.
    ///
    /// # Errors
    /// 1362, 1363, 1054.
    fn new_column(&self, item: &SetItem<'_>) -> Result<Option<usize>> {
        let (Some(place), SetItem::SystemVar { var, .. }) = (self.place, item) else { return Ok(None) };
        let Some(row) = var.component.as_ref().filter(|_| var.scope == VarScope::Default) else {
            return Ok(None);
        };
        let is_new = row.text.eq_ignore_ascii_case(b"NEW");
        if !is_new && !row.text.eq_ignore_ascii_case(b"OLD") {
            return Ok(None);
        }
        if !is_new {
            let after = if place.timing == TriggerTiming::After { "after " } else { "" };
            return Err(e::ER_TRG_CANT_CHANGE_ROW.with(&[&"OLD", &after]));
        }
        if place.event == TriggerEvent::Delete {
            return Err(e::ER_TRG_NO_SUCH_ROW_IN_TRG.with(&[&"NEW", &place.event.word()]));
        }
        if place.timing == TriggerTiming::After {
            return Err(e::ER_TRG_CANT_CHANGE_ROW.with(&[&"NEW", &"after "]));
        }
        let name = String::from_utf8_lossy(var.name.text);
        let Some(at) = self.program.find_row_slot(true, &name) else {
            return Err(e::ER_BAD_FIELD_ERROR.with(&[&name, &"NEW"]));
        };
        Ok(Some(at))
    }

    /// SET of a trigger or function: item by item, and what may read rows runs here and not in the session.
    ///
    /// # Errors
    /// Those of the names.
    fn set_inside(&mut self, item: &SetItem<'_>) -> Result<bool> {
        let (target, value) = match item {
            SetItem::UserVar { name, value } => (Target::User(name.to_ascii_lowercase()), *value),
            SetItem::SystemVar { value, .. } => match (self.new_column(item)?, value) {
                (Some(at), Some(value)) => {
                    self.program.row_slots[at].sets += 1;
                    (Target::New(at), *value)
                }
                (Some(_), None) => return Err(e::ER_NO_DEFAULT.with(&[&"variable"])),
                (None, _) => return Ok(false),
            },
            _ => return Ok(false),
        };
        let value = self.expression(&value);
        self.emit(Instruction::AssignTo { target, value });
        Ok(true)
    }

    fn call(&mut self, call: &ast::Call<'_>) -> Result<()> {
        let name = |name: &Ident<'_>| String::from_utf8_lossy(name.text).into_owned().into_boxed_str();
        let arguments = call
            .args
            .iter()
            .map(|expr| Argument { value: self.expression(expr), target: self.target(expr) })
            .collect();
        let name = (call.name.schema.as_ref().map(name), name(&call.name.name));
        self.emit(Instruction::Call { name, arguments });
        Ok(())
    }

    /// SET: each variable of the routine by itself; what the session knows goes to the session.
    fn set(&mut self, items: &[SetItem<'_>], span: Span) -> Result<()> {
        let local = |compiler: &Self, item: &SetItem<'_>| match item {
            SetItem::SystemVar { var, .. }
                if var.scope == VarScope::Default
                    && var.component.is_none()
                    && !compiler
                        .text(Span { start: var.name.span.start.saturating_sub(2), end: var.name.span.start })
                        .ends_with(b"@@") =>
            {
                compiler.find(&var.name)
            }
            _ => None,
        };
        if self.place.is_some() {
            for item in items {
                // OLD is refused before anything is looked for.
                self.new_column(item)?;
            }
        }
        for item in items {
            if let SetItem::SystemVar { var, .. } = item
                && var.component.is_none()
                && local(self, item).is_none()
                && by_name(var.name.text).is_none()
            {
                return Err(e::ER_UNKNOWN_SYSTEM_VARIABLE.with(&[&String::from_utf8_lossy(var.name.text)]));
            }
        }
        // A user variable may be computed from one that the same SET of a routine has set before it.
        let needs_order = items.len() > 1 && items.iter().any(|item| matches!(item, SetItem::UserVar { .. }));
        let is_inside = self.inside_word().is_some();
        if !is_inside && !needs_order && items.iter().all(|item| local(self, item).is_none()) {
            let statement = self.embed(span, EmbeddedKind::Other);
            self.emit(Instruction::Run(statement));
            return Ok(());
        }
        for item in items {
            if is_inside && self.set_inside(item)? {
                continue;
            }
            match (local(self, item), item) {
                (Some(slot), SetItem::SystemVar { value: Some(value), .. }) => {
                    let value = self.expression(value);
                    let resume = self.here() + 1;
                    self.emit(Instruction::Assign { slot, value, resume });
                }
                (Some(_), _) => return Err(e::ER_NO_DEFAULT.with(&[&"variable"])),
                (None, item) => {
                    let text = self.set_text(item);
                    let statement = self.embed_text(text.into(), EmbeddedKind::Other);
                    self.emit(Instruction::Run(statement));
                }
            }
        }
        Ok(())
    }

    /// One item of a SET as a SET of its own.
    fn set_text(&self, item: &SetItem<'_>) -> Vec<u8> {
        let mut text = b"SET ".to_vec();
        let mut put = |part: &[u8]| text.extend_from_slice(part);
        match item {
            SetItem::UserVar { name, value } => {
                put(b"@");
                put(&quoted(name));
                put(b" = ");
                put(self.text(value.span));
            }
            SetItem::SystemVar { var, value } => {
                put(match var.scope {
                    VarScope::Default | VarScope::Session => b"@@session.",
                    VarScope::Global => b"@@global.",
                    VarScope::Persist => b"@@persist.",
                    VarScope::PersistOnly => b"@@persist_only.",
                });
                put(&quoted(var.name.text));
                put(b" = ");
                put(value.map_or(b"DEFAULT", |value| self.text(value.span)));
            }
            SetItem::Names { charset, collation } => {
                put(b"NAMES ");
                put(&charset.map_or(b"DEFAULT".to_vec(), quoted));
                if let Some(collation) = collation {
                    put(b" COLLATE ");
                    put(&quoted(collation));
                }
            }
            SetItem::Charset(charset) => {
                put(b"CHARACTER SET ");
                put(&charset.map_or(b"DEFAULT".to_vec(), quoted));
            }
            // Stands alone in its statement.
            SetItem::Transaction { .. } => put(b"TRANSACTION READ WRITE"),
        }
        text
    }

    fn signal(&mut self, signal: &ast::Signal<'_>) -> Result<()> {
        let state = match &signal.value {
            None => None,
            Some(value) => match self.condition(value)? {
                Condition::State(state) => Some(state),
                _ => return Err(e::ER_SIGNAL_BAD_CONDITION_TYPE.bare()),
            },
        };
        check_items(signal)?;
        let items = signal.items.iter().map(|(item, value)| (*item, self.expression(value))).collect();
        self.emit(Instruction::Signal(Box::new(Raise { again: signal.again, state, items })));
        Ok(())
    }

    fn diagnose(&mut self, get: &ast::GetDiagnostics<'_>) -> Result<()> {
        let target = |compiler: &Self, target: &DiagnosticsTarget<'_>| match target {
            DiagnosticsTarget::User(name) => Ok(Target::User(name.to_ascii_lowercase())),
            DiagnosticsTarget::Local(name) => compiler.variable(name).map(Target::Local),
        };
        let what = match get.what {
            DiagnosticsItems::Statement(items) => DiagnoseItems::Statement(
                items.iter().map(|(to, item)| Ok((target(self, to)?, *item))).collect::<Result<_>>()?,
            ),
            DiagnosticsItems::Condition(number, items) => {
                let items =
                    items.iter().map(|(to, item)| Ok((target(self, to)?, *item))).collect::<Result<_>>()?;
                DiagnoseItems::Condition(self.expression(&number), items)
            }
        };
        self.emit(Instruction::Diagnose(Box::new(Diagnose { stacked: get.stacked, what })));
        Ok(())
    }
}

/// The name of the slot of a CASE's operand: none that could be written.
pub(crate) fn operand_name(slot: Slot) -> String {
    format!("\0case{slot}")
}

fn quoted(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    catalog::append_identifier(&mut out, &String::from_utf8_lossy(name));
    out
}

/// An SQLSTATE that a condition may have: five digits or capital letters, no success.
///
/// # Errors
/// 1407.
pub(crate) fn checked_state(state: &[u8]) -> Result<[u8; 5]> {
    let bad = || e::ER_SP_BAD_SQLSTATE.with(&[&String::from_utf8_lossy(state)]);
    let known: [u8; 5] = state.try_into().map_err(|_| bad())?;
    let letters = known.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    if letters && !known.starts_with(b"00") { Ok(known) } else { Err(bad()) }
}

/// Each item of a SIGNAL once.
///
/// # Errors
/// 1641.
pub(crate) fn check_items(signal: &ast::Signal<'_>) -> Result<()> {
    for (at, (item, _)) in signal.items.iter().enumerate() {
        if signal.items[..at].iter().any(|(other, _)| other == item) {
            return Err(e::ER_DUP_SIGNAL_SET.with(&[&item.name()]));
        }
    }
    Ok(())
}
