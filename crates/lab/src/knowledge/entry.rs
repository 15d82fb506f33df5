//! The form of an entry of the knowledge base.

use serde::Deserialize;

use super::signature::Pair;
use crate::evidence::{Flavour, Run};

/// One known cause.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The name of its file, and of the cause in a verdict.
    pub id: String,
    /// One line for people.
    pub title: String,
    /// Where it sits: a layer, then, after a colon, the part of it.
    pub layer: String,
    /// Layers it may sit in as well, where it is spread over several: the one that a run's layer attribution blames is its layer there.
    #[serde(default)]
    pub other_layers: Vec<String>,
    /// What happens, in a paragraph.
    pub story: String,
    /// The shipped scenario that replays it.
    pub scenario: Option<String>,
    /// Kinds of evidence a match needs; at least 2.
    #[serde(default = "two")]
    pub kinds_least: usize,
    /// What grows is the time of a call, and that may not show in what an operation costs yet: the entry is also held
    /// against the largest arms of two servers whose operations cost alike.
    #[serde(default)]
    pub by_call_time: bool,
    /// Which servers have it.
    #[serde(rename = "version")]
    pub versions: Vec<Versions>,
    /// What its evidence looks like.
    pub evidence: Vec<Evidence>,
    /// What else looks like it.
    #[serde(rename = "look_alike", default)]
    pub look_alikes: Vec<LookAlike>,
    /// What to change.
    #[serde(rename = "intervention", default)]
    pub interventions: Vec<Fix>,
    /// What must be seen before the cause is called confirmed.
    pub verification: String,
    /// Reports, papers, own measurements.
    pub references: Vec<String>,
    /// Evidence of a run that shows it.
    pub example: Example,
}

fn two() -> usize {
    2
}

/// Versions of one flavour.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Versions {
    /// Whose.
    pub flavour: Flavour,
    /// First version concerned, such as `5.7`; from the beginning if absent.
    pub from: Option<String>,
    /// First version not concerned any more; open if absent.
    pub below: Option<String>,
    /// What is known of them.
    pub state: State,
    /// How it is known.
    pub known_by: String,
}

/// What is known of some versions.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// They have it.
    Affected,
    /// They do not.
    Free,
    /// Nobody measured.
    Unknown,
}

/// Kinds of evidence that may each be wrong for a reason of its own.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Kind {
    /// Where in the matrix it is slow.
    Matrix,
    /// How cost grows.
    Growth,
    /// Where CPU time goes.
    Stack,
    /// What a count follows, or by how much it rose.
    Count,
    /// In which phase of the protocol time passes.
    Phase,
}

impl Kind {
    /// In one word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Matrix => "matrix",
            Self::Growth => "growth",
            Self::Stack => "stack",
            Self::Count => "count",
            Self::Phase => "phase",
        }
    }
}

/// One condition on the levels of an arm: any of these axes at any of these levels.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// Names the axis may have. `@variable` asks the server's variable.
    pub axis: Vec<String>,
    /// Levels that fulfil it, without regard to case; `!none` is any level but `none`.
    pub level: Vec<String>,
}

/// One piece of a signature.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Evidence {
    /// Slower by at least so much where all conditions hold, and nowhere else. Without conditions: the pair itself.
    Matrix {
        /// All must hold in a slow arm.
        #[serde(default)]
        when: Vec<When>,
        /// Smallest ratio of slow to fast.
        ratio_least: f64,
        /// Largest ratio, where the cause is known to be mild.
        ratio_most: Option<f64>,
        /// The fast arm's server must be known to be free of it.
        #[serde(default)]
        fast_is_free: bool,
        /// Both arms must read as many rows to answer alike: the plan is no part of it.
        #[serde(default)]
        same_work: bool,
        /// Does not refuse.
        #[serde(default)]
        optional: bool,
    },
    /// Cost of the slow arm grows like this.
    Growth {
        /// Parts of the name of a count that grows, such as the median time of a call; the cost itself if empty.
        #[serde(default)]
        counts: Vec<String>,
        /// The names of the size, if not any will do.
        #[serde(default)]
        of: Vec<String>,
        /// Smallest exponent of the slow arm.
        exponent_least: f64,
        /// How far it must be above the fast arm's.
        above_fast_by: f64,
        /// Does not refuse.
        #[serde(default)]
        optional: bool,
    },
    /// Share of the CPU difference under any of these functions.
    Stack {
        /// Parts of function names, without arguments; the whole CPU if empty.
        #[serde(default)]
        frames: Vec<String>,
        /// Smallest share of the difference, 0 to 1.
        #[serde(default)]
        share_least: f64,
        /// How many functions it must take at least to make up half of all that functions add by their own time.
        half_in_least: Option<usize>,
        /// Largest share of any single function's own time, where no single one may dominate.
        single_most: Option<f64>,
        /// Does not refuse.
        #[serde(default)]
        optional: bool,
    },
    /// A count follows another thing than it did, or rose.
    Count {
        /// Parts of the count's name.
        names: Vec<String>,
        /// What it follows in the slow arm.
        follows: Option<String>,
        /// Smallest ratio of the slow arm's count to the fast arm's.
        ratio_least: Option<f64>,
        /// Does not refuse.
        #[serde(default)]
        optional: bool,
    },
    /// Share of the wall difference in one phase of one command.
    Phase {
        /// Such as `COM_STMT_EXECUTE`.
        commands: Vec<String>,
        /// `think`, `upload`, `server`, `download`.
        part: String,
        /// Smallest share of the difference, 0 to 1.
        share_least: f64,
        /// Does not refuse.
        #[serde(default)]
        optional: bool,
    },
}

