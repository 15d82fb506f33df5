//! Binding: names to columns, text to types, MySQL's rules on what may stand where.
//!
//! Each SELECT is a [`scope::Block`]; blocks nest as subqueries do. A name is looked up in the innermost block first;
//! found in an outer one, its column is noted in every block between, which makes those subqueries correlated.
//! Columns of a table are found through the table's own name hash: binding is linear in the text however wide the
//! tables are.
//!
//! Read next: [`scope`] (names), [`expr`] (expressions), [`from`] (FROM), [`select`] (SELECT), [`set_op`]
//! (UNION, VALUES, WITH RECURSIVE), [`set_members`] (their members), [`group`] (GROUP BY and ONLY_FULL_GROUP_BY), [`window`] (OVER), [`change`] (INSERT, UPDATE, DELETE),
//! [`first_error`] (which of several errors is given).

mod change;
mod chosen_dates;
mod constant_checks;
mod create_view;
mod documents;
mod expr;
mod first_error;
pub mod from;
mod group;
mod hints;
mod json_table;
mod left_side;
mod literal;
mod no_rows;
mod passed_on;
mod scope;
mod select;
mod set_members;
mod set_op;
mod stored;
mod stored_call;
mod stored_text;
mod temporary;
mod times;
mod view;
mod view_change;
mod window;

use std::sync::Arc;

use catalog::{Catalog, Privileges, RoutineDefinition, TableEntry};
use syntax::ast::{Statement, VarScope};
use types::charset::Charset;
use types::temporal::parse::DateMode;
use types::{CollationId, DataType, Value};

use crate::error::{PartlyBound, PlanError, PlanResult};
use crate::expr::{ColumnId, Expr};
use crate::function::TypeContext;
use crate::logical::{
    Bound, BoundKind, BoundRowQuery, BoundTable, ColumnInfo, ColumnNeed, Logical, Needs, OutputColumn,
    TableIndex, TableNeed,
};

use crate::stored_function::StoredFunction;
use crate::trace;
pub use create_view::{BoundView, bind_view};
use scope::Block;
pub use stored_text::bind_stored;
pub use view::invalid_view;

/// Deepest nesting of an expression: what binding, compiling and running it recursively may take of a stack.
pub const EXPRESSION_DEPTH_MAX: u32 = 400;
/// Deepest nesting of queries, set operations in a row included that cannot be balanced.
pub const QUERY_DEPTH_MAX: u32 = 63;
/// Most subqueries in the expressions of a statement: each becomes an operation above the others of its query, and a tree is dropped as
/// deep as it is.
pub(crate) const SUBQUERIES_MAX: u32 = 4096;
/// Most tables one query block may join (MySQL's limit).
pub(crate) const JOIN_TABLES_MAX: usize = 61;

/// What binding asks of the session.
pub trait Session {
    /// The default database.
    fn database(&self) -> Option<&str>;

    /// `collation_connection`: of string literals without introducer.
    fn connection_collation(&self) -> CollationId;

    /// `sql_mode` has ONLY_FULL_GROUP_BY.
    fn only_full_group_by(&self) -> bool;

    /// For inference of result types.
    fn type_context(&self) -> TypeContext;

    /// The value of `@@name`.
    ///
    /// # Errors
    /// 1193 unknown variable, 1238 wrong scope.
    fn system_variable(&self, scope: VarScope, name: &str) -> PlanResult<Value>;

    /// The type of `@name` as it is set now; `None`: never set.
    fn user_variable(&self, name: &str) -> Option<DataType>;

    /// The value of a constant ([`Expr::is_foldable`]), under the session's modes; `None`: computing it is an error, which belongs to the
    /// execution, or nothing here computes.
    fn constant(&self, constant: &Expr) -> Option<Value> {
        let _ = constant;
        None
    }

    /// The variable of the stored program that runs which this name, as it is written, means: the number of the parameter
    /// that holds its value, and its type.
    fn local_variable(&self, name: &[u8]) -> Option<(u32, DataType)> {
        let _ = name;
        None
    }

