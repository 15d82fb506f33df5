//! Stored programs: what CREATE PROCEDURE, CREATE EVENT and their kin say, the statements only a body has, and the conditions they raise.

use super::{Account, DataType, Expr, Ident, IntervalUnit, ObjectName, Query, Span, Statement};

/// `PROCEDURE` or `FUNCTION`.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum RoutineKind {
    /// Called by `CALL`.
    Procedure,
    /// Called in expressions.
    Function,
}

impl RoutineKind {
    /// MySQL's word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            RoutineKind::Procedure => "PROCEDURE",
            RoutineKind::Function => "FUNCTION",
        }
    }
}

/// `CREATE PROCEDURE`, `CREATE FUNCTION`.
#[derive(Clone, Copy, Debug)]
pub struct CreateRoutine<'a> {
    /// Which.
    pub kind: RoutineKind,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// `DEFINER = account`.
    pub definer: Option<Account<'a>>,
    /// Its name.
    pub name: ObjectName<'a>,
    /// Parameters in order.
    pub parameters: &'a [Parameter<'a>],
    /// What stands between the parentheses.
    pub parameters_span: Span,
    /// `RETURNS type` of a function.
    pub returns: Option<LocalType<'a>>,
    /// `COMMENT`, `DETERMINISTIC`, ...
    pub characteristics: Characteristics<'a>,
    /// The body; `None` if it is in another language.
    pub body: Option<&'a RoutineStatement<'a>>,
}

/// `BEFORE` or `AFTER`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TriggerTiming {
    /// Before the row is written.
    Before,
    /// After it is written.
    After,
}

/// What fires a trigger.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TriggerEvent {
    /// A new row.
    Insert,
    /// A changed row.
    Update,
    /// A row that goes.
    Delete,
}

/// `CREATE TRIGGER`.
#[derive(Clone, Copy, Debug)]
pub struct CreateTrigger<'a> {
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// `DEFINER = account`.
    pub definer: Option<Account<'a>>,
    /// Its name.
    pub name: ObjectName<'a>,
    /// `BEFORE` or `AFTER`.
    pub timing: TriggerTiming,
    /// `INSERT`, `UPDATE` or `DELETE`.
    pub event: TriggerEvent,
    /// The table whose rows fire it.
    pub table: ObjectName<'a>,
    /// `FOLLOWS` (true) or `PRECEDES` another trigger of the same event and timing.
    pub order: Option<(bool, &'a [u8])>,
    /// What it runs.
    pub body: &'a RoutineStatement<'a>,
}

/// How a parameter's value goes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ParameterMode {
    /// Into the routine.
    #[default]
    In,
    /// Out of it.
    Out,
    /// Both.
    InOut,
}

/// A parameter of a routine.
#[derive(Clone, Copy, Debug)]
pub struct Parameter<'a> {
    /// `IN`, `OUT`, `INOUT`.
    pub mode: ParameterMode,
    /// Its name.
    pub name: Ident<'a>,
    /// Its type.
    pub data_type: LocalType<'a>,
}

/// A type as it is written for a parameter, a variable, a function's value.
#[derive(Clone, Copy, Debug)]
pub struct LocalType<'a> {
    /// The type.
    pub data_type: DataType<'a>,
    /// `COLLATE` behind it.
    pub collation: Option<&'a [u8]>,
    /// All of it in the text.
    pub span: Span,
}

/// What a routine says of the SQL in it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(missing_docs, reason = "MySQL's own words")]
pub enum DataAccess {
    ContainsSql,
    NoSql,
    ReadsSqlData,
    ModifiesSqlData,
}

/// `COMMENT`, `LANGUAGE`, `DETERMINISTIC`, ...; `None` for what was not written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Characteristics<'a> {
    /// `COMMENT`.
    pub comment: Option<&'a [u8]>,
    /// `LANGUAGE` other than SQL.
    pub language: Option<&'a [u8]>,
    /// `[NOT] DETERMINISTIC`.
    pub deterministic: Option<bool>,
    /// `READS SQL DATA` and its like.
    pub data_access: Option<DataAccess>,
    /// `SQL SECURITY INVOKER` (true) or `DEFINER`.
    pub invoker: Option<bool>,
}

/// `ALTER PROCEDURE`, `ALTER FUNCTION`.
#[derive(Clone, Copy, Debug)]
pub struct AlterRoutine<'a> {
    /// Which.
    pub kind: RoutineKind,
    /// Its name.
    pub name: ObjectName<'a>,
    /// What changes.
    pub characteristics: Characteristics<'a>,
}

/// `DROP PROCEDURE`, `DROP FUNCTION`.
#[derive(Clone, Copy, Debug)]
pub struct DropRoutine<'a> {
    /// Which.
    pub kind: RoutineKind,
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// Its name.
    pub name: ObjectName<'a>,
}

