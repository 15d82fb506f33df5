//! Where blocks are run: servers, their data, the arms, and the one way to measure a block.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use client::{Connection, Error};

use super::cell::Cell;
use super::lab_schema::{self, SchemaError};
use super::readings::Readings;
use super::test_server::TestServer;
use super::{MatrixError, Progress, Request};
use crate::drivers::Sender;
use crate::evidence::{Block, Run};
use crate::interrupt;
use crate::load::shim::Shims;
use crate::load::{Fleet, LoadError, Moment, Spec, fidelity};
use crate::scenario::{Table, Work};
use crate::server::describe;
use crate::server::journal::{self, Value};

/// Tables of one content on one server.
pub(super) struct DataSet {
    server: usize,
    schema: String,
    tables: Vec<Table>,
    setup: Vec<String>,
    serial: AtomicU64,
}

/// A block that is to be measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// The same number gives the same parameters.
    pub(super) number: u64,
    /// Hash the rows of its first operations.
    pub(super) with_row_hash: bool,
}

/// What became of it.
pub(super) enum Ran {
    /// It was measured.
    Block(Box<Block>),
    /// The server is well and refuses what the arm does.
    Refused(String),
}

/// Who does something at the two moments of a block besides reading process and counters.
pub(super) type Meanwhile<'m> = &'m mut dyn FnMut(Moment, &mut Connection);

/// All that the passes of a run share.
pub(super) struct Runner<'a> {
    pub(super) request: &'a Request,
    pub(super) run: Run,
    pub(super) test_servers: Vec<TestServer>,
    pub(super) cells: Vec<Cell>,
    pub(super) started: Instant,
    /// When measuring began: what [`Request::time_budget`] is counted from.
    pub(super) measuring: Instant,
    /// Arms that cannot run: why is in the warnings.
    pub(super) dropped: Vec<bool>,
    /// Rounds so far, over all passes: each has its own parameters.
    pub(super) round: u32,
    /// The core that clients keep to, where the servers were taken off it.
    pub(super) client_core: Option<usize>,
    /// Threads of ours use whatever is idle: what others use is unknown.
    pub(super) is_kept_awake: bool,
    data: Vec<DataSet>,
    shims: Shims,
}

