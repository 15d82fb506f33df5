//! A scenario: what is claimed, the data, one business operation, how it is loaded, and what is varied.
//!
//! A file is TOML (described in `docs/lab.md`). Reading it checks everything that can be checked without a server, for
//! every size it may be run at; an error names its line and key ([`ScenarioError`]). [`Scenario::work`] then gives
//! the plain values of one size and variant, which cannot fail any more.
//!
//! Read next: `template` (sizes in SQL), [`shipped`] (those that come along).

mod error;
mod file;
pub mod load_data;
pub mod shipped;
mod template;

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;

pub use crate::drivers::Protocol;
pub use crate::scenario::error::ScenarioError;
pub use crate::scenario::error::nearest;
pub use crate::scenario::file::{Arrivals, Expect, OnOff, Probes};

use crate::data::fill::{Fill, FillKind};
use crate::drivers::Sender;
use crate::scenario::file::{File, FileFill, FileMode, FileOp, FileTable, Number};
use crate::server::equalise::COLLATION;
use crate::server::variables;

/// Parameters a statement may have when it is prepared: the protocol counts them in two bytes.
const PREPARED_PARAMETERS_MAX: usize = 65_535;
/// Length of a statement that a batch is rewritten to, without its values.
const BATCH_BYTES_MAX: usize = 64 << 20;
/// Most connections an arm may open, idle ones included.
const CONNECTIONS_MAX: i64 = 20_000;
/// Length of a block that names none.
const BLOCK_MS_DEFAULT: i64 = 1_000;
/// Of a fractional design: main effects are clear of interactions of two.
const RESOLUTION_DEFAULT: i64 = 4;
/// The name of the variant that is the `[op]` itself.
pub const VARIANT_DEFAULT: &str = "op";

/// A scenario that can be run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Short name.
    pub id: String,
    /// The claim that the scenario tests, in words.
    pub claim: String,
    /// More about it.
    pub about: Option<String>,
    /// Seed of data, parameters and order.
    pub seed: u64,
    /// The file.
    pub text: String,
    /// Whether all arms must answer the same rows.
    pub compare_results: bool,
    /// The size that is varied, and its values; the data stays comparable within one value.
    pub scale: Option<Scale>,
    /// Operations to choose from; [`VARIANT_DEFAULT`] first.
    pub variants: Vec<String>,
    /// What is varied besides.
    pub axes: Axes,
    /// Variables that must be alike: a difference forbids a verdict, where it would only be named otherwise.
    pub hold: Vec<String>,
    /// What is probed in passes of their own.
    pub probes: Probes,
    /// What it is known to show.
    pub expect: Expect,
    file: File,
}

/// The size that is varied.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Scale {
    /// Its name.
    pub name: String,
    /// Its values, ascending.
    pub values: Vec<u64>,
}

/// Which combinations of the axes run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Design {
    /// All.
    #[default]
    Full,
    /// Of axes with two levels, besides servers and the scale, a regular fraction.
    Fractional {
        /// No shorter effects than this many axes are mixed into the mean: 3, 4 or 5.
        resolution: u32,
    },
}

/// What is varied.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axes {
    /// Which combinations run.
    pub design: Design,
    /// Driver profiles; empty: the native one.
    pub driver: Vec<String>,
    /// Protocols; empty: as the operation says.
    pub protocol: Vec<Protocol>,
    /// Connections; empty: as the load says.
    pub connections: Vec<u32>,
    /// Whether the driver prepares at the server, as the protocols prepared and text: the name drivers' own options have.
    pub use_server_prep: Vec<bool>,
    /// Connections under load in TLS; empty: off.
    pub tls: Vec<OnOff>,
    /// And compressed; empty: off.
    pub compression: Vec<OnOff>,
    /// Session variables and their values as SQL.
    pub session: BTreeMap<String, Vec<String>>,
    /// Global variables and their values as SQL; changed only if that is allowed.
    pub global: BTreeMap<String, Vec<String>>,
}

