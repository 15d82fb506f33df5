//! Collations as far as the [interpreter](crate::interpreter) knows them: over ASCII letters and spaces at the end.

/// A collation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Collation {
    /// MySQL's name of it.
    pub name: &'static str,
    /// Letters of both cases are equal.
    pub ignores_case: bool,
    /// Spaces at the end count for nothing.
    pub is_padded: bool,
}

/// Those that tables of the [plain](crate::plain) generator have, one a round.
pub const COLLATIONS: [Collation; 5] = [
    Collation { name: "utf8mb4_0900_ai_ci", ignores_case: true, is_padded: false },
    Collation { name: "utf8mb4_0900_bin", ignores_case: false, is_padded: false },
    Collation { name: "utf8mb4_general_ci", ignores_case: true, is_padded: true },
    Collation { name: "utf8mb4_unicode_ci", ignores_case: true, is_padded: true },
    Collation { name: "utf8mb4_bin", ignores_case: false, is_padded: true },
];

impl Collation {
    /// One text for all that are equal to this one. Such texts compare by their bytes as the collation orders them.
    #[must_use]
    pub fn fold(self, text: &str) -> String {
        let text = if self.is_padded { text.trim_end_matches(' ') } else { text };
        if self.ignores_case { text.to_ascii_lowercase() } else { text.to_owned() }
    }

    /// One text for all cells that are equal values: numbers without zeros behind the point, texts [folded](Self::fold).
    #[must_use]
    pub fn fold_cell(self, cell: Vec<u8>) -> Vec<u8> {
        match String::from_utf8(cell) {
            Ok(text) if is_decimal(&text) => {
                text.trim_end_matches('0').trim_end_matches('.').to_owned().into_bytes()
            }
            Ok(text) => self.fold(&text).into_bytes(),
            Err(error) => error.into_bytes(),
        }
    }
}

/// Digits with a point between them.
fn is_decimal(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    unsigned.split_once('.').is_some_and(|(whole, fraction)| digits(whole) && digits(fraction))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_one_text() {
        let [ai_ci, bytes, general, ..] = COLLATIONS;
        assert_eq!(ai_ci.fold("Ab "), "ab ");
        assert_eq!(bytes.fold("Ab "), "Ab ");
        assert_eq!(general.fold("Ab "), "ab");
        for (cell, folded) in
            [("1.0", "1"), ("-2.50", "-2.5"), ("10", "10"), ("10:00:00.000000", "10:00:00.000000")]
        {
            assert_eq!(general.fold_cell(cell.into()), folded.as_bytes());
        }
    }
}
