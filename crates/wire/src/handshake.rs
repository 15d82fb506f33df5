//! How a conversation starts: the server's greeting, the client's answer, and changes of mind about authentication.
//!
//! ```text
//! server  Greeting
//! client  [SSL request, then TLS]  HandshakeResponse
//! server  { auth switch request | more data | OK | ERR }      client  { authentication data }
//! ```
//!
//! Source: MySQL 9.7 manual of the client/server protocol, "Connection Phase".

use crate::codec::{
    Malformed, Reader, lenenc_int_bytes, malformed, put_lenenc_bytes, put_lenenc_int, put_nul_bytes,
};
use crate::flags::{Capabilities, StatusFlags};

/// Bytes of the challenge that passwords are scrambled with.
pub const CHALLENGE_BYTES: usize = 20;
/// Bytes of an SSL request, and of the fixed front of a handshake response.
pub(crate) const SSL_REQUEST_BYTES: usize = 32;
/// Bytes of connection attributes above which a response is refused, as by MySQL.
pub(crate) const ATTRIBUTE_BYTES_MAX: usize = 64 * 1024;
/// A packet of the handshake may not be longer than this.
pub const HANDSHAKE_BYTES_MAX: usize = 128 * 1024;

/// First byte of an auth switch request.
pub(crate) const AUTH_SWITCH_HEADER: u8 = 0xfe;
/// First byte of more authentication data.
pub(crate) const AUTH_MORE_HEADER: u8 = 0x01;

/// A connection attribute.
pub type NameValue<'a> = (&'a [u8], &'a [u8]);

/// The server's first packet, protocol version 10.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Greeting<'a> {
    /// Such as `9.7.0-invar`.
    pub server_version: &'a [u8],
    /// CONNECTION_ID(), low four bytes.
    pub connection_id: u32,
    /// Random bytes without zero.
    pub challenge: [u8; CHALLENGE_BYTES],
    /// What the server can do.
    pub capabilities: Capabilities,
    /// Default collation, low byte.
    pub collation: u8,
    /// State of the session to be.
    pub status: StatusFlags,
    /// Plugin that the challenge is meant for.
    pub auth_plugin: &'a [u8],
}

impl<'a> Greeting<'a> {
    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(10);
        put_nul_bytes(out, self.server_version);
        out.extend_from_slice(&self.connection_id.to_le_bytes());
        out.extend_from_slice(&self.challenge[..8]);
        out.push(0);
        let [a, b, c, d] = self.capabilities.0.to_le_bytes();
        out.extend_from_slice(&[a, b, self.collation]);
        out.extend_from_slice(&self.status.0.to_le_bytes());
        out.extend_from_slice(&[c, d, CHALLENGE_BYTES as u8 + 1]);
        out.extend_from_slice(&[0; 10]);
        out.extend_from_slice(&self.challenge[8..]);
        out.push(0);
        put_nul_bytes(out, self.auth_plugin);
    }

    /// Reads the payload.
    ///
    /// # Errors
    /// If it is cut or of another protocol version.
    pub fn decode(payload: &'a [u8]) -> Result<Greeting<'a>, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != 10 {
            return malformed("protocol version");
        }
        let server_version = reader.nul_bytes()?;
        let connection_id = reader.u32()?;
        let mut challenge = [0; CHALLENGE_BYTES];
        challenge[..8].copy_from_slice(reader.bytes(8)?);
        reader.u8()?;
        let low = reader.u16()?;
        let collation = reader.u8()?;
        let status = StatusFlags(reader.u16()?);
        let high = reader.u16()?;
        let capabilities = Capabilities(u32::from(low) | u32::from(high) << 16);
        reader.bytes(11)?;
        challenge[8..].copy_from_slice(reader.bytes(CHALLENGE_BYTES - 8)?);
        let mut auth_plugin: &[u8] = b"mysql_native_password";
        if capabilities.has(Capabilities::PLUGIN_AUTH) {
            reader.u8()?;
            auth_plugin = reader.nul_or_rest();
        }
        Ok(Greeting {
            server_version,
            connection_id,
            challenge,
            capabilities,
            collation,
            status,
            auth_plugin,
        })
    }
}

/// The client's answer to the greeting.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct HandshakeResponse<'a> {
    /// What the client can do.
    pub capabilities: Capabilities,
    /// Packets it can take, bytes.
    pub packet_bytes_max: u32,
    /// Collation number.
    pub collation: u16,
    /// User name.
    pub user: &'a [u8],
    /// Scrambled password.
    pub auth_response: &'a [u8],
    /// Default database.
    pub database: Option<&'a [u8]>,
    /// Plugin that `auth_response` is made with.
    pub auth_plugin: Option<&'a [u8]>,
    /// Name-value pairs about the client.
    pub attributes: Vec<NameValue<'a>>,
}

