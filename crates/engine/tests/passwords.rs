//! Passwords of accounts over a restart: policies, earlier and second passwords, expiry.

mod root;

use std::path::PathBuf;

use engine::engine::{Engine, StartOptions};
use env::Env;
use service::{Capabilities, ClientHost, Discard, PasswordExpiry, Reply, RowFormat, Service, Session};
use wire::packet::PacketBuffer;

const CAPABILITIES: Capabilities = Capabilities::PROTOCOL_41.with(Capabilities::DEPRECATE_EOF);

/// A data folder of its own, gone with the test.
struct Folder(PathBuf);

impl Folder {
    fn open(&self) -> Engine {
        let options = StartOptions { data_folder: self.0.clone(), ..StartOptions::default() };
        Engine::open(&Env::real(), &options).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0); // What stays lies among temporary files.
    }
}

/// The number of a statement's error, 0 for none.
fn run(session: &mut dyn Session, sql: &str) -> u16 {
    let (mut buffer, mut link) = (PacketBuffer::new(), Discard);
    let mut reply = Reply::new(&mut buffer, &mut link, CAPABILITIES, RowFormat::Text);
    let ran = session.query(sql.as_bytes(), &mut reply).without_requeue();
    ran.err().map_or(0, |error| error.number)
}

#[test]
fn passwords_and_their_policies_survive_a_restart() {
    let path = std::env::temp_dir().join(format!("invar-passwords-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path); // Of a test that was killed.
    let folder = Folder(path);
    let host = ClientHost { name: "localhost".to_owned(), address: None };
    let second = {
        let engine = folder.open();
        let mut session = root::connect(&engine, CAPABILITIES);
        for sql in [
            "CREATE USER u IDENTIFIED BY 'first' PASSWORD HISTORY 3 PASSWORD EXPIRE INTERVAL 7 DAY",
            "ALTER USER u IDENTIFIED BY 'second' RETAIN CURRENT PASSWORD",
            "CREATE USER v IDENTIFIED BY 'v' PASSWORD EXPIRE",
            "CREATE USER w IDENTIFIED BY 'w' PASSWORD REQUIRE CURRENT OPTIONAL PASSWORD REUSE INTERVAL 1 DAY",
        ] {
            assert_eq!(run(&mut *session, sql), 0, "{sql}");
        }
        engine.find_account("u", &host).expect("it was created").second_stored
    };
    assert!(!second.is_empty());
    let engine = folder.open();
    let mut session = root::connect(&engine, CAPABILITIES);
    let found = |user: &str| engine.find_account(user, &host).expect("it was created");
    assert_eq!(found("u").second_stored, second);
    assert_eq!(found("u").password, PasswordExpiry::Valid);
    assert_eq!(found("v").password, PasswordExpiry::Expired { disconnects: true });
    assert_eq!(run(&mut *session, "ALTER USER u IDENTIFIED BY 'first'"), 3638);
    assert_eq!(run(&mut *session, "ALTER USER w IDENTIFIED BY 'w'"), 3638);
    assert_eq!(run(&mut *session, "ALTER USER u DISCARD OLD PASSWORD"), 0);
    assert!(found("u").second_stored.is_empty());
}
