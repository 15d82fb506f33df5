//! Numbers and settings for people.

use crate::evidence::Setting;

/// Characters of a setting's value that are shown.
const VALUE_CHARS: usize = 120;

/// A time with the unit that suits it: `1.58 s`, `139 ms`, `4.20 us`, `87 ns`.
#[must_use]
pub fn nanoseconds(value: f64) -> String {
    let size = value.abs();
    if !size.is_finite() {
        "-".to_owned()
    } else if size >= 1e9 {
        format!("{} s", digits(value / 1e9))
    } else if size >= 1e6 {
        format!("{} ms", digits(value / 1e6))
    } else if size >= 1e3 {
        format!("{} us", digits(value / 1e3))
    } else {
        format!("{value:.0} ns")
    }
}

/// Three digits that count.
#[must_use]
pub fn digits(value: f64) -> String {
    let size = value.abs();
    if size >= 100.0 || value == 0.0 {
        format!("{value:.0}")
    } else if size >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// A value of a metric with its unit.
#[must_use]
pub fn value(metric: crate::evidence::Metric, value: f64) -> String {
    if metric == crate::evidence::Metric::Count { digits(value) } else { nanoseconds(value) }
}

/// What of a server's value the others do not all have too: of a list of flags only those that differ. Long ones are cut.
#[must_use]
pub fn own(value: &str, all: &[&str]) -> String {
    let is_common = |flag: &&str| all.iter().all(|other| other.split(',').any(|part| part == *flag));
    let flags: Vec<&str> = value.split(',').filter(|flag| !is_common(flag)).collect();
    let shown = match flags.len() {
        _ if value.is_empty() => "(empty)".to_owned(),
        0 => "the rest".to_owned(),
        _ => flags.join(","),
    };
    let cut = shown.char_indices().nth(VALUE_CHARS).map_or(shown.len(), |(end, _)| end);
    let dots = if cut < shown.len() { "..." } else { "" };
    // A server's answer must not drive somebody's terminal.
    let plain = shown[..cut].chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    plain.chain(dots.chars()).collect()
}

/// A setting that differs: its name, then what is own to each server's value.
#[must_use]
pub fn setting(setting: &Setting) -> String {
    let all: Vec<&str> = setting.values.values().map(String::as_str).collect();
    let each: Vec<String> =
        setting.values.iter().map(|(server, value)| format!("{server}: {}", own(value, &all))).collect();
    format!("{}: {}", setting.name, each.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_a_unit() {
        let said: Vec<String> = [1.581e9, 139e6, 4_200.0, 87.0, -2.5e6].map(nanoseconds).into();
        assert_eq!(said, ["1.58 s", "139 ms", "4.20 us", "87 ns", "-2.50 ms"]);
    }

    #[test]
    fn of_a_list_of_flags_those_that_differ_are_shown() {
        let differing = |old: &str, new: &str| {
            let values =
                [("old", old), ("new", new)].map(|(name, value)| (name.to_owned(), value.to_owned()));
            setting(&Setting { name: "x".to_owned(), values: values.into(), ..Setting::default() })
        };
        assert_eq!(differing("mrr=on,a=on", "mrr=on,a=off,b=on"), "x: new: a=off,b=on; old: a=on");
        assert_eq!(differing("", "O_DIRECT"), "x: new: O_DIRECT; old: (empty)");
        assert_eq!(differing("1", "1,2\x1b"), "x: new: 2 ; old: the rest");
        assert_eq!(differing("1", &"9".repeat(500)).len(), "x: new: ; old: 1".len() + 120 + 3);
    }
}
