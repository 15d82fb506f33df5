//! A server of our own in a child process, as a user starts it, and the real MySQL that answers may be compared with.
#![allow(dead_code, reason = "each test uses its part")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use client::{Address, Connection, Error, Options};
use wire::packet::PacketBuffer;

/// How long an answer may take before a test says that the server hangs.
pub(crate) const ANSWER_TIME_MAX: Duration = Duration::from_secs(120);

/// Settings under which a connection that takes 20 MB is closed, each with its error.
pub(crate) const CONNECTION_MEMORY_LIMITS: [(&[&str], u16); 2] = [
    (&["connection_memory_limit = 20000000"], 4082),
    (
        &[
            "connection_memory_limit = DEFAULT",
            "global_connection_memory_limit = 20000000",
            "global_connection_memory_tracking = ON",
        ],
        4081,
    ),
];

/// A packet's frames.
pub(crate) fn framed(payload: &[u8], sequence: u8) -> Vec<u8> {
    let mut packets = PacketBuffer::new();
    packets.set_sequence(sequence);
    packets.put(payload);
    packets.frames().to_vec()
}

/// `invar serve` in a child process with a data folder of its own.
pub(crate) struct Server {
    child: Child,
    port: u16,
    folder: Arc<tempfile::TempDir>,
}

impl Server {
    /// Starts a server that listens on a free port, with these further options. `INVAR_BINARY` names another build of it.
    pub(crate) fn start(options: &[&str]) -> Server {
        Self::start_in(Arc::new(tempfile::tempdir().expect("a folder")), options)
    }

    /// Starts it over what an earlier one left. Dropping a server kills it as SIGKILL does.
    pub(crate) fn start_in(folder: Arc<tempfile::TempDir>, options: &[&str]) -> Server {
        Self::start_with(folder, options, &[])
    }

    /// Starts `invar shard` before this backend.
    pub(crate) fn relay(backend: &Options, options: &[&str]) -> Server {
        let Address::Tcp { host, port } = &backend.address else { panic!("a backend has a port") };
        let (user, password) = (&backend.user, String::from_utf8_lossy(&backend.password).into_owned());
        let url = format!("--backend=mysql://{user}:{password}@{host}:{port}");
        let folder = Arc::new(tempfile::tempdir().expect("a folder"));
        Self::spawn(folder, "shard", &[&["--skip-ssl", &url][..], options].concat(), &[])
    }

    /// The same with these variables of the environment.
    pub(crate) fn start_with(
        folder: Arc<tempfile::TempDir>,
        options: &[&str],
        variables: &[(&str, &str)],
    ) -> Server {
        Self::spawn(folder, "serve", options, variables)
    }

    fn spawn(
        folder: Arc<tempfile::TempDir>,
        command: &str,
        options: &[&str],
        variables: &[(&str, &str)],
    ) -> Server {
        let binary = std::env::var_os("INVAR_BINARY").unwrap_or_else(|| env!("CARGO_BIN_EXE_invar").into());
        let mut child = Command::new(binary)
            .args([command, "--no-defaults", "--port=0", "--data-dir"])
            .arg(folder.path().join("data"))
            // Plans do not change in the middle of a test.
            .arg("--innodb-stats-auto-recalc=OFF")
            .args(options)
            .env_remove("INVAR_ROOT_PASSWORD")
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("the ready line");
        let port = line.split(" -P ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
        let port = port.unwrap_or_else(|| panic!("no port in the ready line: {line}"));
        Server { child, port, folder }
    }

    /// How to connect over TCP as root.
    pub(crate) fn options(&self) -> Options {
        let mut options = Options::new(Address::Tcp { host: "127.0.0.1".into(), port: self.port }, "root");
        options.read_timeout = Some(ANSWER_TIME_MAX);
        options.write_timeout = Some(ANSWER_TIME_MAX);
        options
    }

    /// Where its data folder is, which goes with the last who holds this.
    pub(crate) fn folder(&self) -> Arc<tempfile::TempDir> {
        Arc::clone(&self.folder)
    }

    /// The process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// TCP port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The Unix socket.
    pub(crate) fn socket(&self) -> std::path::PathBuf {
        self.folder.path().join("data/mysql.sock")
    }

    /// A session of root.
    pub(crate) fn root(&self) -> Connection {
        Connection::connect(&self.options()).expect("root is let in")
    }

    /// Bytes of memory in use: VmRSS of the server.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory("VmRSS:")
    }

    /// The most bytes of memory the server ever used: VmHWM.
    pub(crate) fn memory_bytes_max(&self) -> usize {
        self.memory("VmHWM:")
    }

    fn memory(&self, key: &str) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix(key)).expect("a process has memory");
        line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") << 10
    }

    /// How often something in the server has panicked.
    pub(crate) fn panics(&self) -> u64 {
        let mut root = self.root();
        let mut answer = root.query(b"SHOW GLOBAL STATUS LIKE 'Panics'").expect("the status");
        assert!(answer.next_result().expect("the status"));
        let row = answer.next_row().expect("the status").expect("a row");
        let mut text = Vec::new();
        row.cell(1).write_text(&row.columns().get(1), &mut text);
        String::from_utf8(text).ok().and_then(|text| text.parse().ok()).expect("a number")
    }

    /// Shuts down in order; the server must say that all went well, and nothing in it may have panicked.
    pub(crate) fn stop(mut self) {
        assert_eq!(self.panics(), 0, "something in the server panicked: its error log is on standard error");
        let mut root = self.root();
        root.run(b"SHUTDOWN").expect("root may");
        let status = self.child.wait().expect("a child ends");
        assert!(status.success(), "the server ended with {status}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill(); // A test failed; nothing to save.
        let _ = self.child.wait();
    }
}

/// The server that this variable names; says loudly what is left out without one.
pub(crate) fn oracle(variable: &str) -> Option<Options> {
    let Ok(url) = std::env::var(variable) else {
        // Not `eprintln`: the test harness would keep it to itself.
        let notice = format!(
            "LEFT OUT: set {variable}=mysql://user:password@host:port to run the golden scripts on a real server\n"
        );
        std::io::stderr().write_all(notice.as_bytes()).expect("stderr takes it");
        return None;
    };
    let options = Options::from_url(&url);
    let mut options = options.unwrap_or_else(|_| panic!("{variable} is mysql://user:password@host:port"));
    options.read_timeout = Some(ANSWER_TIME_MAX);
    Some(options)
}

/// Connects, and waits while the server still counts connections that are gone.
pub(crate) fn connect(options: &Options) -> Result<Connection, Error> {
    for _ in 0..500 {
        match Connection::connect(options) {
            Err(error) if error.number() == Some(1040) => std::thread::sleep(Duration::from_millis(10)),
            done => return done,
        }
    }
    Connection::connect(options)
}
