//! The core of a group while its thread drives a connection.
//!
//! The thread needs it again when the command has ended. A command that waits or computes for long gives it to another thread of the group;
//! from one that computes for long without saying so, the watchdog ([`crate::watchdog`]) takes it. So no command keeps others from
//! being served, whatever it computes.
//!
//! Invariants:
//! 1. The core is in here from [`Driving::begin`] until [`Driving::end`], or has gone to another thread of the group, once.
//! 2. Who takes the core out to give it away holds `control`: the driving thread, when it finds no core, knows under that lock that the
//!    core is gone and not about to be put back.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crossbeam_utils::atomic::AtomicCell;
use service::ConnectionControl;

use super::core::Core;
use super::{Group, lock};

/// Shared by the thread that drives and the watchdog.
#[derive(Default)]
pub(super) struct Driving {
    core: AtomicCell<Option<Box<Core>>>,
    /// Commands begun: while it stays the same, the same one runs. Changed by the driving thread alone.
    commands: AtomicU64,
    /// Of the connection whose command has lost the core.
    control: Mutex<Option<Arc<ConnectionControl>>>,
}

impl Driving {
    /// A connection is driven, the core at hand.
    pub(super) fn begin(&self, core: Box<Core>) {
        self.commands.store(self.commands.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        self.core.store(Some(core));
    }

    /// That is over; the core, if it is still here.
    pub(super) fn end(&self) -> Option<Box<Core>> {
        let core = self.core.take();
        if core.is_some() {
            return core;
        }
        let mut control = lock(&self.control);
        let put_back = self.core.take();
        *control = None;
        put_back
    }

    /// Whether the core is here. For the driving thread.
    pub(super) fn has_core(&self) -> bool {
        self.look(|_| ()).is_some()
    }

    /// Whether the command has been asked to end. For the driving thread.
    pub(super) fn is_cancelled(&self) -> bool {
        self.look(Core::is_cancelled)
            .unwrap_or_else(|| lock(&self.control).as_ref().is_some_and(|control| control.is_killed()))
    }

    fn look<R>(&self, look: impl FnOnce(&Core) -> R) -> Option<R> {
        let core = match self.core.take() {
            Some(core) => core,
            None => {
                let _control = lock(&self.control); // Nobody is about to put it back.
                self.core.take()?
            }
        };
        let seen = look(&core);
        self.core.store(Some(core));
        Some(seen)
    }

    /// Gives the core to another thread of the group, if it is here and there is one.
    pub(super) fn give_away(&self, group: &Arc<Group>) {
        let mut control = lock(&self.control);
        if let Some(mut core) = self.core.take() {
            *control = core.leave_running();
            if let Some(kept) = group.hand_over(core) {
                self.core.store(Some(kept));
            }
        }
    }

    /// Takes the core from a command that runs since [`Driving::commands`] was `seen`. Returns the number now, if a command runs.
    pub(super) fn watch(&self, seen: Option<u64>, group: &Arc<Group>) -> Option<u64> {
        let commands = self.commands.load(Ordering::Relaxed);
        if seen == Some(commands) {
            // A command that has begun just now may lose it instead: that costs it little.
            self.give_away(group);
        }
        Some(commands)
    }
}
