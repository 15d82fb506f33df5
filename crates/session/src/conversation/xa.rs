//! XA statements: a session's transaction as a branch of a distributed one, and the decisions about prepared ones.
//!
//! What a statement finds of the session ([`Branch`]) decides first; of no branch, XA COMMIT and XA ROLLBACK are about transactions that
//! were prepared and detached, by whichever session, also before a restart ([`PreparedTransactions`](crate::backend::PreparedTransactions)).

use service::error::{
    ER_XA_RBDEADLOCK, ER_XAER_DUPID, ER_XAER_INVAL, ER_XAER_NOTA, ER_XAER_OUTSIDE, ER_XAER_RMERR,
};
use service::{Outcome, Reply, SqlError};
use syntax::ast::{Xa, XaOnto};
use types::{DataType, TypeKind};

use super::Session;
use super::branch::{Branch, BranchState, wrong_state};
use super::listing::{self, Listing};
use crate::backend::{Backend, Xid};
use crate::privilege;
use crate::status::StatementKind;
use crate::system_schemas::rows::Cell;
use crate::variables::definition::known;

/// Characters of a number in XA RECOVER, as 9.7 describes it.
const NUMBER_CHARS: u32 = 12;

type Result<T> = std::result::Result<T, Box<SqlError>>;

/// Characters of `data` in XA RECOVER: two digits for each byte of a name, and `0x`.
const DATA_CHARS: u32 = 258;

fn name(xid: &syntax::ast::Xid<'_>) -> Xid {
    Xid { transaction: xid.transaction.to_vec(), branch: xid.branch.to_vec(), format: xid.format }
}

/// Runs an XA statement.
pub(super) fn run<B: Backend>(
    session: &mut Session<B>,
    statement: &Xa<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    session.count(match statement {
        Xa::Start { .. } => StatementKind::XaStart,
        Xa::End { .. } => StatementKind::XaEnd,
        Xa::Prepare(_) => StatementKind::XaPrepare,
        Xa::Commit { .. } => StatementKind::XaCommit,
        Xa::Rollback(_) => StatementKind::XaRollback,
        Xa::Recover { .. } => StatementKind::XaRecover,
    });
    match statement {
        Xa::Start { xid, onto } => start(session, name(xid), *onto)?,
        Xa::End { xid, suspends } => end(session, &name(xid), *suspends)?,
        Xa::Prepare(xid) => prepare(session, &name(xid))?,
        Xa::Commit { xid, one_phase } => commit(session, &name(xid), *one_phase)?,
        Xa::Rollback(xid) => roll_back(session, &name(xid))?,
        Xa::Recover { converts } => {
            let listing = recover(session, *converts)?;
            let results = session.variables.settings().results_charset;
            return listing.send(reply, results, session.status_flags(), 0);
        }
    }
    session.tables.wait_for_commit(reply);
    session.send_ok(reply)
}

fn start<B: Backend>(session: &mut Session<B>, xid: Xid, onto: Option<XaOnto>) -> Outcome {
    let transaction = &mut session.tables.transaction;
    if let Some(onto) = onto {
        let idle = transaction.branch_mut().filter(|branch| branch.state() == BranchState::Idle);
        return match idle.filter(|_| onto == XaOnto::Resume) {
            Some(branch) if *branch.xid() == xid => {
                branch.set_state(BranchState::Active);
                Ok(())
            }
            Some(_) => Err(ER_XAER_NOTA.bare()),
            None => Err(ER_XAER_INVAL.bare()),
        };
    }
    if let Some(branch) = transaction.branch() {
        return Err(wrong_state(Some(branch)));
    }
    if transaction.is_open() || session.tables.locks.has_tables() {
        return Err(ER_XAER_OUTSIDE.bare());
    }
    // The name is taken before it is looked for: who prepares under it lets it go only after that.
    let taken = session.shared.core.xids.take(xid).ok_or_else(|| ER_XAER_DUPID.bare())?;
    if session.shared.backend.is_prepared(taken.xid())? {
        return Err(ER_XAER_DUPID.bare());
    }
    let detaches = session.variables.boolean(known::xa_detach_on_prepare());
    let branch = Branch::start(taken, detaches);
    session.tables.transaction.open_branch(session.variables.settings(), branch);
    Ok(())
}

fn end<B: Backend>(session: &mut Session<B>, xid: &Xid, suspends: bool) -> Outcome {
    if suspends {
        return Err(ER_XAER_INVAL.bare());
    }
    let Some(branch) = session.tables.transaction.branch_mut() else { return Err(wrong_state(None)) };
    if !matches!(branch.state(), BranchState::Active | BranchState::RollbackOnly) {
        return Err(wrong_state(Some(branch)));
    }
    if branch.xid() != xid {
        return Err(ER_XAER_NOTA.bare());
    }
    if branch.settle() == BranchState::RollbackOnly {
        return Err(ER_XA_RBDEADLOCK.bare());
    }
    branch.set_state(BranchState::Idle);
    Ok(())
}

