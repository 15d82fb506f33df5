//! Short cases: what differs in one, with all statements that lead to it.

use crate::server::Answer;

/// What differs, with the statements that lead to it.
#[derive(Debug)]
pub struct Finding {
    /// The seed of its case.
    pub seed: u64,
    /// Definitions and changes; the last one differs.
    pub statements: Vec<String>,
    /// What differs: `Rows`, `Error`, `Warnings`...
    pub kind: &'static str,
    /// Both answers.
    pub text: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "-- {} (seed {})", self.kind, self.seed)?;
        for statement in &self.statements {
            writeln!(f, "{statement};")?;
        }
        writeln!(f, "{}", self.text)
    }
}

/// Both answers, below each other.
#[must_use]
pub fn show(left: &Answer, right: &Answer) -> String {
    format!("left:  {}\nright: {}", left.show(12), right.show(12))
}

/// What kind of difference is between two answers, if any. Rows are compared in the order in which they came; `texts`: texts of errors too.
#[must_use]
pub fn difference(left: &Answer, right: &Answer, texts: bool) -> Option<&'static str> {
    match (left, right) {
        (Answer::Broken(_), _) => Some("Crash"),
        (Answer::Rows { rows, .. }, Answer::Rows { rows: right, .. }) => (rows != right).then_some("Rows"),
        (
            Answer::Done { affected, insert_id, info, .. },
            Answer::Done { affected: right_rows, insert_id: right_id, info: right_info, .. },
        ) => {
            let cut = |info: &[u8]| {
                let text = String::from_utf8_lossy(info).into_owned();
                text.split("  Warnings").next().unwrap_or("").to_owned()
            };
            let same = affected == right_rows && insert_id == right_id && cut(info) == cut(right_info);
            (!same).then_some("Counts")
        }
        (Answer::Refused { number, message }, Answer::Refused { number: right, message: text }) => {
            if number != right { Some("Error") } else { (texts && message != text).then_some("Message") }
        }
        _ => Some("Error"),
    }
}
