//! `invar serve`: reads options, takes addresses, opens the data folder, serves, and ends in order.
//!
//! What can fail without touching anything is tried first: options, addresses, whether strangers could come in without a
//! password. Each failure is one line and exit code 1.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use service::Service;

use crate::options::{self, Given, Kind};
use crate::signals::Signals;

/// Port without `--port`.
const PORT_DEFAULT: u16 = 3306;
/// Folder without `--data-dir`.
const DATA_DIR_DEFAULT: &str = "data";
/// The longest path of a Unix socket, bytes.
const SOCKET_PATH_BYTES_MAX: usize = 107;
/// How long running statements may go on after SIGTERM.
const STOP_TIME: Duration = Duration::from_secs(10);
/// How often SHUTDOWN is looked for.
const SHUTDOWN_CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Whoever answers, as far as starting and ending needs it.
pub(crate) trait Backend: Sized {
    /// Whether there is a system variable of this name, and of what kind.
    fn variable(name: &str) -> Option<Kind>;

    /// Opens the data folder, or makes it.
    fn open(options: &Options, root_password: Option<String>) -> Result<Self, String>;

    /// Whether an account exists that may log in without a password.
    fn has_account_without_password(&self) -> bool;

    /// What the server talks to.
    fn service(&self) -> Arc<dyn Service>;

    /// Whether SHUTDOWN was said.
    fn shutdown_requested(&self) -> bool;

    /// Brings everything to disk after the last session has ended.
    fn close(self) -> Result<(), String>;
}

/// What the options say.
#[derive(Debug)]
pub(crate) struct Options {
    /// Where the data is.
    pub(crate) data_dir: PathBuf,
    /// System variables by name (`_`, not `-`) and value, in order; the last of a name counts.
    pub(crate) variables: Vec<(String, String)>,
    /// What was given and has no effect, for the error log: a line each.
    pub(crate) ignored: Vec<String>,
    addresses: Vec<SocketAddr>,
    socket: Option<PathBuf>,
    socket_in_data_dir: bool,
    tls: Tls,
    pid_file: Option<PathBuf>,
    worker_groups: usize,
    worker_waiters: usize,
}

impl Options {
    /// Pollers; 0 for one per core.
    pub(crate) fn worker_groups(&self) -> usize {
        self.worker_groups
    }
}

/// Whoever serves the clients that come by TCP, in front of a backend.
pub(crate) trait Front {
    /// Who takes them once they have logged in.
    fn handover(&self) -> Arc<dyn server::Handover>;

    /// The number of the first.
    fn first_client(&self) -> u64;

    /// Ends them.
    fn stop(&self);
}

#[derive(Debug)]
enum Tls {
    Off,
    Automatic,
    Files(server::TlsFiles),
}

/// The binary log, which this server does not write.
const LOG_BIN: &str = "log_bin";

/// Options of the server itself; all others are system variables.
fn own(name: &str) -> Option<Kind> {
    match name {
        // A file name in most option files; what the variable shows does not follow it.
        LOG_BIN => Some(Kind::Flag),
        "data_dir" | "datadir" | "port" | "bind_address" | "socket" | "defaults_file" | "pid_file"
        | "worker_groups" | "worker_waiters" | "ssl_cert" | "ssl_key" | "user" => Some(Kind::Value),
        "ssl" | "skip_networking" | "no_defaults" | "console" => Some(Kind::Flag),
        _ => None,
    }
}

/// What `invar serve --help` prints.
pub(crate) const HELP: &str = "\
invar serve: a MySQL-compatible server

  --data-dir=DIR        where the data lies; made on the first start (data)
  --port=N              TCP port (3306)
  --bind-address=A,..   TCP addresses, * for all (127.0.0.1); others than loopback only once every account has a password
  --socket=PATH         Unix socket (mysql.sock in the data folder); --skip-socket for none
  --skip-networking     no TCP
  --defaults-file=FILE  options from a my.cnf, sections [mysqld], [server], [invar]
  --ssl-cert, --ssl-key certificate and key (made on the first start); --skip-ssl for none
  --pid-file=FILE       where to write the process number
  --worker-groups=N     pollers (one per core)
  --worker-waiters=N    statements of one poller that wait for locks at once, each with a thread (1024)
  --VARIABLE=VALUE      any system variable of MySQL, such as --max-connections=500

