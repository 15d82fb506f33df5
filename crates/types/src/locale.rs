//! Locales: names of months and weekdays (`lc_time_names`), and how FORMAT writes numbers.
//!
//! The data are texts in UTF-8; a caller that needs another character set converts them.

use std::sync::LazyLock;

/// What a locale says.
#[derive(Debug)]
pub struct Locale {
    /// `language_COUNTRY`.
    pub name: &'static str,
    months: [&'static str; 12],
    months_short: [&'static str; 12],
    weekdays: [&'static str; 7],
    weekdays_short: [&'static str; 7],
    /// Between whole and fraction.
    pub decimal_point: &'static str,
    /// Between groups of digits.
    thousands_separator: &'static str,
    /// Digits of the group next to the decimal point, and of the others; 0: no groups.
    groups: (usize, usize),
}

/// The number of a locale.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct LocaleId(u8);

static LOCALES: LazyLock<Vec<Locale>> = LazyLock::new(|| {
    include_str!("locale.tsv").lines().filter(|line| !line.starts_with('#')).map(parse).collect()
});

/// # Panics
/// On a malformed line of this crate's data.
fn parse(line: &'static str) -> Locale {
    fn names<const N: usize>(field: &'static str) -> [&'static str; N] {
        let names: Vec<&str> = field.split('|').collect();
        names.try_into().expect("as many names as months or weekdays")
    }
    let fields: Vec<&str> = line.split('\t').collect();
    let [name, months, months_short, weekdays, weekdays_short, decimal_point, separator, groups] = fields[..]
    else {
        panic!("locale.tsv: eight fields wanted: {line}");
    };
    Locale {
        name,
        months: names(months),
        months_short: names(months_short),
        weekdays: names(weekdays),
        weekdays_short: names(weekdays_short),
        decimal_point,
        thousands_separator: if separator == "\\0" { "\0" } else { separator },
        groups: match groups {
            "" => (0, 0),
            "3" => (3, 3),
            "3,2" => (3, 2),
            other => panic!("locale.tsv: groups {other}"),
        },
    }
}

impl LocaleId {
    /// `en_US`.
    pub const EN_US: LocaleId = LocaleId(0);

    /// The locale of this name, in any case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<LocaleId> {
        let position = LOCALES.iter().position(|locale| locale.name.eq_ignore_ascii_case(name))?;
        u8::try_from(position).ok().map(LocaleId)
    }

    /// The locale of this number.
    #[must_use]
    pub fn from_number(number: u64) -> Option<LocaleId> {
        let number = u8::try_from(number).ok()?;
        (usize::from(number) < LOCALES.len()).then_some(LocaleId(number))
    }

    /// Its number.
    #[must_use]
    pub fn number(self) -> u8 {
        self.0
    }

    /// What it says.
    #[must_use]
    pub fn locale(self) -> &'static Locale {
        &LOCALES[usize::from(self.0)]
    }
}

impl Locale {
    /// Name of a month, 1 to 12.
    #[must_use]
    pub fn month(&self, month: u8) -> Option<&'static str> {
        self.months.get(usize::from(month).checked_sub(1)?).copied()
    }

    /// Short name of a month, 1 to 12.
    #[must_use]
    pub(crate) fn month_short(&self, month: u8) -> Option<&'static str> {
        self.months_short.get(usize::from(month).checked_sub(1)?).copied()
    }

    /// Name of a weekday, Monday 0.
    #[must_use]
    pub fn weekday(&self, weekday: u8) -> &'static str {
        self.weekdays[usize::from(weekday % 7)]
    }

    /// Short name of a weekday, Monday 0.
    #[must_use]
    pub(crate) fn weekday_short(&self, weekday: u8) -> &'static str {
        self.weekdays_short[usize::from(weekday % 7)]
    }

    /// Characters of the longest month's name.
    #[must_use]
    pub fn month_chars_max(&self) -> u32 {
        chars_max(&self.months)
    }

    /// Characters of the longest weekday's name.
    #[must_use]
    pub fn weekday_chars_max(&self) -> u32 {
        chars_max(&self.weekdays)
    }

    /// Appends a number in digits (`-1234.50`) with this locale's signs.
    pub fn write_grouped(&self, plain: &str, out: &mut Vec<u8>) {
        let (sign, rest) = match plain.strip_prefix('-') {
            Some(rest) => ("-", rest),
            None => ("", plain),
        };
        let (whole, fraction) = rest.split_once('.').unwrap_or((rest, ""));
        out.extend_from_slice(sign.as_bytes());
        let (first, other) = self.groups;
        for (position, digit) in whole.bytes().enumerate() {
            let left = whole.len() - position;
            let begins_group = first > 0 && left >= first && (left - first).is_multiple_of(other);
            if position > 0 && begins_group {
                out.extend_from_slice(self.thousands_separator.as_bytes());
            }
            out.push(digit);
        }
        if !fraction.is_empty() {
            out.extend_from_slice(self.decimal_point.as_bytes());
            out.extend_from_slice(fraction.as_bytes());
        }
    }
}

fn chars_max(names: &[&str]) -> u32 {
    names.iter().map(|name| name.chars().count() as u32).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_reads_as_locales() {
        assert_eq!(LOCALES.len(), 111);
        assert_eq!(LocaleId::EN_US.locale().name, "en_US");
        assert_eq!(LocaleId::from_name("DE_de").unwrap().locale().month(3), Some("März"));
        assert_eq!(LocaleId::from_number(111), None);
        assert_eq!(LocaleId::EN_US.locale().month(0), None);
    }

    #[test]
    fn digits_are_grouped_as_the_locale_wants() {
        let grouped = |name: &str, text: &str| {
            let mut out = Vec::new();
            LocaleId::from_name(name).unwrap().locale().write_grouped(text, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(grouped("en_US", "-1234567.89"), "-1,234,567.89");
        assert_eq!(grouped("en_IN", "1234567.89"), "12,34,567.89");
        assert_eq!(grouped("en_IN", "100"), "100");
        assert_eq!(grouped("de_DE", "1234"), "1.234");
        assert_eq!(grouped("fr_FR", "1234.5"), "1234,5");
        assert_eq!(grouped("bg_BG", "1234"), "1\u{0}234");
    }
}
