//! From a greeting to a session: what both sides can do, TLS, and the proof of a password.

use rsa::pkcs8::DecodePublicKey;
use rsa::rand_core;
use wire::auth;
use wire::handshake::{
    AuthStep, CHALLENGE_BYTES, ChangeUser, Greeting, HandshakeResponse, encode_ssl_request,
};
use wire::message::{ReceivedError, ReceivedOk};
use wire::{Capabilities, StatusFlags};

use crate::error::Error;
use crate::options::{Address, Options, Tls};
use crate::stream::Stream;
use crate::transport::Transport;

/// Packets that the server may send before it decides: a server that never does is no server.
const STEPS_MAX: usize = 16;
/// Packets a client can take, as it says at login.
const PACKET_BYTES_TOLD: u32 = 1 << 30;

const NATIVE: &[u8] = b"mysql_native_password";
const SHA2: &[u8] = b"caching_sha2_password";
const CLEAR: &[u8] = b"mysql_clear_password";

/// Who the server is, and what was agreed.
#[derive(Clone, Debug)]
pub(crate) struct Agreement {
    pub(crate) server_version: String,
    pub(crate) connection_id: u32,
    pub(crate) capabilities: Capabilities,
    pub(crate) status: StatusFlags,
    challenge: [u8; CHALLENGE_BYTES],
    get_server_public_key: bool,
}

fn wanted(options: &Options) -> Capabilities {
    (Capabilities::LONG_PASSWORD
        | Capabilities::LONG_FLAG
        | Capabilities::PROTOCOL_41
        | Capabilities::TRANSACTIONS
        | Capabilities::SECURE_CONNECTION
        | Capabilities::MULTI_RESULTS
        | Capabilities::PS_MULTI_RESULTS
        | Capabilities::PLUGIN_AUTH
        | Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA)
        .set(Capabilities::MULTI_STATEMENTS, options.multi_statements)
        .set(Capabilities::FOUND_ROWS, options.found_rows)
        .set(Capabilities::LOCAL_FILES, options.local_files)
        .set(Capabilities::SESSION_TRACK, options.session_track)
        .set(Capabilities::QUERY_ATTRIBUTES, options.query_attributes)
        .set(Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS, options.changes_expired_password)
        .set(Capabilities::DEPRECATE_EOF, options.deprecate_eof)
        .set(Capabilities::COMPRESS, options.compress)
        .set(Capabilities::SSL, !matches!(options.tls, Tls::Off))
        .set(Capabilities::CONNECT_ATTRS, !options.attributes.is_empty())
        .set(Capabilities::CONNECT_WITH_DB, options.database.is_some())
}

/// Answers a plugin's challenge; `None` if the plugin is not known or may not be used over this stream.
fn respond(
    plugin: &[u8],
    password: &[u8],
    challenge: &[u8; CHALLENGE_BYTES],
    is_secure: bool,
) -> Option<Vec<u8>> {
    match plugin {
        NATIVE => Some(auth::native_response(password, challenge)),
        SHA2 => Some(auth::sha2_response(password, challenge)),
        CLEAR if is_secure => Some([password, &[0]].concat()),
        _ => None,
    }
}

/// Logs in over `transport`, on which nothing was read yet.
pub(crate) fn login(transport: &mut Transport, options: &Options) -> Result<Agreement, Error> {
    let packet = transport.receive()?;
    let payload = transport.payload(&packet);
    if let Ok(error) = ReceivedError::decode(payload) {
        return Err(error.into());
    }
    let greeting = Greeting::decode(payload)?;
    let capabilities = wanted(options) & greeting.capabilities;
    if !capabilities.has(Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION) {
        return Err(Error::Option("the server speaks only the protocol before 4.1".into()));
    }
    let mut agreement = Agreement {
        server_version: String::from_utf8_lossy(greeting.server_version).into_owned(),
        connection_id: greeting.connection_id,
        capabilities,
        status: greeting.status,
        challenge: greeting.challenge,
        get_server_public_key: options.get_server_public_key,
    };
    // A plugin we do not know is answered as the plugin that we prefer; the server then asks to switch.
    let plugin =
        if [NATIVE, SHA2].contains(&greeting.auth_plugin) { greeting.auth_plugin } else { SHA2 }.to_vec();
    transport.begin_reply();
    if let Tls::Preferred(config) | Tls::Required(config) = &options.tls {
        if capabilities.has(Capabilities::SSL) {
            if transport.has_unread() {
                return Err(Error::Protocol("bytes between greeting and TLS"));
            }
            let request = transport.output.begin();
            encode_ssl_request(capabilities, PACKET_BYTES_TOLD, options.collation.into(), request);
            transport.output.end();
            transport.send()?;
            let name = match (&options.tls_name, &options.address) {
                (Some(name), _) => name,
                (None, Address::Tcp { host, .. }) => host,
                (None, Address::Unix(_)) => "localhost",
            };
            let plain = std::mem::replace(&mut transport.stream, Stream::None);
            transport.stream = plain.with_tls(config, name)?;
        } else if matches!(options.tls, Tls::Required(_)) {
            return Err(Error::Option("TLS is required, but the server does not offer it".into()));
        }
    }
    let is_secure = transport.stream.is_secure();
    let response = respond(&plugin, &options.password, &agreement.challenge, is_secure).unwrap_or_default();
    HandshakeResponse {
        capabilities,
        packet_bytes_max: PACKET_BYTES_TOLD,
        collation: options.collation.into(),
        user: options.user.as_bytes(),
        auth_response: &response,
        database: options.database.as_deref().map(str::as_bytes),
        auth_plugin: Some(&plugin),
        attributes: options
            .attributes
            .iter()
            .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
            .collect(),
    }
    .encode(transport.output.begin());
    transport.output.end();
    transport.send()?;
    prove(transport, &mut agreement, &options.password)?;
    if capabilities.has(Capabilities::COMPRESS) {
        if transport.has_unread() {
            return Err(Error::Protocol("bytes between login and compression"));
        }
        transport.compress();
    }
    Ok(agreement)
}