    /// What expressions call of a stored function.
    ///
    /// # Errors
    /// Its text does not compile any more; 1305 where nothing here runs any.
    fn stored_function(&self, definition: &Arc<RoutineDefinition>) -> PlanResult<Arc<StoredFunction>> {
        Err(PlanError::new(
            1305,
            format!("FUNCTION {}.{} does not exist", definition.schema, definition.name),
        ))
    }

    /// The type of a column of JSON_TABLE as it is written.
    ///
    /// # Errors
    /// As for a column of CREATE TABLE.
    fn column_type(&self, written: &syntax::ast::DataType<'_>, name: &str) -> PlanResult<DataType> {
        let _ = (written, name);
        Err(PlanError::not_supported("JSON_TABLE"))
    }

    /// The same of a column of NEW (`is_new`) or OLD in a trigger.
    fn row_variable(&self, is_new: bool, column: &str) -> Option<(u32, DataType)> {
        let _ = (is_new, column);
        None
    }

    /// A temporary table of this session.
    fn temporary_table(&self, schema: &str, name: &str) -> Option<Arc<TableEntry>> {
        let _ = (schema, name);
        None
    }

    /// The table of this name that everybody sees, where a temporary table of this session hides it.
    fn shared_table(&self, schema: &str, name: &str) -> Option<Arc<TableEntry>> {
        let _ = (schema, name);
        None
    }

    /// The type of a parameter by its value; `None`: the one of its context.
    fn parameter_type(&self, ordinal: u32) -> Option<DataType> {
        let _ = ordinal;
        None
    }

    /// Whether a client's value of this parameter, if it is a text, reads as a number where this type is wanted.
    fn reads_as_number(&self, ordinal: u32, wanted: &DataType) -> bool {
        let _ = (ordinal, wanted);
        true
    }

    /// Which dates `sql_mode` takes in a literal.
    fn date_mode(&self) -> DateMode {
        DateMode::default()
    }

    /// `sql_mode` has PAD_CHAR_TO_FULL_LENGTH.
    fn pads_chars(&self) -> bool {
        false
    }

    /// `character_set_client`: behind an introducer stand the bytes that the client sent.
    fn client_charset(&self) -> Charset {
        Charset::Utf8mb4
    }

    /// The parameter that stands for the literal at this offset of the text, if the plan is to be shared with texts
    /// that differ in it; and the type of that parameter comes from [`Session::parameter_type`].
    fn literal_parameter(&self, start: u32) -> Option<u32> {
        let _ = start;
        None
    }
}

/// Longest name of a schema, table or function, in characters.
const NAME_CHARS_MAX: usize = 64;

/// Whether no schema, table or function can have this name.
#[must_use]
pub fn is_too_long(name: &str) -> bool {
    name.chars().count() > NAME_CHARS_MAX
}

#[cold]
fn too_long(name: &str) -> Box<PlanError> {
    PlanError::new(1059, format!("Identifier name '{name}' is too long"))
}

/// The value of a number as written.
///
/// # Errors
/// 1367 for a double beyond all doubles.
pub fn number_value(kind: syntax::ast::NumberKind, text: &[u8], negative: bool) -> PlanResult<Value> {
    literal::number(kind, text, negative)
}

/// Binds a statement. `text` is what `statement` was parsed from.
///
/// # Errors
/// MySQL's, for names, types and places.
pub fn bind(
    statement: &Statement<'_>,
    text: &[u8],
    catalog: &Catalog,
    session: &dyn Session,
) -> PlanResult<Bound> {
    let arena = bumpalo::Bump::new();
    let mut binder = Binder::new(text, catalog, session, &arena);
    binder.may_have_hints = hints::may_be_in(statement, text);
    match binder.statement(statement) {
        Ok((kind, output)) => Ok(binder.finish(kind, output)),
        Err(error) => {
            let mut error = binder.first_error(error);
            error.bound = Some(Box::new(binder.partly_bound()));
            Err(error)
        }
    }
}

/// Whether a LIMIT bounds the rows of the whole query.
fn has_limit(query: &syntax::ast::Query<'_>) -> bool {
    query.limit.is_some() || matches!(query.body, syntax::ast::QueryBody::Nested(nested) if has_limit(nested))
}

