//! One command: decoded, given to the session, its answer sent or kept until the log is durable.

use std::panic::{AssertUnwindSafe, catch_unwind};

use service::error::{ER_MALFORMED_PACKET, ER_UNKNOWN_COM_ERROR};
use service::{
    Capabilities, CommandOutcome, ConnectionEvent, ExecuteRequest, Kill, Outcome, Reply, RowFormat, Session,
    SetOption, SqlError,
};
use wire::codec::Reader;
use wire::command::Command;
use wire::handshake::ChangeUser;
use wire::parameter;

use super::{Connection, End, Ran, Scratch, broken_session};
use crate::Shared;
use crate::link::SocketLink;

impl Connection {
    pub(super) fn command(
        &mut self,
        payload: &[u8],
        is_requeued: bool,
        scratch: &mut Scratch,
        shared: &Shared,
    ) -> Result<Ran, End> {
        if !is_requeued {
            self.control.start_statement(); // One that was requeued is still to hear of a KILL.
        }
        let command = match payload.first() {
            // An empty packet and COM_SLEEP are no commands.
            None | Some(0) => {
                return self.refuse_command(&ER_UNKNOWN_COM_ERROR.bare(), scratch);
            }
            Some(_) => Command::decode(payload),
        };
        let Ok(command) = command else {
            return self.refuse_command(&ER_MALFORMED_PACKET.bare(), scratch);
        };
        let capabilities = self.capabilities;
        let answered = match command {
            Command::Quit => Err(End::Orderly),
            Command::Query(text) => {
                return self.run_command(RowFormat::Text, is_requeued, scratch, shared, |session, reply| {
                    if capabilities.has(Capabilities::QUERY_ATTRIBUTES) {
                        let mut reader = Reader::new(text);
                        let Ok(attributes) = parameter::read_query_attributes(&mut reader) else {
                            return CommandOutcome::Failed(ER_MALFORMED_PACKET.bare());
                        };
                        if !attributes.is_empty() {
                            session.query_attributes(&attributes);
                        }
                        session.query(reader.rest(), reply)
                    } else {
                        session.query(text, reply)
                    }
                });
            }
            Command::Execute { statement_id, flags, iteration_count, parameters } => {
                let request = ExecuteRequest {
                    statement_id,
                    flags,
                    iteration_count,
                    parameters,
                    query_attributes: capabilities.has(Capabilities::QUERY_ATTRIBUTES),
                };
                return self.run_command(
                    RowFormat::Binary,
                    is_requeued,
                    scratch,
                    shared,
                    |session, reply| session.execute(request, reply),
                );
            }
            Command::Prepare(sql) => {
                self.answer(RowFormat::Text, scratch, shared, |session, reply| session.prepare(sql, reply))
            }
            Command::Fetch { statement_id, row_count } => {
                self.answer(RowFormat::Binary, scratch, shared, |session, reply| {
                    session.fetch(statement_id, row_count, reply)
                })
            }
            Command::CloseStatement { statement_id } => {
                self.tell(|session| session.close_statement(statement_id));
                Ok(())
            }
            Command::SendLongData { statement_id, parameter, data } => {
                self.tell(|session| session.send_long_data(statement_id, parameter, data));
                Ok(())
            }
            Command::ResetStatement { statement_id } => {
                self.answer(RowFormat::Text, scratch, shared, |session, reply| {
                    session.reset_statement(statement_id, reply)
                })
            }
            Command::InitDb(name) => {
                self.answer(RowFormat::Text, scratch, shared, |session, reply| session.init_db(name, reply))
            }
            Command::FieldList { table, wildcard } => {
                self.answer(RowFormat::Text, scratch, shared, |session, reply| {
                    session.field_list(table, wildcard, reply)
                })
            }
            Command::Statistics => {
                self.answer(RowFormat::Text, scratch, shared, |session, reply| session.statistics(reply))
            }
            Command::Ping => {
                self.answer(RowFormat::Text, scratch, shared, |session, reply| session.ping(reply))
            }
            Command::ProcessKill { connection_id } => {
                self.answer(RowFormat::Text, scratch, shared, |session, reply| {
                    session.process_kill(connection_id, reply)
                })
            }
            Command::ResetConnection => self
                .answer(RowFormat::Text, scratch, shared, |session, reply| session.reset_connection(reply)),
            Command::SetOption { option } => {
                self.answer(RowFormat::Text, scratch, shared, |session, reply| {
                    let option = match option {
                        0 => SetOption::MultiStatementsOn,
                        1 => SetOption::MultiStatementsOff,
                        _ => return Err(ER_UNKNOWN_COM_ERROR.bare()),
                    };
                    session.set_option(option, reply)
                })
            }
            Command::ChangeUser(body) => match ChangeUser::decode(body, capabilities) {
                Ok(change) => self.change_user(&change, scratch, shared),
                Err(_) => {
                    self.put_error(&ER_MALFORMED_PACKET.bare(), scratch);
                    self.closing = true;
                    self.flush(scratch)
                }
            },
            Command::Other { command, payload } => {
                self.answer(RowFormat::Text, scratch, shared, |session, reply| {
                    session.other(command, payload, reply)
                })
            }
        };
        answered.map(|()| Ran::Answered)
    }

