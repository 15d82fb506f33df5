//! One connection: commands out, answers in.

mod answer;

use std::fmt;
use std::io::{self, Read};

use wire::client::{Event, ResultReader};
use wire::command::Command;
use wire::parameter::PARAMETER_COUNT_AVAILABLE;
use wire::{Capabilities, StatusFlags};

use crate::error::Error;
use crate::login::{self, Agreement};
use crate::options::Options;
use crate::row::{CellStarts, Columns, Row};
use crate::statement::Statement;
use crate::stream::Stream;
use crate::transport::{OUTPUT_BYTES, Packet, Transport};

pub use answer::{Answer, Summary};

/// Opens a file the server asks for by LOAD DATA LOCAL INFILE. After an error the server gets an empty file.
pub type LocalFile = Box<dyn FnMut(&str) -> io::Result<Box<dyn Read>> + Send>;

/// Bytes of a local file sent in one packet.
const FILE_PIECE_BYTES: usize = 64 * 1024;

/// What the next packet of the server is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Phase {
    /// None is due.
    Idle,
    /// The first of a result.
    Head,
    /// A row, or the end of rows.
    Rows,
}

/// A connection to a MySQL server, logged in.
pub struct Connection {
    transport: Transport,
    agreement: Agreement,
    collation: u8,
    reader: ResultReader,
    pub(crate) phase: Phase,
    is_binary: bool,
    is_broken: bool,
    pub(crate) has_rows: bool,
    pub(crate) columns: Columns,
    pub(crate) summary: Summary,
    pub(crate) info: Vec<u8>,
    pub(crate) state_changes: Vec<u8>,
    cells: CellStarts,
    local_file: Option<LocalFile>,
    refused_file: Option<String>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("id", &self.agreement.connection_id)
            .field("phase", &self.phase)
            .field("is_broken", &self.is_broken)
            .finish_non_exhaustive()
    }
}

impl Connection {
    /// Connects and logs in.
    ///
    /// # Errors
    /// Nobody answers, the options and the server do not go together, or the server refuses.
    pub fn connect(options: &Options) -> Result<Connection, Error> {
        Connection::over(Stream::connect(&options.address, options.connect_timeout)?, options)
    }