/// Binds one expression that may read the columns of one table row (CHECK, DEFAULT (expr), generated columns): column
/// `i` of the table is `ExprKind::Input(i)` in the answer.
///
/// # Errors
/// MySQL's.
pub(crate) fn bind_over_table(
    expr: &syntax::ast::Expr<'_>,
    text: &[u8],
    table: &Arc<TableEntry>,
    catalog: &Catalog,
    session: &dyn Session,
) -> PlanResult<Expr> {
    let arena = bumpalo::Bump::new();
    let mut binder = Binder::new(text, catalog, session, &arena);
    binder.blocks.push(Block::new("field list"));
    let index = binder.add_table(table.clone(), table.definition.name.clone());
    binder.show_table(index, table.definition.name.clone());
    let mut bound = binder.expr(expr)?;
    let first = binder.tables[0].first_column.0;
    crate::rewrite::replace_columns(&mut bound, &mut |id| crate::ExprKind::Input(id.0 - first));
    Ok(bound)
}

/// Binds an expression without tables: a SET value, a LIMIT, KILL's number.
///
/// # Errors
/// MySQL's; a column is 1054 in 'field list'.
pub fn bind_constant(
    expr: &syntax::ast::Expr<'_>,
    text: &[u8],
    catalog: &Catalog,
    session: &dyn Session,
) -> PlanResult<Expr> {
    let arena = bumpalo::Bump::new();
    let mut binder = Binder::new(text, catalog, session, &arena);
    binder.blocks.push(Block::new("field list"));
    binder.expr(expr)
}

/// ER_WARN_DEPRECATED_SYNTAX.
const DEPRECATED: u16 = 1287;

/// Columns of a derived table under their names.
pub(crate) type NamedColumns = Vec<(Arc<str>, ColumnId)>;

/// A CTE in sight.
struct VisibleCte<'a> {
    name: &'a [u8],
    columns: &'a [syntax::ast::Ident<'a>],
    query: &'a syntax::ast::Query<'a>,
    /// Inside a recursive CTE's own query: its number and columns.
    working: Option<(u32, NamedColumns)>,
    recursive: bool,
    /// It was bound once.
    is_referenced: bool,
    /// CTEs with a smaller position are visible inside it.
    position: usize,
}

