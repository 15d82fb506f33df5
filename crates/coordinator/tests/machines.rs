//! What the machines ask and answer, path by path. The simulation (`sim --workload commits`) goes through their orders.

use coordinator::{
    Answer, Cleanup, Commit, DecisionRow, FrontDoor, Link, Outcome, Participant, Recovery, Request,
    ServerNumber, Sightings, Step, TransactionId, Work,
};

const ANCHOR: ServerNumber = ServerNumber(1);
const ID: TransactionId =
    TransactionId { front_door: FrontDoor { number: 1, incarnation: 3 }, sequence: 7, anchor: ANCHOR };

/// Steps in one line: server, `*` if over another connection than the transaction's own, request.
fn line(steps: &[Step]) -> String {
    let one = |step: &Step| match step {
        Step::Ask { server, link: Link::Own, request } => format!("{}:{}", server.0, name(request)),
        Step::Ask { server, link: Link::Other, request } => format!("{}*:{}", server.0, name(request)),
        Step::AskAgain { server, request } => format!("{}*:{} again", server.0, name(request)),
        Step::AnswerClient(answer) => format!("{answer:?}"),
    };
    steps.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn name(request: &Request) -> String {
    match request {
        Request::InsertDecision { branches } => {
            format!("InsertDecision of {:?}", branches.iter().map(|server| server.0).collect::<Vec<_>>())
        }
        Request::InsertAbort { unless_fenced } => {
            format!("InsertAbort{}", if *unless_fenced { " unless fenced" } else { "" })
        }
        other => format!("{other:?}"),
    }
}

/// A commit with servers 1, 2, ... that have done this work.
fn commit(works: &[Work]) -> (Commit, String) {
    let participants: Vec<Participant> =
        (1..).zip(works).map(|(server, &work)| Participant { server: ServerNumber(server), work }).collect();
    let (commit, steps) = Commit::new(ID, &participants);
    (commit, line(&steps))
}

/// Gives answers of servers one after the other; the steps of the last one.
fn answered(commit: &mut Commit, answers: &[(u16, Answer)]) -> String {
    let mut last = String::new();
    for &(server, answer) in answers {
        last = line(&commit.answered(ServerNumber(server), answer));
    }
    last
}

use Answer::{Done, Exists, Fenced, Lost, Refused, UnknownBranch};
use Work::{Locks, MayHaveChanged, Reads};

#[test]
fn branches_prepare_beside_the_decision_and_commit_after_it() {
    let (mut commit, first) = commit(&[Reads, MayHaveChanged, MayHaveChanged, Reads]);
    assert_eq!(first, "1:InsertDecision of [2, 3], 2:Prepare, 3:Prepare, 4:RollBack");
    assert_eq!(answered(&mut commit, &[(3, Done), (4, Lost), (1, Done)]), "");
    assert_eq!(answered(&mut commit, &[(2, Done)]), "1:Commit");
    assert_eq!(answered(&mut commit, &[(1, Done)]), "2:CommitPrepared, 3:CommitPrepared");
    assert_eq!(answered(&mut commit, &[(2, Done), (3, UnknownBranch)]), "Committed { unconfirmed: 1 }");
    assert!(commit.has_ended());
}

#[test]
fn a_branch_that_cannot_prepare_rolls_all_back() {
    for (answer, then) in
        [(Refused, "2:RollBack, 1:RollBack, 3:RollBackPrepared"), (Lost, "1:RollBack, 3:RollBackPrepared")]
    {
        let (mut commit, _) = commit(&[MayHaveChanged; 3]);
        assert_eq!(answered(&mut commit, &[(1, Done), (3, Done), (2, answer)]), then);
        assert_eq!(answered(&mut commit, &[(1, Done), (2, Done), (3, Lost)]), "RolledBack");
    }
    // What answers later follows.
    let (mut commit, _) = commit(&[MayHaveChanged; 3]);
    assert_eq!(answered(&mut commit, &[(1, Fenced)]), "1:RollBack");
    assert_eq!(answered(&mut commit, &[(3, Done)]), "3:RollBackPrepared");
    assert_eq!(answered(&mut commit, &[(2, Refused)]), "2:RollBack");
    assert_eq!(answered(&mut commit, &[(1, Done), (2, Done), (3, Done)]), "RolledBack");
}

#[test]
fn a_lost_commit_of_the_anchor_is_found_out() {
    let in_doubt = || {
        let (mut commit, _) = commit(&[MayHaveChanged; 2]);
        assert_eq!(answered(&mut commit, &[(1, Done), (2, Done)]), "1:Commit");
        assert_eq!(answered(&mut commit, &[(1, Lost)]), "1*:InsertAbort unless fenced");
        assert_eq!(answered(&mut commit, &[(1, Lost)]), "1*:InsertAbort unless fenced again");
        commit
    };
    assert_eq!(answered(&mut in_doubt(), &[(1, Exists(Outcome::Commit))]), "2:CommitPrepared");
    assert_eq!(answered(&mut in_doubt(), &[(1, Exists(Outcome::Abort))]), "2:RollBackPrepared");
    assert_eq!(answered(&mut in_doubt(), &[(1, Done)]), "2:RollBackPrepared");
    assert_eq!(answered(&mut in_doubt(), &[(1, Fenced)]), "Unknown");
    assert_eq!(line(&in_doubt().give_up()), "Unknown");
}

#[test]
fn a_refused_commit_of_the_anchor_frees_the_key_first() {
    let (mut commit, _) = commit(&[MayHaveChanged; 2]);
    assert_eq!(answered(&mut commit, &[(1, Done), (2, Done), (1, Refused)]), "1:RollBack");
    assert_eq!(answered(&mut commit, &[(1, Done)]), "1*:InsertAbort unless fenced");
}

#[test]
fn one_branch_with_changes_needs_no_decision() {
    for (answer, end) in [(Done, "Committed { unconfirmed: 0 }"), (Lost, "Unknown")] {
        let (mut commit, first) = commit(&[Reads, MayHaveChanged]);
        assert_eq!(first, "1:RollBack, 2:Commit");
        assert_eq!(answered(&mut commit, &[(1, Lost), (2, answer)]), end);
    }
    let (mut refused, _) = commit(&[MayHaveChanged]);
    assert_eq!(answered(&mut refused, &[(1, Refused)]), "1:RollBack");
    assert_eq!(answered(&mut refused, &[(1, Done)]), "RolledBack");
    let (mut reads, first) = commit(&[Reads, Locks]);
    assert_eq!(first, "1:RollBack, 2:RollBack");
    assert_eq!(answered(&mut reads, &[(1, Done), (2, Lost)]), "Committed { unconfirmed: 0 }");
}

#[test]
fn locks_are_checked_first_and_released_last() {
    let (mut two, first) = commit(&[MayHaveChanged, MayHaveChanged, Locks]);
    assert_eq!(first, "1:InsertDecision of [2], 2:Prepare, 3:Check");
    assert_eq!(answered(&mut two, &[(1, Done), (2, Done), (3, Done)]), "1:Commit");
    assert_eq!(answered(&mut two, &[(1, Done)]), "2:CommitPrepared");
    assert_eq!(answered(&mut two, &[(2, Done)]), "3:RollBack");
    assert_eq!(answered(&mut two, &[(3, Lost)]), "Committed { unconfirmed: 0 }");

    let (mut one, first) = commit(&[Locks, MayHaveChanged]);
    assert_eq!(first, "1:Check");
    assert_eq!(answered(&mut one, &[(1, Done)]), "2:Commit");
    assert_eq!(answered(&mut one, &[(2, Done)]), "1:RollBack");
    assert_eq!(answered(&mut one, &[(1, Done)]), "Committed { unconfirmed: 0 }");

    let (mut lost, _) = commit(&[Locks, MayHaveChanged]);
    assert_eq!(answered(&mut lost, &[(1, Lost)]), "2:RollBack");
    assert_eq!(answered(&mut lost, &[(2, Done)]), "RolledBack");
}

#[test]
fn giving_up_ends_every_phase() {
    let (mut preparing, _) = commit(&[MayHaveChanged; 2]);
    assert_eq!(answered(&mut preparing, &[(1, Done)]), "");
    assert_eq!(line(&preparing.give_up()), "1:RollBack");
    assert_eq!(line(&preparing.give_up()), "RolledBack");

    let (mut deciding, _) = commit(&[MayHaveChanged; 2]);
    answered(&mut deciding, &[(1, Done), (2, Done)]);
    assert_eq!(line(&deciding.give_up()), "Unknown");

    let (mut committing, _) = commit(&[MayHaveChanged; 2]);
    answered(&mut committing, &[(1, Done), (2, Done), (1, Done)]);
    assert_eq!(line(&committing.give_up()), "Committed { unconfirmed: 1 }");
    assert_eq!(line(&committing.give_up()), "");
    assert_eq!(answered(&mut committing, &[(2, Done)]), "");

    let (mut alone, _) = commit(&[MayHaveChanged]);
    assert_eq!(line(&alone.give_up()), "Unknown");
}

#[test]
#[should_panic(expected = "the participants are")]
fn a_commit_without_its_anchor_is_refused() {
    let _ = Commit::new(ID, &[Participant { server: ServerNumber(2), work: MayHaveChanged }]);
}

#[test]
fn recovery_does_what_was_decided_and_decides_what_was_not() {
    for (answer, request) in [
        (Done, "2*:RollBackPrepared"),
        (Exists(Outcome::Abort), "2*:RollBackPrepared"),
        (Exists(Outcome::Commit), "2*:CommitPrepared"),
        (Lost, ""),
        (Refused, ""),
    ] {
        let (mut recovery, first) = Recovery::new(ID, ServerNumber(2));
        assert_eq!(line(&[first]), "1*:InsertAbort");
        let steps: Vec<Step> = recovery.answered(answer).into_iter().collect();
        assert_eq!(line(&steps), request);
        assert_eq!(recovery.answered(Done), None);
    }
}

#[test]
fn a_branch_is_left_alone_until_it_is_seen_twice_in_a_row() {
    let mut sightings = Sightings::default();
    let (two, three) = (ServerNumber(2), ServerNumber(3));
    assert!(sightings.seen(two, &[ID]).is_empty());
    assert!(sightings.seen(three, &[ID]).is_empty());
    assert_eq!(sightings.seen(two, &[ID]), [ID]);
    assert!(sightings.seen(two, &[]).is_empty());
    assert!(sightings.seen(two, &[ID]).is_empty());
}

fn decision(outcome: Outcome, branches: &[u16]) -> DecisionRow {
    let branches = branches.iter().map(|&server| ServerNumber(server)).collect();
    DecisionRow { id: ID, outcome, branches, incarnation: ID.front_door.incarnation }
}

#[test]
fn a_decision_is_deleted_when_each_branch_is_proven() {
    let (mut cleanup, first) = Cleanup::of_decision(&decision(Outcome::Commit, &[2, 3]));
    assert_eq!(line(&first), "2*:ReadBranch, 3*:ReadBranch");
    let mut answered = |server: u16, request: Request, answer| {
        line(&cleanup.answered(ServerNumber(server), &request, answer))
    };
    assert_eq!(answered(2, Request::ReadBranch, Answer::Found), "");
    assert_eq!(answered(3, Request::ReadBranch, Answer::Absent), "3*:CommitPrepared");
    assert_eq!(answered(3, Request::CommitPrepared, UnknownBranch), "");
    assert_eq!(answered(3, Request::CommitPrepared, Done), "1*:DeleteDecision");
    assert_eq!(answered(1, Request::DeleteDecision, Done), "2*:DeleteBranch, 3*:DeleteBranch");
    assert_eq!(answered(2, Request::DeleteBranch, Done), "");
}

#[test]
fn an_abort_and_a_row_without_a_decision_are_deleted_at_once() {
    let (_, first) = Cleanup::of_decision(&decision(Outcome::Abort, &[]));
    assert_eq!(line(&first), "1*:DeleteDecision");
    let (mut cleanup, first) = Cleanup::of_branch(ID, ServerNumber(2));
    assert_eq!(line(&[first]), "1*:ReadDecision");
    let found = Exists(Outcome::Commit);
    assert_eq!(line(&cleanup.answered(ANCHOR, &Request::ReadDecision, found)), "");
    assert_eq!(line(&cleanup.answered(ANCHOR, &Request::ReadDecision, Answer::Absent)), "2*:DeleteBranch");
}

#[test]
fn a_decision_belongs_to_its_front_door_until_that_is_fenced() {
    let mut row = decision(Outcome::Abort, &[]);
    let owner = ID.front_door;
    let other = FrontDoor { number: 2, incarnation: 9 };
    assert!(row.may_be_deleted(owner, false));
    assert!(!row.may_be_deleted(owner, true));
    assert!(!row.may_be_deleted(other, false));
    row.incarnation += 1;
    assert!(row.may_be_deleted(other, false));
}