INVAR_ROOT_PASSWORD sets the password of root on the first start.";

fn parse(args: &[String], variable: impl Fn(&str) -> Option<Kind>) -> Result<Options, String> {
    let options::Read { given, mut ignored } =
        options::read(args, |name| own(name).or_else(|| variable(name)))?;
    if options::last(&given, &[LOG_BIN]).is_some_and(|value| !matches!(value, "OFF" | "0")) {
        ignored.push("option 'log-bin' has no effect: this server writes no binary log".to_owned());
    }
    let value = |names: &[&str]| options::last(&given, names);
    let data_dir = PathBuf::from(value(&["data_dir", "datadir"]).unwrap_or(DATA_DIR_DEFAULT));
    let data_dir = std::path::absolute(&data_dir)
        .map_err(|error| format!("cannot use the data folder {}: {error}", data_dir.display()))?;
    let port = match value(&["port"]) {
        Some(text) => {
            text.parse().map_err(|_| format!("option 'port' is a number up to 65535, not '{text}'"))?
        }
        None => PORT_DEFAULT,
    };
    let mut addresses = Vec::new();
    if !value(&["skip_networking"]).map_or(Ok(false), |text| options::flag("skip_networking", text))? {
        for host in value(&["bind_address"]).unwrap_or("127.0.0.1").split(',').map(str::trim) {
            match host {
                "*" => addresses.push(SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port)),
                "" | "0.0.0.0" => addresses.push(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port)),
                host => addresses.extend(
                    (host, port)
                        .to_socket_addrs()
                        .map_err(|error| format!("cannot listen on '{host}': {error}"))?,
                ),
            }
        }
    }
    let socket_in_data_dir = value(&["socket"]).is_none();
    let socket = match value(&["socket"]) {
        None => {
            Some(data_dir.join("mysql.sock")).filter(|path| path.as_os_str().len() <= SOCKET_PATH_BYTES_MAX)
        }
        Some("OFF" | "") => None,
        Some(path) => Some(data_dir.join(path)),
    };
    let is_on = value(&["ssl"]).map_or(Ok(true), |text| options::flag("ssl", text))?;
    let tls = match (is_on, value(&["ssl_cert"]), value(&["ssl_key"])) {
        (false, ..) => Tls::Off,
        (true, None, None) => Tls::Automatic,
        (true, Some(certificate), Some(key)) => {
            Tls::Files(server::TlsFiles { certificate: data_dir.join(certificate), key: data_dir.join(key) })
        }
        (true, ..) => return Err("options 'ssl-cert' and 'ssl-key' go together".to_owned()),
    };
    let number = |name: &str| match value(&[name]) {
        Some(text) => {
            text.parse().map_err(|_| format!("option '{}' is a number, not '{text}'", name.replace('_', "-")))
        }
        None => Ok(0),
    };
    let (worker_groups, worker_waiters) = (number("worker_groups")?, number("worker_waiters")?);
    let pid_file = value(&["pid_file"]).map(|path| data_dir.join(path));
    let mut variables: Vec<(String, String)> = given
        .iter()
        .filter(|Given { name, .. }| variable(name).is_some() && own(name).is_none())
        .map(|Given { name, value, .. }| (name.clone(), value.clone()))
        .collect();
    // What SHOW VARIABLES shows of our own options.
    let mut set_shown = |name: &str, value: String| {
        if variable(name).is_some() {
            variables.push((name.to_owned(), value));
        }
    };
    set_shown("datadir", format!("{}/", data_dir.display()));
    set_shown("port", if addresses.is_empty() { "0".to_owned() } else { port.to_string() });
    set_shown("bind_address", value(&["bind_address"]).unwrap_or("127.0.0.1").to_owned());
    set_shown("socket", socket.as_ref().map(|path| path.display().to_string()).unwrap_or_default());
    set_shown("skip_networking", if addresses.is_empty() { "ON" } else { "OFF" }.to_owned());
    if let Some(path) = &pid_file {
        set_shown("pid_file", path.display().to_string());
    }
    set_shown("report_port", port.to_string());
    Ok(Options {
        data_dir,
        variables,
        ignored,
        addresses,
        socket,
        socket_in_data_dir,
        tls,
        pid_file,
        worker_groups,
        worker_waiters,
    })
}