/// The first packet of a client.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum FirstPacket<'a> {
    /// It wants TLS before it says who it is.
    SslRequest {
        /// What the client can do; its response repeats it.
        capabilities: Capabilities,
    },
    /// It says who it is.
    Response(HandshakeResponse<'a>),
}

impl<'a> FirstPacket<'a> {
    /// Reads the payload.
    ///
    /// # Errors
    /// If it is cut, or of the protocol before 4.1.
    pub fn decode(payload: &'a [u8]) -> Result<FirstPacket<'a>, Malformed> {
        let mut reader = Reader::new(payload);
        let capabilities = Capabilities(reader.u32()?);
        if !capabilities.has(Capabilities::PROTOCOL_41) {
            return malformed("protocol before 4.1");
        }
        if payload.len() == SSL_REQUEST_BYTES && capabilities.has(Capabilities::SSL) {
            return Ok(FirstPacket::SslRequest { capabilities });
        }
        HandshakeResponse::decode(payload).map(FirstPacket::Response)
    }
}

impl<'a> HandshakeResponse<'a> {
    /// Reads the payload.
    ///
    /// # Errors
    /// If it is cut or its attributes are too long.
    pub fn decode(payload: &'a [u8]) -> Result<HandshakeResponse<'a>, Malformed> {
        let mut reader = Reader::new(payload);
        let capabilities = Capabilities(reader.u32()?);
        if !capabilities.has(Capabilities::PROTOCOL_41) {
            return malformed("protocol before 4.1");
        }
        let packet_bytes_max = reader.u32()?;
        let collation = u16::from(reader.u8()?);
        reader.bytes(23)?;
        let user = reader.nul_bytes()?;
        let auth_response = if capabilities.has(Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA) {
            reader.lenenc_bytes()?
        } else if capabilities.has(Capabilities::SECURE_CONNECTION) {
            let length = reader.u8()?;
            reader.bytes(usize::from(length))?
        } else {
            reader.nul_bytes()?
        };
        let mut response = HandshakeResponse {
            capabilities,
            packet_bytes_max,
            collation,
            user,
            auth_response,
            ..HandshakeResponse::default()
        };
        if capabilities.has(Capabilities::CONNECT_WITH_DB) {
            response.database = Some(reader.nul_or_rest()).filter(|name| !name.is_empty());
        }
        if capabilities.has(Capabilities::PLUGIN_AUTH) {
            response.auth_plugin = Some(reader.nul_or_rest());
        }
        if capabilities.has(Capabilities::CONNECT_ATTRS) && !reader.is_empty() {
            response.attributes = read_attributes(&mut reader)?;
        }
        Ok(response)
    }

    /// Appends the payload; `capabilities` says which parts there are.
    pub fn encode(&self, out: &mut Vec<u8>) {
        encode_ssl_request(self.capabilities, self.packet_bytes_max, self.collation, out);
        put_nul_bytes(out, self.user);
        if self.capabilities.has(Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA) {
            put_lenenc_bytes(out, self.auth_response);
        } else {
            debug_assert!(self.auth_response.len() < 256);
            out.push(self.auth_response.len() as u8);
            out.extend_from_slice(self.auth_response);
        }
        if self.capabilities.has(Capabilities::CONNECT_WITH_DB) {
            put_nul_bytes(out, self.database.unwrap_or_default());
        }
        if self.capabilities.has(Capabilities::PLUGIN_AUTH) {
            put_nul_bytes(out, self.auth_plugin.unwrap_or(b"mysql_native_password"));
        }
        if self.capabilities.has(Capabilities::CONNECT_ATTRS) {
            put_attributes(out, &self.attributes);
        }
    }
}

/// Appends the payload of an SSL request, which is also the front of a handshake response.
pub fn encode_ssl_request(
    capabilities: Capabilities,
    packet_bytes_max: u32,
    collation: u16,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(&capabilities.0.to_le_bytes());
    out.extend_from_slice(&packet_bytes_max.to_le_bytes());
    out.push(collation as u8);
    out.extend_from_slice(&[0; 23]);
}

fn read_attributes<'a>(reader: &mut Reader<'a>) -> Result<Vec<NameValue<'a>>, Malformed> {
    let bytes = reader.lenenc_bytes()?;
    if bytes.len() > ATTRIBUTE_BYTES_MAX {
        return malformed("connection attributes are too long");
    }
    let mut pairs = Vec::new();
    let mut inner = Reader::new(bytes);
    while !inner.is_empty() {
        pairs.push((inner.lenenc_bytes()?, inner.lenenc_bytes()?));
    }
    Ok(pairs)
}

