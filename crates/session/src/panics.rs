//! Panics: a defect of ours that ends one statement, never the server.
//!
//! The hook writes where it happened, with a backtrace, to the error log; the server catches what unwinds, and has the session write which
//! statement it was, as a digest: its text without literals, which may be secrets. `Panics` in SHOW STATUS counts them, so that no test run
//! passes over one.

use std::backtrace::Backtrace;
use std::sync::atomic::{AtomicU64, Ordering};

use env::Env;

/// Bytes of a digest's text that the log gets.
const DIGEST_TEXT_BYTES_MAX: usize = 1024;

static COUNT: AtomicU64 = AtomicU64::new(0);

/// Panics of this process, on any thread.
#[must_use]
pub fn count() -> u64 {
    COUNT.load(Ordering::Relaxed)
}

/// From now on panics of this process are counted, and written to the error log.
pub fn install(env: &Env) {
    let env = env.clone();
    std::panic::set_hook(Box::new(move |panic| {
        COUNT.fetch_add(1, Ordering::Relaxed);
        let payload = panic.payload();
        let text = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("(no message)");
        let place = panic.location().map_or_else(String::new, |place| format!(" at {place}"));
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("without name");
        let backtrace = Backtrace::force_capture();
        crate::error_log::error(&env, &format!("panicked in thread {name}{place}: {text}\n{backtrace}"));
    }));
}

/// Writes down which statement it was.
pub(crate) fn note_statement(env: &Env, connection_id: u64, statement: &[u8], mode: syntax::SqlMode) {
    let text = syntax::normalized(statement, mode, DIGEST_TEXT_BYTES_MAX);
    // FNV-1a: the same number for the same statement in every run and version.
    let digest = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let line = format!(
        "the panic ended a statement of connection {connection_id}, digest {digest:016x}: {text}; its transaction is rolled back"
    );
    crate::error_log::error(env, &line);
}
