//! What the scenario says it is known to show, held against what was concluded.
//!
//! It changes neither verdict nor exit code: other servers may well show something else. It serves tests of the lab, and
//! comparisons with the results of others.

use crate::evidence::{Expected, Run};
use crate::scenario::Expect;

/// Each expectation with what there was instead.
pub(super) fn held(expect: &Expect, run: &Run) -> Vec<Expected> {
    let verdict = run.verdict.as_ref();
    let mut out = Vec::new();
    let mut hold = |what: String, found: Option<String>, holds: bool| {
        out.push(Expected { what, found: found.unwrap_or_else(|| "none".to_owned()), holds });
    };
    if let Some(wanted) = &expect.verdict {
        let found = verdict.and_then(|verdict| verdict.cause.clone());
        let holds = found.as_ref() == Some(wanted);
        hold(format!("cause {wanted}"), found, holds);
    }
    if let Some(wanted) = &expect.layer {
        let found = verdict.and_then(|verdict| verdict.layer.clone());
        // `engine` is fulfilled by `engine:purge`.
        let holds = found.as_ref().is_some_and(|found| {
            found == wanted || found.strip_prefix(wanted.as_str()).is_some_and(|part| part.starts_with(':'))
        });
        hold(format!("layer {wanted}"), found, holds);
    }
    if let Some(least) = expect.min_ratio {
        let found = verdict.and_then(|verdict| verdict.ratio);
        let holds = found.is_some_and(|ratio| ratio >= least);
        hold(format!("ratio of {least} or more"), found.map(|ratio| format!("{ratio:.2}")), holds);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Verdict;

    #[test]
    fn expectations_are_held_against_the_verdict() {
        let expect =
            Expect { verdict: Some("a".to_owned()), layer: Some("engine".to_owned()), min_ratio: Some(2.0) };
        let mut run = Run::new();
        assert!(held(&expect, &run).iter().all(|one| !one.holds && one.found == "none"));
        let verdict = Verdict {
            cause: Some("a".to_owned()),
            layer: Some("engine:purge".to_owned()),
            ratio: Some(1.5),
            ..Verdict::default()
        };
        run.verdict = Some(verdict);
        let holds: Vec<bool> = held(&expect, &run).iter().map(|one| one.holds).collect();
        assert_eq!(holds, [true, true, false]);
        assert_eq!(held(&Expect::default(), &run), []);
    }
}