fn put_attributes(out: &mut Vec<u8>, attributes: &[NameValue<'_>]) {
    let string_bytes = |text: &[u8]| lenenc_int_bytes(text.len() as u64) + text.len();
    let bytes: usize = attributes.iter().map(|(name, value)| string_bytes(name) + string_bytes(value)).sum();
    put_lenenc_int(out, bytes as u64);
    for (name, value) in attributes {
        put_lenenc_bytes(out, name);
        put_lenenc_bytes(out, value);
    }
}

/// A COM_CHANGE_USER without its command byte.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ChangeUser<'a> {
    /// User name.
    pub user: &'a [u8],
    /// Password scrambled with the challenge of the greeting.
    pub auth_response: &'a [u8],
    /// Default database.
    pub database: Option<&'a [u8]>,
    /// Collation number; old clients send none.
    pub collation: Option<u16>,
    /// Plugin that `auth_response` is made with.
    pub auth_plugin: Option<&'a [u8]>,
    /// Name-value pairs about the client.
    pub attributes: Vec<NameValue<'a>>,
}

impl<'a> ChangeUser<'a> {
    /// Reads the payload behind the command byte.
    ///
    /// # Errors
    /// If it is cut.
    pub fn decode(payload: &'a [u8], capabilities: Capabilities) -> Result<ChangeUser<'a>, Malformed> {
        let mut reader = Reader::new(payload);
        let user = reader.nul_bytes()?;
        let auth_response = if capabilities.has(Capabilities::SECURE_CONNECTION) {
            let length = reader.u8()?;
            reader.bytes(usize::from(length))?
        } else {
            reader.nul_bytes()?
        };
        let database = Some(reader.nul_or_rest()).filter(|name| !name.is_empty());
        let mut request = ChangeUser { user, auth_response, database, ..ChangeUser::default() };
        if reader.is_empty() {
            return Ok(request);
        }
        request.collation = Some(reader.u16()?);
        if capabilities.has(Capabilities::PLUGIN_AUTH) {
            request.auth_plugin = Some(reader.nul_or_rest());
        }
        if capabilities.has(Capabilities::CONNECT_ATTRS) && !reader.is_empty() {
            request.attributes = read_attributes(&mut reader)?;
        }
        Ok(request)
    }

    /// Appends the payload behind the command byte.
    pub fn encode(&self, capabilities: Capabilities, out: &mut Vec<u8>) {
        put_nul_bytes(out, self.user);
        debug_assert!(self.auth_response.len() < 256);
        out.push(self.auth_response.len() as u8);
        out.extend_from_slice(self.auth_response);
        put_nul_bytes(out, self.database.unwrap_or_default());
        out.extend_from_slice(&self.collation.unwrap_or(255).to_le_bytes());
        if capabilities.has(Capabilities::PLUGIN_AUTH) {
            put_nul_bytes(out, self.auth_plugin.unwrap_or(b"mysql_native_password"));
        }
        if capabilities.has(Capabilities::CONNECT_ATTRS) {
            put_attributes(out, &self.attributes);
        }
    }
}

/// Appends the payload that asks the client to begin again with another plugin.
pub fn encode_auth_switch(plugin: &[u8], challenge: &[u8; CHALLENGE_BYTES], out: &mut Vec<u8>) {
    out.push(AUTH_SWITCH_HEADER);
    put_nul_bytes(out, plugin);
    out.extend_from_slice(challenge);
    out.push(0);
}

/// Appends a payload with more authentication data.
pub fn encode_auth_more(data: &[u8], out: &mut Vec<u8>) {
    out.push(AUTH_MORE_HEADER);
    out.extend_from_slice(data);
}

/// What the server says while a client proves itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AuthStep<'a> {
    /// Begin again with this plugin and challenge.
    Switch {
        /// Plugin.
        plugin: &'a [u8],
        /// Challenge, its closing zero cut off.
        challenge: &'a [u8],
    },
    /// Data of the plugin.
    More(&'a [u8]),
    /// The end: an OK or ERR packet, to be read as such.
    End(&'a [u8]),
}

impl<'a> AuthStep<'a> {
    /// Reads the payload.
    ///
    /// # Errors
    /// If it is empty or cut.
    pub fn decode(payload: &'a [u8]) -> Result<AuthStep<'a>, Malformed> {
        let mut reader = Reader::new(payload);
        match reader.u8()? {
            AUTH_SWITCH_HEADER => {
                let plugin = reader.nul_bytes()?;
                let data = reader.take_rest();
                Ok(AuthStep::Switch { plugin, challenge: data.strip_suffix(&[0]).unwrap_or(data) })
            }
            AUTH_MORE_HEADER => Ok(AuthStep::More(reader.take_rest())),
            _ => Ok(AuthStep::End(payload)),
        }
    }
}