fn strangers(addresses: &[SocketAddr]) -> Option<&SocketAddr> {
    addresses.iter().find(|address| !address.ip().to_canonical().is_loopback())
}

fn refuse_strangers(address: &SocketAddr) -> String {
    format!(
        "refusing to listen on {}: an account has no password; start with INVAR_ROOT_PASSWORD set on the first start, \
         or on 127.0.0.1 and give every account a password",
        address.ip()
    )
}

fn is_new(folder: &Path) -> bool {
    std::fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
}

/// Runs the server until SIGTERM, SIGINT or SHUTDOWN.
///
/// # Errors
/// Why it did not start, or did not end in order: one line.
pub(crate) fn run<B: Backend>(args: &[String]) -> Result<(), String> {
    run_with::<B, _>(args, None::<fn(&Options, &B) -> Result<Box<dyn Front>, String>>)
}

/// As [`run`], but the clients that come by TCP are served by what `front` makes; those of the Unix socket by the backend.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_front<B: Backend>(
    args: &[String],
    front: impl FnOnce(&Options, &B) -> Result<Box<dyn Front>, String>,
) -> Result<(), String> {
    run_with(args, Some(front))
}

fn run_with<B: Backend, F: FnOnce(&Options, &B) -> Result<Box<dyn Front>, String>>(
    args: &[String],
    front: Option<F>,
) -> Result<(), String> {
    let signals = Signals::block();
    let options = parse(args, B::variable)?;
    let root_password = std::env::var("INVAR_ROOT_PASSWORD").ok().filter(|password| !password.is_empty());
    if let Some(address) = strangers(&options.addresses)
        && root_password.is_none()
        && is_new(&options.data_dir)
    {
        return Err(refuse_strangers(address));
    }
    let mut listeners =
        server::Listeners::bind(&options.addresses, None).map_err(|error| error.to_string())?;
    // Of a front door, the socket is its backend's.
    if let Some(path) = &options.socket
        && !options.socket_in_data_dir
        && front.is_none()
    {
        listeners.bind_socket(path.clone()).map_err(|error| error.to_string())?;
    }
    let backend = B::open(&options, root_password)?;
    if let Some(address) = strangers(&options.addresses)
        && backend.has_account_without_password()
    {
        let refusal = refuse_strangers(address);
        backend.close()?;
        return Err(refusal);
    }
    let result = match front.map(|front| front(&options, &backend)).transpose() {
        Ok(front) => serve(&options, listeners, &backend, front.as_deref(), &signals),
        Err(why) => Err(why),
    };
    let closed = backend.close();
    result.and(closed)
}