/// All that one size and variant does, with nothing left to look up.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// Tables.
    pub tables: Vec<Table>,
    /// SQL after the tables are filled.
    pub setup: Vec<String>,
    /// SQL on every connection before it is used.
    pub session: Vec<String>,
    /// SQL before every block.
    pub between: Vec<String>,
    /// The operation.
    pub op: Op,
    /// How it is loaded.
    pub load: Load,
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name.
    pub name: String,
    /// Columns.
    pub columns: Vec<Column>,
    /// Keys, as SQL.
    pub keys: Vec<String>,
    /// Rows.
    pub rows: u64,
    /// ROW_FORMAT; `DYNAMIC` where absent, because the default differs between versions.
    pub row_format: Option<String>,
    /// Character set; `utf8mb4` with the collation all versions share where absent, for the same reason.
    pub charset: Option<String>,
    /// Storage engine; `InnoDB` where absent.
    pub engine: Option<String>,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Type with its options, as SQL.
    pub sql_type: String,
    /// How it is filled; absent: by the server.
    pub fill: Option<Fill>,
}

/// One business operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    /// Within BEGIN and COMMIT.
    pub transaction: bool,
    /// Whether statements are prepared.
    pub protocol: Protocol,
    /// Its statements, in order; or those that it is one of, if they have shares.
    pub statements: Vec<Statement>,
}

impl Op {
    /// Each operation is one of the statements, drawn by their shares.
    #[must_use]
    pub(crate) fn is_mix(&self) -> bool {
        self.statements.iter().any(|statement| statement.share.is_some())
    }
}

/// Rows that a driver is given before it sends anything.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Batch {
    /// How many.
    pub rows: u32,
    /// Where in the statement's text its one row of values stands, with its parentheses.
    pub values: Range<usize>,
}

/// One statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// SQL with `?`.
    pub sql: String,
    /// Where the `?` are.
    pub placeholders: Vec<usize>,
    /// How the parameters are made; the list is gone through again and again until every `?` has one.
    pub params: Vec<Fill>,
    /// How often it is run in one operation.
    pub repeat: u32,
    /// Its weight among the statements of which an operation is one. Either all have a share or none.
    pub share: Option<u32>,
    /// So many rows are handed to the driver's own batch, which is then executed at once; absent: no batch.
    pub batch: Option<Batch>,
}

impl Statement {
    /// Whether the optimizer makes a plan for it: not for an INSERT of values, say.
    #[must_use]
    pub fn has_plan(&self) -> bool {
        match self.verb().as_str() {
            "SELECT" | "WITH" | "TABLE" | "UPDATE" | "DELETE" | "CALL" => true,
            "INSERT" | "REPLACE" => self.sql.split_ascii_whitespace().any(|word| {
                word.trim_start_matches('(').eq_ignore_ascii_case("SELECT")
                    || word.eq_ignore_ascii_case("TABLE")
            }),
            _ => false,
        }
    }

    /// Its first word, in capitals.
    #[must_use]
    pub fn verb(&self) -> String {
        let sql = self.sql.trim_start_matches(|letter: char| letter == '(' || letter.is_ascii_whitespace());
        sql.split_ascii_whitespace().next().unwrap_or_default().to_ascii_uppercase()
    }
}

/// How the operation is loaded.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Closed or open loop.
    pub mode: Mode,
    /// Connections that issue operations.
    pub connections: u32,
    /// Threads of the client they are divided among.
    pub threads: u32,
    /// Connections that are open beside them.
    pub idle_connections: u32,
    /// What each of them ran once before.
    pub idle_statement: Option<String>,
    /// A block ends after this time.
    pub block_ms: u64,
    /// Or after this many operations, if it is given.
    pub block_operations: Option<u64>,
    /// Operations of each connection before a block is measured.
    pub warmup_operations: u64,
}