/// Logs in as another account; COM_CHANGE_USER is the first packet of its command.
pub(crate) fn change_user(
    transport: &mut Transport,
    agreement: &mut Agreement,
    user: &str,
    password: &[u8],
    database: Option<&str>,
    collation: u8,
) -> Result<(), Error> {
    let is_secure = transport.stream.is_secure();
    let response = respond(SHA2, password, &agreement.challenge, is_secure).unwrap_or_default();
    let out = transport.output.begin();
    out.push(wire::command::byte::CHANGE_USER);
    ChangeUser {
        user: user.as_bytes(),
        auth_response: &response,
        database: database.map(str::as_bytes),
        collation: Some(collation.into()),
        auth_plugin: Some(SHA2),
        attributes: Vec::new(),
    }
    .encode(agreement.capabilities, out);
    transport.output.end();
    transport.send()?;
    prove(transport, agreement, password)
}

/// Answers the server until it lets us in or not.
fn prove(transport: &mut Transport, agreement: &mut Agreement, password: &[u8]) -> Result<(), Error> {
    let is_secure = transport.stream.is_secure();
    for _ in 0..STEPS_MAX {
        let packet = transport.receive()?;
        let reply = match AuthStep::decode(transport.payload(&packet))? {
            AuthStep::Switch { plugin, challenge } => {
                if plugin == CLEAR && !is_secure {
                    return Err(Error::Option("the server wants the password in the clear; refused".into()));
                }
                agreement.challenge = match challenge.try_into() {
                    Ok(challenge) => challenge,
                    Err(_) if plugin == CLEAR => agreement.challenge,
                    Err(_) => return Err(Error::Protocol("challenge")),
                };
                respond(plugin, password, &agreement.challenge, is_secure).ok_or_else(|| {
                    let name = String::from_utf8_lossy(plugin);
                    Error::Option(format!("authentication plugin '{name}' is not known"))
                })?
            }
            AuthStep::More([auth::SHA2_FAST_AUTH_SUCCESS]) => continue,
            AuthStep::More([auth::SHA2_FULL_AUTH]) if is_secure => [password, &[0]].concat(),
            AuthStep::More([auth::SHA2_FULL_AUTH]) if agreement.get_server_public_key => {
                vec![auth::SHA2_REQUEST_PUBLIC_KEY]
            }
            AuthStep::More([auth::SHA2_FULL_AUTH]) => {
                return Err(Error::Option(
                    "the password needs TLS, a Unix socket or the server's public key".into(),
                ));
            }
            AuthStep::More(pem) => encrypt(pem, password, &agreement.challenge)?,
            AuthStep::End(payload) => {
                if let Ok(error) = ReceivedError::decode(payload) {
                    return Err(error.into());
                }
                if payload.first() != Some(&wire::message::OK_HEADER) {
                    return Err(Error::Protocol("answer to a login"));
                }
                agreement.status = ReceivedOk::decode(payload, agreement.capabilities)?.status;
                return Ok(());
            }
        };
        transport.begin_reply();
        transport.output.put(&reply);
        transport.send()?;
    }
    Err(Error::Protocol("endless authentication"))
}

fn encrypt(pem: &[u8], password: &[u8], challenge: &[u8; CHALLENGE_BYTES]) -> Result<Vec<u8>, Error> {
    let key = std::str::from_utf8(pem).ok().and_then(|pem| rsa::RsaPublicKey::from_public_key_pem(pem).ok());
    let key = key.ok_or(Error::Protocol("public key"))?;
    let mut hidden = [password, &[0]].concat();
    auth::xor_with_challenge(&mut hidden, challenge);
    key.encrypt(&mut Random, rsa::Oaep::new::<sha1::Sha1>(), &hidden)
        .map_err(|_| Error::Option("the password does not fit the server's public key".into()))
}

/// The kernel's randomness.
struct Random;

impl rand_core::RngCore for Random {
    fn next_u32(&mut self) -> u32 {
        rand_core::impls::next_u32_via_fill(self)
    }
    fn next_u64(&mut self) -> u64 {
        rand_core::impls::next_u64_via_fill(self)
    }
    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("the kernel gives random bytes");
    }
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), rand_core::Error> {
        self.fill_bytes(bytes);
        Ok(())
    }
}

impl rand_core::CryptoRng for Random {}
