//! Passwords that are checked beside the worker groups.
//!
//! To check a password costs milliseconds of CPU on purpose. A few threads of their own do it, so that a flood of wrong passwords
//! takes no thread and no event loop from the statements of others; a connection waits for its check as it waits for its client. Hosts
//! take turns: a flood from one delays only its own logins.
//!
//! Invariants:
//! 1. A connection has at most one check under way, so the queue is bounded by the connections that have not logged in.
//! 2. The check of a connection that has ended meanwhile is not made.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use wire::auth;
use wire::handshake::CHALLENGE_BYTES;

use crate::location::{Location, lock};
use crate::secrets::RsaKeys;

/// What is asked.
#[derive(Debug)]
pub(crate) enum Question {
    /// The public key, which may have to be made first.
    PublicKey,
    /// Whether this password, as it was sent, is one of those stored; none for an account that is not there, which takes as long.
    Password { stored: Vec<Vec<u8>>, sent: Vec<u8>, is_encrypted: bool, challenge: [u8; CHALLENGE_BYTES] },
}

/// What was found.
#[derive(Debug)]
pub(crate) enum Found {
    /// The public key as PEM text.
    PublicKey(String),
    /// The password was right: the one that is stored so; and what to remember of it.
    Right { stored: Vec<u8>, remembered: [u8; 32] },
    /// It was not.
    Wrong,
    /// The keys cannot be used.
    Failed(io::Error),
}

/// A check under way, held by its connection. Dropping it withdraws the question.
#[derive(Debug)]
pub(crate) struct Check(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    found: Mutex<Option<Found>>,
    is_done: AtomicBool,
    is_withdrawn: AtomicBool,
}

impl Check {
    /// Whether the answer is there.
    pub(crate) fn is_done(&self) -> bool {
        self.0.is_done.load(Ordering::Acquire)
    }

    /// The answer, once.
    pub(crate) fn take(&self) -> Option<Found> {
        lock(&self.0.found).take()
    }
}

impl Drop for Check {
    fn drop(&mut self) {
        self.0.is_withdrawn.store(true, Ordering::Relaxed);
    }
}

struct Job {
    question: Question,
    shared: Arc<Shared>,
    location: Arc<Location>,
}

#[derive(Default)]
struct Queue {
    jobs: HashMap<String, VecDeque<Job>>,
    /// The hosts that have jobs, in the order of their turns.
    hosts: VecDeque<String>,
    is_stopped: bool,
}

impl Queue {
    fn push(&mut self, host: &str, job: Job) {
        let jobs = self.jobs.entry(host.to_owned()).or_default();
        if jobs.is_empty() {
            self.hosts.push_back(host.to_owned());
        }
        jobs.push_back(job);
    }

    fn pop(&mut self) -> Option<Job> {
        let host = self.hosts.pop_front()?;
        let jobs = self.jobs.get_mut(&host)?;
        let job = jobs.pop_front();
        if jobs.is_empty() {
            self.jobs.remove(&host);
        } else {
            self.hosts.push_back(host);
        }
        job
    }
}

/// The threads that check passwords, and what waits for them.
pub(crate) struct PasswordChecks {
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl PasswordChecks {
    /// Starts the threads: half as many as CPUs, at least one.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub(crate) fn start(rsa: &Arc<RsaKeys>) -> io::Result<Arc<PasswordChecks>> {
        let checks = Arc::new(PasswordChecks { queue: Mutex::default(), changed: Condvar::new() });
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        for number in 0..(cores / 2).max(1) {
            let (own, rsa) = (Arc::clone(&checks), Arc::clone(rsa));
            let spawned =
                std::thread::Builder::new().name(format!("password-{number}")).spawn(move || own.work(&rsa));
            if let Err(error) = spawned {
                checks.stop();
                return Err(error);
            }
        }
        Ok(checks)
    }

    /// Lets the threads end.
    pub(crate) fn stop(&self) {
        lock(&self.queue).is_stopped = true;
        self.changed.notify_all();
    }

    /// Asks on behalf of the connection that lives at `location`, which is woken when the answer is there.
    pub(crate) fn ask(&self, host: &str, question: Question, location: &Arc<Location>) -> Check {
        let shared = Arc::new(Shared {
            found: Mutex::new(None),
            is_done: AtomicBool::new(false),
            is_withdrawn: AtomicBool::new(false),
        });
        let job = Job { question, shared: Arc::clone(&shared), location: Arc::clone(location) };
        lock(&self.queue).push(host, job);
        self.changed.notify_one();
        Check(shared)
    }

    fn work(&self, rsa: &RsaKeys) {
        let mut queue = lock(&self.queue);
        while !queue.is_stopped {
            let Some(job) = queue.pop() else {
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(queue);
            if !job.shared.is_withdrawn.load(Ordering::Relaxed) {
                *lock(&job.shared.found) = Some(answer(&job.question, rsa));
                job.shared.is_done.store(true, Ordering::Release);
                job.location.wake_connection();
            }
            queue = lock(&self.queue);
        }
    }
}

fn answer(question: &Question, rsa: &RsaKeys) -> Found {
    match question {
        Question::PublicKey => rsa.public_pem().map_or_else(Found::Failed, Found::PublicKey),
        Question::Password { stored, sent, is_encrypted, challenge } => {
            let decrypted = if *is_encrypted {
                match rsa.decrypt(sent) {
                    Ok(Some(mut hidden)) => {
                        auth::xor_with_challenge(&mut hidden, challenge);
                        hidden
                    }
                    Ok(None) => return Found::Wrong,
                    Err(error) => return Found::Failed(error),
                }
            } else {
                sent.clone()
            };
            let Some(password) = decrypted.strip_suffix(&[0]) else { return Found::Wrong };
            if password.len() > auth::PASSWORD_BYTES_MAX {
                return Found::Wrong;
            }
            if stored.is_empty() {
                // Somebody unknown takes as long as somebody known.
                let _ = std::hint::black_box(auth::sha2_stored(password, &[b'x'; auth::SALT_BYTES]));
                return Found::Wrong;
            }
            match stored.iter().find(|stored| auth::sha2_verify_full(stored, password)) {
                Some(stored) => {
                    Found::Right { stored: stored.clone(), remembered: auth::sha2_remembered(password) }
                }
                None => Found::Wrong,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_take_turns() {
        let job = |byte| Job {
            question: Question::Password {
                stored: Vec::new(),
                sent: vec![byte],
                is_encrypted: false,
                challenge: [0; CHALLENGE_BYTES],
            },
            shared: Arc::new(Shared {
                found: Mutex::new(None),
                is_done: AtomicBool::new(false),
                is_withdrawn: AtomicBool::new(false),
            }),
            location: Arc::default(),
        };
        let mut queue = Queue::default();
        for number in 0..3 {
            queue.push("flood", job(number));
        }
        queue.push("other", job(10));
        queue.push("third", job(20));
        let mut order = Vec::new();
        while let Some(Job { question: Question::Password { sent, .. }, .. }) = queue.pop() {
            order.extend(sent);
        }
        assert_eq!(order, [0, 10, 20, 1, 2]);
        assert!(queue.jobs.is_empty() && queue.hosts.is_empty());
    }
}