/// When operations begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// Each connection begins the next when the last is done: for throughput and CPU per operation.
    Closed,
    /// As closed, but each connection begins at multiples of this interval; one that an operation took is left out. Two clients
    /// that think differently long between operations keep the same pace so: for comparing what they cost a server.
    Paced {
        /// From start to start.
        interval_ns: u64,
    },
    /// When a schedule made before says so, whether the server keeps up or not: for latency.
    Open {
        /// Operations per second.
        rate_per_s: f64,
        /// How they are spaced.
        arrivals: Arrivals,
        /// Arrivals waited for at once; further ones are skipped and counted.
        in_flight_max: u32,
    },
}

/// Something to change on the slow arm, to see whether the slowness goes. What is absent or empty stays as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Intervention {
    /// In words.
    pub what: String,
    /// Another operation.
    pub op: Option<Op>,
    /// The operation of this variant.
    pub variant: Option<String>,
    /// Another protocol.
    pub protocol: Option<Protocol>,
    /// Another driver.
    pub driver: Option<String>,
    /// So many connections.
    pub connections: Option<u32>,
    /// So many idle ones.
    pub idle_connections: Option<u32>,
    /// Session variables and their values as SQL.
    pub session: Vec<(String, String)>,
    /// Global variables and their values as SQL; only if that is allowed.
    pub global: Vec<(String, String)>,
    /// SQL before a block with the change.
    pub apply: Vec<String>,
    /// SQL after it, that undoes what `apply` did.
    pub undo: Vec<String>,
}

type Sizes = BTreeMap<String, i64>;

impl Scenario {
    /// Reads a scenario.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn parse(text: &str) -> Result<Scenario, ScenarioError> {
        let file: File = toml::from_str(text).map_err(|error| ScenarioError::of_toml(text, &error))?;
        let fail = |span: Range<usize>, message: String| ScenarioError::at(text, span, message);
        let id = file.id.get_ref();
        let is_id = !id.is_empty()
            && id.chars().all(|char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-');
        if !is_id {
            return Err(fail(
                file.id.span(),
                format!("'{id}' is no id; expected small letters, digits and hyphens"),
            ));
        }
        let scale = match &file.scale {
            None => None,
            Some(scale) => {
                let span = scale.span();
                let mut entries = scale.get_ref().iter();
                let (Some((name, values)), None) = (entries.next(), entries.next()) else {
                    return Err(fail(span, "expected exactly one size with its values".to_owned()));
                };
                let mut values: Vec<u64> =
                    values.iter().filter_map(|&value| u64::try_from(value).ok()).collect();
                values.sort_unstable();
                values.dedup();
                if values.is_empty() || values.len() != scale.get_ref()[name].len() {
                    return Err(fail(
                        span,
                        format!("expected for '{name}' a list of different numbers, none negative"),
                    ));
                }
                Some(Scale { name: name.clone(), values })
            }
        };
        let mut variants = vec![VARIANT_DEFAULT.to_owned()];
        variants.extend(file.variants.keys().cloned());
        for driver in &file.axes.driver {
            if Sender::named(driver.get_ref()).is_none() {
                let known = Sender::names().join(", ");
                let message = format!("unknown driver '{}'; expected one of: {known}", driver.get_ref());
                return Err(fail(driver.span(), message));
            }
        }
        if let Some(unknown) = file.hold.iter().find(|name| variables::known(name.get_ref()).is_none()) {
            let known: Vec<&str> = variables::THAT_MATTER.iter().map(|variable| variable.name).collect();
            let meant = nearest(unknown.get_ref(), known.iter().copied())
                .map_or(String::new(), |name| format!("; did you mean '{name}'?"));
            let message = format!(
                "unknown variable '{}'; expected one of: {}{meant}",
                unknown.get_ref(),
                known.join(", ")
            );
            return Err(fail(unknown.span(), message));
        }
        let design = match (&file.axes.design, &file.axes.resolution) {
            (None, None) => Design::Full,
            (None, Some(resolution)) => {
                return Err(fail(resolution.span(), "a resolution goes with design = \"fractional\"".into()));
            }
            (Some(design), resolution) => match (design.get_ref().as_str(), resolution) {
                ("full", None) => Design::Full,
                ("full", Some(resolution)) => {
                    return Err(fail(resolution.span(), "a full design has no resolution".into()));
                }
                ("fractional", resolution) => {
                    let number = resolution.as_ref().map_or(RESOLUTION_DEFAULT, |found| *found.get_ref());
                    match u32::try_from(number).ok().filter(|number| (3..=5).contains(number)) {
                        Some(resolution) => Design::Fractional { resolution },
                        None => {
                            let span = resolution.as_ref().map_or(design.span(), Spanned::span);
                            return Err(fail(span, format!("resolution {number}; expected 3, 4 or 5")));
                        }
                    }
                }
                (other, _) => {
                    let message = format!("design '{other}'; expected \"full\" or \"fractional\"");
                    return Err(fail(design.span(), message));
                }
            },
        };
        if !file.axes.protocol.is_empty()
            && let Some(prep) = &file.axes.use_server_prep
        {
            let message = "use_server_prep and protocol say the same; expected one of them".to_owned();
            return Err(fail(prep.span(), message));
        }
        let axes = Axes {
            design,
            driver: file.axes.driver.iter().map(|driver| driver.get_ref().clone()).collect(),
            protocol: file.axes.protocol.clone(),
            connections: file.axes.connections.clone(),
            use_server_prep: file
                .axes
                .use_server_prep
                .as_ref()
                .map(|prep| prep.get_ref().clone())
                .unwrap_or_default(),
            tls: file.axes.tls.clone(),
            compression: file.axes.compression.clone(),
            session: file.axes.session.clone(),
            global: file.axes.global.clone(),
        };
        let scenario = Scenario {
            id: id.clone(),
            claim: file.claim.clone(),
            about: file.about.clone(),
            seed: file.seed,
            text: text.to_owned(),
            compare_results: file.compare_results,
            scale,
            variants,
            axes,
            hold: file.hold.iter().map(|name| name.get_ref().clone()).collect(),
            probes: file.probes.clone(),
            expect: file.expect.clone(),
            file,
        };
        for &scale in &scenario.scale_values() {
            for variant in &scenario.variants {
                scenario.build(scale, variant)?;
            }
            scenario.build_interventions(scale)?;
        }
        Ok(scenario)
    }

