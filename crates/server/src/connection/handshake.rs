//! From the greeting to the first command: TLS, the client's identity, its session; and the same again for
//! COM_CHANGE_USER.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use service::error::ER_CON_COUNT_ERROR;
use service::{
    Account, Capabilities, ChangeUserRequest, ConnectRequest, ConnectionEvent, RowFormat, Session, SqlError,
    TlsDetails,
};
use wire::handshake::{ChangeUser, FirstPacket, HandshakeResponse};
use wire::{OkPacket, message};

use super::{Connection, End, GREETING_COLLATION, Leaving, Pending, Phase, Scratch, broken_session};
use crate::Shared;
use crate::authenticate::{Exchange, Step, bad_handshake, insecure};

#[derive(Debug)]
pub(super) struct SessionStart {
    database: Option<Vec<u8>>,
    attributes: Vec<(Vec<u8>, Vec<u8>)>,
    collation: Option<u16>,
}

fn owned(pairs: &[wire::handshake::NameValue<'_>]) -> Vec<(Vec<u8>, Vec<u8>)> {
    pairs.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect()
}
impl Connection {
    fn refuse_handshake(
        &mut self,
        error: &SqlError,
        scratch: &mut Scratch,
        shared: &Shared,
    ) -> Result<(), End> {
        shared.service.note(ConnectionEvent::AbortedConnect);
        self.put_error(error, scratch);
        self.closing = true;
        self.flush(scratch)
    }

    pub(super) fn first_packet(
        &mut self,
        payload: &[u8],
        rest: &[u8],
        scratch: &mut Scratch,
        shared: &Shared,
    ) -> Result<(), End> {
        match FirstPacket::decode(payload) {
            Ok(FirstPacket::SslRequest { .. }) if self.io.tls().is_none() => {
                let Some(config) = &shared.tls else {
                    return self.refuse_handshake(&bad_handshake(), scratch, shared);
                };
                let Ok(tls) = rustls::ServerConnection::new(Arc::clone(config)) else {
                    return Err(End::Aborted);
                };
                self.phase = Phase::Greeted;
                self.next_handshake_sequence = 2;
                self.io.start_tls(tls, rest)?;
                Ok(())
            }
            Ok(FirstPacket::Response(response)) => self.handshake_response(&response, scratch, shared),
            Ok(FirstPacket::SslRequest { .. }) | Err(_) => {
                // The client's capabilities are unknown, so the error goes without SQLSTATE.
                shared.service.note(ConnectionEvent::AbortedConnect);
                let error = bad_handshake();
                self.borrow_output(scratch);
                message::encode_error(error.number, None, error.message.as_bytes(), self.output.begin());
                self.output.end();
                self.closing = true;
                self.flush(scratch)
            }
        }
    }

    fn handshake_response(
        &mut self,
        response: &HandshakeResponse<'_>,
        scratch: &mut Scratch,
        shared: &Shared,
    ) -> Result<(), End> {
        self.capabilities = self.capabilities & response.capabilities;
        if shared.service.limits().require_secure_transport && !self.io.transport().is_secure() {
            return self.refuse_handshake(&insecure(), scratch, shared);
        }
        let start = SessionStart {
            database: response.database.map(<[u8]>::to_vec),
            attributes: owned(&response.attributes),
            collation: Some(response.collation),
        };
        self.borrow_output(scratch);
        let (exchange, step) =
            self.begin_exchange(response.user, response.auth_plugin, response.auth_response, shared);
        self.connecting(Box::new(exchange), Box::new(start), step, scratch, shared)
    }

    /// The step that an exchange takes now; `None` if the connection waits before, for the check of a password or for the end of a
    /// delay.
    fn next_step(&mut self, exchange: &Exchange, step: Step, shared: &Shared) -> Option<Step> {
        let pending = match step {
            Step::Continue => return Some(step),
            Step::Check(question) => {
                Pending::Check(shared.checks.ask(&exchange.host.name, question, &self.location))
            }
            Step::Done(_) | Step::Denied(_) => {
                let (user, host) = exchange.counted_as();
                let has_failed = matches!(step, Step::Denied(_));
                let limits = shared.service.limits();
                let Some(delay) = shared.failed_logins.note(user, host, has_failed, &limits) else {
                    return Some(step);
                };
                shared.service.note(ConnectionEvent::LoginDelayed);
                Pending::Delay { until: self.active + delay, step }
            }
        };
        self.pending = Some(Box::new(pending));
        None
    }

    /// Goes on with a login that waited, if it need not wait any longer.
    pub(super) fn resume_login(&mut self, scratch: &mut Scratch, shared: &Shared) -> Result<(), End> {
        let Some(pending) = self.pending.take_if(|pending| pending.is_due(self.active)) else {
            return Ok(());
        };
        let phase = std::mem::replace(&mut self.phase, Phase::Commands);
        let (mut exchange, start, is_change) = match phase {
            Phase::Connecting { exchange, start } => (exchange, start, false),
            Phase::ChangingUser { exchange, start } => (exchange, start, true),
            Phase::Greeted | Phase::Commands => return Err(End::Aborted),
        };
        self.borrow_output(scratch);
        let step = match *pending {
            Pending::Check(check) => {
                let Some(found) = check.take() else { return Err(End::Aborted) };
                let step = exchange.found(&shared.authority, found, &mut self.output);
                self.next_step(&exchange, step, shared)
            }
            Pending::Delay { step, .. } => Some(step),
        };
        self.take_step(exchange, start, step, is_change, scratch, shared)
    }

    /// Takes a step of an exchange, or keeps the exchange while the connection waits.
    fn take_step(
        &mut self,
        exchange: Box<Exchange>,
        start: Box<SessionStart>,
        step: Option<Step>,
        is_change: bool,
        scratch: &mut Scratch,
        shared: &Shared,
    ) -> Result<(), End> {
        match step {
            Some(step) if is_change => self.change_by(exchange, start, step, scratch, shared),
            Some(step) => self.connect_by(exchange, start, step, scratch, shared),
            None => {
                self.phase = if is_change {
                    Phase::ChangingUser { exchange, start }
                } else {
                    Phase::Connecting { exchange, start }
                };
                if self.output.is_empty() {
                    self.keep_output(scratch);
                    return Ok(());
                }
                self.flush(scratch)
            }
        }
    }

    pub(super) fn connecting(
        &mut self,
        exchange: Box<Exchange>,
        start: Box<SessionStart>,
        step: Step,
        scratch: &mut Scratch,
        shared: &Shared,
    ) -> Result<(), End> {
        let step = self.next_step(&exchange, step, shared);
        self.take_step(exchange, start, step, false, scratch, shared)
    }

    fn connect_by(
        &mut self,
        exchange: Box<Exchange>,
        start: Box<SessionStart>,
        step: Step,
        scratch: &mut Scratch,
        shared: &Shared,
    ) -> Result<(), End> {
        let connected = match step {
            Step::Check(_) | Step::Continue => {
                self.next_handshake_sequence = self.output.sequence();
                self.phase = Phase::Connecting { exchange, start };
                return self.flush(scratch);
            }
            Step::Denied(error) => {
                shared.service.login_denied(&self.control, &error);
                Err(error)
            }
            Step::Done(account) if shared.handover.is_some() => {
                return match self.take_place(&account, shared) {
                    Ok(()) => {
                        let SessionStart { database, collation, .. } = *start;
                        let sequence = self.output.sequence();
                        self.leaving = Some(Box::new(Leaving {
                            account: *account,
                            user: exchange.user,
                            database,
                            collation: collation.unwrap_or(u16::from(GREETING_COLLATION)),
                            sequence,
                        }));
                        self.flush(scratch)
                    }
                    Err(error) => self.refuse_handshake(&error, scratch, shared),
                };
            }
            Step::Done(account) => self.start_session(*account, exchange.user, *start, shared),
        };
        match connected {
            Ok(session) => {
                let ok = OkPacket { status: session.status(), ..OkPacket::default() };
                self.session = Some(session);
                ok.encode(message::OK_HEADER, self.capabilities, self.output.begin());
                self.output.end();
                self.flush(scratch)?;
                if self.capabilities.has(Capabilities::COMPRESS) {
                    self.io.start_zlib();
                }
                Ok(())
            }
            Err(error) => self.refuse_handshake(&error, scratch, shared),
        }
    }

    /// Takes one of the `max_connections`, or the one more for an administrator.
    fn take_place(&mut self, account: &Account, shared: &Shared) -> Result<(), Box<SqlError>> {
        if !shared.take_place(account.connection_admin) {
            shared.service.note(ConnectionEvent::RefusedTooMany);
            return Err(ER_CON_COUNT_ERROR.bare());
        }
        self.has_place = true;
        shared.unauthenticated.remove(self.control.connection_id);
        Ok(())
    }

    fn start_session(
        &mut self,
        account: Account,
        user: String,
        start: SessionStart,
        shared: &Shared,
    ) -> Result<Box<dyn Session>, Box<SqlError>> {
        self.take_place(&account, shared)?;
        let tls = self.io.tls().map(|tls| TlsDetails {
            version: match tls.protocol_version() {
                Some(rustls::ProtocolVersion::TLSv1_2) => "TLSv1.2",
                _ => "TLSv1.3",
            },
            cipher: tls
                .negotiated_cipher_suite()
                .map(|suite| format!("{:?}", suite.suite()).replace("TLS13_", "TLS_"))
                .unwrap_or_default(),
        });
        let request = ConnectRequest {
            control: Arc::clone(&self.control),
            account,
            user,
            host: self.host.clone(),
            database: start.database,
            attributes: start.attributes,
            capabilities: self.capabilities,
            collation: start.collation.unwrap_or(u16::from(GREETING_COLLATION)),
            transport: self.io.transport(),
            tls,
        };
        let service = &shared.service;
        catch_unwind(AssertUnwindSafe(|| service.connect(request))).unwrap_or_else(|_| Err(broken_session()))
    }

    pub(super) fn changing_user(
        &mut self,
        exchange: Box<Exchange>,
        start: Box<SessionStart>,
        step: Step,
        scratch: &mut Scratch,
        shared: &Shared,
    ) -> Result<(), End> {
        let step = self.next_step(&exchange, step, shared);
        self.take_step(exchange, start, step, true, scratch, shared)
    }

    fn change_by(
        &mut self,
        exchange: Box<Exchange>,
        start: Box<SessionStart>,
        step: Step,
        scratch: &mut Scratch,
        shared: &Shared,
    ) -> Result<(), End> {
        match step {
            Step::Check(_) | Step::Continue => {
                self.next_handshake_sequence = self.output.sequence();
                self.phase = Phase::ChangingUser { exchange, start };
                self.flush(scratch)
            }
            Step::Denied(error) => {
                shared.service.login_denied(&self.control, &error);
                self.put_error(&error, scratch);
                self.closing = true;
                self.flush(scratch)
            }
            Step::Done(account) => {
                let start = *start;
                let request = ChangeUserRequest {
                    account: *account,
                    user: exchange.user,
                    database: start.database,
                    attributes: start.attributes,
                    collation: start.collation,
                };
                let mut has_failed = false;
                let answered = self.answer(RowFormat::Text, scratch, shared, |session, reply| {
                    session.change_user(request, reply).inspect_err(|_| has_failed = true)
                });
                // Who the client is now is not what it asked for.
                self.closing |= has_failed;
                answered
            }
        }
    }

    /// Begins to authenticate whoever logs in, or a user that a session changes to; the output is borrowed already.
    fn begin_exchange(
        &mut self,
        user: &[u8],
        plugin: Option<&[u8]>,
        response: &[u8],
        shared: &Shared,
    ) -> (Exchange, Step) {
        Exchange::begin(
            &shared.authority,
            String::from_utf8_lossy(user).into_owned(),
            self.host.clone(),
            self.io.transport(),
            self.capabilities,
            self.challenge,
            plugin,
            response,
            &mut self.output,
        )
    }

    pub(super) fn change_user(
        &mut self,
        change: &ChangeUser<'_>,
        scratch: &mut Scratch,
        shared: &Shared,
    ) -> Result<(), End> {
        let start = SessionStart {
            database: change.database.map(<[u8]>::to_vec),
            attributes: owned(&change.attributes),
            collation: change.collation,
        };
        self.borrow_output(scratch);
        let (exchange, step) =
            self.begin_exchange(change.user, change.auth_plugin, change.auth_response, shared);
        self.changing_user(Box::new(exchange), Box::new(start), step, scratch, shared)
    }
}
