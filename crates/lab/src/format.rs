//! Numbers, settings and texts for people.

use crate::evidence::{JudgementWord, Setting};

/// Characters of a setting's value that are shown.
const VALUE_CHARS: usize = 80;

/// Text that is safe between tags and in quotes of HTML and XML.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // No control character may stand in XML.
            letter if letter.is_control() && letter != '\n' && letter != '\t' => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}

/// A time with the unit that suits it: `1.58 s`, `139 ms`, `4.20 us`, `87 ns`.
#[must_use]
pub fn nanoseconds(value: f64) -> String {
    let size = value.abs();
    if size < 0.5 {
        "0 ns".to_owned()
    } else if !size.is_finite() {
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

/// An effect as people say it: `12 %`, from a factor of 2 on `a factor of 3.4`.
#[must_use]
pub(crate) fn effect(share: f64) -> String {
    if share < 0.995 { format!("{:.0} %", share * 100.0) } else { format!("a factor of {:.1}", 1.0 + share) }
}

/// A ratio of times as people say it, always from 1 up: `1.39 times as slow`, `3.45 times as fast`.
#[must_use]
pub fn times(ratio: f64) -> String {
    if ratio >= 1.0 {
        format!("{ratio:.2} times as slow")
    } else {
        format!("{:.2} times as fast", 1.0 / ratio)
    }
}

/// Columns of a terminal that every line of ours fits into.
pub const COLUMNS: usize = 80;

/// Breaks text at spaces into lines of at most `columns`; the first begins with `first`, the others with as many spaces as
/// `indent`. A word that is longer than a line is cut.
#[must_use]
pub fn wrap(first: &str, indent: usize, text: &str, columns: usize) -> String {
    let mut out = String::from(first);
    let mut used = first.chars().count();
    let mut is_start = first.is_empty() || first.ends_with(' ');
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let mut word: Vec<char> = word.chars().collect();
        loop {
            let gap = usize::from(!is_start);
            if used + gap + word.len() <= columns {
                if !is_start {
                    out.push(' ');
                }
                used += gap + word.len();
                out.extend(word);
                is_start = false;
                break;
            }
            let is_longer_than_a_line = word.len() > columns.saturating_sub(indent);
            let room = columns.saturating_sub(used + gap);
            if is_longer_than_a_line && room > 8 {
                if !is_start {
                    out.push(' ');
                }
                let rest = word.split_off(room);
                out.extend(word);
                word = rest;
            }
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            used = indent;
            is_start = true;
        }
    }
    out
}

/// What of a server's value the others do not all have too: of a list of flags only those that differ. Long ones are cut.
#[must_use]
pub fn own(value: &str, all: &[&str]) -> String {
    let is_common = |flag: &&str| all.iter().all(|other| other.split(',').any(|part| part == *flag));
    let flags: Vec<&str> = value.split(',').filter(|flag| !is_common(flag)).collect();
    let shown = match flags.len() {
        _ if value.is_empty() => "(empty)".to_owned(),
        0 if all.len() > 1 => "nothing more".to_owned(),
        0 => value.to_owned(),
        _ => flags.join(", "),
    };
    let cut = shown.char_indices().nth(VALUE_CHARS).map_or(shown.len(), |(end, _)| end);
    let dots = if cut < shown.len() { "..." } else { "" };
    // A server's answer must not send control sequences to the terminal.
    let plain = shown[..cut].chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    plain.chain(dots.chars()).collect()
}

/// A setting that differs: its name, then what is own to each server's value.
#[must_use]
pub fn setting(setting: &Setting) -> String {
    let all: Vec<&str> = setting.values.values().map(String::as_str).collect();
    let each: Vec<String> =
        setting.values.iter().map(|(server, value)| format!("{server}: {}", own(value, &all))).collect();
    let others = if each.len() == 1 { "; not on the others" } else { "" };
    format!("{}: {}{others}", setting.name, each.join("; "))
}

/// What is said of a comparison, in words that agree with its ratio.
#[must_use]
pub fn judgement_name(word: JudgementWord, ratio: f64) -> &'static str {
    let is_slower = ratio >= 1.0;
    match word {
        JudgementWord::NoDifference => "no difference",
        JudgementWord::Slower => "slower",
        JudgementWord::Faster => "faster",
        JudgementWord::Unconfirmed if is_slower => "slower, seen once",
        JudgementWord::Unconfirmed => "faster, seen once",
        JudgementWord::Small if is_slower => "slightly slower",
        JudgementWord::Small => "slightly faster",
        JudgementWord::WithinNoise => "within the noise",
        JudgementWord::TooNoisy => "too noisy",
    }
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
    fn effects_and_ratios_are_said_from_one_up() {
        assert_eq!(
            [0.12, 0.99, 1.0, 2.4].map(effect),
            ["12 %", "99 %", "a factor of 2.0", "a factor of 3.4"]
        );
        assert_eq!(
            [1.39, 1.0, 0.29].map(times),
            ["1.39 times as slow", "1.00 times as slow", "3.45 times as fast"]
        );
    }

    #[test]
    fn lines_are_broken_at_spaces_and_long_words_are_cut() {
        assert_eq!(wrap("- ", 2, "one two three", 9), "- one two\n  three");
        assert_eq!(wrap("", 0, "", 9), "");
        let long = "x".repeat(200);
        for text in [long.clone(), format!("a {long} b"), "a b c ".repeat(60)] {
            let said = wrap("  > ", 4, &text, 80);
            assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
            assert_eq!(said.matches('x').count(), text.matches('x').count());
        }
    }

    #[test]
    fn of_a_list_of_flags_those_that_differ_are_shown() {
        let differing = |old: &str, new: &str| {
            let values =
                [("old", old), ("new", new)].map(|(name, value)| (name.to_owned(), value.to_owned()));
            setting(&Setting { name: "x".to_owned(), values: values.into(), ..Setting::default() })
        };
        assert_eq!(differing("mrr=on,a=on", "mrr=on,a=off,b=on"), "x: new: a=off, b=on; old: a=on");
        assert_eq!(differing("", "O_DIRECT"), "x: new: O_DIRECT; old: (empty)");
        assert_eq!(differing("1", "1,2\x1b"), "x: new: 2 ; old: nothing more");
        assert_eq!(differing("1", &"9".repeat(500)).len(), "x: new: ; old: 1".len() + VALUE_CHARS + 3);
    }
}