    /// The values of the scale; one `None` if nothing is scaled.
    #[must_use]
    pub(crate) fn scale_values(&self) -> Vec<Option<u64>> {
        match &self.scale {
            Some(scale) => scale.values.iter().copied().map(Some).collect(),
            None => vec![None],
        }
    }

    /// What is done at one size, of one variant. An unknown variant is the operation itself.
    ///
    /// # Errors
    /// None for a size of [`scale_values`](Self::scale_values): reading the scenario tried them all. Another size may make
    /// a statement too long.
    pub fn work(&self, scale: Option<u64>, variant: &str) -> Result<Work, ScenarioError> {
        self.build(scale, variant)
    }

    /// What to change at one size, to see whether slowness goes. Nothing at a size where a statement becomes too long.
    #[must_use]
    pub(crate) fn interventions(&self, scale: Option<u64>) -> Vec<Intervention> {
        self.build_interventions(scale).unwrap_or_default()
    }

    fn build_interventions(&self, scale: Option<u64>) -> Result<Vec<Intervention>, ScenarioError> {
        let build = Build { text: &self.text, sizes: self.sizes(scale) };
        let texts = |list: &[Spanned<String>]| {
            list.iter().map(|sql| build.spread(sql)).collect::<Result<Vec<_>, _>>()
        };
        let pairs = |map: &BTreeMap<String, String>| -> Vec<(String, String)> {
            map.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
        };
        let mut found = Vec::new();
        for file in &self.file.intervention {
            if let Some(variant) = &file.variant
                && !self.variants.contains(variant.get_ref())
            {
                let known = self.variants.join(", ");
                let message = format!("unknown variant '{}'; expected one of: {known}", variant.get_ref());
                return build.fail(variant.span(), message);
            }
            if let Some(driver) = &file.driver
                && Sender::named(driver.get_ref()).is_none()
            {
                return build.fail(driver.span(), format!("unknown driver '{}'", driver.get_ref()));
            }
            if let (Some(first), true) = (file.apply.first(), file.undo.is_empty()) {
                return build.fail(first.span(), "expected undo = [...] that undoes what apply does");
            }
            found.push(Intervention {
                what: file.what.clone(),
                op: file.op.as_ref().map(|op| build.op(op)).transpose()?,
                variant: file.variant.as_ref().map(|variant| variant.get_ref().clone()),
                protocol: file.protocol,
                driver: file.driver.as_ref().map(|driver| driver.get_ref().clone()),
                connections: file.connections,
                idle_connections: file.idle_connections,
                session: pairs(&file.session),
                global: pairs(&file.global),
                apply: texts(&file.apply)?,
                undo: texts(&file.undo)?,
            });
        }
        Ok(found)
    }

