//! Keys and certificates: made on the first start, kept in the data folder under MySQL's names.
//!
//! | file | what |
//! | --- | --- |
//! | `ca.pem`, `server-cert.pem`, `server-key.pem` | a certificate authority of our own and the server's certificate under it, ECDSA P-256 |
//! | `private_key.pem`, `public_key.pem` | RSA 2048 for passwords sent without TLS; made when first asked for |
//!
//! Files of others with these names are used as they are.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rsa::pkcs8::{DecodePrivateKey, EncodePrivateKey, EncodePublicKey, LineEnding};
use rsa::{Oaep, RsaPrivateKey, RsaPublicKey};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Bits of the RSA key.
const RSA_BITS: usize = 2048;

/// Where TLS finds its files.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The server's certificate, and any between it and the authority (`ssl_cert`).
    pub certificate: PathBuf,
    /// Its key (`ssl_key`).
    pub key: PathBuf,
}

fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::other(error)
}

/// Writes a file that only we may read, whole or not at all.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    let mut file =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}

/// Makes authority, certificate and key in `folder` unless the server's certificate is there, and says where they are.
///
/// # Errors
/// The folder cannot be written.
pub fn make_tls_files(folder: &Path) -> io::Result<TlsFiles> {
    let files = TlsFiles { certificate: folder.join("server-cert.pem"), key: folder.join("server-key.pem") };
    if files.certificate.exists() && files.key.exists() {
        return Ok(files);
    }
    let ca_key = rcgen::KeyPair::generate().map_err(other)?;
    let mut ca = rcgen::CertificateParams::default();
    ca.distinguished_name.push(rcgen::DnType::CommonName, "Invar_Server_Auto_Generated_CA_Certificate");
    ca.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    ca.key_usages = vec![rcgen::KeyUsagePurpose::KeyCertSign, rcgen::KeyUsagePurpose::CrlSign];
    let ca_certificate = ca.self_signed(&ca_key).map_err(other)?;
    let issuer = rcgen::Issuer::new(ca, &ca_key);

    let key = rcgen::KeyPair::generate().map_err(other)?;
    let mut server =
        rcgen::CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()])
            .map_err(other)?;
    server
        .distinguished_name
        .push(rcgen::DnType::CommonName, "Invar_Server_Auto_Generated_Server_Certificate");
    server.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
    let certificate = server.signed_by(&key, &issuer).map_err(other)?;

    write_private(&folder.join("ca.pem"), &ca_certificate.pem())?;
    write_private(&files.key, &key.serialize_pem())?;
    write_private(&files.certificate, &certificate.pem())?;
    Ok(files)
}

/// Reads certificate and key.
///
/// # Errors
/// A file is missing, is no PEM, or they do not belong together.
pub(crate) fn tls_config(files: &TlsFiles) -> io::Result<Arc<ServerConfig>> {
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(&files.certificate)
        .map_err(other)?
        .collect::<Result<_, _>>()
        .map_err(other)?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(other)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(other)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(other)?;
    Ok(Arc::new(config))
}

/// The kernel's randomness in the shape that `rsa` wants.
struct KernelRandom;

impl rsa::rand_core::RngCore for KernelRandom {
    fn next_u32(&mut self) -> u32 {
        rsa::rand_core::impls::next_u32_via_fill(self)
    }

    fn next_u64(&mut self) -> u64 {
        rsa::rand_core::impls::next_u64_via_fill(self)
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        random_bytes(bytes);
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), rsa::rand_core::Error> {
        self.fill_bytes(bytes);
        Ok(())
    }
}

impl rsa::rand_core::CryptoRng for KernelRandom {}

/// Fills `bytes` from the kernel.
///
/// # Panics
/// If the kernel has no randomness: no secret may be made then.
pub(crate) fn random_bytes(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the kernel gives random bytes");
}

#[derive(Debug)]
struct RsaPair {
    private: RsaPrivateKey,
    public_pem: String,
}

/// The RSA key pair, made or read when first asked for.
#[derive(Debug)]
pub(crate) struct RsaKeys {
    folder: Option<PathBuf>,
    pair: Mutex<Option<Arc<RsaPair>>>,
}

impl RsaKeys {
    /// Keeps the pair in `folder`, or only in memory.
    pub(crate) fn new(folder: Option<PathBuf>) -> RsaKeys {
        RsaKeys { folder, pair: Mutex::new(None) }
    }

    fn pair(&self) -> io::Result<Arc<RsaPair>> {
        // Making a key takes long: others who need it wait here, and give their places away meanwhile.
        let _waiting = env::blocking::enter();
        let mut pair = self.pair.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pair) = &*pair {
            return Ok(Arc::clone(pair));
        }
        let path = self.folder.as_ref().map(|folder| folder.join("private_key.pem"));
        let private = match path.as_ref().map(fs::read_to_string) {
            Some(Ok(text)) => RsaPrivateKey::from_pkcs8_pem(&text).map_err(other)?,
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => RsaPrivateKey::new(&mut KernelRandom, RSA_BITS).map_err(other)?,
        };
        let public_pem = RsaPublicKey::from(&private).to_public_key_pem(LineEnding::LF).map_err(other)?;
        if let (Some(folder), Some(path)) = (&self.folder, &path)
            && !path.exists()
        {
            write_private(path, &private.to_pkcs8_pem(LineEnding::LF).map_err(other)?)?;
            write_private(&folder.join("public_key.pem"), &public_pem)?;
        }
        let made = Arc::new(RsaPair { private, public_pem });
        *pair = Some(Arc::clone(&made));
        Ok(made)
    }

    /// The public key as PEM text.
    pub(crate) fn public_pem(&self) -> io::Result<String> {
        Ok(self.pair()?.public_pem.clone())
    }

    /// What was encrypted with the public key, OAEP with SHA-1; `None` if it was not.
    pub(crate) fn decrypt(&self, bytes: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let pair = self.pair()?;
        Ok(pair.private.decrypt_blinded(&mut KernelRandom, Oaep::new::<sha1::Sha1>(), bytes).ok())
    }
}