/// A statement of a body.
#[derive(Clone, Copy, Debug)]
pub struct RoutineStatement<'a> {
    /// What it is.
    pub kind: RoutineStatementKind<'a>,
    /// Its text, without the `;`.
    pub span: Span,
}

/// The statements of a body.
#[derive(Clone, Copy, Debug)]
pub enum RoutineStatementKind<'a> {
    /// `[label:] BEGIN ... END [label]`.
    Block(&'a Block<'a>),
    /// `IF ... ELSEIF ... ELSE ... END IF`.
    If {
        /// Conditions with their statements, in order.
        branches: &'a [(Expr<'a>, &'a [RoutineStatement<'a>])],
        /// `ELSE`.
        otherwise: Option<&'a [RoutineStatement<'a>]>,
    },
    /// `CASE [operand] WHEN ... ELSE ... END CASE`.
    Case {
        /// What is compared; without it the `WHEN`s are conditions.
        operand: Option<Expr<'a>>,
        /// `WHEN`s with their statements, in order.
        branches: &'a [(Expr<'a>, &'a [RoutineStatement<'a>])],
        /// `ELSE`; without it 1339 is raised when nothing fits.
        otherwise: Option<&'a [RoutineStatement<'a>]>,
    },
    /// `[label:] LOOP ... END LOOP [label]`.
    Loop(Labels<'a>, &'a [RoutineStatement<'a>]),
    /// `[label:] WHILE condition DO ... END WHILE [label]`.
    While(Labels<'a>, Expr<'a>, &'a [RoutineStatement<'a>]),
    /// `[label:] REPEAT ... UNTIL condition END REPEAT [label]`.
    Repeat(Labels<'a>, &'a [RoutineStatement<'a>], Expr<'a>),
    /// `RETURN value`.
    Return(Expr<'a>),
    /// `LEAVE label`.
    Leave(Ident<'a>),
    /// `ITERATE label`.
    Iterate(Ident<'a>),
    /// `OPEN cursor`.
    Open(Ident<'a>),
    /// `CLOSE cursor`.
    Close(Ident<'a>),
    /// `FETCH cursor INTO variables`.
    Fetch {
        /// The cursor.
        cursor: Ident<'a>,
        /// Where the row goes.
        into: &'a [Ident<'a>],
    },
    /// Any other statement.
    Statement(&'a Statement<'a>),
}

/// The label before a block or loop and the one after its `END`, which must be the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct Labels<'a> {
    /// `label:`
    pub begin: Option<Ident<'a>>,
    /// Behind `END`.
    pub end: Option<Ident<'a>>,
}

/// `BEGIN ... END`.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// Its label.
    pub labels: Labels<'a>,
    /// What it declares, in order.
    pub declarations: &'a [Declaration<'a>],
    /// Its statements.
    pub statements: &'a [RoutineStatement<'a>],
}

/// `DECLARE ...`.
#[derive(Clone, Copy, Debug)]
pub enum Declaration<'a> {
    /// `DECLARE a, b type [DEFAULT value]`.
    Variables {
        /// Their names.
        names: &'a [Ident<'a>],
        /// Their type.
        data_type: LocalType<'a>,
        /// What they start with; NULL if not written.
        default: Option<Expr<'a>>,
    },
    /// `DECLARE name CONDITION FOR value`.
    Condition {
        /// Its name.
        name: Ident<'a>,
        /// What it stands for.
        value: ConditionValue<'a>,
    },
    /// `DECLARE name CURSOR FOR query`.
    Cursor {
        /// Its name.
        name: Ident<'a>,
        /// Its rows.
        query: &'a Query<'a>,
        /// The query's text.
        span: Span,
    },
    /// `DECLARE CONTINUE | EXIT HANDLER FOR conditions statement`.
    Handler {
        /// `CONTINUE` instead of `EXIT`.
        resumes: bool,
        /// For what.
        conditions: &'a [ConditionValue<'a>],
        /// What it does.
        statement: &'a RoutineStatement<'a>,
    },
}

/// What a handler is for or a condition stands for.
#[derive(Clone, Copy, Debug)]
pub enum ConditionValue<'a> {
    /// An error number.
    Number(u64),
    /// `SQLSTATE [VALUE] 'state'`.
    State(&'a [u8]),
    /// A declared condition.
    Name(Ident<'a>),
    /// `SQLWARNING`.
    Warning,
    /// `NOT FOUND`.
    NotFound,
    /// `SQLEXCEPTION`.
    Exception,
}

/// `SIGNAL`, `RESIGNAL`.
#[derive(Clone, Copy, Debug)]
pub struct Signal<'a> {
    /// `RESIGNAL`.
    pub again: bool,
    /// What is raised; a `RESIGNAL` may leave it out.
    pub value: Option<ConditionValue<'a>>,
    /// `SET item = value, ...`.
    pub items: &'a [(ConditionItem, Expr<'a>)],
}