    fn sizes(&self, scale: Option<u64>) -> Sizes {
        let mut sizes = self.file.sizes.clone();
        if let (Some(scale), Some(value)) = (&self.scale, scale) {
            sizes.insert(scale.name.clone(), i64::try_from(value).unwrap_or(i64::MAX));
        }
        sizes
    }

    fn build(&self, scale: Option<u64>, variant: &str) -> Result<Work, ScenarioError> {
        let build = Build { text: &self.text, sizes: self.sizes(scale) };
        let file = &self.file;
        let tables = file.table.iter().map(|table| build.table(table)).collect::<Result<_, _>>()?;
        let texts = |list: &[Spanned<String>]| {
            list.iter().map(|sql| build.spread(sql)).collect::<Result<Vec<_>, _>>()
        };
        let op = file.variants.get(variant).unwrap_or(&file.op);
        Ok(Work {
            tables,
            setup: texts(&file.setup)?,
            session: texts(&file.session)?,
            between: texts(&file.between)?,
            op: build.op(op)?,
            load: build.load(&file.load)?,
        })
    }
}

impl Work {
    /// Whether no statement under load changes data, as far as its text shows.
    #[must_use]
    pub fn only_reads(&self) -> bool {
        let statements = self.op.statements.iter().map(|statement| &statement.sql);
        let others = self.between.iter().chain(&self.load.idle_statement);
        statements.chain(others).all(|sql| only_reads(sql))
    }
}

impl Work {
    /// Bytes of its tables with their indexes: rather too many than too few.
    #[must_use]
    pub fn data_bytes(&self) -> u64 {
        /// What InnoDB adds to a row: header, transaction and roll pointer, its slot, and pages that are two thirds full.
        const ROW_OVERHEAD: u64 = 40;
        self.tables
            .iter()
            .map(|table| {
                let row: u64 = table.columns.iter().map(Column::bytes_most).sum::<u64>() + ROW_OVERHEAD;
                // Each index holds, at most, the row once more; pages are not full.
                let copies = 1 + table.keys.len() as u64;
                (table.rows * row * copies).saturating_mul(3) / 2
            })
            .sum()
    }
}

impl Column {
    /// Bytes of a value, at most as it is filled.
    fn bytes_most(&self) -> u64 {
        match self.fill.as_ref().map(|fill| &fill.kind) {
            Some(FillKind::Digits(count) | FillKind::Text(count)) => *count as u64 + 2,
            Some(FillKind::Pick(list)) => list.iter().map(|text| text.len() as u64).max().unwrap_or(0) + 2,
            Some(FillKind::Constant(text)) => text.len() as u64 + 2,
            _ => 9,
        }
    }
}

/// A SELECT that neither locks rows nor writes a file.
fn only_reads(sql: &str) -> bool {
    const WRITES: [&str; 5] = ["FOR UPDATE", "FOR SHARE", "LOCK IN SHARE", "INTO OUTFILE", "INTO DUMPFILE"];
    let words: Vec<String> = sql.split_ascii_whitespace().map(str::to_ascii_uppercase).collect();
    let text = words.join(" ");
    text.trim_start_matches(['(', ' ']).starts_with("SELECT ")
        && !WRITES.iter().any(|words| text.contains(words))
}

