//! The participant's side of a commit over several backends: what the local store cannot keep across a crash it does not promise.

mod answers;
mod root;

use std::path::Path;

use answers::{CAPABILITIES, ask};
use engine::engine::{Engine, StartOptions};
use env::Env;
use service::error::{ER_NOT_SUPPORTED_YET, ER_XAER_NOTA};
use session::backend::{Backend as _, PreparedTransactions as _, SessionTransaction as _, Xid};

fn open(folder: &Path) -> Engine {
    let options = StartOptions { data_folder: folder.join("data"), ..StartOptions::default() };
    Engine::open(&Env::real(), &options).expect("the folder opens")
}

#[test]
fn a_transaction_that_cannot_be_prepared_stays_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = open(folder.path());
    let backend = engine.backend();
    let xid = Xid { transaction: b"t".to_vec(), branch: b"b".to_vec(), format: 1 };
    let mut transaction = backend.new_transaction().expect("the store is there");
    transaction.take_snapshot().expect("and gives snapshots");
    let refused = transaction.prepare(&xid).expect_err("it could not be kept across a crash");
    assert!(refused.is(ER_NOT_SUPPORTED_YET), "{}", refused.message);
    assert!(transaction.has_snapshot(), "nothing has changed");
    assert_eq!(transaction.commit().expect("it commits as ever"), None);

    assert_eq!(backend.prepared().expect("they can be listed"), []);
    assert!(backend.commit_prepared(&xid).expect_err("there is none").is(ER_XAER_NOTA));
    assert!(backend.roll_back_prepared(&xid).expect_err("there is none").is(ER_XAER_NOTA));
    let mut session = root::connect_as(&engine, CAPABILITIES, 1);
    let answer = ask(&mut *session, "XA PREPARE 'x'").expect_err("not yet");
    assert!(answer.starts_with("1235 "), "{answer}");
}
