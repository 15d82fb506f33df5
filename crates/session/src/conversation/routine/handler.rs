//! Which handler a condition calls.
//!
//! Looked for from the innermost block of the innermost frame outwards. Among the handlers of one block the most exact
//! one is taken: an error number before an SQLSTATE before a class of them. A handler's own statements lie outside of
//! the block it belongs to, so neither it nor its neighbours are called for what they raise.

use service::error::{ER_CHECKREAD, ER_LOCK_DEADLOCK};
use service::{Diagnostic, Level, Outcome, Reply, SqlError};

use super::call;
use crate::backend::Backend;
use crate::conversation::Session;
use crate::conversation::diagnostics::Diagnostics;
use crate::conversation::routines::{ActiveHandler, Routines};
use crate::routine::program::{At, Condition, Program, RegionId};

/// A handler that was found.
#[derive(Clone, Copy, Debug)]
struct Found {
    frame: usize,
    region: RegionId,
    handler: usize,
}

impl Condition {
    /// How exactly it means the condition, 0 best; `None`: not at all.
    fn fits(&self, condition: &Diagnostic) -> Option<u8> {
        let class = &condition.state[..2];
        match self {
            Condition::Number(number) => (*number == condition.number).then_some(0),
            Condition::State(state) => (*state == condition.state).then_some(1),
            Condition::Warning => (class == b"01" || condition.level == Level::Warning).then_some(2),
            Condition::NotFound => (class == b"02").then_some(2),
            Condition::Exception => {
                let failed = class != b"00" && class != b"01" && class != b"02";
                (failed && condition.level == Level::Error).then_some(2)
            }
        }
    }
}

impl Program {
    /// The handler for a condition raised at an instruction.
    fn handler_for(&self, at: At, condition: &Diagnostic) -> Option<(RegionId, usize)> {
        let mut region = self.region_of.get(at).copied().flatten();
        while let Some(id) = region {
            let best = self.regions[id]
                .handlers
                .iter()
                .enumerate()
                .flat_map(|(position, handler)| {
                    handler.conditions.iter().map(move |wanted| (position, wanted))
                })
                .filter_map(|(position, wanted)| Some((wanted.fits(condition)?, position)))
                .min();
            if let Some((_, handler)) = best {
                return Some((id, handler));
            }
            region = self.regions[id].parent;
        }
        None
    }
}

/// The conditions the innermost handler in run was called for, and which of them it was.
pub(super) fn stacked<B: Backend>(routines: &Routines<B>) -> Option<(&Diagnostics, usize)> {
    let active = routines.frames().iter().rev().find_map(|frame| frame.handlers.last())?;
    Some((&active.stacked, active.position))
}

/// The handler of the innermost frame, or of the frames around it down to `base`.
fn find<B: Backend>(routines: &Routines<B>, base: usize, condition: &Diagnostic) -> Option<Found> {
    let frames = routines.frames();
    (base..frames.len()).rev().find_map(|frame| {
        let entry = &frames[frame];
        let (region, handler) = entry.routine.program.handler_for(entry.at, condition)?;
        Some(Found { frame, region, handler })
    })
}

/// An instruction failed: calls a handler, or ends the frames down to `base` and answers the error.
pub(super) fn handle_error<B: Backend>(
    session: &mut Session<B>,
    base: usize,
    error: Box<SqlError>,
    reply: &mut Reply<'_>,
) -> Outcome {
    // What the statement had is freed; a handler may run others.
    env::memory::forget_exceeded();
    // Nobody catches a KILL, nor, inside a statement, what rolls back its transaction.
    let rolls_back = error.is(ER_LOCK_DEADLOCK) || error.is(ER_CHECKREAD);
    let found = if session.shared.control.is_killed() || rolls_back && session.routines.firing().are_any() {
        None
    } else {
        find(&session.routines, base, &error.diagnostic())
    };
    let Some(found) = found else {
        while session.routines.frames().len() > base {
            call::pop_frame(session);
        }
        return Err(error);
    };
    session.push_error(&error);
    reply.end_partial_rows(session.status_flags(), session.diagnostics.packet_count())?;
    let position = session.diagnostics.kept().len().saturating_sub(1);
    call_handler(session, found, position, None);
    Ok(())
}

/// An instruction went well, perhaps with warnings: calls the handler of the last one that has any in this frame,
/// which goes on at `next`. Answers whether one was called.
pub(super) fn handle_warnings<B: Backend>(session: &mut Session<B>, next: At) -> bool {
    if session.diagnostics.are_inherited() || session.diagnostics.kept().is_empty() {
        return false;
    }
    let Some(top) = session.routines.frames().len().checked_sub(1) else { return false };
    let found = session.diagnostics.kept().iter().enumerate().rev().find_map(|(position, condition)| {
        if condition.level == Level::Error {
            return None;
        }
        Some((find(&session.routines, top, condition)?, position))
    });
    let Some((found, position)) = found else { return false };
    call_handler(session, found, position, Some(next));
    true
}

/// `next`: where a CONTINUE handler goes on if the instruction went well.
fn call_handler<B: Backend>(session: &mut Session<B>, found: Found, position: usize, next: Option<At>) {
    while session.routines.frames().len() > found.frame + 1 {
        call::pop_frame(session);
    }
    let mut stacked = session.diagnostics.clone();
    stacked.set_inherited(false);
    session.diagnostics.set_inherited(true);
    let frame = session.routines.frame_at(found.frame);
    let region = &frame.routine.program.regions[found.region];
    let handler = &region.handlers[found.handler];
    let resume = match handler.exit {
        Some(exit) => exit,
        None => next.unwrap_or_else(|| frame.routine.program.resume_after(frame.at)),
    };
    frame.handlers.truncate(region.handler_depth);
    if handler.exit.is_some() {
        let (first, end) = region.inner_cursors;
        frame.cursors[first..end].iter_mut().for_each(|cursor| *cursor = None);
    }
    frame.at = handler.at;
    frame.handlers.push(ActiveHandler { resume, stacked, position });
}
