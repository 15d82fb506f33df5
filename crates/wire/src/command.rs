//! What a client asks for, one packet per command.
//!
//! Source: MySQL 9.7 manual of the client/server protocol, "Command Phase".

use crate::codec::{Malformed, Reader, malformed, put_nul_bytes};

/// Command bytes.
pub mod byte {
    /// COM_QUIT.
    pub const QUIT: u8 = 1;
    /// COM_INIT_DB.
    pub const INIT_DB: u8 = 2;
    /// COM_QUERY.
    pub const QUERY: u8 = 3;
    /// COM_FIELD_LIST.
    pub const FIELD_LIST: u8 = 4;
    /// COM_STATISTICS.
    pub const STATISTICS: u8 = 9;
    /// COM_PROCESS_KILL.
    pub const PROCESS_KILL: u8 = 12;
    /// COM_PING.
    pub const PING: u8 = 14;
    /// COM_CHANGE_USER.
    pub const CHANGE_USER: u8 = 17;
    /// COM_STMT_PREPARE.
    pub const STMT_PREPARE: u8 = 22;
    /// COM_STMT_EXECUTE.
    pub const STMT_EXECUTE: u8 = 23;
    /// COM_STMT_SEND_LONG_DATA.
    pub const STMT_SEND_LONG_DATA: u8 = 24;
    /// COM_STMT_CLOSE.
    pub const STMT_CLOSE: u8 = 25;
    /// COM_STMT_RESET.
    pub const STMT_RESET: u8 = 26;
    /// COM_SET_OPTION.
    pub const SET_OPTION: u8 = 27;
    /// COM_STMT_FETCH.
    pub const STMT_FETCH: u8 = 28;
    /// COM_RESET_CONNECTION.
    pub const RESET_CONNECTION: u8 = 31;
}