impl Table {
    /// CREATE TABLE.
    #[must_use]
    pub(crate) fn create_statement(&self) -> String {
        let columns = self.columns.iter().map(|column| format!("`{}` {}", column.name, column.sql_type));
        let parts: Vec<String> = columns.chain(self.keys.iter().cloned()).collect();
        let charset = match &self.charset {
            Some(charset) => charset.clone(),
            None => format!("utf8mb4 COLLATE {COLLATION}"),
        };
        format!(
            "CREATE TABLE `{}` ({}) ENGINE={} ROW_FORMAT={} DEFAULT CHARACTER SET {charset}",
            self.name,
            parts.join(", "),
            self.engine.as_deref().unwrap_or("InnoDB"),
            self.row_format.as_deref().unwrap_or("DYNAMIC"),
        )
    }
}

/// Looks names up in one set of sizes.
struct Build<'a> {
    text: &'a str,
    sizes: Sizes,
}

impl Build<'_> {
    fn fail<T>(&self, span: Range<usize>, message: impl Into<String>) -> Result<T, ScenarioError> {
        Err(ScenarioError::at(self.text, span, message))
    }

    fn number(&self, number: &Number, span: Range<usize>) -> Result<i64, ScenarioError> {
        match number {
            Number::Is(number) => Ok(*number),
            Number::Named(name) => {
                template::named(name, &self.sizes).or_else(|message| self.fail(span, message))
            }
        }
    }

    fn number_in(
        &self,
        number: &Number,
        span: Range<usize>,
        range: Range<i64>,
    ) -> Result<i64, ScenarioError> {
        let found = self.number(number, span.clone())?;
        if range.contains(&found) {
            return Ok(found);
        }
        self.fail(span, format!("{found} is not in {}..={}", range.start, range.end - 1))
    }

    /// An optional number with its bounds.
    fn option(
        &self,
        number: Option<&Spanned<Number>>,
        default: i64,
        range: Range<i64>,
    ) -> Result<i64, ScenarioError> {
        number.map_or(Ok(default), |number| self.number_in(number.get_ref(), number.span(), range))
    }

    fn spread(&self, sql: &Spanned<String>) -> Result<String, ScenarioError> {
        template::spread(sql.get_ref(), &self.sizes).or_else(|message| self.fail(sql.span(), message))
    }

    fn table(&self, table: &FileTable) -> Result<Table, ScenarioError> {
        let mut columns = Vec::new();
        for column in &table.columns {
            let span = column.name.span();
            let fill = column.fill.as_ref().map(|fill| self.fill(fill)).transpose()?;
            let Some(repeat) = &column.repeat else {
                columns.push(Column {
                    name: column.name.get_ref().clone(),
                    sql_type: column.sql_type.clone(),
                    fill,
                });
                continue;
            };
            if !column.name.get_ref().contains('#') {
                return self.fail(span, "a repeated column needs a '#' in its name, where the number goes");
            }
            for index in 1..=self.number_in(repeat, span, 0..4_097)? {
                columns.push(Column {
                    name: column.name.get_ref().replace('#', &index.to_string()),
                    sql_type: column.sql_type.clone(),
                    fill: fill.clone(),
                });
            }
        }
        let rows = self.number_in(table.rows.get_ref(), table.rows.span(), 0..i64::MAX)?.unsigned_abs();
        if rows > 0 && !columns.iter().any(|column| column.fill.is_some()) {
            return self.fail(table.name.span(), "a table with rows needs a column with a fill");
        }
        Ok(Table {
            name: table.name.get_ref().clone(),
            columns,
            keys: table.keys.clone(),
            rows,
            row_format: table.row_format.clone(),
            charset: table.charset.clone(),
            engine: table.engine.clone(),
        })
    }

    fn fill(&self, fill: &Spanned<FileFill>) -> Result<Fill, ScenarioError> {
        /// Characters a value may have.
        const CHARACTERS: Range<i64> = 0..(64 << 20) + 1;
        let span = || fill.span();
        let file = fill.get_ref();
        let mut kinds = Vec::new();
        if let Some(start) = file.serial {
            kinds.push(FillKind::Serial(start));
        }
        if let Some([low, high]) = &file.uniform {
            let (low, high) = (self.number(low, span())?, self.number(high, span())?);
            if low > high {
                return self.fail(span(), format!("uniform from {low} to {high}: the first is larger"));
            }
            kinds.push(match file.decimals {
                None | Some(0) => FillKind::Uniform(low, high),
                Some(decimals @ 1..=18) => FillKind::Decimal(low, high, decimals),
                Some(other) => return self.fail(span(), format!("{other} decimals; expected 0 to 18")),
            });
        } else if file.decimals.is_some() {
            return self.fail(span(), "decimals go with uniform");
        }
        if let Some(more) = file.previous_plus {
            kinds.push(FillKind::PreviousPlus(more));
        }
        if let Some(count) = &file.digits {
            kinds.push(FillKind::Digits(self.number_in(count, span(), CHARACTERS)? as usize));
        }
        if let Some(count) = &file.text {
            kinds.push(FillKind::Text(self.number_in(count, span(), CHARACTERS)? as usize));
        }
        if let Some(days) = &file.datetime_days {
            kinds.push(FillKind::DateTime(self.number_in(days, span(), 1..36_500)?.unsigned_abs()));
        }
        if let Some(list) = &file.pick {
            if list.is_empty() {
                return self.fail(span(), "nothing to pick from");
            }
            kinds.push(FillKind::Pick(list.clone()));
        }
        if let Some(text) = &file.constant {
            kinds.push(FillKind::Constant(text.clone()));
        }
        let null_share = file.null_share.unwrap_or(0.0);
        if !(0.0..=1.0).contains(&null_share) {
            return self.fail(span(), format!("null_share = {null_share}; expected 0 to 1"));
        }
        match (kinds.pop(), kinds.is_empty()) {
            (Some(kind), true) => Ok(Fill { kind, null_share }),
            _ => self.fail(
                span(),
                "expected exactly one of: serial, uniform, previous_plus, digits, text, datetime_days, pick, constant",
            ),
        }
    }

    fn op(&self, op: &FileOp) -> Result<Op, ScenarioError> {
        if op.statement.get_ref().is_empty() {
            return self.fail(op.statement.span(), "an operation needs a statement");
        }
        let mut statements = Vec::new();
        for statement in op.statement.get_ref() {
            let sql = self.spread(&statement.sql)?;
            let mut params = Vec::new();
            for param in &statement.params {
                let fill = self.fill(param)?;
                let times = match &param.get_ref().repeat {
                    Some(times) => self.number_in(times, param.span(), 1..65_536)?,
                    None => 1,
                };
                params.extend((0..times).map(|_| fill.clone()));
            }
            let placeholders = template::placeholders(&sql);
            let is_match = match params.len() {
                0 => placeholders.is_empty(),
                count => !placeholders.is_empty() && placeholders.len().is_multiple_of(count),
            };
            if !is_match {
                let message = format!(
                    "the statement has {} '?' and {} params; expected the first to be a multiple of the second",
                    placeholders.len(),
                    params.len()
                );
                return self.fail(statement.sql.span(), message);
            }
            if placeholders.len() > PREPARED_PARAMETERS_MAX && op.protocol != Protocol::Text {
                let message = format!(
                    "{} '?' are more than the {PREPARED_PARAMETERS_MAX} that can be prepared; set protocol = \"text\"",
                    placeholders.len()
                );
                return self.fail(statement.sql.span(), message);
            }
            let repeat = self.option(statement.repeat.as_ref(), 1, 1..100_001)? as u32;
            let share = match &statement.share {
                Some(_) if op.transaction => {
                    return self.fail(
                        statement.sql.span(),
                        "statements with shares are operations of their own; expected no transaction",
                    );
                }
                Some(share) => Some(self.number_in(share.get_ref(), share.span(), 1..1_000_001)? as u32),
                None if op.statement.get_ref().iter().any(|other| other.share.is_some()) => {
                    return self.fail(statement.sql.span(), "expected a share at each statement, or at none");
                }
                None => None,
            };
            let batch = match &statement.batch {
                Some(rows) => Some(self.batch(rows, &sql, &placeholders, op.protocol)?),
                None => None,
            };
            statements.push(Statement { sql, placeholders, params, repeat, share, batch });
        }
        Ok(Op { transaction: op.transaction, protocol: op.protocol, statements })
    }

    fn batch(
        &self,
        rows: &Spanned<Number>,
        sql: &str,
        placeholders: &[usize],
        protocol: Protocol,
    ) -> Result<Batch, ScenarioError> {
        let count = self.number_in(rows.get_ref(), rows.span(), 1..100_001)? as u32;
        let Some(values) = template::one_row_of_values(sql, placeholders) else {
            let message = "a batch is of INSERT or REPLACE ... VALUES (...) with every '?' in its one row";
            return self.fail(rows.span(), message);
        };
        if values.len().saturating_mul(count as usize) > BATCH_BYTES_MAX {
            let message = format!("{count} rows make a statement of more than {BATCH_BYTES_MAX} bytes");
            return self.fail(rows.span(), message);
        }
        let parameters = placeholders.len() * count as usize;
        if parameters > PREPARED_PARAMETERS_MAX && protocol != Protocol::Text {
            let message = format!(
                "{parameters} parameters are more than the {PREPARED_PARAMETERS_MAX} that a rewritten batch can prepare"
            );
            return self.fail(rows.span(), message);
        }
        Ok(Batch { rows: count, values })
    }

    fn load(&self, load: &file::FileLoad) -> Result<Load, ScenarioError> {
        let mode = match load.mode.get_ref() {
            FileMode::Closed => {
                if let Some(rate) = &load.rate {
                    return self.fail(rate.span(), "a closed loop has no rate; expected mode = \"open\"");
                }
                Mode::Closed
            }
            FileMode::Open => {
                let Some(rate) = &load.rate else {
                    return self.fail(load.mode.span(), "an open loop needs rate = operations per second");
                };
                let rate_per_s = *rate.get_ref();
                if !(0.001..=10_000_000.0).contains(&rate_per_s) {
                    return self
                        .fail(rate.span(), format!("rate = {rate_per_s}; expected 0.001 to 10,000,000"));
                }
                let in_flight_max =
                    self.option(load.max_in_flight.as_ref(), 64, 1..CONNECTIONS_MAX + 1)? as u32;
                Mode::Open { rate_per_s, arrivals: load.arrivals.unwrap_or_default(), in_flight_max }
            }
        };
        let connections = self.option(load.connections.as_ref(), 1, 1..CONNECTIONS_MAX + 1)?;
        let threads = self.option(load.threads.as_ref(), 1, 1..257)?.min(connections);
        let idle_connections = self.option(load.idle_connections.as_ref(), 0, 0..CONNECTIONS_MAX + 1)?;
        let idle_statement = load.idle_statement.as_ref().map(|sql| self.spread(sql)).transpose()?;
        let block_operations = match &load.block_operations {
            Some(count) => Some(self.number_in(count.get_ref(), count.span(), 1..i64::MAX)?.unsigned_abs()),
            None => None,
        };
        // A block that is counted in operations is limited in time only by a generous timeout.
        let block_ms = if block_operations.is_some() { 10 * BLOCK_MS_DEFAULT } else { BLOCK_MS_DEFAULT };
        Ok(Load {
            mode,
            connections: connections as u32,
            threads: threads as u32,
            idle_connections: idle_connections as u32,
            idle_statement,
            block_ms: self.option(load.block_ms.as_ref(), block_ms, 1..86_400_001)?.unsigned_abs(),
            block_operations,
            warmup_operations: self.option(load.warmup_operations.as_ref(), 10, 0..1_000_001)?.unsigned_abs(),
        })
    }
}

#[cfg(test)]
mod tests;
