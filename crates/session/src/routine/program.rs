//! What a routine is compiled to.

use std::sync::Arc;

use types::DataType;

/// Position in [`Program::instructions`].
pub(crate) type At = usize;
/// Position in [`Program::variables`], and in a frame's slots.
pub(crate) type Slot = usize;
/// Position in [`Program::statements`].
pub(crate) type StatementId = usize;
/// Position in [`Program::scopes`].
pub(crate) type ScopeId = usize;
/// Position in [`Program::regions`].
pub(crate) type RegionId = usize;
/// Position in [`Program::cursors`].
pub(crate) type CursorId = usize;

/// A compiled body. The first variables are the parameters.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) parameters: Vec<syntax::ast::ParameterMode>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) scopes: Vec<Scope>,
    pub(crate) instructions: Vec<Instruction>,
    /// For each instruction the innermost region it lies in.
    pub(crate) region_of: Vec<Option<RegionId>>,
    pub(crate) regions: Vec<Region>,
    pub(crate) statements: Vec<Embedded>,
    pub(crate) cursors: Vec<CursorDefinition>,
    /// Of a function: the type of its value.
    pub(crate) returns: Option<DataType>,
    /// Of a trigger: the columns of NEW and OLD that it names.
    pub(crate) row_slots: Vec<RowSlot>,
}

/// The slot of a column of NEW or OLD.
#[derive(Clone, Debug)]
pub(crate) struct RowSlot {
    pub(crate) slot: Slot,
    /// NEW, not OLD.
    pub(crate) is_new: bool,
    pub(crate) ordinal: usize,
    pub(crate) name: Arc<str>,
    /// How often the body names it.
    pub(crate) uses: u32,
    /// How often SET does.
    pub(crate) sets: u32,
}

/// Where the type of a slot comes from.
#[derive(Clone, Debug)]
pub(crate) enum SlotType {
    /// From its declaration.
    Declared(DataType),
    /// From the expression that fills it: the operand of CASE.
    Of(StatementId),
}

/// A parameter, a declared variable, or the operand of a CASE.
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) name: Arc<str>,
    pub(crate) slot_type: SlotType,
}

/// Names of one block; those of the blocks around it are seen too.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    pub(crate) parent: Option<ScopeId>,
    /// Folded names.
    pub(crate) names: Vec<(String, Slot)>,
}

/// A statement or expression, planned when it first runs.
#[derive(Debug)]
pub(crate) struct Embedded {
    pub(crate) text: Box<[u8]>,
    pub(crate) scope: ScopeId,
    pub(crate) kind: EmbeddedKind,
}

/// What the text is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum EmbeddedKind {
    /// A statement with a plan.
    Planned,
    /// The same, with rows for the client.
    Rows,
    /// A statement that the session runs as it is.
    Other,
    /// EXECUTE, PREPARE: text of which does not see the variables.
    Dynamic,
    /// An expression.
    Expression,
    /// An expression taken as true or not.
    Condition,
    /// An expression compared with the operand of CASE in this slot.
    Equals(Slot),
}

/// DECLARE ... CURSOR.
#[derive(Debug)]
pub(crate) struct CursorDefinition {
    pub(crate) statement: StatementId,
}

/// Where a value goes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Target {
    /// A variable of the routine.
    Local(Slot),
    /// A user variable, folded.
    User(Vec<u8>),
    /// The next column of the OUT parameters' row, the answer to a binary CALL.
    Row,
    /// A column of NEW, by position in [`Program::row_slots`].
    New(usize),
}

/// An argument of CALL.
#[derive(Debug)]
pub(crate) struct Argument {
    /// Its value.
    pub(crate) value: StatementId,
    /// Where an OUT parameter goes; `None`: it cannot.
    pub(crate) target: Option<Target>,
}

