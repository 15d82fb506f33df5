//! What can go wrong, by what a caller can do about it.

use std::fmt;
use std::io;

use wire::Malformed;
use wire::message::ReceivedError;

/// An error packet of the server. The connection stays usable.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServerError {
    /// MySQL's number, such as 1062.
    pub number: u16,
    /// SQLSTATE; `HY000` where the server said none, as before the end of a handshake.
    pub state: [u8; 5],
    /// Text, in `character_set_results`; bytes that are no UTF-8 are replaced.
    pub message: String,
}

impl From<ReceivedError<'_>> for ServerError {
    #[cold]
    fn from(error: ReceivedError<'_>) -> ServerError {
        ServerError {
            number: error.number,
            state: error.state.unwrap_or(*b"HY000"),
            message: String::from_utf8_lossy(error.message).into_owned(),
        }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERROR {} ({}): {}", self.number, String::from_utf8_lossy(&self.state), self.message)
    }
}

/// Why a command or a row did not come back.
#[derive(Debug)]
pub enum Error {
    /// The server refused or could not. The connection goes on, unless this came while connecting.
    Server(Box<ServerError>),
    /// The server asked for a file and no function opens files. Nothing was sent; the connection stays usable.
    LocalFileRefused {
        /// The name the server asked for.
        name: String,
    },
    /// As many parameters as the statement has must be given, and no more than the protocol counts. Nothing was sent.
    Parameters {
        /// How many the statement has.
        wanted: usize,
        /// How many were given.
        given: usize,
    },
    /// An option that does not hold together, or that this server does not offer.
    Option(String),
    /// The server took longer than a time limit allows. The connection is broken.
    TimedOut,
    /// The server closed the connection where an answer was due.
    Closed,
    /// The stream failed. The connection is broken.
    Io(io::Error),
    /// TLS failed. The connection is broken.
    Tls(rustls::Error),
    /// The server sent what cannot come here. The connection is broken.
    Protocol(&'static str),
    /// The connection broke before, or was closed: make a new one.
    Broken,
}

impl Error {
    /// The server's number, if it was the server.
    #[must_use]
    pub fn number(&self) -> Option<u16> {
        match self {
            Error::Server(error) => Some(error.number),
            _ => None,
        }
    }

    /// Whether the connection can go on.
    #[must_use]
    pub(crate) fn is_recoverable(&self) -> bool {
        matches!(self, Error::Server(_) | Error::LocalFileRefused { .. } | Error::Parameters { .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Server(error) => error.fmt(f),
            Error::LocalFileRefused { name } => write!(f, "the server asked for the file '{name}'; refused"),
            Error::Parameters { wanted, given } => {
                write!(f, "the statement has {wanted} parameters, {given} were given")
            }
            Error::Option(what) => f.write_str(what),
            Error::TimedOut => f.write_str("the server did not answer in time"),
            Error::Closed => f.write_str("the server closed the connection"),
            Error::Io(error) => write!(f, "connection: {error}"),
            Error::Tls(error) => write!(f, "TLS: {error}"),
            Error::Protocol(what) => write!(f, "malformed packet from the server: {what}"),
            Error::Broken => f.write_str("the connection broke before"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io(error) => Some(error),
            Error::Tls(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    #[cold]
    fn from(error: io::Error) -> Error {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Error::TimedOut,
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionAborted => Error::Closed,
            _ => Error::Io(error),
        }
    }
}

impl From<Malformed> for Error {
    #[cold]
    fn from(error: Malformed) -> Error {
        Error::Protocol(error.what)
    }
}

impl From<ReceivedError<'_>> for Error {
    #[cold]
    fn from(error: ReceivedError<'_>) -> Error {
        Error::Server(Box::new(error.into()))
    }
}
