//! The series of numbers that AUTO_INCREMENT takes from.

/// The first number of the series `offset`, `offset + increment`, ... that is not below `next`; `None` beyond 64 bits.
#[must_use]
pub fn first_of_series(next: u64, increment: u64, offset: u64) -> Option<u64> {
    if increment <= 1 {
        return Some(next);
    }
    let offset = if offset > increment { 1 } else { offset.max(1) };
    let behind = next.saturating_sub(offset);
    behind.div_ceil(increment).checked_mul(increment)?.checked_add(offset)
}

/// Takes `count` numbers of the series `offset`, `offset + increment`, ... from a counter whose next number is `next`, for a column whose
/// largest value is `limit`: the first of them, and what the counter's next number becomes. When the column has no further number, its
/// largest is answered again: the row is then a duplicate, as in MySQL. `None`: not as many are left, or the largest is
/// that of 64 bits.
#[must_use]
#[inline]
pub fn take_of_series(next: u64, count: u64, increment: u64, offset: u64, limit: u64) -> Option<(u64, u64)> {
    let increment = increment.max(1);
    let first = first_of_series(next, increment, offset)?;
    if first > limit {
        return Some((limit, next));
    }
    if first == u64::MAX {
        return None;
    }
    let last = first.checked_add((count.max(1) - 1).checked_mul(increment)?)?;
    (last <= limit).then(|| (first, last.saturating_add(increment)))
}
