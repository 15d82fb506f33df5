//! Who gets which connection.
//!
//! Invariants:
//! 1. A client that waits is served in the order of its ticket, among all loops.
//! 2. A client's connection that was reset or never left a plain state is idle; every other one is closed or kept by its client.

use super::relay::insert_id_query;
use super::{
    Arc, BRIEF_TIME, Counters, Effects, Failure, KEY, NOBODY, Opened, Ordering, Phase, Pins, Reactor, Token,
    Upstream, lock,
};
use crate::answer::{Answer, Form};
use crate::entry::{LOST, SAVING};
use crate::shared::{Job, Message};
use crate::upstream::Cleaning;
use service::error::{ER_CON_COUNT_ERROR, ER_CONNECT_TO_FOREIGN_DATA_SOURCE, ER_NOT_SUPPORTED_YET};
use std::time::Duration;
use wire::command::byte;

/// An idle connection older than this is looked at before it is used: the backend may have closed it.
const TRUSTED_TIME: Duration = Duration::from_millis(100);

impl Reactor {
    /// Finds a connection for a client's command and begins; or lets it wait.
    pub(super) fn acquire(&mut self, slot: usize) {
        let Some(client) = self.clients.get(slot) else { return };
        if client.upstream.is_some() {
            client.phase = Phase::Running;
            self.begin(slot);
            return;
        }
        let id = client.entry.id;
        if let Some(before) = client.before
            && let Some(upstream) = self.upstreams.get(before)
            && upstream.owner.is_none()
            && upstream.cleaning.is_none()
            && upstream.last_client == id
            && let Some(at) = self.idle.iter().rposition(|idle| *idle == before)
            && self.is_alive(before)
        {
            self.idle.remove(at);
            self.attach(slot, before);
            return;
        }
        if self.waiting.is_empty() && self.take_idle(slot) {
            return;
        }
        Counters::add(&self.shared.counters.waits);
        let ticket = self.shared.tickets.fetch_add(1, Ordering::SeqCst);
        let until = self.now + self.shared.wait_max();
        if let Some(client) = self.clients.get(slot) {
            client.phase = Phase::Waiting { ticket, until };
        }
        self.waiting.push_back(slot);
        self.publish_oldest();
        self.serve();
    }

    /// Takes an idle connection for a client, the most like its settings.
    fn take_idle(&mut self, slot: usize) -> bool {
        loop {
            let Some(client) = self.clients.get(slot) else { return false };
            let (key, profile) = (client.capabilities & KEY, Arc::clone(&client.profile));
            let mut found = None;
            for (at, &idle) in self.idle.iter().enumerate() {
                let Some(upstream) = self.upstreams.get(idle) else { continue };
                let is_fit = upstream.key == key
                    && upstream.cleaning.is_none()
                    // Nothing but a new login takes a schema away.
                    && (profile.schema.is_some() || upstream.profile.schema.is_none());
                if is_fit && Arc::ptr_eq(&upstream.profile, &profile) {
                    found = Some(at);
                    break;
                }
                if is_fit && found.is_none() {
                    found = Some(at);
                }
            }
            let Some(upstream) = found.and_then(|at| self.idle.remove(at)) else { return false };
            if self.is_alive(upstream) {
                self.attach(slot, upstream);
                return true;
            }
        }
    }

    /// Whether an idle connection is still there; closes it if not.
    fn is_alive(&mut self, at: usize) -> bool {
        let now = self.now;
        let Some(upstream) = self.upstreams.get(at) else { return false };
        if now.saturating_duration_since(upstream.idle_since) < TRUSTED_TIME || upstream.io.is_quiet() {
            return true;
        }
        Counters::add(&self.shared.counters.lost);
        self.close_upstream(at);
        false
    }

    fn attach(&mut self, slot: usize, at: usize) {
        self.note_idle();
        let (Some(client), Some(upstream)) = (self.clients.get(slot), self.upstreams.get(at)) else { return };
        upstream.owner = Some(slot);
        client.upstream = Some(at);
        client.phase = Phase::Running;
        if upstream.last_client == client.entry.id {
            Counters::add(&self.shared.counters.reused);
        } else {
            Counters::add(&self.shared.counters.shared_with);
        }
        self.begin(slot);
    }

    fn note_idle(&self) {
        self.mailbox.idle.store(self.idle.len(), Ordering::SeqCst);
    }