/// A property of a condition.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(missing_docs, reason = "MySQL's own words")]
pub enum ConditionItem {
    ClassOrigin,
    SubclassOrigin,
    ConstraintCatalog,
    ConstraintSchema,
    ConstraintName,
    CatalogName,
    SchemaName,
    TableName,
    ColumnName,
    CursorName,
    MessageText,
    MysqlErrno,
    /// Only read, by `GET DIAGNOSTICS`.
    ReturnedSqlstate,
}

impl ConditionItem {
    /// MySQL's name of it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ConditionItem::ClassOrigin => "CLASS_ORIGIN",
            ConditionItem::SubclassOrigin => "SUBCLASS_ORIGIN",
            ConditionItem::ConstraintCatalog => "CONSTRAINT_CATALOG",
            ConditionItem::ConstraintSchema => "CONSTRAINT_SCHEMA",
            ConditionItem::ConstraintName => "CONSTRAINT_NAME",
            ConditionItem::CatalogName => "CATALOG_NAME",
            ConditionItem::SchemaName => "SCHEMA_NAME",
            ConditionItem::TableName => "TABLE_NAME",
            ConditionItem::ColumnName => "COLUMN_NAME",
            ConditionItem::CursorName => "CURSOR_NAME",
            ConditionItem::MessageText => "MESSAGE_TEXT",
            ConditionItem::MysqlErrno => "MYSQL_ERRNO",
            ConditionItem::ReturnedSqlstate => "RETURNED_SQLSTATE",
        }
    }
}

/// `GET [CURRENT | STACKED] DIAGNOSTICS`.
#[derive(Clone, Copy, Debug)]
pub struct GetDiagnostics<'a> {
    /// `STACKED`: of the condition the running handler was called for.
    pub stacked: bool,
    /// What is asked.
    pub what: DiagnosticsItems<'a>,
}

/// What `GET DIAGNOSTICS` asks.
#[derive(Clone, Copy, Debug)]
pub enum DiagnosticsItems<'a> {
    /// Of the statement.
    Statement(&'a [(DiagnosticsTarget<'a>, StatementItem)]),
    /// `CONDITION number`: of one condition.
    Condition(Expr<'a>, &'a [(DiagnosticsTarget<'a>, ConditionItem)]),
}

/// Where an answer goes.
#[derive(Clone, Copy, Debug)]
pub enum DiagnosticsTarget<'a> {
    /// `@name`.
    User(&'a [u8]),
    /// A local variable.
    Local(Ident<'a>),
}

/// A property of a statement.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StatementItem {
    /// `NUMBER` of conditions.
    Number,
    /// `ROW_COUNT`.
    RowCount,
}

/// When an event runs.
#[derive(Clone, Copy, Debug)]
pub enum EventSchedule<'a> {
    /// `AT moment`.
    At(Expr<'a>),
    /// `EVERY value unit [STARTS moment] [ENDS moment]`.
    Every {
        /// How many units.
        value: Expr<'a>,
        /// Of what.
        unit: IntervalUnit,
        /// The first time.
        starts: Option<Expr<'a>>,
        /// No time after it.
        ends: Option<Expr<'a>>,
    },
}

/// `ENABLE`, `DISABLE`, `DISABLE ON REPLICA`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EventStatus {
    /// It runs.
    Enabled,
    /// It does not.
    Disabled,
    /// It runs where it came from.
    ReplicaSideDisabled,
}

/// What `CREATE EVENT` and `ALTER EVENT` say of an event.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventClauses<'a> {
    /// `ON SCHEDULE`.
    pub schedule: Option<EventSchedule<'a>>,
    /// `ON COMPLETION PRESERVE` (true) or `NOT PRESERVE`.
    pub preserve: Option<bool>,
    /// `ENABLE` and its like.
    pub status: Option<EventStatus>,
    /// `DISABLE ON SLAVE` was written, a word of the past.
    pub says_slave: bool,
    /// `COMMENT`.
    pub comment: Option<&'a [u8]>,
    /// `DO`.
    pub body: Option<&'a RoutineStatement<'a>>,
}

/// `CREATE EVENT`.
#[derive(Clone, Copy, Debug)]
pub struct CreateEvent<'a> {
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// `DEFINER = account`.
    pub definer: Option<Account<'a>>,
    /// Its name.
    pub name: ObjectName<'a>,
    /// Everything else; schedule and body are there.
    pub clauses: EventClauses<'a>,
}

/// `ALTER EVENT`.
#[derive(Clone, Copy, Debug)]
pub struct AlterEvent<'a> {
    /// `DEFINER = account`.
    pub definer: Option<Account<'a>>,
    /// Which.
    pub name: ObjectName<'a>,
    /// `RENAME TO`.
    pub new_name: Option<ObjectName<'a>>,
    /// What changes.
    pub clauses: EventClauses<'a>,
}