impl Evidence {
    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Matrix { .. } => Kind::Matrix,
            Self::Growth { .. } => Kind::Growth,
            Self::Stack { .. } => Kind::Stack,
            Self::Count { .. } => Kind::Count,
            Self::Phase { .. } => Kind::Phase,
        }
    }

    /// Whether a misfit does not refuse the entry.
    #[must_use]
    pub(crate) fn is_optional(&self) -> bool {
        match self {
            Self::Matrix { optional, .. }
            | Self::Growth { optional, .. }
            | Self::Stack { optional, .. }
            | Self::Count { optional, .. }
            | Self::Phase { optional, .. } => *optional,
        }
    }

    /// For people.
    #[must_use]
    pub(crate) fn in_words(&self) -> String {
        let said = match self {
            Self::Matrix { when, ratio_least, ratio_most, fast_is_free, same_work, .. } => {
                let mut most = ratio_most.map_or(String::new(), |most| format!(" and at most {most} times"));
                if *fast_is_free {
                    most.push_str(" than on a version that is free of it");
                }
                if *same_work {
                    most.push_str(", reading as many rows");
                }
                if when.is_empty() {
                    format!("slower by at least {ratio_least} times{most}")
                } else {
                    let conditions: Vec<String> = when
                        .iter()
                        .map(|when| format!("{} is {}", when.axis.join("/"), when.level.join("/")))
                        .collect();
                    format!(
                        "slower by at least {ratio_least} times{most} only where {}",
                        conditions.join(" and ")
                    )
                }
            }
            Self::Growth { counts, of, exponent_least, above_fast_by, .. } => format!(
                "{} grows with {} to the power {exponent_least} at least, {above_fast_by} above the fast arm",
                if counts.is_empty() { "cost".to_owned() } else { counts.join(" or ") },
                if of.is_empty() { "size".to_owned() } else { of.join("/") }
            ),
            Self::Stack { frames, share_least, single_most, half_in_least, .. } => {
                let under = (!frames.is_empty()).then(|| {
                    let under = frames.join(", ");
                    format!("at least {:.0} % of the added CPU under {under}", share_least * 100.0)
                });
                let single = single_most.map(|most| {
                    format!("no single function with more than {:.0} % of the added CPU", most * 100.0)
                });
                let spread = half_in_least
                    .map(|least| format!("half of what functions add is made up by {least} of them or more"));
                let said: Vec<String> = under.into_iter().chain(single).chain(spread).collect();
                said.join(", ")
            }
            Self::Count { names, follows, ratio_least, .. } => {
                let follows = follows.as_ref().map(|what| format!(" follows {what}"));
                let rose = ratio_least.map(|ratio| format!(" rises at least {ratio} times"));
                let what: Vec<String> = follows.into_iter().chain(rose).collect();
                format!("{}{}", names.join(" or "), what.join(" and"))
            }
            Self::Phase { commands, part, share_least, .. } => format!(
                "at least {:.0} % of the added wall time in the {part} part of {}",
                share_least * 100.0,
                commands.join(" or ")
            ),
        };
        if self.is_optional() { format!("{said} (supports, does not refuse)") } else { said }
    }
}

/// Another cause with a similar face.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LookAlike {
    /// It.
    pub what: String,
    /// What distinguishes the two.
    pub told_apart_by: String,
}

/// What to change, and what it must bring.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fix {
    /// For people.
    pub what: String,
    /// `variable`, `driver-option`, `sql`, `index`, `connections`, `upgrade`, `configuration`.
    pub kind: String,
    /// What the lab runs to try it, if it can.
    pub apply: Option<String>,
    /// What takes it back.
    pub undo: Option<String>,
    /// Share of the gap that must go, 0 to 1.
    pub recovers_least: f64,
    /// What else it costs or changes.
    pub cost: Option<String>,
    /// Verbs of the statements it is for, in capitals; empty: for all.
    #[serde(default)]
    pub statements: Vec<String>,
}

