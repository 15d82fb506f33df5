//! The bytes under a connection: TCP or a Unix socket, with TLS over it or not.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned};

use crate::error::Error;
use crate::options::Address;

/// A stream of bytes to a server.
#[derive(Debug)]
pub enum Stream {
    /// TCP.
    Tcp(TcpStream),
    /// A Unix socket.
    Unix(UnixStream),
    /// TLS over one of them.
    Tls(Box<StreamOwned<ClientConnection, Stream>>),
    /// None: the connection broke.
    None,
}

impl Stream {
    pub(crate) fn connect(address: &Address, timeout: Option<Duration>) -> Result<Stream, Error> {
        match address {
            Address::Unix(path) => Ok(Stream::Unix(UnixStream::connect(path)?)),
            Address::Tcp { host, port } => {
                let mut last = None;
                for address in (host.as_str(), *port).to_socket_addrs()? {
                    let opened = match timeout {
                        Some(timeout) => TcpStream::connect_timeout(&address, timeout),
                        None => TcpStream::connect(address),
                    };
                    match opened {
                        Ok(stream) => {
                            stream.set_nodelay(true)?;
                            return Ok(Stream::Tcp(stream));
                        }
                        Err(error) => last = Some(error),
                    }
                }
                Err(last.map_or_else(|| Error::Option(format!("'{host}' has no address")), Error::from))
            }
        }
    }

    /// Puts TLS over this stream; the handshake happens with the first bytes.
    pub(crate) fn with_tls(self, config: &Arc<ClientConfig>, name: &str) -> Result<Stream, Error> {
        let name = ServerName::try_from(name.to_owned())
            .map_err(|_| Error::Option(format!("'{name}' is no name for a certificate")))?;
        let connection = ClientConnection::new(Arc::clone(config), name).map_err(Error::Tls)?;
        Ok(Stream::Tls(Box::new(StreamOwned::new(connection, self))))
    }

    pub(crate) fn set_timeouts(&self, read: Option<Duration>, write: Option<Duration>) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => {
                stream.set_read_timeout(read)?;
                stream.set_write_timeout(write)
            }
            Stream::Unix(stream) => {
                stream.set_read_timeout(read)?;
                stream.set_write_timeout(write)
            }
            Stream::Tls(stream) => stream.sock.set_timeouts(read, write),
            Stream::None => Ok(()),
        }
    }

    /// Whether a password may be sent as it is.
    pub(crate) fn is_secure(&self) -> bool {
        matches!(self, Stream::Unix(_) | Stream::Tls(_))
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(buffer),
            Stream::Unix(stream) => stream.read(buffer),
            Stream::Tls(stream) => stream.read(buffer),
            Stream::None => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Unix(stream) => stream.write(bytes),
            Stream::Tls(stream) => stream.write(bytes),
            Stream::None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Tls(stream) => stream.flush(),
            Stream::Tcp(_) | Stream::Unix(_) | Stream::None => Ok(()),
        }
    }
}

/// TLS that accepts any certificate, as MySQL's clients do with `--ssl-mode=PREFERRED` and `REQUIRED`: nobody can listen, but
/// the server's identity is not verified.
///
/// # Panics
/// Never: the built-in provider knows the default protocol versions.
#[must_use]
pub fn unverified_tls() -> Arc<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("the built-in provider knows the default versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Unverified(provider)))
        .with_no_client_auth();
    Arc::new(config)
}

#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