    /// What the client sent is no command.
    #[cold]
    fn refuse_command(&mut self, error: &SqlError, scratch: &mut Scratch) -> Result<Ran, End> {
        self.put_error(error, scratch);
        self.flush(scratch)?;
        Ok(Ran::Answered)
    }

    /// A command that is never answered. A session that breaks in it is gone, and so is the connection at its next command.
    fn tell(&mut self, work: impl FnOnce(&mut dyn Session)) {
        let _charged = env::memory::begin_command();
        if let Some(session) = &mut self.session
            && catch_unwind(AssertUnwindSafe(|| work(session.as_mut()))).is_err()
        {
            let _ = catch_unwind(AssertUnwindSafe(|| session.recover())); // It is closed either way.
            self.closing = true;
        }
    }

    /// Lets the session answer a command, and sends what it answered or keeps it until the log is durable.
    pub(super) fn answer(
        &mut self,
        format: RowFormat,
        scratch: &mut Scratch,
        shared: &Shared,
        work: impl FnOnce(&mut dyn Session, &mut Reply<'_>) -> Outcome,
    ) -> Result<(), End> {
        self.run_command(format, false, scratch, shared, |session, reply| work(session, reply).into())?;
        Ok(())
    }

    /// The same for a command that the session may requeue: then nothing is sent.
    fn run_command(
        &mut self,
        format: RowFormat,
        is_requeued: bool,
        scratch: &mut Scratch,
        shared: &Shared,
        work: impl FnOnce(&mut dyn Session, &mut Reply<'_>) -> CommandOutcome,
    ) -> Result<Ran, End> {
        self.borrow_output(scratch);
        let Some(session) = self.session.as_deref_mut() else { return Err(End::Aborted) };
        let (received_bytes, sent_bytes) = self.io.take_traffic();
        session.note_traffic(received_bytes, sent_bytes);
        let mut link = SocketLink::new(&mut self.io, &self.control, shared);
        let mut reply =
            Reply::new(&mut self.output, &mut link, self.capabilities, format).of_requeued(is_requeued);
        let _charged = env::memory::begin_command();
        let outcome = catch_unwind(AssertUnwindSafe(|| work(session, &mut reply))).unwrap_or_else(|_| {
            // A session that cannot be put in order must not be used again.
            if catch_unwind(AssertUnwindSafe(|| session.recover())).is_err() {
                self.closing = true;
            }
            CommandOutcome::Failed(broken_session())
        });
        match outcome {
            CommandOutcome::Done(()) if reply.finished_count() == 0 => reply.error(&broken_session()),
            CommandOutcome::Done(()) => {}
            CommandOutcome::Requeue(within) => {
                // Nothing is answered: it is given to the session again when fewer wait.
                shared.service.note(ConnectionEvent::StatementRequeued);
                self.keep_output(scratch);
                return Ok(Ran::Requeued(within));
            }
            CommandOutcome::Failed(error) => {
                if reply.finish_local_file().is_ok() {
                    reply.error_with_text(&error, &session.error_text(&error));
                }
            }
        }
        let (position, is_cut) = (reply.position(), reply.is_cut());
        if link.is_broken() || is_cut {
            return Err(End::Aborted);
        }
        if self.control.kill_state() == Kill::Connection {
            self.closing = true;
        }
        if position > 0 && position > shared.service.durable_position() {
            self.wait_position = position;
            return Ok(Ran::Answered);
        }
        self.flush(scratch)?;
        Ok(Ran::Answered)
    }
}