impl Fix {
    /// Whether it is for an operation of these statements. Where they are not known, only what is for all is.
    #[must_use]
    pub fn concerns(&self, verbs: &[String]) -> bool {
        self.statements.is_empty() || self.statements.iter().any(|verb| verbs.contains(verb))
    }

    /// For people.
    #[must_use]
    pub(crate) fn in_words(&self) -> String {
        let cost = self.cost.as_ref().map_or(String::new(), |cost| format!(" ({cost})"));
        format!("{}: recovers at least {:.0} % of the gap{cost}", self.what, self.recovers_least * 100.0)
    }
}

/// Recorded evidence of the cause.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// Where the figures come from.
    pub origin: String,
    /// Index of the faster arm.
    pub fast_arm: usize,
    /// Index of the slower arm.
    pub slow_arm: usize,
    /// The evidence, in the form of a run.
    pub run: Run,
}

impl Example {
    /// The pair the signature is held against.
    #[must_use]
    pub fn pair(&self) -> Pair {
        Pair { fast: self.fast_arm, slow: self.slow_arm }
    }
}

impl Versions {
    /// For people.
    #[must_use]
    pub(crate) fn in_words(&self) -> String {
        let state = match self.state {
            State::Affected => "affected",
            State::Free => "free of it",
            State::Unknown => "unknown",
        };
        let from = self.from.as_ref().map_or(String::new(), |from| format!(" from {from}"));
        let below = self.below.as_ref().map_or(String::new(), |below| format!(" below {below}"));
        format!("{:?}{from}{below}: {state} ({})", self.flavour, self.known_by).to_lowercase()
    }

    /// Whether a server's version lies within.
    #[must_use]
    pub fn holds(&self, flavour: Flavour, version: &str) -> bool {
        let this = numbers(version);
        self.flavour == flavour
            && self.from.as_ref().is_none_or(|from| this >= numbers(from))
            && self.below.as_ref().is_none_or(|below| this < numbers(below))
    }
}

/// `5.7.29-log` as 5, 7, 29.
fn numbers(version: &str) -> Vec<u32> {
    let head = version.split(|letter: char| !letter.is_ascii_digit() && letter != '.').next().unwrap_or("");
    head.split('.').map_while(|part| part.parse().ok()).collect()
}

impl Entry {
    /// What the form alone cannot say.
    ///
    /// # Errors
    /// The key that is wrong and what was expected.
    pub fn check(&self) -> Result<(), String> {
        let mut kinds: Vec<Kind> = self.evidence.iter().map(Evidence::kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        if self.kinds_least < 2 {
            return Err(format!("kinds_least is {}, expected 2 or more", self.kinds_least));
        }
        if kinds.len() < self.kinds_least {
            return Err(format!(
                "evidence is of {} kinds, expected at least kinds_least = {}",
                kinds.len(),
                self.kinds_least
            ));
        }
        if self.versions.is_empty() || self.interventions.is_empty() || self.references.is_empty() {
            return Err(
                "expected at least one [[version]], one [[intervention]] and one reference".to_owned()
            );
        }
        let arms = self.example.run.arms.len();
        if self.example.fast_arm >= arms || self.example.slow_arm >= arms {
            return Err(format!("example names an arm beyond its {arms}"));
        }
        Ok(())
    }

    /// Its layer in a run whose layer attribution blames this one.
    #[must_use]
    pub(crate) fn layer_where(&self, blamed: Option<&str>) -> &str {
        let layer = |text: &'_ str| text.split(':').next().map(str::to_owned);
        let blamed = blamed.and_then(layer);
        self.other_layers.iter().find(|other| layer(other) == blamed).unwrap_or(&self.layer)
    }

    /// What is known of a server's version; `Unknown` where no line speaks of it, `Free` for another flavour.
    #[must_use]
    pub(crate) fn state_of(&self, flavour: Flavour, version: &str) -> State {
        if !self.versions.iter().any(|line| line.flavour == flavour) {
            return State::Free;
        }
        self.versions
            .iter()
            .find(|line| line.holds(flavour, version))
            .map_or(State::Unknown, |line| line.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number_and_not_by_letter() {
        let line = Versions {
            flavour: Flavour::Mysql,
            from: Some("5.7".into()),
            below: Some("8.0.31".into()),
            state: State::Affected,
            known_by: String::new(),
        };
        assert!(line.holds(Flavour::Mysql, "5.7.29-log") && line.holds(Flavour::Mysql, "8.0.4"));
        assert!(!line.holds(Flavour::Mysql, "8.0.31") && !line.holds(Flavour::Mysql, "5.6.24"));
        assert!(!line.holds(Flavour::Mysql, "10.11.6-MariaDB") && !line.holds(Flavour::Invar, "5.7.29"));
    }
}