fn prepare<B: Backend>(session: &mut Session<B>, xid: &Xid) -> Outcome {
    let branch = session.tables.transaction.branch();
    let Some(of_session) = branch.filter(|branch| branch.state() == BranchState::Idle) else {
        return Err(wrong_state(branch));
    };
    if of_session.xid() != xid {
        return Err(ER_XAER_NOTA.bare());
    }
    let detaches = of_session.detaches();
    session.tables.enter_commit(&session.shared, &session.variables)?;
    // A KILL QUERY of an earlier statement is none of this one.
    session.tables.begin_statement(&session.shared, session.variables.settings(), false)?;
    session.tables.transaction.prepare_branch(&session.shared.process.transaction)?;
    if detaches {
        session.tables.transaction.close_branch();
    }
    Ok(())
}

/// A prepared transaction that no session keeps for itself.
fn require_detached<B: Backend>(session: &Session<B>, xid: &Xid) -> Outcome {
    if session.tables.transaction.is_open() {
        return Err(wrong_state(None));
    }
    if session.shared.core.xids.has(xid) {
        return Err(ER_XAER_NOTA.bare());
    }
    Ok(())
}

fn commit_prepared<B: Backend>(session: &mut Session<B>, xid: &Xid) -> Outcome {
    if session.shared.backend.is_prepared(xid)? {
        session.tables.enter_change(&session.shared, &session.variables, false)?;
    }
    let position = session.shared.backend.commit_prepared(xid)?;
    session.tables.transaction.note_committed(position);
    Ok(())
}

fn roll_back_prepared<B: Backend>(session: &mut Session<B>, xid: &Xid) -> Outcome {
    let position = session.shared.backend.roll_back_prepared(xid)?;
    session.tables.transaction.note_committed(position);
    Ok(())
}

fn commit<B: Backend>(session: &mut Session<B>, xid: &Xid, one_phase: bool) -> Outcome {
    let Some(branch) = session.tables.transaction.branch() else {
        require_detached(session, xid)?;
        return commit_prepared(session, xid);
    };
    let refused = wrong_state(Some(branch));
    if branch.xid() != xid {
        return Err(refused);
    }
    match branch.state() {
        BranchState::Idle if one_phase => {
            session.tables.commit_open(&session.shared, &session.variables)?;
        }
        BranchState::Prepared if !one_phase => commit_prepared(session, xid)?,
        BranchState::RollbackOnly => {
            session.tables.transaction.close_branch();
            return Err(ER_XA_RBDEADLOCK.bare());
        }
        _ => return Err(refused),
    }
    session.tables.transaction.close_branch();
    Ok(())
}

fn roll_back<B: Backend>(session: &mut Session<B>, xid: &Xid) -> Outcome {
    let Some(branch) = session.tables.transaction.branch() else {
        require_detached(session, xid)?;
        return roll_back_prepared(session, xid);
    };
    let state = branch.state();
    if branch.xid() != xid || state == BranchState::Active {
        return Err(wrong_state(Some(branch)));
    }
    if state == BranchState::Prepared {
        roll_back_prepared(session, xid)?;
    } else {
        session.tables.roll_back(&session.shared)?;
    }
    session.tables.transaction.close_branch();
    Ok(())
}

fn recover<B: Backend>(session: &Session<B>, converts: bool) -> Result<Listing> {
    if !privilege::has_dynamic(&session.account, "XA_RECOVER_ADMIN") {
        return Err(ER_XAER_RMERR.bare());
    }
    let number = || DataType { length: NUMBER_CHARS, ..DataType::integer(TypeKind::BigInt, false) };
    let mut listing = Listing::of_expressions(&[
        ("formatID", number()),
        ("gtrid_length", number()),
        ("bqual_length", number()),
        ("data", listing::text(DATA_CHARS)),
    ]);
    for Xid { transaction, branch, format } in session.shared.backend.prepared()? {
        let data = [&transaction[..], &branch[..]].concat();
        let shown = if converts {
            let digits: String = data.iter().map(|byte| format!("{byte:02X}")).collect();
            format!("0x{digits}").into_bytes()
        } else {
            data
        };
        listing.push(&[
            Cell::Int(i64::try_from(format).unwrap_or(i64::MAX)),
            Cell::Int(transaction.len() as i64),
            Cell::Int(branch.len() as i64),
            Cell::Bytes(&shown),
        ]);
    }
    Ok(listing)
}