    /// Logs in over a stream that is open already, on which the server speaks first.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn over(stream: Stream, options: &Options) -> Result<Connection, Error> {
        stream.set_timeouts(options.connect_timeout, options.connect_timeout)?;
        let mut transport = Transport::new(stream, options.packet_bytes_max);
        let agreement = login::login(&mut transport, options)?;
        transport.stream.set_timeouts(options.read_timeout, options.write_timeout)?;
        Ok(Connection {
            reader: ResultReader::query(agreement.capabilities),
            transport,
            summary: Summary { status: agreement.status, ..Summary::default() },
            agreement,
            collation: options.collation,
            phase: Phase::Idle,
            is_binary: false,
            is_broken: false,
            has_rows: false,
            columns: Columns::default(),
            info: Vec::new(),
            state_changes: Vec::new(),
            cells: CellStarts::new(),
            local_file: None,
            refused_file: None,
        })
    }

    /// The server's version, such as `9.7.4`.
    #[must_use]
    pub fn server_version(&self) -> &str {
        &self.agreement.server_version
    }

    /// CONNECTION_ID(), low four bytes.
    #[must_use]
    pub fn connection_id(&self) -> u32 {
        self.agreement.connection_id
    }

    /// What both sides can do.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.agreement.capabilities
    }

    /// State of the session, as the server sent it last.
    #[must_use]
    pub fn status(&self) -> StatusFlags {
        self.summary.status
    }

    /// Whether every further command answers [`Error::Broken`].
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Lets `open` open files for LOAD DATA LOCAL INFILE; needs [`Options::local_files`].
    pub fn set_local_file(&mut self, open: Option<LocalFile>) {
        self.local_file = open;
    }

    /// Runs statements.
    ///
    /// # Errors
    /// The connection's only: the server's come with the results.
    pub fn query(&mut self, sql: &[u8]) -> Result<Answer<'_>, Error> {
        self.ask(Command::Query(sql), false)?;
        Ok(Answer { connection: self })
    }

    /// Runs statements whose rows do not matter; says what the server said last.
    ///
    /// # Errors
    /// The server's or the connection's.
    pub fn run(&mut self, sql: &[u8]) -> Result<Summary, Error> {
        self.query(sql)?.finish()
    }

    /// The answer that was begun and not read to its end, to go on with it; `None` if there is none. So a caller may ask
    /// several connections first and read afterwards.
    pub fn pending(&mut self) -> Option<Answer<'_>> {
        (self.phase != Phase::Idle).then_some(Answer { connection: self })
    }

    /// Prepares a statement.
    ///
    /// # Errors
    /// The server's or the connection's.
    pub fn prepare(&mut self, sql: &[u8]) -> Result<Statement, Error> {
        self.ask(Command::Prepare(sql), false)?;
        self.reader = ResultReader::prepare(self.agreement.capabilities);
        let result = self.read_prepared();
        self.phase = Phase::Idle;
        self.broken_by(result)
    }

    fn read_prepared(&mut self) -> Result<Statement, Error> {
        let mut statement = Statement::new(0, 0);
        while !self.reader.is_done() {
            let packet = self.transport.receive().inspect_err(|_| self.is_broken = true)?;
            match self.reader.read(self.transport.payload(&packet))? {
                Event::Prepared { statement_id, parameter_count, warnings, .. } => {
                    statement = Statement::new(statement_id, usize::from(parameter_count));
                    self.summary = Summary { warnings, status: self.summary.status, ..Summary::default() };
                }
                Event::Column(column) => {
                    if statement.parameters.len() < statement.parameter_count {
                        statement.parameters.push(&column)?;
                    } else {
                        statement.columns.push(&column)?;
                    }
                }
                Event::ColumnsEnd => {}
                Event::Error(error) => return Err(error.into()),
                _ => return Err(Error::Protocol("answer to prepare")),
            }
        }
        Ok(statement)
    }

    /// Executes a prepared statement. Allocates nothing once the buffers have their size.
    ///
    /// # Errors
    /// [`Error::Parameters`], or the connection's: the server's come with the results.
    #[inline]
    pub fn execute(
        &mut self,
        statement: &mut Statement,
        values: &[crate::Param<'_>],
    ) -> Result<Answer<'_>, Error> {
        self.execute_with(statement, values, 0)?;
        Ok(Answer { connection: self })
    }

    /// Executes a prepared statement and leaves its rows with the server, for [`fetch`](Self::fetch). `false` if the
    /// server opened no cursor because the statement has no rows.
    ///
    /// # Errors
    /// [`Error::Parameters`], the server's or the connection's.
    pub fn open_cursor(
        &mut self,
        statement: &mut Statement,
        values: &[crate::Param<'_>],
    ) -> Result<bool, Error> {
        /// CURSOR_TYPE_READ_ONLY.
        const READ_ONLY: u8 = 1;
        self.execute_with(statement, values, READ_ONLY)?;
        self.read_head()?;
        statement.columns.clone_from(&self.columns);
        self.skip_rows()?;
        Ok(self.summary.status.has(StatusFlags::CURSOR_EXISTS))
    }

    fn execute_with(
        &mut self,
        statement: &mut Statement,
        values: &[crate::Param<'_>],
        flags: u8,
    ) -> Result<(), Error> {
        self.begin()?;
        let with_attributes = self.agreement.capabilities.has(Capabilities::QUERY_ATTRIBUTES);
        let flags = if with_attributes { flags | PARAMETER_COUNT_AVAILABLE } else { flags };
        let out = self.transport.output.begin();
        Command::Execute { statement_id: statement.id, flags, iteration_count: 1, parameters: &[] }
            .encode(out);
        if let Err(error) = statement.put_parameters(values, with_attributes, out) {
            self.transport.output.abandon();
            return Err(error);
        }
        self.transport.output.end();
        self.send(true)
    }

    /// The next `row_count` rows of the cursor of `statement`. The last of them comes with
    /// [`StatusFlags::LAST_ROW_SENT`].
    ///
    /// # Errors
    /// The connection's only: the server's come with the results.
    pub fn fetch(&mut self, statement: &Statement, row_count: u32) -> Result<Answer<'_>, Error> {
        self.ask(Command::Fetch { statement_id: statement.id, row_count }, true)?;
        self.reader = ResultReader::fetch(self.agreement.capabilities);
        self.columns.clone_from(&statement.columns);
        self.phase = Phase::Rows;
        self.has_rows = true;
        Ok(Answer { connection: self })
    }

    /// Sends a piece of a parameter's value; the server does not answer. Give the parameter as
    /// [`Param::LongData`](crate::Param::LongData) to the next execution.
    ///
    /// # Errors
    /// The connection's.
    pub fn send_long_data(
        &mut self,
        statement: &Statement,
        parameter: u16,
        data: &[u8],
    ) -> Result<(), Error> {
        self.send_unanswered(Command::SendLongData { statement_id: statement.id, parameter, data })
    }

    /// Forgets long data and the cursor of a statement.
    ///
    /// # Errors
    /// The server's or the connection's.
    pub fn reset(&mut self, statement: &mut Statement) -> Result<Summary, Error> {
        self.command(Command::ResetStatement { statement_id: statement.id })
    }

    /// Forgets a statement.
    ///
    /// # Errors
    /// The connection's: the server does not answer.
    pub fn close(&mut self, statement: Statement) -> Result<(), Error> {
        let statement_id = statement.id;
        drop(statement);
        self.send_unanswered(Command::CloseStatement { statement_id })
    }

    /// Asks whether the server is there.
    ///
    /// # Errors
    /// The connection's.
    pub fn ping(&mut self) -> Result<Summary, Error> {
        self.command(Command::Ping)
    }

    /// Changes the default database.
    ///
    /// # Errors
    /// The server's or the connection's.
    pub fn use_database(&mut self, name: &str) -> Result<Summary, Error> {
        self.command(Command::InitDb(name.as_bytes()))
    }

    /// Starts the session again: its statements, variables and transaction are gone.
    ///
    /// # Errors
    /// The server's or the connection's.
    pub fn reset_session(&mut self) -> Result<Summary, Error> {
        self.command(Command::ResetConnection)
    }

    /// The server's line about itself.
    ///
    /// # Errors
    /// The server's or the connection's.
    pub fn statistics(&mut self) -> Result<String, Error> {
        self.ask(Command::Statistics, false)?;
        let result = (|| {
            let packet = self.transport.receive().inspect_err(|_| self.is_broken = true)?;
            let payload = self.transport.payload(&packet);
            match wire::message::ReceivedError::decode(payload) {
                Ok(error) => Err(error.into()),
                Err(_) => Ok(String::from_utf8_lossy(payload).into_owned()),
            }
        })();
        self.phase = Phase::Idle;
        self.broken_by(result)
    }

    /// Ends another connection, or with `query_only` its statement.
    ///
    /// # Errors
    /// The server's or the connection's.
    pub fn kill(&mut self, connection_id: u64, query_only: bool) -> Result<Summary, Error> {
        let what = if query_only { "QUERY" } else { "CONNECTION" };
        self.run(format!("KILL {what} {connection_id}").as_bytes())
    }

    /// Changes the user; the session starts again. A server that refuses closes the connection.
    ///
    /// # Errors
    /// The server's or the connection's.
    pub fn change_user(&mut self, user: &str, password: &[u8], database: Option<&str>) -> Result<(), Error> {
        self.begin()?;
        let Connection { transport, agreement, collation, .. } = self;
        let result = login::change_user(transport, agreement, user, password, database, *collation);
        match result {
            Ok(()) => {
                self.summary = Summary { status: self.agreement.status, ..Summary::default() };
                Ok(())
            }
            Err(error) => {
                self.break_off();
                Err(error)
            }
        }
    }

    /// The stream, for a caller that continues with the protocol itself: nothing is due on it. The session stays as it is,
    /// prepared statements too. With COMPRESS in [`capabilities`](Self::capabilities) it carries compressed packets.
    ///
    /// # Errors
    /// The connection broke.
    pub fn into_stream(mut self) -> Result<Stream, Error> {
        self.begin()?;
        if self.transport.has_unread() {
            return Err(Error::Protocol("bytes nobody asked for"));
        }
        Ok(std::mem::replace(&mut self.transport.stream, Stream::None))
    }

    /// Says goodbye.
    pub fn quit(mut self) {
        let _ = self.send_unanswered(Command::Quit); // It is gone either way.
        self.break_off();
    }

    /// Sends bytes as they are, to test a server.
    ///
    /// # Errors
    /// The connection's.
    pub fn send_raw(&mut self, bytes: &[u8]) -> Result<(), Error> {
        io::Write::write_all(&mut self.transport.stream, bytes)?;
        Ok(())
    }

    /// Sends a command of any bytes and reads the answer as that to a query, to test a server.
    ///
    /// # Errors
    /// The connection's.
    pub fn raw_command(&mut self, payload: &[u8]) -> Result<Answer<'_>, Error> {
        self.begin()?;
        self.transport.output.put(payload);
        self.send(false)?;
        Ok(Answer { connection: self })
    }

    /// Reads what is left of the last answer.
    fn begin(&mut self) -> Result<(), Error> {
        if self.is_broken {
            return Err(Error::Broken);
        }
        while self.phase != Phase::Idle {
            let result = self.skip_rows().and_then(|()| match self.phase {
                Phase::Idle => Ok(()),
                Phase::Head | Phase::Rows => self.read_head(),
            });
            match result {
                // The end, or the error, of an answer that the caller does not want; nothing follows it.
                Ok(()) | Err(Error::Server(_) | Error::LocalFileRefused { .. }) if !self.is_broken => {}
                Ok(()) => return Err(Error::Broken),
                Err(error) => return Err(error),
            }
        }
        self.transport.begin_command();
        Ok(())
    }

    fn send(&mut self, is_binary: bool) -> Result<(), Error> {
        if let Err(error) = self.transport.send() {
            self.break_off();
            return Err(error);
        }
        self.reader = ResultReader::query(self.agreement.capabilities);
        self.phase = Phase::Head;
        self.is_binary = is_binary;
        self.has_rows = false;
        Ok(())
    }

    /// Sends a command that is answered.
    fn ask(&mut self, command: Command<'_>, is_binary: bool) -> Result<(), Error> {
        self.begin()?;
        let out = self.transport.output.begin();
        match command {
            Command::Query(sql) if self.agreement.capabilities.has(Capabilities::QUERY_ATTRIBUTES) => {
                // No attributes, in one set, as the protocol has it.
                out.extend_from_slice(&[wire::command::byte::QUERY, 0, 1]);
                out.extend_from_slice(sql);
            }
            command => command.encode(out),
        }
        self.transport.output.end();
        self.send(is_binary)
    }

    /// Sends a command that is not answered.
    fn send_unanswered(&mut self, command: Command<'_>) -> Result<(), Error> {
        self.ask(command, false)?;
        self.phase = Phase::Idle;
        Ok(())
    }

    /// Sends a command that is answered by OK.
    fn command(&mut self, command: Command<'_>) -> Result<Summary, Error> {
        self.ask(command, false)?;
        Answer { connection: self }.finish()
    }

    #[cold]
    fn break_off(&mut self) {
        self.is_broken = true;
        self.phase = Phase::Idle;
        self.transport.stream = Stream::None;
    }

    /// Breaks the connection off unless it can go on.
    #[inline]
    fn broken_by<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        if let Err(error) = &result
            && (self.is_broken || !error.is_recoverable())
        {
            self.break_off();
        }
        result
    }

    /// Reads the front of the next result, up to its first row or to its end.
    pub(crate) fn read_head(&mut self) -> Result<(), Error> {
        let result = self.try_read_head();
        if result.is_err() {
            self.phase = Phase::Idle;
        }
        self.broken_by(result)
    }

    fn try_read_head(&mut self) -> Result<(), Error> {
        self.columns.clear();
        self.has_rows = false;
        let mut columns_left = 0;
        loop {
            let packet = self.transport.receive().inspect_err(|_| self.is_broken = true)?;
            match self.reader.read(self.transport.payload(&packet))? {
                Event::Ok(ok) => {
                    self.summary = Summary {
                        affected_rows: ok.affected_rows,
                        last_insert_id: ok.last_insert_id,
                        warnings: ok.warnings,
                        status: ok.status,
                    };
                    self.info.clear();
                    self.info.extend_from_slice(ok.info);
                    self.state_changes.clear();
                    self.state_changes.extend_from_slice(ok.state_changes);
                    self.phase = if self.reader.is_done() { Phase::Idle } else { Phase::Head };
                    return match self.refused_file.take() {
                        Some(name) => Err(Error::LocalFileRefused { name }),
                        None => Ok(()),
                    };
                }
                Event::Error(error) => {
                    let error = error.into();
                    return Err(match self.refused_file.take() {
                        Some(name) => Error::LocalFileRefused { name },
                        None => error,
                    });
                }
                Event::LocalFile(name) => {
                    let name = String::from_utf8_lossy(name).into_owned();
                    self.send_file(&name)?;
                }
                Event::Columns(count) => {
                    columns_left = count;
                    self.has_rows = true;
                    self.info.clear();
                    self.state_changes.clear();
                }
                Event::Column(column) => {
                    self.columns.push(&column)?;
                    columns_left -= 1;
                    if columns_left == 0 && self.agreement.capabilities.has(Capabilities::DEPRECATE_EOF) {
                        self.phase = Phase::Rows;
                        return Ok(());
                    }
                }
                Event::ColumnsEnd => {
                    self.phase = Phase::Rows;
                    return Ok(());
                }
                Event::End { warnings, status } => {
                    // A cursor was opened: the rows stay with the server.
                    self.summary = Summary { warnings, status, ..Summary::default() };
                    self.phase = if self.reader.is_done() { Phase::Idle } else { Phase::Head };
                    return Ok(());
                }
                Event::Row(_) | Event::Prepared { .. } => return Err(Error::Protocol("row without columns")),
            }
        }
    }

    /// Sends the file the server asked for, or nothing.
    fn send_file(&mut self, name: &str) -> Result<(), Error> {
        self.transport.begin_reply();
        let opened = match &mut self.local_file {
            Some(open) => open(name).ok(),
            None => {
                self.refused_file = Some(name.to_owned());
                None
            }
        };
        if let Some(mut file) = opened {
            let mut piece = vec![0; FILE_PIECE_BYTES];
            loop {
                match file.read(&mut piece) {
                    Ok(0) => break,
                    Ok(bytes) => self.transport.output.put(&piece[..bytes]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    // The protocol has no error for it: the server loads what it got, and the caller gets the error.
                    Err(error) => return Err(Error::Io(error)),
                }
                if self.transport.output.len() >= OUTPUT_BYTES {
                    self.transport.send()?;
                    self.transport.begin_reply();
                }
            }
        }
        self.transport.output.put(b"");
        self.transport.send()
    }

    /// Reads the next packet of rows: where it lies if it is a row.
    #[inline]
    fn read_row(&mut self) -> Result<Option<Packet>, Error> {
        let packet = self.transport.receive().inspect_err(|_| self.is_broken = true)?;
        match self.reader.read(self.transport.payload(&packet))? {
            Event::Row(_) => Ok(Some(packet)),
            Event::End { warnings, status } => {
                self.summary = Summary { warnings, status, ..Summary::default() };
                self.phase = if self.reader.is_done() { Phase::Idle } else { Phase::Head };
                Ok(None)
            }
            Event::Error(error) => {
                self.phase = Phase::Idle;
                Err(error.into())
            }
            _ => Err(Error::Protocol("no row where one must come")),
        }
    }

    #[inline]
    pub(crate) fn next_row(&mut self) -> Result<Option<Row<'_>>, Error> {
        if self.phase != Phase::Rows {
            return Ok(None);
        }
        let packet = match self.read_row() {
            Ok(Some(packet)) => packet,
            Ok(None) => return Ok(None),
            Err(error) => return self.broken_by(Err(error)),
        };
        if let Err(error) =
            Row::find(self.transport.payload(&packet), &self.columns, self.is_binary, &mut self.cells)
        {
            return self.broken_by(Err(error.into()));
        }
        Ok(Some(Row::found(self.transport.payload(&packet), &self.columns, self.is_binary, &self.cells)))
    }

    /// Reads over the rows of the present result.
    pub(crate) fn skip_rows(&mut self) -> Result<(), Error> {
        while self.phase == Phase::Rows {
            let result = self.read_row().map(|_| ());
            self.broken_by(result)?;
        }
        Ok(())
    }
}