impl<'a> Runner<'a> {
    pub(super) fn new(
        request: &'a Request,
        run: Run,
        test_servers: Vec<TestServer>,
        cells: Vec<Cell>,
        started: Instant,
    ) -> Runner<'a> {
        let dropped = vec![false; cells.len()];
        let (measuring, round, data, shims) = (Instant::now(), 0, Vec::new(), Shims::new());
        let (client_core, is_kept_awake) = (None, false);
        Runner {
            request,
            run,
            test_servers,
            cells,
            started,
            measuring,
            dropped,
            round,
            client_core,
            is_kept_awake,
            data,
            shims,
        }
    }

    /// What is left until this share of the time budget is spent.
    pub(super) fn left_until(&self, share: f64) -> Duration {
        self.request.time_budget.mul_f64(share).saturating_sub(self.measuring.elapsed())
    }

    /// Notes once what a reader should know.
    pub(super) fn warn(&mut self, said: String) {
        if !self.run.warnings.contains(&said) {
            self.run.warnings.push(said);
        }
    }

    /// The process of an arm's server, if it is on this machine.
    pub(super) fn pid_of(&self, arm: usize) -> Option<u32> {
        self.test_servers[self.cells[arm].server].under_test.pid()
    }

    /// The data set of an arm.
    fn data_of(&self, server: usize, work: &Work) -> Option<usize> {
        self.data
            .iter()
            .position(|data| data.server == server && data.tables == work.tables && data.setup == work.setup)
    }

    /// The schema an arm works in.
    pub(super) fn schema_of(&self, cell: &Cell) -> Option<&str> {
        self.data_of(cell.server, &cell.work).map(|index| self.data[index].schema.as_str())
    }

    pub(super) fn load_data(
        &mut self,
        on_progress: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<(), MatrixError> {
        for index in 0..self.cells.len() {
            let (server, work) = (self.cells[index].server, &self.cells[index].work);
            if self.data_of(server, work).is_some() {
                continue;
            }
            // A server that has two names here keeps a schema for each.
            let identity = |server: usize| &self.test_servers[server].under_test.identity;
            let count = self.data.iter().filter(|data| identity(data.server) == identity(server)).count();
            let schema = match count {
                0 => self.request.schema.clone(),
                more => format!("{}_{}", self.request.schema, more + 1),
            };
            let test_server = &mut self.test_servers[server];
            on_progress(&Progress::Step(&format!(
                "loading data into {schema} on {}",
                test_server.under_test.name
            )));
            if let Err(error) = lab_schema::make(&mut test_server.admin, &schema) {
                return Err(match error {
                    SchemaError::Refused(why) => test_server.fail(why),
                    SchemaError::Server(error) => test_server.fail(format!("schema {schema}: {error}")),
                });
            }
            self.data.push(DataSet {
                server,
                schema: schema.clone(),
                tables: work.tables.clone(),
                setup: work.setup.clone(),
                serial: AtomicU64::new(0),
            });
            let seed = self.request.scenario.seed;
            crate::scenario::load_data::load(&mut test_server.admin, work, seed, &mut |done, all| {
                on_progress(&Progress::Rows(done, all));
            })
            .map_err(|(sql, error)| test_server.fail(format!("loading data: {error} (in: {sql})")))?;
        }
        Ok(())
    }

    /// Brings a server's global variables to what a cell asks for; those it does not name go back to what they were.
    fn set_globals(&mut self, cell: &Cell) -> Result<(), MatrixError> {
        let TestServer { under_test, admin, changes, global, before, .. } =
            &mut self.test_servers[cell.server];
        let Some(changes) = changes else { return Ok(()) };
        let fail = |name: &str, why: String| MatrixError::Server {
            server: under_test.name.clone(),
            url: describe::url_without_password(&under_test.options),
            why: format!("SET GLOBAL {name}: {why}"),
        };
        let left: Vec<String> = global
            .keys()
            .filter(|name| cell.global.iter().all(|(other, _)| other != *name))
            .cloned()
            .collect();
        for name in left {
            if let Some(value) = before.get(&name) {
                changes.set(&name, value).map_err(|error| fail(&name, error.to_string()))?;
            }
            global.remove(&name);
        }
        for (name, value) in &cell.global {
            if global.get(name) == Some(value) {
                continue;
            }
            if !before.contains_key(name) {
                let was = journal::read(admin, name).map_err(|error| fail(name, error.to_string()))?;
                before.insert(name.clone(), was);
            }
            changes
                .set(name, &Value::from(value.as_str()))
                .map_err(|error| fail(name, format!("= {value}: {error}")))?;
            global.insert(name.clone(), value.clone());
        }
        Ok(())
    }

    /// Runs SQL in the schema of a cell, over the session that watches.
    pub(super) fn run_sql(&mut self, cell: &Cell, list: &[String]) -> Result<(), MatrixError> {
        let Some(schema) = self.schema_of(cell).map(str::to_owned) else { return Ok(()) };
        let test_server = &mut self.test_servers[cell.server];
        let mut run = |sql: &str| test_server.admin.run(sql.as_bytes()).map(|_| ());
        if let Err(error) = run(&format!("USE `{schema}`")) {
            return Err(test_server.fail(error));
        }
        for sql in list {
            if let Err(error) = test_server.admin.run(sql.as_bytes()) {
                return Err(test_server.fail(format!("{error} (in: {sql})")));
            }
        }
        Ok(())
    }

    /// Measures one block of a cell.
    ///
    /// # Errors
    /// The run was interrupted, or the server went away.
    pub(super) fn measure(
        &mut self,
        cell: &Cell,
        wanted: Wanted,
        meanwhile: Meanwhile<'_>,
    ) -> Result<Ran, MatrixError> {
        if interrupt::requested() {
            return Err(MatrixError::Use("interrupted".to_owned()));
        }
        self.set_globals(cell)?;
        self.run_sql(cell, &cell.work.between)?;
        let Some(data) = self.data_of(cell.server, &cell.work).map(|index| &self.data[index]) else {
            return Ok(Ran::Refused("its data is not there".to_owned()));
        };
        let TestServer { under_test, admin, footprint, session, .. } = &mut self.test_servers[cell.server];
        let fail = |why: String| MatrixError::Server {
            server: under_test.name.clone(),
            url: describe::url_without_password(&under_test.options),
            why,
        };
        let mut options = under_test.options.clone();
        options.database = Some(data.schema.clone());
        cell.wrap(&mut options);
        let statements: Vec<String> = session.iter().chain(&cell.session).cloned().collect();
        let spec = Spec {
            options: &options,
            work: &cell.work,
            sender: cell.sender,
            shims: &self.shims,
            session: &statements,
            seed: self.request.scenario.seed,
            block: wanted.number,
            serial: &data.serial,
            with_row_hash: wanted.with_row_hash,
            client_core: self.client_core,
        };
        let mut readings = Readings::of(under_test.pid());
        let started_ns = self.started.elapsed().as_nanos() as u64;
        let measured = Fleet::open(spec).and_then(|fleet| {
            fleet.run(&mut |moment| match moment {
                // What others do at the ends stays outside of what is read.
                Moment::Begins => {
                    meanwhile(moment, admin);
                    readings.read(moment, admin);
                }
                Moment::Ended => {
                    readings.read(moment, admin);
                    meanwhile(moment, admin);
                }
            })
        });
        let mut block = match measured {
            Ok(block) => block,
            Err(
                error @ (LoadError::Connect(Error::Server(_))
                | LoadError::Statement { error: Error::Server(_), .. }
                | LoadError::Driver { .. }),
            ) => return Ok(Ran::Refused(error.to_string())),
            Err(error) => return Err(fail(error.to_string())),
        };
        block.started_ns = started_ns;
        readings.fill(&mut block, footprint).map_err(fail)?;
        if self.is_kept_awake {
            block.others_share = None;
        }
        if let Sender::Real(_) = cell.sender {
            fidelity::fill_bytes(&mut block);
        }
        Ok(Ran::Block(Box::new(block)))
    }

    /// Whether the rows of this cell's first round are hashed: other drivers may ask for the other form of rows.
    pub(super) fn hashes_rows(&self, cell: &Cell) -> bool {
        self.request.scenario.compare_results && cell.sender.name() == Sender::native().name()
    }

    /// Puts variables back and takes data away, as far as the servers are there.
    pub(super) fn clean_up(&mut self) {
        for test_server in &mut self.test_servers {
            if let Some(changes) = &mut test_server.changes
                && let Err(error) = changes.put_back()
            {
                let name = &test_server.under_test.name;
                self.run
                    .warnings
                    .push(format!("global variables of server {name} are not back yet: {error}"));
            }
            test_server.global = BTreeMap::new();
        }
        for data in &self.data {
            if self.request.keep_data {
                continue;
            }
            let test_server = &mut self.test_servers[data.server];
            let removed = if test_server.admin.is_broken() {
                Connection::connect(&test_server.under_test.options)
                    .map_err(SchemaError::Server)
                    .and_then(|mut fresh| lab_schema::remove(&mut fresh, &data.schema))
            } else {
                lab_schema::remove(&mut test_server.admin, &data.schema)
            };
            if let Err(error) = removed {
                let why = match error {
                    SchemaError::Refused(why) => why,
                    SchemaError::Server(error) => error.to_string(),
                };
                let name = &test_server.under_test.name;
                self.run.warnings.push(format!("schema {} stays on server {name}: {why}", data.schema));
            }
        }
    }
}
