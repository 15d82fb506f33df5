//! How a client proves who it is: the exchange after its handshake response or COM_CHANGE_USER, without sockets.
//!
//! ```text
//! response made for the account's plugin?  no: auth switch request, and again with the answer
//! mysql_native_password                    one answer is enough
//! caching_sha2_password                    remembered and right: 3, OK
//!                                          else 4, and the password itself: in the clear over TLS or a Unix socket,
//!                                          under our RSA key elsewhere
//! ```
//!
//! A password is checked beside the worker groups ([`crate::password_checks`]).
//!
//! Somebody unknown goes through the same steps as somebody known and is refused at their end, so that names cannot be
//! guessed from the conversation.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use service::error::{
    ER_ACCESS_DENIED_ERROR, ER_ACCOUNT_HAS_BEEN_LOCKED, ER_HANDSHAKE_ERROR, ER_INTERNAL_ERROR,
    ER_MUST_CHANGE_PASSWORD_LOGIN, ER_NOT_SUPPORTED_AUTH_MODE, ER_SECURE_TRANSPORT_REQUIRED,
};
use service::{Account, AuthPlugin, Capabilities, ClientHost, PasswordExpiry, Service, SqlError, Transport};
use wire::auth;
use wire::handshake::{CHALLENGE_BYTES, encode_auth_more, encode_auth_switch};
use wire::packet::PacketBuffer;

use crate::password_checks::{Found, Question};
use crate::secrets::random_bytes;

/// Passwords that were right, by account, with what was stored then: a changed password is a miss. At most two of an account.
#[derive(Debug, Default)]
pub(crate) struct PasswordCache {
    entries: RwLock<HashMap<(String, String), Vec<CachedPassword>>>,
}

#[derive(Clone, Debug)]
struct CachedPassword {
    stored: Vec<u8>,
    remembered: [u8; 32],
}

impl PasswordCache {
    /// Whether the response is made of a password of the account that was right before.
    fn is_right(&self, account: &Account, response: &[u8], challenge: &[u8; CHALLENGE_BYTES]) -> bool {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let cached = entries.get(&(account.user.clone(), account.host.clone()));
        cached.into_iter().flatten().any(|cached| {
            stored_of(account).any(|stored| *stored == cached.stored)
                && auth::sha2_verify_fast(&cached.remembered, response, challenge)
        })
    }

    fn put(&self, account: &Account, stored: Vec<u8>, remembered: [u8; 32]) {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        let cached = entries.entry((account.user.clone(), account.host.clone())).or_default();
        cached.retain(|cached| {
            cached.stored != stored && stored_of(account).any(|stored| *stored == cached.stored)
        });
        cached.push(CachedPassword { stored, remembered });
    }
}

/// What is stored of the account's passwords, of which the second may be missing.
fn stored_of(account: &Account) -> impl Iterator<Item = &Vec<u8>> {
    let second = Some(&account.second_stored).filter(|second| !second.is_empty());
    std::iter::once(&account.stored).chain(second)
}

/// What checking needs from the server.
#[derive(Clone)]
pub(crate) struct Authority {
    pub(crate) service: Arc<dyn Service>,
    pub(crate) passwords: Arc<PasswordCache>,
}

/// Random bytes for a greeting or an auth switch: 7-bit, and neither zero nor `$`, as clients treat them as text.
pub(crate) fn new_challenge() -> [u8; CHALLENGE_BYTES] {
    let mut challenge = [0; CHALLENGE_BYTES];
    random_bytes(&mut challenge);
    for byte in &mut challenge {
        *byte &= 0x7f;
        if matches!(*byte, 0 | b'$') {
            *byte += 1;
        }
    }
    challenge
}

/// An empty password is sent as nothing or as a lone zero byte.
fn without_lone_zero(response: &[u8]) -> &[u8] {
    if response == [0] { &[] } else { response }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stage {
    /// The next packet is a response to the challenge.
    Response,
    /// The next packet is the password, or a request for the public key.
    Password { key_sent: bool },
}

/// Where an exchange stands after a packet.
#[derive(Debug)]
pub(crate) enum Step {
    /// Packets were written; the client answers.
    Continue,
    /// To be asked of those who check passwords; [`Exchange::found`] takes the answer.
    Check(Question),
    /// The client is who it says.
    Done(Box<Account>),
    /// It is not, or may not.
    Denied(Box<SqlError>),
}

/// One client proving itself.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) user: String,
    pub(crate) host: ClientHost,
    transport: Transport,
    challenge: [u8; CHALLENGE_BYTES],
    plugin: AuthPlugin,
    account: Option<Account>,
    /// The client can change an expired password.
    handles_expired: bool,
    /// User and host of the account; of somebody unknown the host alone.
    counted: (String, String),
    stage: Stage,
    used_password: bool,
}

