//! The generator: tables, expressions, queries and changes, all drawn from one seed.
//!
//! What it makes has one right answer. Where MySQL leaves a choice (which of several equal texts GROUP BY shows, which
//! rows LIMIT takes, in which order floating values are added, which row violates first), the choice is kept out of
//! what is generated, so that the comparison need not be lenient.

pub mod changes;
pub mod expressions;
mod functions;
pub mod generated;
mod json_table;
pub mod queries;
pub mod tables;
pub mod triggers;
pub mod windows;

use crate::ast::{Script, Statement};
use crate::hints;
use crate::random::Random;
use crate::schema::{Family, Table};

/// What is known of a value in scope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Info {
    /// Its family.
    pub family: Family,
    /// Values that compare equal are the same.
    pub is_stable: bool,
    /// Small enough for arithmetic, exact enough for sums.
    pub is_small: bool,
    /// Arithmetic with it may fall below zero, which is an error for some rows only.
    pub is_unsigned: bool,
}

/// A column in scope.
#[derive(Clone, Debug)]
pub struct Visible {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub info: Info,
}

/// A table, derived table or CTE in scope.
#[derive(Clone, Debug)]
pub struct Relation {
    /// Its alias, or name.
    pub alias: String,
    /// Its columns.
    pub columns: Vec<Visible>,
}

/// What a round is to hold.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many statements.
    pub statements: usize,
    /// The percentage of statements that change rows.
    pub change_percent: u64,
    /// The percentage of statements that change definitions.
    pub definition_percent: u64,
    /// Depth of expressions.
    pub depth: usize,
    /// Tables have generated columns and functional key parts.
    pub generated: bool,
    /// The tables have triggers.
    pub triggers: bool,
    /// Expressions call stored functions.
    pub functions: bool,
    /// Statements have optimizer hints, and flags of `optimizer_switch` are switched between them.
    pub plans: bool,
}

/// Whether values of a family are dates or times. Comparing those with other values is an error for some of them.
pub(crate) fn is_temporal(family: Family) -> bool {
    matches!(family, Family::Date | Family::Time | Family::DateTime)
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            statements: 200,
            change_percent: 15,
            definition_percent: 1,
            depth: 3,
            generated: false,
            triggers: false,
            functions: false,
            plans: false,
        }
    }
}

/// Generates one round.
#[derive(Debug)]
pub struct Generator {
    /// Where choices come from.
    pub random: Random,
    /// Tables as they are defined now; rows are those of the beginning.
    pub tables: Vec<Table>,
    /// What a round is to hold.
    pub settings: Settings,
    /// CTEs in scope.
    pub(crate) ctes: Vec<Relation>,
    /// What columns can be named, innermost query last.
    pub(crate) scopes: Vec<Vec<Relation>>,
    pub(crate) names: usize,
    /// Subqueries still allowed in the statement.
    pub(crate) budget: usize,
    /// Only columns of the innermost query are named.
    pub(crate) is_local: bool,
    /// A table that the statement changes: MySQL refuses to read it in a subquery.
    pub(crate) target: Option<String>,
    /// The temporary table is in the statement already, or may not be.
    pub(crate) has_temporary: bool,
    /// Some column's character set has ASCII only, or little more.
    pub(crate) is_ascii: bool,
    /// What generated columns and key parts are made by.
    pub(crate) formulas: Vec<generated::Used>,
    /// Statements that come before all others, the next one last.
    waiting: Vec<Statement>,
}

impl Generator {
    /// The generator of one round, with its tables.
    #[must_use]
    pub fn new(seed: u64, settings: Settings) -> Generator {
        let mut generator = Generator {
            random: Random::new(seed),
            tables: Vec::new(),
            settings,
            ctes: Vec::new(),
            scopes: Vec::new(),
            names: 0,
            budget: 0,
            is_local: false,
            target: None,
            has_temporary: false,
            is_ascii: false,
            formulas: Vec::new(),
            waiting: Vec::new(),
        };
        generator.make_tables();
        if generator.settings.functions {
            generator.waiting = generator.make_functions();
        }
        if generator.settings.triggers {
            let triggers = generator.make_triggers();
            generator.waiting.extend(triggers);
        }
        generator.waiting.reverse();
        generator
    }

    /// A name that nothing else in the statement has.
    pub(crate) fn fresh(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    /// The next statement. A definition is changed in `tables` as if it succeeds.
    pub fn statement(&mut self) -> Statement {
        if let Some(statement) = self.waiting.pop() {
            return statement;
        }
        self.names = 0;
        self.budget = 4;
        self.ctes.clear();
        self.scopes.clear();
        self.target = None;
        self.has_temporary = false;
        if self.settings.plans && self.random.chance(8) {
            return Statement::Plain(hints::switch(&mut self.random));
        }
        if self.random.chance(self.settings.definition_percent) {
            return self.definition();
        }
        let mut statement = match self.random.chance(self.settings.change_percent) {
            true => self.change(),
            false => Statement::Query(self.query()),
        };
        if self.settings.plans && self.random.chance(80) {
            hints::scatter(&mut statement, &self.tables, &mut self.random);
        }
        statement
    }

    /// A whole round.
    #[must_use]
    pub fn script(seed: u64, settings: Settings) -> Script {
        let mut generator = Generator::new(seed, settings);
        let tables = generator.tables.clone();
        let statements = (0..generator.settings.statements).map(|_| generator.statement()).collect();
        Script { tables, statements }
    }
}