pub(crate) struct Binder<'a> {
    /// The name of what has none.
    no_name: std::cell::OnceCell<Arc<str>>,
    /// Where the trees of views lie.
    arena: &'a bumpalo::Bump,
    text: &'a [u8],
    catalog: &'a Catalog,
    session: &'a dyn Session,
    types: TypeContext,
    tables: Vec<BoundTable>,
    columns: Vec<ColumnInfo>,
    used: Vec<Vec<bool>>,
    needs: Needs,
    /// What the next mention of a table needs, if not SELECT: that of a change's target.
    next_need: Option<Privileges>,
    /// The table that a name did not find.
    missing_table: std::cell::RefCell<Option<(String, String, Privileges)>>,
    missing_function: Option<(String, String)>,
    /// The first text beside a date that is none, among what MySQL has resolved so far.
    wrong_text: Option<Box<PlanError>>,
    missing_column: Option<String>,
    /// While an INSERT is bound: its table and the first column of the row that is inserted.
    inserted_row: Option<(TableIndex, ColumnId)>,
    blocks: Vec<Block>,
    /// WINDOW clauses of the blocks that are bound, each with the number of blocks around it.
    window_clauses: Vec<(usize, window::WindowClause<'a>)>,
    /// The window whose partitions or order are bound.
    window_specification: Option<Arc<str>>,
    /// Blocks around it and its own.
    specification_depth: usize,
    ctes: Vec<VisibleCte<'a>>,
    /// Subqueries in expressions so far.
    subqueries: u32,
    /// Columns that are AVG of exact numbers, and not kept with the rows of a derived table.
    averages: Vec<ColumnId>,
    /// How many comparisons of rows were bound that MySQL does not take for equal to any other: by `<` and its like, and IN.
    unequal_rows: u32,
    /// References to CTEs that were bound before.
    cte_copies: u32,
    /// Types of the parameters; `None`: it goes into a column as it is.
    parameters: std::cell::RefCell<Vec<Option<DataType>>>,
    /// Those whose time of day a function reads.
    time_parameters: std::cell::RefCell<Vec<u32>>,
    text_parameters: std::cell::RefCell<Vec<(u32, CollationId)>>,
    limit_parameters: Vec<u32>,
    /// Those of them that are numbers of rows of window functions, which refuse negative ones themselves.
    count_parameters: Vec<u32>,
    /// Parameters stand for the literals of the text.
    literals_are_parameters: bool,
    /// The statement changes rows.
    is_change: bool,
    /// Subqueries of expressions around what is bound.
    subquery_depth: u32,
    volatile: bool,
    recursion_count: u32,
    calc_found_rows: bool,
    warnings: Vec<PlanError>,
    /// The query blocks of a text that has optimizer hints.
    hinted_blocks: Vec<hints::HintedBlock>,
    /// Where the references stand to the CTEs whose queries are being bound, outermost first.
    hinted_references: Vec<u32>,
    /// The text may have optimizer hints.
    may_have_hints: bool,
    /// Aggregates whose arguments are being bound, of all blocks.
    aggregate_nesting: u32,
    /// The outermost query has a LIMIT.
    has_limit: bool,
    /// Position of VALUES(col)'s row while ON DUPLICATE KEY UPDATE is bound.
    new_row: Option<(TableIndex, ColumnId)>,
    view_depth: u32,
    /// Views whose queries are being bound, outermost first.
    open_views: Vec<view::OpenView>,
    /// What each select item of the query that is bound reads, of a view's query: ranges of [`Needs::columns`].
    item_needs: Vec<std::ops::Range<usize>>,
    /// What columns of merged views read: needed where the statement reads them.
    deferred_needs: std::collections::HashMap<(TableIndex, u32), Vec<ColumnNeed>>,
    /// What the queries of views are made of that rows may be changed through.
    view_parts: Vec<view_change::ViewParts>,
    /// While an INSERT into a view is bound: the view, and for each of its columns the ordinal in the table.
    inserted_view: Option<(TableIndex, Vec<Option<usize>>)>,
    /// Mentions of views so far.
    views: u32,
    /// A variable of a stored program was named.
    names_variable: bool,
    /// What the names of the query mean that becomes a view.
    names: Option<Box<syntax::QueryNames>>,
    /// The view that the query becomes: it is not there yet.
    unseen_view: Option<(String, String)>,
    /// Nesting of the expression being bound.
    depth: u32,
    /// The expression that is bound next is a condition of WHERE or ON, or one of those that AND joins there.
    is_conjunct: bool,
    /// The expression that is bound next stands below NOT, with nothing but AND and OR between: MySQL turns a comparison round there.
    is_negated: bool,
    /// What an INSERT computes with subqueries.
    row_queries: Vec<BoundRowQuery>,
    /// The SELECT that was bound last: its tables are those that a locking clause and ON DUPLICATE KEY UPDATE behind it see.
    last_block: Option<Block>,
    /// Tables read inside of derived tables, whose rows are found before a change begins.
    derived_tables: Vec<TableIndex>,
    /// Some query in FROM reads columns of the tables before it.
    has_lateral: bool,
    /// Columns of derived tables that MySQL keeps in temporary tables.
    materialized_columns: std::collections::HashSet<ColumnId>,
    /// Columns of queries with HAVING.
    having_columns: std::collections::HashSet<ColumnId>,
    /// What those of derived tables say of themselves.
    temporary_columns: std::collections::HashMap<ColumnId, temporary::TemporaryColumn>,
}

