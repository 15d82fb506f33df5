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