/// One step.
#[derive(Debug)]
pub(crate) enum Instruction {
    /// Runs a statement.
    Run(StatementId),
    /// Computes a variable's value.
    /// If it fails and a handler goes on, it goes on at `resume`.
    Assign {
        slot: Slot,
        value: StatementId,
        resume: At,
    },
    /// Computes what goes to a user variable or a column of NEW: `SET` of a trigger.
    AssignTo {
        target: Target,
        value: StatementId,
    },
    /// Makes variables NULL: a block without DEFAULT is entered.
    Clear {
        first: Slot,
        end: Slot,
    },
    Jump(At),
    /// Jumps unless the condition is true. If it fails and a handler goes on, it goes on at `resume`.
    JumpUnless {
        condition: StatementId,
        to: At,
        resume: At,
    },
    /// CASE without a branch that fits.
    CaseNotFound,
    Open(CursorId),
    Close(CursorId),
    Fetch {
        cursor: CursorId,
        into: Box<[Slot]>,
    },
    /// Forgets the cursors of blocks that are left.
    CloseAll {
        first: CursorId,
        end: CursorId,
    },
    Call {
        name: (Option<Box<str>>, Box<str>),
        arguments: Box<[Argument]>,
    },
    /// SIGNAL and RESIGNAL.
    Signal(Box<Raise>),
    /// GET DIAGNOSTICS.
    Diagnose(Box<Diagnose>),
    /// The end of a handler: on to where it says.
    HandlerEnd,
    /// The end.
    Return,
    /// RETURN: the end of a function, with its value.
    ReturnValue(StatementId),
    /// The end of a function's text: no RETURN was met.
    NoReturn,
}

/// The instructions of a block with handlers, without the handlers' own.
#[derive(Debug)]
pub(crate) struct Region {
    pub(crate) parent: Option<RegionId>,
    pub(crate) handlers: Vec<Handler>,
    /// Cursors of the blocks inside: gone when a handler leaves them.
    pub(crate) inner_cursors: (CursorId, CursorId),
    /// Handlers in run around the block.
    pub(crate) handler_depth: usize,
}

/// DECLARE ... HANDLER.
#[derive(Debug)]
pub(crate) struct Handler {
    pub(crate) conditions: Vec<Condition>,
    pub(crate) at: At,
    /// Where EXIT goes; `None`: CONTINUE.
    pub(crate) exit: Option<At>,
}

/// What a handler is for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Condition {
    Number(u16),
    State([u8; 5]),
    Warning,
    NotFound,
    Exception,
}

/// SIGNAL or RESIGNAL.
#[derive(Debug)]
pub(crate) struct Raise {
    pub(crate) again: bool,
    /// What is raised; absent: the condition in hand.
    pub(crate) state: Option<[u8; 5]>,
    pub(crate) items: Vec<(syntax::ast::ConditionItem, StatementId)>,
}

/// GET DIAGNOSTICS.
#[derive(Debug)]
pub(crate) struct Diagnose {
    pub(crate) stacked: bool,
    pub(crate) what: DiagnoseItems,
}

/// What it asks.
#[derive(Debug)]
pub(crate) enum DiagnoseItems {
    Statement(Vec<(Target, syntax::ast::StatementItem)>),
    Condition(StatementId, Vec<(Target, syntax::ast::ConditionItem)>),
}

impl Program {
    /// Where a CONTINUE handler goes on after the instruction that failed.
    pub(crate) fn resume_after(&self, at: At) -> At {
        match self.instructions.get(at) {
            Some(Instruction::Assign { resume, .. } | Instruction::JumpUnless { resume, .. }) => *resume,
            _ => at + 1,
        }
    }

    /// The place in `row_slots` of a column of NEW or OLD.
    pub(crate) fn find_row_slot(&self, is_new: bool, column: &str) -> Option<usize> {
        self.row_slots.iter().position(|row| row.is_new == is_new && catalog::names_equal(&row.name, column))
    }

    /// The slot that `name` means in a scope.
    pub(crate) fn find(&self, scope: ScopeId, name: &str) -> Option<Slot> {
        let folded = catalog::fold_name(name);
        let mut scope = Some(scope);
        while let Some(id) = scope {
            let names = &self.scopes[id];
            if let Some((_, slot)) = names.names.iter().find(|(candidate, _)| *candidate == folded) {
                return Some(*slot);
            }
            scope = names.parent;
        }
        None
    }
}
