//! Numbers for people.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_a_unit() {
        let said: Vec<String> = [1.581e9, 139e6, 4_200.0, 87.0, -2.5e6].map(nanoseconds).into();
        assert_eq!(said, ["1.58 s", "139 ms", "4.20 us", "87 ns", "-2.50 ms"]);
    }
}