impl Exchange {
    /// Starts with the response that came with the user name, made by `client_plugin` for `challenge`.
    #[allow(
        clippy::too_many_arguments,
        reason = "each is one field of the client's packet or of its connection"
    )]
    pub(crate) fn begin(
        authority: &Authority,
        user: String,
        host: ClientHost,
        transport: Transport,
        capabilities: Capabilities,
        challenge: [u8; CHALLENGE_BYTES],
        client_plugin: Option<&[u8]>,
        response: &[u8],
        output: &mut PacketBuffer,
    ) -> (Exchange, Step) {
        let response = without_lone_zero(response);
        let account = authority.service.find_account(&user, &host);
        let plugin =
            account.as_ref().map_or(authority.service.default_auth_plugin(), |account| account.plugin);
        let mut exchange = Exchange {
            counted: match &account {
                Some(account) => (account.user.clone(), account.host.clone()),
                None => (String::new(), host.name.clone()),
            },
            user,
            host,
            transport,
            challenge,
            plugin,
            account,
            handles_expired: capabilities.has(Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS),
            stage: Stage::Response,
            used_password: !response.is_empty(),
        };
        let made_for = if capabilities.has(Capabilities::PLUGIN_AUTH) {
            client_plugin.unwrap_or(b"mysql_native_password")
        } else {
            b"mysql_native_password"
        };
        let step = if made_for == plugin.name().as_bytes() {
            exchange.response(authority, response, output)
        } else if capabilities.has(Capabilities::PLUGIN_AUTH) {
            exchange.challenge = new_challenge();
            encode_auth_switch(plugin.name().as_bytes(), &exchange.challenge, output.begin());
            output.end();
            Step::Continue
        } else {
            Step::Denied(ER_NOT_SUPPORTED_AUTH_MODE.bare())
        };
        (exchange, step)
    }

    /// Takes the client's next packet.
    pub(crate) fn packet(
        &mut self,
        authority: &Authority,
        payload: &[u8],
        output: &mut PacketBuffer,
    ) -> Step {
        match self.stage {
            Stage::Response => {
                let response = without_lone_zero(payload);
                self.used_password = !response.is_empty();
                self.response(authority, response, output)
            }
            Stage::Password { key_sent } => self.password(payload, key_sent),
        }
    }

    fn response(&mut self, authority: &Authority, response: &[u8], output: &mut PacketBuffer) -> Step {
        match self.plugin {
            AuthPlugin::Native => match &self.account {
                Some(account)
                    if stored_of(account)
                        .any(|stored| auth::native_verify(stored, response, &self.challenge)) =>
                {
                    self.admit(authority)
                }
                _ => self.deny(authority),
            },
            AuthPlugin::CachingSha2 => {
                if response.is_empty() {
                    return match &self.account {
                        Some(account) if account.stored.is_empty() => self.admit(authority),
                        _ => self.deny(authority),
                    };
                }
                if let Some(account) = &self.account
                    && authority.passwords.is_right(account, response, &self.challenge)
                {
                    encode_auth_more(&[auth::SHA2_FAST_AUTH_SUCCESS], output.begin());
                    output.end();
                    return self.admit(authority);
                }
                encode_auth_more(&[auth::SHA2_FULL_AUTH], output.begin());
                output.end();
                self.stage = Stage::Password { key_sent: false };
                Step::Continue
            }
        }
    }

    fn password(&mut self, payload: &[u8], key_sent: bool) -> Step {
        let is_secure = self.transport.is_secure();
        if !is_secure && payload == [auth::SHA2_REQUEST_PUBLIC_KEY] && !key_sent {
            return Step::Check(Question::PublicKey);
        }
        Step::Check(Question::Password {
            stored: self.account.iter().flat_map(stored_of).cloned().collect(),
            sent: payload.to_vec(),
            is_encrypted: !is_secure,
            challenge: self.challenge,
        })
    }

    /// Takes the answer to [`Step::Check`].
    pub(crate) fn found(&mut self, authority: &Authority, found: Found, output: &mut PacketBuffer) -> Step {
        match found {
            Found::PublicKey(pem) => {
                encode_auth_more(pem.as_bytes(), output.begin());
                output.end();
                self.stage = Stage::Password { key_sent: true };
                Step::Continue
            }
            Found::Right { stored, remembered } => {
                if let Some(account) = &self.account {
                    authority.passwords.put(account, stored, remembered);
                }
                self.admit(authority)
            }
            Found::Wrong => self.deny(authority),
            Found::Failed(error) => Step::Denied(ER_INTERNAL_ERROR.with(&[&format!("RSA key: {error}")])),
        }
    }

    /// User and host by which failed logins are counted.
    pub(crate) fn counted_as(&self) -> (&str, &str) {
        (&self.counted.0, &self.counted.1)
    }

    /// The password was right; may the account come in this way?
    fn admit(&mut self, authority: &Authority) -> Step {
        let Some(account) = self.account.take() else { return self.refuse() };
        if let Err(blocked) = authority.service.login_attempt(&account, &self.user, &self.host, true) {
            return Step::Denied(blocked);
        }
        if account.require_tls && !self.transport.is_tls() {
            return self.refuse();
        }
        if account.locked {
            return Step::Denied(ER_ACCOUNT_HAS_BEEN_LOCKED.with(&[&self.user, &self.host.name]));
        }
        if !self.handles_expired && account.password == (PasswordExpiry::Expired { disconnects: true }) {
            return Step::Denied(ER_MUST_CHANGE_PASSWORD_LOGIN.bare());
        }
        Step::Done(Box::new(account))
    }

    /// The password was wrong, or there is no such account.
    fn deny(&self, authority: &Authority) -> Step {
        if let Some(account) = &self.account
            && let Err(blocked) = authority.service.login_attempt(account, &self.user, &self.host, false)
        {
            return Step::Denied(blocked);
        }
        self.refuse()
    }

    fn refuse(&self) -> Step {
        let used = if self.used_password { "YES" } else { "NO" };
        Step::Denied(ER_ACCESS_DENIED_ERROR.with(&[&self.user, &self.host.name, &used]))
    }
}

/// The error of a handshake packet that cannot be read.
pub(crate) fn bad_handshake() -> Box<SqlError> {
    ER_HANDSHAKE_ERROR.bare()
}

/// The error of a client without TLS where `require_secure_transport` is on.
pub(crate) fn insecure() -> Box<SqlError> {
    ER_SECURE_TRANSPORT_REQUIRED.bare()
}