/// One command.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Command<'a> {
    /// The end.
    Quit,
    /// Change the default database.
    InitDb(&'a [u8]),
    /// Statements as text; with QUERY_ATTRIBUTES the attributes stand in front.
    Query(&'a [u8]),
    /// The columns of a table.
    FieldList {
        /// Table.
        table: &'a [u8],
        /// Pattern of LIKE for columns; may be empty.
        wildcard: &'a [u8],
    },
    /// A line for people.
    Statistics,
    /// End another connection.
    ProcessKill {
        /// Its CONNECTION_ID(), low four bytes.
        connection_id: u32,
    },
    /// Are you there?
    Ping,
    /// COM_CHANGE_USER: log in as another account; read the rest with [`crate::handshake::ChangeUser`].
    ChangeUser(&'a [u8]),
    /// Prepare a statement.
    Prepare(&'a [u8]),
    /// Execute a prepared statement.
    Execute {
        /// Its number.
        statement_id: u32,
        /// Cursor type, and whether the parameter count is sent.
        flags: u8,
        /// Always 1.
        iteration_count: u32,
        /// The rest; see [`crate::parameter`].
        parameters: &'a [u8],
    },
    /// A piece of a parameter's value.
    SendLongData {
        /// Statement's number.
        statement_id: u32,
        /// Parameter's index.
        parameter: u16,
        /// The piece.
        data: &'a [u8],
    },
    /// Forget a prepared statement.
    CloseStatement {
        /// Its number.
        statement_id: u32,
    },
    /// Forget long data and cursor of a prepared statement.
    ResetStatement {
        /// Its number.
        statement_id: u32,
    },
    /// Switch several statements per query on (0) or off (1).
    SetOption {
        /// 0 or 1.
        option: u16,
    },
    /// More rows of a cursor.
    Fetch {
        /// Statement's number.
        statement_id: u32,
        /// How many.
        row_count: u32,
    },
    /// Start the session again.
    ResetConnection,
    /// Any other command byte, with what follows it.
    Other {
        /// Command byte.
        command: u8,
        /// The rest.
        payload: &'a [u8],
    },
}

impl<'a> Command<'a> {
    /// Reads the payload.
    ///
    /// # Errors
    /// If it is empty or cut.
    #[inline]
    pub fn decode(payload: &'a [u8]) -> Result<Command<'a>, Malformed> {
        let mut reader = Reader::new(payload);
        Ok(match reader.u8()? {
            byte::QUIT => Command::Quit,
            byte::INIT_DB => Command::InitDb(reader.take_rest()),
            byte::QUERY => Command::Query(reader.take_rest()),
            byte::FIELD_LIST => {
                let table = reader.nul_bytes()?;
                Command::FieldList { table, wildcard: reader.take_rest() }
            }
            byte::STATISTICS => Command::Statistics,
            byte::PROCESS_KILL => Command::ProcessKill { connection_id: reader.u32()? },
            byte::PING => Command::Ping,
            byte::CHANGE_USER => Command::ChangeUser(reader.take_rest()),
            byte::STMT_PREPARE => Command::Prepare(reader.take_rest()),
            byte::STMT_EXECUTE => Command::Execute {
                statement_id: reader.u32()?,
                flags: reader.u8()?,
                iteration_count: reader.u32()?,
                parameters: reader.take_rest(),
            },
            byte::STMT_SEND_LONG_DATA => Command::SendLongData {
                statement_id: reader.u32()?,
                parameter: reader.u16()?,
                data: reader.take_rest(),
            },
            byte::STMT_CLOSE => Command::CloseStatement { statement_id: reader.u32()? },
            byte::STMT_RESET => Command::ResetStatement { statement_id: reader.u32()? },
            byte::SET_OPTION => Command::SetOption { option: reader.u16()? },
            byte::STMT_FETCH => Command::Fetch { statement_id: reader.u32()?, row_count: reader.u32()? },
            byte::RESET_CONNECTION => Command::ResetConnection,
            0 => return malformed("COM_SLEEP"),
            command => Command::Other { command, payload: reader.take_rest() },
        })
    }

    /// Appends the payload, as a client sends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut text = |command: u8, rest: &[u8]| {
            out.push(command);
            out.extend_from_slice(rest);
        };
        match *self {
            Command::Quit => text(byte::QUIT, b""),
            Command::InitDb(name) => text(byte::INIT_DB, name),
            Command::Query(sql) => text(byte::QUERY, sql),
            Command::FieldList { table, wildcard } => {
                out.push(byte::FIELD_LIST);
                put_nul_bytes(out, table);
                out.extend_from_slice(wildcard);
            }
            Command::Statistics => text(byte::STATISTICS, b""),
            Command::ProcessKill { connection_id } => text(byte::PROCESS_KILL, &connection_id.to_le_bytes()),
            Command::Ping => text(byte::PING, b""),
            Command::ChangeUser(rest) => text(byte::CHANGE_USER, rest),
            Command::Prepare(sql) => text(byte::STMT_PREPARE, sql),
            Command::Execute { statement_id, flags, iteration_count, parameters } => {
                text(byte::STMT_EXECUTE, &statement_id.to_le_bytes());
                out.push(flags);
                out.extend_from_slice(&iteration_count.to_le_bytes());
                out.extend_from_slice(parameters);
            }
            Command::SendLongData { statement_id, parameter, data } => {
                text(byte::STMT_SEND_LONG_DATA, &statement_id.to_le_bytes());
                out.extend_from_slice(&parameter.to_le_bytes());
                out.extend_from_slice(data);
            }
            Command::CloseStatement { statement_id } => text(byte::STMT_CLOSE, &statement_id.to_le_bytes()),
            Command::ResetStatement { statement_id } => text(byte::STMT_RESET, &statement_id.to_le_bytes()),
            Command::SetOption { option } => text(byte::SET_OPTION, &option.to_le_bytes()),
            Command::Fetch { statement_id, row_count } => {
                text(byte::STMT_FETCH, &statement_id.to_le_bytes());
                out.extend_from_slice(&row_count.to_le_bytes());
            }
            Command::ResetConnection => text(byte::RESET_CONNECTION, b""),
            Command::Other { command, payload } => text(command, payload),
        }
    }
}