    /// Gives idle connections, and what is left of the budget, to those who wait.
    pub(super) fn serve(&mut self) {
        while let Some(&slot) = self.waiting.front() {
            if self.is_older_elsewhere() && !self.idle.is_empty() {
                break;
            }
            self.waiting.pop_front();
            if !self.take_idle(slot) {
                self.waiting.push_front(slot);
                break;
            }
            self.publish_oldest();
        }
        self.publish_oldest();
        self.open_more();
        self.help_others();
    }

    fn is_older_elsewhere(&self) -> bool {
        let own = self.mailbox.oldest.load(Ordering::SeqCst);
        self.shared.mailboxes().iter().any(|other| other.oldest.load(Ordering::SeqCst) < own)
    }

    /// Makes connections while more wait than are being made.
    fn open_more(&mut self) {
        while self.opening < self.waiting.len() {
            let slot = self.waiting[self.opening];
            let Some(client) = self.clients.get(slot) else { return };
            let key = client.capabilities & KEY;
            if !self.shared.take_budget() {
                // One that does not fit anybody here makes room.
                let Some(at) = self.idle.pop_front() else { break };
                self.note_idle();
                self.close_upstream(at);
                if !self.shared.take_budget() {
                    break;
                }
            }
            self.opening += 1;
            let job = Job::Open { key, mailbox: self.index };
            let _ = lock(&self.shared.jobs).send(job); // The threads end after the loops.
        }
        // Others may have what is missing here.
        if self.opening < self.waiting.len() {
            for (at, other) in self.shared.mailboxes().iter().enumerate() {
                if at != self.index && other.idle.load(Ordering::SeqCst) > 0 {
                    other.wake();
                }
            }
        }
    }

    /// Gives an idle connection to the loop where somebody has waited longest.
    fn help_others(&mut self) {
        while !self.idle.is_empty() {
            let own = self.mailbox.oldest.load(Ordering::SeqCst);
            let others = self.shared.mailboxes().iter().enumerate().filter(|(at, _)| *at != self.index);
            let oldest = others.map(|(at, other)| (other.oldest.load(Ordering::SeqCst), at)).min();
            let Some((ticket, to)) = oldest.filter(|(ticket, _)| *ticket != NOBODY && *ticket < own) else {
                return;
            };
            let idle = (0..self.idle.len()).find(|at| {
                self.upstreams.get(self.idle[*at]).is_some_and(|upstream| upstream.cleaning.is_none())
            });
            let Some(at) = idle.and_then(|at| self.idle.remove(at)) else { return };
            if self.save_insert_id(at) {
                continue;
            }
            self.note_idle();
            let Some(mut upstream) = self.upstreams.take(at) else { return };
            if upstream.io.deregister(self.poll.registry()).is_err() {
                self.shared.give_budget();
                continue;
            }
            // Served there: not again for the same one until it says so.
            let mailbox = &self.shared.mailboxes()[to];
            let _ = mailbox.oldest.compare_exchange(ticket, NOBODY, Ordering::SeqCst, Ordering::SeqCst);
            mailbox.send(Message::Given(upstream));
        }
    }

    /// Reads the LAST_INSERT_ID() that only an idle connection knows; whether there is one.
    fn save_insert_id(&mut self, at: usize) -> bool {
        let Some(upstream) = self.upstreams.get(at) else { return false };
        let Some(entry) = upstream.insert_id_of.take() else { return false };
        entry.insert_id.store(SAVING, Ordering::SeqCst);
        let answer = Answer::new(Form::Results, upstream.capabilities, upstream.capabilities);
        upstream.cleaning = Some(Cleaning { answer, out: Vec::new(), saves: Some(entry) });
        self.idle.push_back(at);
        let sent =
            self.upstreams.get(at).is_some_and(|upstream| upstream.io.send(&insert_id_query()).is_ok());
        if !sent {
            self.close_upstream(at);
        }
        true
    }

    /// Takes an idle connection of another loop.
    pub(super) fn adopt(&mut self, mut upstream: Box<Upstream>) {
        let slot = self.upstreams.reserve();
        upstream.is_readable = true;
        let registered = upstream.io.register(self.poll.registry(), Token(slot * 2 + 1));
        self.upstreams.put(slot, upstream);
        if registered.is_err() {
            self.close_upstream(slot);
            return;
        }
        self.idle.push_back(slot);
        self.note_idle();
    }

    pub(super) fn opened(&mut self, opened: Opened) {
        self.adopt(Box::new(Upstream::new(opened)));
    }

    /// A connection could not be made: whoever waits longest hears why.
    pub(super) fn not_opened(&mut self, failure: &Failure) {
        self.shared.give_budget();
        if let Some(slot) = self.waiting.pop_front() {
            self.publish_oldest();
            self.fail(slot, &ER_CONNECT_TO_FOREIGN_DATA_SOURCE.with(&[&failure.0]));
        }
    }