fn serve<B: Backend>(
    options: &Options,
    mut listeners: server::Listeners,
    backend: &B,
    front: Option<&dyn Front>,
    signals: &Signals,
) -> Result<(), String> {
    let mut behind = match front {
        Some(_) => Some(server::Listeners::bind(&[], None).map_err(|error| error.to_string())?),
        None => None,
    };
    if let Some(path) = &options.socket
        && (options.socket_in_data_dir || behind.is_some())
    {
        let listeners = behind.as_mut().unwrap_or(&mut listeners);
        listeners.bind_socket(path.clone()).map_err(|error| error.to_string())?;
    }
    let tls = match &options.tls {
        Tls::Off => None,
        Tls::Files(files) => Some(files.clone()),
        Tls::Automatic => Some(
            server::make_tls_files(&options.data_dir)
                .map_err(|error| format!("cannot make a TLS certificate in the data folder: {error}"))?,
        ),
    };
    let mut config = server::Config {
        worker_groups: options.worker_groups,
        worker_waiters: options.worker_waiters,
        tls,
        key_folder: Some(options.data_dir.clone()),
        handover: None,
        first_connection_id: 0,
    };
    let admin = match behind {
        Some(listeners) => {
            let config = server::Config { worker_groups: 1, ..config.clone() };
            let admin = server::Server::start(listeners, config, backend.service());
            Some(admin.map_err(|error| error.to_string())?)
        }
        None => None,
    };
    if let Some(front) = front {
        config.handover = Some(front.handover());
        config.first_connection_id = front.first_client();
    }
    let server =
        server::Server::start(listeners, config, backend.service()).map_err(|error| error.to_string())?;
    if let Some(path) = &options.pid_file {
        std::fs::write(path, format!("{}\n", std::process::id()))
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    println!("{}", ready_line(options, server.tcp_addresses(), &backend.service().server_version()));
    while !signals.wait(SHUTDOWN_CHECK_INTERVAL) && !backend.shutdown_requested() {}
    let mut ended = server.stop(STOP_TIME);
    if let Some(front) = front {
        front.stop();
    }
    if let Some(admin) = admin {
        ended &= admin.stop(STOP_TIME);
    }
    if let Some(path) = &options.pid_file {
        let _ = std::fs::remove_file(path); // Somebody may have cleaned up already.
    }
    if ended { Ok(()) } else { Err("a statement did not end in time; the data is safe".to_owned()) }
}

/// One line: ready, and how to connect.
fn ready_line(options: &Options, addresses: &[SocketAddr], version: &str) -> String {
    let mut ways = Vec::new();
    if let Some(address) = addresses.first() {
        let host = match address.ip() {
            ip if ip.is_unspecified() => "127.0.0.1".to_owned(),
            ip => ip.to_string(),
        };
        ways.push(format!("mysql -h {host} -P {} -u root", address.port()));
    }
    if let Some(path) = &options.socket {
        ways.push(format!("mysql -S {} -u root", path.display()));
    }
    format!("invar {version} ready on {}: {}", options.data_dir.display(), ways.join(", or "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(name: &str) -> Option<Kind> {
        match name {
            "max_connections" | "datadir" | "port" | "socket" => Some(Kind::Value),
            "general_log" => Some(Kind::Flag),
            _ => None,
        }
    }

    fn parsed(text: &str) -> Result<Options, String> {
        let args: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        parse(&args, variable)
    }

    #[test]
    fn options_say_where_to_listen_and_what_is_a_variable() {
        let options =
            parsed("--data-dir /d --port 4000 --bind-address=127.0.0.1,* --max_connections=7 --general-log")
                .expect("valid");
        assert_eq!(options.addresses, ["127.0.0.1:4000".parse().unwrap(), "[::]:4000".parse().unwrap()]);
        assert_eq!(options.socket, Some(PathBuf::from("/d/mysql.sock")));
        assert_eq!(strangers(&options.addresses), Some(&options.addresses[1]));
        let variables: Vec<String> =
            options.variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            variables,
            ["max_connections=7", "general_log=ON", "datadir=/d/", "port=4000", "socket=/d/mysql.sock"]
        );
        let options = parsed("--data-dir /d --skip-networking --socket=/tmp/s --skip-ssl").expect("valid");
        assert!(
            options.addresses.is_empty() && matches!(options.tls, Tls::Off) && !options.socket_in_data_dir
        );
        assert_eq!(ready_line(&options, &[], "9"), "invar 9 ready on /d: mysql -S /tmp/s -u root");
        for (text, error) in [
            ("--port=70000", "option 'port' is a number up to 65535, not '70000'"),
            ("--ssl-cert=x", "options 'ssl-cert' and 'ssl-key' go together"),
            ("--no-such-thing", "unknown option 'no-such-thing' (command line)"),
        ] {
            assert_eq!(parsed(text).unwrap_err(), error);
        }
    }
}
