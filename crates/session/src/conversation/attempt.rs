//! How an attempt to run a statement may end.
//!
//! | end | what becomes of the statement |
//! | --- | --- |
//! | `Ok` | it is answered |
//! | [`Stop::Replan`] | planned and run again, here ([`until_planned`]) |
//! | [`Stop::Requeue`] | given to the session again by the server ([`CommandOutcome::Requeue`]) |
//! | [`Stop::Failed`] | the client gets the error |

use std::time::Duration;

use service::{CommandOutcome, SqlError};

/// Why a statement did not run to its end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// While it waited for a table's lock, the table changed. It has done nothing and sent nothing: it is planned and run again.
    Replan,
    /// It would have had to wait for others, and too many do. What it did was rolled back, and it has sent nothing: it runs again from its
    /// beginning when fewer wait, for so long in all.
    Requeue(Duration),
    /// It failed, and what it did was rolled back.
    Failed(Box<SqlError>),
}

/// What an attempt gave, or why it stopped. Boxed, so that the result of a statement that runs is as small as it can be.
pub(crate) type Attempt<T> = Result<T, Box<Stop>>;

impl From<Box<SqlError>> for Box<Stop> {
    #[cold]
    fn from(error: Box<SqlError>) -> Self {
        Box::new(Stop::Failed(error))
    }
}

impl Stop {
    /// The attempt ends because its plan is stale.
    #[cold]
    pub(super) fn replan<T>() -> Attempt<T> {
        Err(Box::new(Self::Replan))
    }
}

/// Attempts something until its plan is not stale. `run` plans again each time.
#[inline]
pub(crate) fn until_planned<T>(mut run: impl FnMut() -> Attempt<T>) -> CommandOutcome<T> {
    loop {
        match run() {
            Ok(done) => return CommandOutcome::Done(done),
            Err(stop) => match *stop {
                Stop::Replan => {}
                Stop::Requeue(within) => return CommandOutcome::Requeue(within),
                Stop::Failed(error) => return CommandOutcome::Failed(error),
            },
        }
    }
}