    /// Ends waits that have been too long.
    pub(super) fn end_waits(&mut self) {
        while let Some(&slot) = self.waiting.front() {
            let now = self.now;
            let is_late = self
                .clients
                .get(slot)
                .is_none_or(|c| matches!(c.phase, Phase::Waiting { until, .. } if now >= until));
            if !is_late {
                return;
            }
            self.waiting.pop_front();
            self.publish_oldest();
            Counters::add(&self.shared.counters.wait_timeouts);
            self.fail(slot, &ER_CON_COUNT_ERROR.bare());
        }
    }

    /// Others wait: what only the next command could ask for is given up after a while.
    pub(super) fn break_brief_pins(&mut self) {
        for slot in 0..self.clients.slots.len() {
            let now = self.now;
            let Some(client) = self.clients.get(slot) else { continue };
            let mut rest = client.pins;
            rest.set(Pins::BRIEF, false);
            if client.phase == Phase::Idle
                && client.upstream.is_some()
                && rest.is_none()
                && now.saturating_duration_since(client.idle_since) >= BRIEF_TIME
            {
                client.pins = rest;
                self.release(slot);
            }
        }
    }

    /// A client's command is over: its connection is kept, or given on.
    pub(super) fn release(&mut self, slot: usize) {
        let now = self.now;
        let Some(client) = self.clients.get(slot) else { return };
        client.idle_since = now;
        if !client.pins.is_none() {
            return;
        }
        let Some(at) = client.upstream.take() else { return };
        client.before = Some(at);
        let id = client.entry.id;
        if let Some(upstream) = self.upstreams.get(at) {
            upstream.owner = None;
            upstream.last_client = id;
        }
        self.give_back(at, false);
        self.must_serve = true;
    }

    /// A connection has no owner any more.
    pub(super) fn give_back(&mut self, at: usize, unclean: bool) {
        let now = self.now;
        let Some(upstream) = self.upstreams.get(at) else { return };
        upstream.idle_since = now;
        if upstream.is_doomed {
            self.close_upstream(at);
            return;
        }
        if unclean || upstream.is_unknown {
            upstream.handles.clear();
            upstream.to_close.clear();
            if let Some(entry) = upstream.insert_id_of.take() {
                entry.insert_id.store(LOST, Ordering::SeqCst);
            }
            upstream.is_unknown = true;
            upstream.last_client = 0;
            let answer = Answer::new(Form::Results, upstream.capabilities, upstream.capabilities);
            upstream.cleaning = Some(Cleaning { answer, out: Vec::new(), saves: None });
            Counters::add(&self.shared.counters.resets);
            if upstream.io.send(&[1, 0, 0, 0, byte::RESET_CONNECTION]).is_err() {
                self.close_upstream(at);
                return;
            }
        }
        self.idle.push_back(at);
        self.note_idle();
    }

    pub(super) fn close_upstream(&mut self, at: usize) {
        let Some(mut upstream) = self.upstreams.take(at) else { return };
        self.idle.retain(|idle| *idle != at);
        self.note_idle();
        let saves = upstream.cleaning.take().and_then(|cleaning| cleaning.saves);
        for entry in upstream.insert_id_of.take().into_iter().chain(saves) {
            entry.insert_id.store(LOST, Ordering::SeqCst);
        }
        upstream.io.close();
        drop(upstream);
        self.shared.give_budget();
    }

    pub(super) fn send_kill(&self, thread: u32, connection: bool) {
        let _ = lock(&self.shared.kills).send(Job::Kill { thread, connection }); // The thread ends after the loops.
    }

    /// Whether a command that reads what the statement before left can have it; answers it if not.
    pub(super) fn refuse_lost(&mut self, slot: usize) -> bool {
        let Some(client) = self.clients.get(slot) else { return true };
        let Some(command) = &client.command else { return true };
        if !command.effects.has(Effects::READS_PREVIOUS) || !client.has_run {
            return false;
        }
        let id = client.entry.id;
        let Some(at) = client.upstream else { return false };
        if self.upstreams.get(at).is_some_and(|upstream| upstream.last_client == id) {
            return false;
        }
        let Some(client) = self.clients.get(slot) else { return true };
        client.pins.set(Pins::PREVIOUS, true);
        let what = "what the statement before left, whose connection serves another client; kept from now on";
        self.fail(slot, &ER_NOT_SUPPORTED_YET.with(&[&what]));
        true
    }
}
