//! `invar shard`: the front door before one server. Accounts lie in a data folder of its own, whose server answers on the Unix socket;
//! clients that come by TCP are relayed.

use std::sync::Arc;
use std::time::Duration;

use client::{Address, Options as BackendOptions};

use crate::serve::{self, Backend as _, Front, Options};

/// Connections to the backend without `--backend-connections`.
const CONNECTIONS_DEFAULT: usize = 100;
/// Seconds that a client waits for one without `--backend-wait`.
const WAIT_S_DEFAULT: u64 = 10;
/// Folder without `--data-dir`.
const DATA_DIR_DEFAULT: &str = "shard-data";
/// Clients are numbered from here: above the numbers that a backend gives its connections.
const FIRST_CLIENT: u64 = 1 << 30;

/// What `invar shard --help` prints.
pub(crate) const HELP: &str = "\
invar shard: a front door before a MySQL-protocol server

  --backend=URL             mysql://USER:PASSWORD@HOST:PORT, the server that
                            answers and the account used there
  --backend-connections=N   connections to it at most (100)
  --backend-wait=SECONDS    how long a client waits for one (10)
  --data-dir=DIR            where the front door's accounts lie (shard-data)
  --socket=PATH             Unix socket for its administrator
                            (mysql.sock in the data folder)
  --port, --bind-address, --ssl-cert, --ssl-key, --skip-ssl, --worker-groups,
  --pid-file, --VARIABLE=VALUE
                            as for invar serve

Clients log in over TCP with the front door's accounts, made by CREATE USER
on its Unix socket. SHOW RELAY STATUS counts what it does.";

/// Takes the front door's own options out of the arguments.
fn take(args: &[String], name: &str) -> Result<(Option<String>, Vec<String>), String> {
    let (with_value, alone) = (format!("--{name}="), format!("--{name}"));
    let mut value = None;
    let mut rest = Vec::new();
    let mut args = args.iter();
    while let Some(word) = args.next() {
        if let Some(text) = word.strip_prefix(&with_value) {
            value = Some(text.to_owned());
        } else if *word == alone {
            value = Some(args.next().cloned().ok_or_else(|| format!("option '{alone}' needs a value"))?);
        } else {
            rest.push(word.clone());
        }
    }
    Ok((value, rest))
}

fn number<T: std::str::FromStr>(name: &str, text: Option<String>, default: T) -> Result<T, String> {
    text.map_or(Ok(default), |text| {
        text.parse().map_err(|_| format!("option '{name}' is a number, not '{text}'"))
    })
}

/// The backend of the front door.
struct Door {
    relay: Arc<relay::Relay>,
}

impl Front for Door {
    fn handover(&self) -> Arc<dyn server::Handover> {
        Arc::clone(&self.relay) as Arc<dyn server::Handover>
    }

    fn first_client(&self) -> u64 {
        FIRST_CLIENT
    }

    fn stop(&self) {
        self.relay.stop();
    }
}

/// Runs the front door until SIGTERM, SIGINT or SHUTDOWN.
///
/// # Errors
/// Why it did not start, or did not end in order: one line.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (backend, args) = take(args, "backend")?;
    let (connections, args) = take(&args, "backend-connections")?;
    let (wait, mut args) = take(&args, "backend-wait")?;
    let url = backend
        .ok_or("option 'backend' is needed: mysql://USER:PASSWORD@HOST:PORT; see invar shard --help")?;
    let mut backend = BackendOptions::from_url(&url).map_err(|error| format!("option 'backend': {error}"))?;
    if backend.database.is_some() {
        return Err("option 'backend' names a schema: clients choose their own; leave it out".to_owned());
    }
    backend.read_timeout = Some(Duration::from_secs(10));
    let name = match &backend.address {
        Address::Tcp { host, port } => format!("{host}:{port}"),
        Address::Unix(path) => path.display().to_string(),
    };
    let connections_max: usize = number("backend-connections", connections, CONNECTIONS_DEFAULT)?;
    if connections_max == 0 {
        return Err("option 'backend-connections' is 1 at least".to_owned());
    }
    let wait_s = number("backend-wait", wait, WAIT_S_DEFAULT)?;
    let is_given = |option: &str| args.iter().any(|arg| arg.starts_with(option));
    if !is_given("--data-dir") && !is_given("--datadir") {
        args.push(format!("--data-dir={DATA_DIR_DEFAULT}"));
    }
    serve::run_front::<crate::local::Local>(&args, |options: &Options, local| {
        let service = local.service();
        let config = relay::Config {
            backend,
            name,
            connections_max,
            wait_max: Duration::from_secs(wait_s),
            write_timeout: Duration::from_secs(service.limits().net_write_timeout_s.into()),
            loops: options.worker_groups(),
            packet_bytes_max: service.limits().max_allowed_packet as usize,
            version: service.server_version(),
        };
        let relay =
            relay::Relay::start(config).map_err(|error| format!("cannot start the relay: {error}"))?;
        Ok(Box::new(Door { relay }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_options_are_taken_out() {
        let args: Vec<String> = ["--port=1", "--backend", "mysql://a@b", "--x"].map(str::to_owned).to_vec();
        let (value, rest) = take(&args, "backend").expect("valid");
        assert_eq!(value.as_deref(), Some("mysql://a@b"));
        assert_eq!(rest, ["--port=1", "--x"]);
        assert!(take(&["--backend".to_owned()], "backend").is_err());
        let error = run(&["--backend=mysql://a@127.0.0.1/shop".to_owned()]).unwrap_err();
        assert!(error.contains("schema"), "{error}");
    }
}
