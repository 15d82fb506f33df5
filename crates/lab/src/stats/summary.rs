//! Middle, spread, and the normal distribution.

/// The sorted numbers of a slice, without those that are no number.
#[must_use]
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut kept: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    kept.sort_by(f64::total_cmp);
    kept
}

/// The value below which a share `at` (0 to 1) of sorted numbers lies, straight between neighbours; `None` of nothing.
#[must_use]
pub(crate) fn quantile_of_sorted(sorted: &[f64], at: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = at.clamp(0.0, 1.0) * last as f64;
    let below = place.floor();
    let (low, high) = (sorted[below as usize], sorted[(below as usize + 1).min(last)]);
    // Equal neighbours first: between two infinities there is no number.
    Some(if low == high { low } else { low + (high - low) * (place - below) })
}

/// The middle of numbers in any order; `None` of nothing.
#[must_use]
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    quantile_of_sorted(&sorted(values), 0.5)
}

/// How likely a standard normal draw is below `x` (Abramowitz, Stegun 7.1.26 on the tail; error below 2e-7).
#[must_use]
pub(crate) fn normal_below(x: f64) -> f64 {
    let scaled = x.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * scaled);
    let series = t
        * (0.254_829_592
            + t * (-0.284_496_736 + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
    let tail = series * (-scaled * scaled).exp() / 2.0;
    if x > 0.0 { 1.0 - tail } else { tail }
}

/// The `x` below which a share `at` of standard normal draws lies (Acklam; relative error below 1.2e-9).
#[must_use]
pub(crate) fn normal_quantile(at: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969683028665376e1,
        2.209460984245205e2,
        -2.759285104469687e2,
        1.383_577_518_672_69e2,
        -3.066479806614716e1,
        2.506628277459239,
    ];
    const B: [f64; 5] = [
        -5.447609879822406e1,
        1.615858368580409e2,
        -1.556989798598866e2,
        6.680131188771972e1,
        -1.328068155288572e1,
    ];
    const C: [f64; 6] = [
        -7.784894002430293e-3,
        -3.223964580411365e-1,
        -2.400758277161838,
        -2.549732539343734,
        4.374664141464968,
        2.938163982698783,
    ];
    const D: [f64; 4] = [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416];
    let tail = |q: f64| {
        (((((C[0] * q + C[1]) * q + C[2]) * q + C[3]) * q + C[4]) * q + C[5])
            / ((((D[0] * q + D[1]) * q + D[2]) * q + D[3]) * q + 1.0)
    };
    if at <= 0.0 {
        f64::NEG_INFINITY
    } else if at >= 1.0 {
        f64::INFINITY
    } else if at < 0.02425 {
        tail((-2.0 * at.ln()).sqrt())
    } else if at > 1.0 - 0.02425 {
        -tail((-2.0 * (1.0 - at).ln()).sqrt())
    } else {
        let q = at - 0.5;
        let r = q * q;
        (((((A[0] * r + A[1]) * r + A[2]) * r + A[3]) * r + A[4]) * r + A[5]) * q
            / (((((B[0] * r + B[1]) * r + B[2]) * r + B[3]) * r + B[4]) * r + 1.0)
    }
}

/// Two-sided 95 % point of Student's t with `freedom` degrees; the normal one beyond the table.
#[must_use]
pub(crate) fn student_t_95(freedom: usize) -> f64 {
    const TABLE: [f64; 15] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
        2.131,
    ];
    match freedom {
        0 => f64::INFINITY,
        1..=15 => TABLE[freedom - 1],
        16..=30 => 2.08,
        _ => 1.96 + 2.4 / freedom as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_stands_in_the_middle_and_skips_what_is_no_number() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, f64::NAN, 1.0]), Some(2.0));
        assert_eq!(median(&[f64::INFINITY, f64::INFINITY]), Some(f64::INFINITY));
        assert_eq!(quantile_of_sorted(&[1.0, 2.0, 3.0], 1.0), Some(3.0));
    }

    #[test]
    fn the_normal_distribution_and_its_inverse_agree() {
        assert!((normal_quantile(0.975) - 1.959_964).abs() < 1e-5);
        for step in 1..1000 {
            let at = f64::from(step) / 1000.0;
            assert!((normal_below(normal_quantile(at)) - at).abs() < 1e-6, "at {at}");
        }
    }
}
