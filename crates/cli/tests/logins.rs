//! Who gets in while others come and do not log in, or try passwords.

use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use client::{Connection, Error, Options};

mod harness;

use harness::Server;

/// `UNAUTHENTICATED_MAX` of the server.
const UNAUTHENTICATED_MAX: usize = 1_000;

fn must(connection: &mut Connection, sql: &str) {
    connection.run(sql.as_bytes()).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

fn status(connection: &mut Connection, name: &str) -> u64 {
    let mut answer =
        connection.query(format!("SHOW GLOBAL STATUS LIKE '{name}'").as_bytes()).expect("a list");
    let mut number = None;
    while answer.next_result().expect("a list") {
        while let Some(row) = answer.next_row().expect("a list") {
            number = row.cell(1).as_str().and_then(|text| text.parse().ok());
        }
    }
    number.unwrap_or_else(|| panic!("no {name}"))
}

fn number_of<T>(result: Result<T, Error>) -> Option<u16> {
    result.err().and_then(|error| error.number())
}

fn as_user(server: &Server, user: &str, password: &str) -> Options {
    let mut options = server.options();
    user.clone_into(&mut options.user);
    options.password = password.as_bytes().to_vec();
    options
}

/// Some if the server has closed the connection.
fn has_ended(stream: &mut TcpStream) -> Option<()> {
    stream.set_nonblocking(true).expect("a socket");
    let mut bytes = [0; 1024];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return Some(()),
            Ok(_) => {} // The greeting.
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return None,
            Err(_) => return Some(()),
        }
    }
}

#[test]
fn who_does_not_log_in_keeps_nobody_out() {
    let server = Server::start(&["--max-connections=3", "--connect-timeout=600"]);
    let mut idle: Vec<TcpStream> = Vec::new();
    for _ in 0..UNAUTHENTICATED_MAX + 100 {
        idle.push(TcpStream::connect(("127.0.0.1", server.port())).expect("it is listened"));
    }
    let mut sessions = vec![server.root(), server.root()];
    must(&mut sessions[0], "CREATE USER u IDENTIFIED BY 'u'");
    // The oldest were closed, the newest are still greeted.
    // Each worker group greets those it was given, so that the oldest is so among those of its group.
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut ended = 0;
    while ended < 100 {
        assert!(Instant::now() < deadline, "{ended} of the oldest have ended");
        std::thread::sleep(Duration::from_millis(10));
        ended = idle[..UNAUTHENTICATED_MAX / 2].iter_mut().filter_map(has_ended).count();
    }
    let last = idle.last_mut().expect("there are some");
    last.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
    assert_eq!(last.read(&mut [0; 5]).expect("a greeting"), 5);
    assert!(status(&mut sessions[0], "Aborted_connects") >= 100);

    let options = as_user(&server, "u", "u");
    sessions.push(Connection::connect(&options).expect("the third place"));
    assert_eq!(number_of(Connection::connect(&options)), Some(1040));
    // One more for an administrator, by either privilege, and no second.
    must(&mut sessions[0], "GRANT CONNECTION_ADMIN ON *.* TO u");
    let fourth = Connection::connect(&options).expect("the connection reserved for an administrator");
    assert_eq!(number_of(Connection::connect(&server.options())), Some(1040));
    fourth.quit();
    let deadline = Instant::now() + Duration::from_secs(60);
    while let Err(error) = Connection::connect(&server.options()) {
        assert_eq!(error.number(), Some(1040));
        assert!(Instant::now() < deadline, "the place is not given back");
        std::thread::sleep(Duration::from_millis(5));
    }
    // A login that fails behind the password gives its place back.
    must(&mut sessions[0], "REVOKE CONNECTION_ADMIN ON *.* FROM u");
    sessions.pop().expect("the third").quit();
    for _ in 0..5 {
        let mut options = as_user(&server, "u", "u");
        options.database = Some("none".to_owned());
        while number_of(Connection::connect(&options)) == Some(1040) {
            assert!(Instant::now() < deadline, "a place is not given back");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn answers_to_failing_logins_are_delayed() {
    let server = Server::start(&["--connect-timeout=2"]);
    let mut root = server.root();
    must(&mut root, "CREATE USER u IDENTIFIED BY 'u'");
    must(&mut root, "SET GLOBAL connection_control_failed_connections_threshold = 1");
    must(&mut root, "SET GLOBAL connection_control_max_connection_delay = 3000");
    let attempt = |password: &str| {
        let started = Instant::now();
        let number = number_of(Connection::connect(&as_user(&server, "u", password)));
        (number, started.elapsed())
    };
    assert_eq!(attempt("wrong").0, Some(1045));
    // Longer than `connect_timeout`, too.
    for seconds in 1..=3 {
        let (number, elapsed) = attempt("wrong");
        assert_eq!(number, Some(1045));
        assert!(elapsed >= Duration::from_secs(seconds), "{elapsed:?} instead of {seconds} s");
    }
    must(&mut root, "DO 1");
    let (number, elapsed) = attempt("u");
    assert_eq!(number, None);
    assert!(elapsed >= Duration::from_secs(3));
    assert_eq!(status(&mut root, "Connection_control_delay_generated"), 4);
    assert_eq!(attempt("u").0, None);
    assert_eq!(attempt("wrong").0, Some(1045));
    assert_eq!(status(&mut root, "Connection_control_delay_generated"), 4);
    // COM_CHANGE_USER is a login as well, and the name of nobody counts by its host.
    let mut session = server.root();
    assert!(session.change_user("u", b"wrong", None).is_err());
    assert_eq!(number_of(Connection::connect(&as_user(&server, "nobody", "x"))), Some(1045));
    assert_eq!(number_of(Connection::connect(&as_user(&server, "else", "x"))), Some(1045));
    assert_eq!(status(&mut root, "Connection_control_delay_generated"), 6);
}
