//! Where to connect, as whom, and how.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::error::Error;

/// Port without one in the address.
const PORT_DEFAULT: u16 = 3306;
/// The default of [`Options::packet_bytes_max`]: as `max_allowed_packet` of the server may be at most.
const PACKET_BYTES_MAX: usize = 1 << 30;
/// Collation `utf8mb4_0900_ai_ci`.
const COLLATION_DEFAULT: u8 = 255;

/// Where the server listens.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Address {
    /// TCP.
    Tcp {
        /// Name or address.
        host: String,
        /// Port.
        port: u16,
    },
    /// A Unix socket.
    Unix(PathBuf),
}

/// Whether to speak TLS.
#[derive(Clone, Debug, Default)]
pub enum Tls {
    /// Never.
    #[default]
    Off,
    /// If the server can.
    Preferred(Arc<rustls::ClientConfig>),
    /// Or not at all.
    Required(Arc<rustls::ClientConfig>),
}

/// How to connect. [`Options::new`] has the defaults; set the fields that should differ.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where.
    pub address: Address,
    /// Account name.
    pub user: String,
    /// Password; empty for none.
    pub password: Vec<u8>,
    /// Default database.
    pub database: Option<String>,
    /// Collation number of the connection (`information_schema.collations.id`), below 256.
    pub collation: u8,
    /// Whether to speak TLS.
    pub tls: Tls,
    /// The name the certificate must carry; the host if absent.
    pub tls_name: Option<String>,
    /// Compress with zlib if the server can.
    pub compress: bool,
    /// Allow several statements in one query.
    pub multi_statements: bool,
    /// UPDATE counts rows found and not rows changed.
    pub found_rows: bool,
    /// Allow the server to ask for files; a [`LocalFile`](crate::LocalFile) function must still open them.
    pub local_files: bool,
    /// Ask for changes of session state in OK packets.
    pub session_track: bool,
    /// Agree on query attributes, as newer drivers do; this client sends the count of none.
    pub query_attributes: bool,
    /// Log in with an expired password, too, to change it.
    pub changes_expired_password: bool,
    /// Leave out the EOF packets of old. Off only to test a server.
    pub deprecate_eof: bool,
    /// Ask for the server's RSA key where a password would have to go over an open connection. Without it such a login
    /// fails, as with MySQL's `--get-server-public-key=0`: an attacker in between could send a key of his own.
    pub get_server_public_key: bool,
    /// The longest packet accepted from the server, bytes; at most 4 GB.
    pub packet_bytes_max: usize,
    /// How long connecting and logging in may take, each read of it.
    pub connect_timeout: Option<Duration>,
    /// How long the server may be silent in an answer.
    pub read_timeout: Option<Duration>,
    /// How long the server may take nothing.
    pub write_timeout: Option<Duration>,
    /// Names and values about the program, for `performance_schema.session_connect_attrs`.
    pub attributes: Vec<(String, String)>,
}

impl Options {
    /// The defaults, with an account that has no password.
    #[must_use]
    pub fn new(address: Address, user: &str) -> Options {
        Options {
            address,
            user: user.to_owned(),
            password: Vec::new(),
            database: None,
            collation: COLLATION_DEFAULT,
            tls: Tls::Off,
            tls_name: None,
            compress: false,
            multi_statements: true,
            found_rows: false,
            local_files: false,
            session_track: false,
            query_attributes: false,
            changes_expired_password: false,
            deprecate_eof: true,
            get_server_public_key: true,
            packet_bytes_max: PACKET_BYTES_MAX,
            connect_timeout: Some(Duration::from_secs(10)),
            read_timeout: None,
            write_timeout: None,
            attributes: Vec::new(),
        }
    }

    /// Reads `mysql://user[:password]@host[:port][/database]`; `%40` and the like stand for bytes. A host that begins with
    /// `/` or `%2F` is the path of a Unix socket.
    ///
    /// # Errors
    /// [`Error::Option`] if it is not that.
    pub fn from_url(url: &str) -> Result<Options, Error> {
        let bad =
            |what: &str| Error::Option(format!("'{url}' is not mysql://user:password@host:port: {what}"));
        let rest = url.strip_prefix("mysql://").ok_or_else(|| bad("no mysql://"))?;
        let (account, place) = rest.rsplit_once('@').ok_or_else(|| bad("no user"))?;
        let (user, password) = account.split_once(':').unwrap_or((account, ""));
        let (place, database) = place.split_once('/').unwrap_or((place, ""));
        let text = |part: &str| {
            decode_percent(part)
                .and_then(|bytes| String::from_utf8(bytes).ok())
                .ok_or_else(|| bad("a % that is no byte"))
        };
        let decoded = text(place)?;
        let address = if decoded.starts_with('/') {
            Address::Unix(decoded.into())
        } else {
            // `[::1]:3306` and `host:3306`, both without the port too.
            let (host, port) = match place.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')) {
                Some((host, port)) => (host, port.parse().map_err(|_| bad("the port is no number"))?),
                None => (place, PORT_DEFAULT),
            };
            Address::Tcp { host: text(host.trim_start_matches('[').trim_end_matches(']'))?, port }
        };
        let mut options = Options::new(address, &text(user)?);
        options.password = decode_percent(password).ok_or_else(|| bad("a % that is no byte"))?;
        options.database =
            Some(text(database.split('?').next().unwrap_or_default())?).filter(|name| !name.is_empty());
        Ok(options)
    }
}

fn decode_percent(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            other => other,
        });
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read() {
        let options = Options::from_url("mysql://a%40b:p:w%2f@host:3307/shop?x=1").unwrap();
        assert_eq!(options.address, Address::Tcp { host: "host".into(), port: 3307 });
        assert_eq!((options.user.as_str(), &options.password[..]), ("a@b", &b"p:w/"[..]));
        assert_eq!(options.database.as_deref(), Some("shop"));
        let options = Options::from_url("mysql://root@[::1]").unwrap();
        assert_eq!(options.address, Address::Tcp { host: "::1".into(), port: 3306 });
        let options = Options::from_url("mysql://root@%2Ftmp%2Fsock/db").unwrap();
        assert_eq!(options.address, Address::Unix("/tmp/sock".into()));
        for wrong in ["http://x", "mysql://host", "mysql://u@h:port", "mysql://u%4@h"] {
            assert!(matches!(Options::from_url(wrong), Err(Error::Option(_))), "{wrong}");
        }
    }
}