impl<'a> Binder<'a> {
    fn new(
        text: &'a [u8],
        catalog: &'a Catalog,
        session: &'a dyn Session,
        arena: &'a bumpalo::Bump,
    ) -> Binder<'a> {
        Binder {
            no_name: std::cell::OnceCell::new(),
            arena,
            text,
            catalog,
            session,
            types: session.type_context(),
            tables: Vec::new(),
            columns: Vec::new(),
            used: Vec::new(),
            needs: Needs::default(),
            next_need: None,
            missing_table: std::cell::RefCell::new(None),
            missing_column: None,
            missing_function: None,
            wrong_text: None,
            inserted_row: None,
            blocks: Vec::new(),
            window_clauses: Vec::new(),
            window_specification: None,
            specification_depth: 0,
            ctes: Vec::new(),
            subqueries: 0,
            averages: Vec::new(),
            unequal_rows: 0,
            cte_copies: 0,
            parameters: std::cell::RefCell::default(),
            time_parameters: std::cell::RefCell::default(),
            text_parameters: std::cell::RefCell::default(),
            limit_parameters: Vec::new(),
            count_parameters: Vec::new(),
            literals_are_parameters: false,
            is_change: false,
            subquery_depth: 0,
            volatile: false,
            recursion_count: 0,
            calc_found_rows: false,
            warnings: Vec::new(),
            hinted_blocks: Vec::new(),
            hinted_references: Vec::new(),
            may_have_hints: false,
            aggregate_nesting: 0,
            has_limit: false,
            new_row: None,
            view_depth: 0,
            open_views: Vec::new(),
            item_needs: Vec::new(),
            deferred_needs: std::collections::HashMap::new(),
            view_parts: Vec::new(),
            inserted_view: None,
            views: 0,
            names_variable: false,
            names: None,
            unseen_view: None,
            depth: 0,
            is_conjunct: false,
            is_negated: false,
            row_queries: Vec::new(),
            last_block: None,
            derived_tables: Vec::new(),
            has_lateral: false,
            materialized_columns: std::collections::HashSet::new(),
            having_columns: std::collections::HashSet::new(),
            temporary_columns: std::collections::HashMap::new(),
        }
    }

    fn finish(mut self, kind: BoundKind, output: Vec<OutputColumn>) -> Bound {
        self.note_locks();
        let hints = self.resolve_hints();
        // 9.7 warns of what is deprecated while it parses.
        self.warnings.sort_by_key(|warning| warning.number != DEPRECATED);
        let parameters = match self.literals_are_parameters {
            true => constant_checks::Parameters::Literals,
            false => constant_checks::Parameters::OfClient(self.session),
        };
        let columns = constant_checks::Columns {
            all: &self.columns,
            materialized: &self.materialized_columns,
            of_having: &self.having_columns,
            session: self.session,
        };
        let constant_checks = constant_checks::of(&kind, columns, parameters);
        Bound {
            kind,
            tables: self.tables,
            columns: self.columns,
            output,
            needs: self.needs,
            parameters: self.parameters.into_inner(),
            time_parameters: self.time_parameters.into_inner(),
            text_parameters: self.text_parameters.into_inner(),
            limit_parameters: self.limit_parameters,
            count_parameters: self.count_parameters,
            has_client_parameters: self.types.fixes_parameters,
            pads_chars: self.session.pads_chars(),
            constant_checks,
            has_subqueries: self.subqueries > 0,
            averages: self.averages,
            volatile: self.volatile,
            recursion_count: self.recursion_count,
            calc_found_rows: self.calc_found_rows,
            warnings: self.warnings,
            hints,
            has_limit: self.has_limit,
        }
    }

    fn statement(&mut self, statement: &'a Statement<'a>) -> PlanResult<(BoundKind, Vec<OutputColumn>)> {
        self.is_change =
            matches!(statement, Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_));
        Ok(match statement {
            Statement::Query(query) => {
                self.has_limit = has_limit(query);
                let is_traced = trace::features().is_some();
                if is_traced {
                    self.names = Some(Box::default());
                }
                let mut bound = self.query(query)?;
                if is_traced {
                    self.trace_query(query, &bound.output);
                }
                bound.output.iter_mut().for_each(OutputColumn::describe_to_client);
                (BoundKind::Query(Box::new(bound.plan)), bound.output)
            }
            Statement::Insert(insert) => (BoundKind::Insert(self.insert(insert)?), Vec::new()),
            Statement::Update(update) => (BoundKind::Update(self.update(update)?), Vec::new()),
            Statement::Delete(delete) => (BoundKind::Delete(self.delete(delete)?), Vec::new()),
            Statement::Do(exprs) => (BoundKind::Do(Box::new(self.do_exprs(exprs)?)), Vec::new()),
            Statement::Empty => return Err(PlanError::new(1065, "Query was empty")),
            Statement::Unsupported { what } => return Err(PlanError::not_supported(what)),
            _ => return Err(PlanError::not_supported("this statement in a plan")),
        })
    }

    /// Locking reads of tables that the statement does not change.
    fn note_locks(&mut self) {
        for at in 0..self.needs.tables.len() {
            let table = self.needs.tables[at].table;
            let locks = matches!(self.tables[table.0 as usize].lock, Some((true, _)));
            self.needs.tables[at].locking = locks && !self.needs.changes(table);
        }
    }

    /// What was bound before an error.
    #[cold]
    fn partly_bound(mut self) -> PartlyBound {
        self.note_locks();
        let entry = |need: &TableNeed| (self.tables[need.table.0 as usize].entry.clone(), *need);
        PartlyBound {
            tables: self.needs.tables.iter().map(entry).collect(),
            columns: self.needs.columns,
            definers: self.needs.definers,
            missing_table: self.missing_table.into_inner(),
            missing_column: self.missing_column,
            missing_function: self.missing_function,
            functions: self.needs.functions,
            warnings: self.warnings,
        }
    }

    /// Notes that a column of a base table is read.
    fn read_column(&mut self, table: TableIndex, ordinal: u32, of_all: bool) {
        let used = &mut self.used[table.0 as usize][ordinal as usize];
        if !std::mem::replace(used, true) {
            self.needs.columns.push(ColumnNeed { table, ordinal, privileges: Privileges::SELECT, of_all });
            self.read_below(table, ordinal);
        }
    }

    /// Notes that `id` is read, if it is a column of the row that is inserted.
    fn read_inserted(&mut self, id: ColumnId) -> Option<(TableIndex, u32)> {
        let (table, first) = self.inserted_row?;
        let width = self.used[table.0 as usize].len() as u32;
        let ordinal = id.0.checked_sub(first.0).filter(|ordinal| *ordinal < width)?;
        self.read_target_column(table, ordinal);
        Some((table, ordinal))
    }

    /// Notes that a column of the table that an INSERT changes is read, and of the view that it goes through.
    fn read_target_column(&mut self, table: TableIndex, ordinal: u32) {
        if let Some((view, ordinals)) = &self.inserted_view {
            let of_view = ordinals.iter().position(|at| *at == Some(ordinal as usize));
            let view = *view;
            of_view.into_iter().for_each(|of_view| self.read_column(view, of_view as u32, false));
        }
        self.read_column(table, ordinal, false);
    }

    /// Notes that a change writes columns of `table`.
    fn write_columns(&mut self, table: TableIndex, columns: &[usize], wanted: Privileges, of_all: bool) {
        let need = |&column: &usize| ColumnNeed { table, ordinal: column as u32, privileges: wanted, of_all };
        self.needs.columns.extend(columns.iter().map(need));
    }

    /// Notes that the statement changes rows of `table`.
    fn change_table(&mut self, table: TableIndex) {
        for need in self.needs.tables.iter_mut().filter(|need| need.table == table) {
            need.changes = true;
        }
    }

    /// The parameter that stands for the literal at this offset; literals of views are none.
    fn literal_parameter(&self, start: u32) -> Option<u32> {
        if self.in_view() { None } else { self.session.literal_parameter(start) }
    }

    /// The name of what has none: one for the statement.
    fn no_name(&self) -> Arc<str> {
        Arc::clone(self.no_name.get_or_init(|| "".into()))
    }

    /// A new column.
    fn new_column(&mut self, name: &Arc<str>, data_type: DataType, nullable: bool) -> ColumnId {
        let id = ColumnId(self.columns.len() as u32);
        self.columns.push(ColumnInfo {
            name: name.clone(),
            data_type,
            nullable,
            origin: None,
            coercibility: None,
            bits: None,
            is_reference: false,
        });
        id
    }

    fn column_expr(&self, id: ColumnId) -> Expr {
        let info = &self.columns[id.0 as usize];
        let mut expr = Expr::column(id, info.data_type.clone(), info.nullable);
        if let Some(coercibility) = info.coercibility {
            expr.coercibility = coercibility;
        }
        expr
    }

    /// Finds a table or view by name.
    fn find_table(&self, name: &syntax::ast::ObjectName<'_>) -> PlanResult<Arc<TableEntry>> {
        let table = utf8(name.name.text);
        let schema = match name.schema {
            Some(schema) => utf8(schema.text),
            None => match self.session.database() {
                Some(schema) => schema.into(),
                None => return Err(PlanError::new(1046, "No database selected")),
            },
        };
        if !self.in_view()
            && let Some(entry) = self.session.temporary_table(&schema, &table)
        {
            self.refuse_temporary(&table)?;
            return Ok(entry);
        }
        let wanted = self.next_need.unwrap_or(Privileges::SELECT);
        let Some(found) = self.catalog.schema(&schema) else {
            *self.missing_table.borrow_mut() = Some((schema.to_string(), table.to_string(), wanted));
            if is_too_long(&schema) {
                return Err(too_long(&schema));
            }
            return Err(PlanError::new(1049, format!("Unknown database '{schema}'")));
        };
        let entry = found.table(&table).filter(|_| !self.is_unseen(&schema, &table));
        let mut of_all = None;
        if let Some(temporary) = entry.filter(|entry| entry.definition.kind == catalog::TableKind::Temporary)
        {
            self.refuse_temporary(&temporary.definition.name)?;
            if self.in_view() {
                // A view reads the table that everybody sees.
                of_all = Some(self.session.shared_table(&schema, &table));
            }
        }
        let entry = match &of_all {
            Some(of_all) => of_all.as_ref(),
            None => entry,
        };
        if entry.is_none() {
            *self.missing_table.borrow_mut() = Some((schema.to_string(), table.to_string(), wanted));
        }
        match entry {
            Some(entry) => Ok(entry.clone()),
            None if found.system => Err(PlanError::new(
                1109,
                format!("Unknown table '{}' in {}", table.to_uppercase(), found.name),
            )),
            None if is_too_long(&table) => Err(too_long(&table)),
            None => Err(PlanError::new(1146, format!("Table '{schema}.{table}' doesn't exist"))),
        }
    }

    /// A mention of a table: numbers for its columns.
    fn add_table(&mut self, entry: Arc<TableEntry>, alias: Arc<str>) -> TableIndex {
        let index = TableIndex(self.tables.len() as u32);
        let first_column = ColumnId(self.columns.len() as u32);
        self.columns.reserve(entry.definition.columns.len());
        for (ordinal, column) in entry.definition.columns.iter().enumerate() {
            self.columns.push(ColumnInfo {
                name: column.name.clone(),
                data_type: column.data_type.clone(),
                nullable: column.nullable,
                origin: Some((index, ordinal as u32)),
                coercibility: None,
                bits: None,
                is_reference: false,
            });
        }
        self.used.push(vec![false; entry.definition.columns.len()]);
        self.needs.tables.push(TableNeed {
            table: index,
            privileges: self.next_need.take().unwrap_or(Privileges::SELECT),
            alternative: Privileges::NONE,
            locking: false,
            changes: false,
            definer: self.open_views.last().and_then(|open| open.definer),
            view: self.open_views.first().map(|open| open.index),
        });
        self.tables.push(BoundTable {
            parts: Vec::new(),
            entry,
            alias,
            first_column,
            lock: None,
            allowed_indexes: None,
            indexes_of_groups: None,
            force_index: false,
            hints: None,
            is_view: false,
        });
        index
    }

    fn do_exprs(&mut self, exprs: &'a [syntax::ast::Expr<'a>]) -> PlanResult<Logical> {
        self.blocks.push(Block::new("field list"));
        self.block().windows_allowed = true;
        let mut items = Vec::new();
        for expr in exprs {
            let bound = self.expr(expr)?;
            let id = self.new_column(&self.no_name(), bound.data_type.clone(), bound.nullable);
            items.push((id, bound));
        }
        let windows = self.blocks.pop().map(|block| block.windows).unwrap_or_default();
        let input = Self::window_nodes(Logical::OneRow, windows);
        Ok(Logical::Project { input: Box::new(input), items })
    }
}

/// A name as text. Names are UTF-8 once the connection's character set is; bytes that are not show as replacement
/// characters and match nothing.
fn utf8(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    // Nearly all are valid, which this finds out several bytes at a time.
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), std::borrow::Cow::Borrowed)
}
