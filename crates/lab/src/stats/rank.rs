//! Tests that look only at the order of numbers, so that one wild value weighs no more than any other.

/// From how many values on the normal approximation stands in for counting all cases.
const EXACT_UP_TO: usize = 40;

/// Ranks from 1, ties sharing their middle rank; also the sum of t^3 - t over groups of ties.
fn ranks(values: &[f64]) -> (Vec<f64>, f64) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut ties = 0.0;
    let mut start = 0;
    while start < order.len() {
        let mut end = start + 1;
        while end < order.len() && values[order[end]] == values[order[start]] {
            end += 1;
        }
        for &index in &order[start..end] {
            ranks[index] = (start + 1 + end) as f64 / 2.0;
        }
        let count = (end - start) as f64;
        ties += count.powi(3) - count;
        start = end;
    }
    (ranks, ties)
}

fn two_sided(z: f64) -> f64 {
    (2.0 * super::summary::normal_below(-z.abs())).clamp(0.0, 1.0)
}

/// The two-sided probability that two sets drawn from the same distribution lie this far apart (Mann, Whitney 1947).
///
/// Exact for small sets without ties, else normal with the correction for ties and for steps. 1 if either set is empty.
#[must_use]
pub(crate) fn mann_whitney(a: &[f64], b: &[f64]) -> f64 {
    let (m, n) = (a.len(), b.len());
    if m == 0 || n == 0 {
        return 1.0;
    }
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let (ranks, ties) = ranks(&all);
    let rank_sum: f64 = ranks[..m].iter().sum();
    let u = rank_sum - (m * (m + 1)) as f64 / 2.0;
    if ties == 0.0 && m + n <= EXACT_UP_TO {
        // ways[i][s]: in how many ways i of the ranks seen so far, less their least possible sum, give s.
        let most = m * n;
        let mut ways = vec![vec![0.0_f64; most + 1]; m + 1];
        ways[0][0] = 1.0;
        for rank in 0..m + n {
            for chosen in (1..=m.min(rank + 1)).rev() {
                let step = rank + 1 - chosen;
                for sum in (step..=most).rev() {
                    ways[chosen][sum] += ways[chosen - 1][sum - step];
                }
            }
        }
        let total: f64 = ways[m].iter().sum();
        let edge = u.min(most as f64 - u).round() as usize;
        return (2.0 * ways[m][..=edge].iter().sum::<f64>() / total).min(1.0);
    }
    mann_whitney_normal(m, n, u, ties)
}

fn mann_whitney_normal(m: usize, n: usize, u: f64, ties: f64) -> f64 {
    let middle = (m * n) as f64 / 2.0;
    let count = (m + n) as f64;
    let variance = (m * n) as f64 / 12.0 * (count + 1.0 - ties / (count * (count - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    two_sided(((u - middle).abs() - 0.5).max(0.0) / variance.sqrt())
}

/// The two-sided probability that differences, as likely above 0 as below, are this one-sided (Wilcoxon 1945).
///
/// This is Mann-Whitney within rounds: a drift under both arms of a round leaves a difference as it was. Differences of 0
/// are left out. Exact without ties up to 40 differences. 1 of nothing.
#[must_use]
pub(crate) fn signed_rank(differences: &[f64]) -> f64 {
    let kept: Vec<f64> =
        differences.iter().copied().filter(|value| *value != 0.0 && !value.is_nan()).collect();
    let count = kept.len();
    if count == 0 {
        return 1.0;
    }
    let sizes: Vec<f64> = kept.iter().map(|value| value.abs()).collect();
    let (ranks, ties) = ranks(&sizes);
    let above: f64 = ranks.iter().zip(&kept).filter(|(_, value)| **value > 0.0).map(|(rank, _)| rank).sum();
    let most = count * (count + 1) / 2;
    if ties == 0.0 && count <= EXACT_UP_TO {
        let mut ways = vec![0.0_f64; most + 1];
        ways[0] = 1.0;
        for rank in 1..=count {
            for sum in (rank..=most).rev() {
                ways[sum] += ways[sum - rank];
            }
        }
        let edge = above.min(most as f64 - above).round() as usize;
        return (2.0 * ways[..=edge].iter().sum::<f64>() / 2_f64.powi(count as i32)).min(1.0);
    }
    let n = count as f64;
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties / 48.0;
    if variance <= 0.0 {
        return 1.0;
    }
    two_sided(((above - most as f64 / 2.0).abs() - 0.5).max(0.0) / variance.sqrt())
}

/// How much more often a value of `b` lies above one of `a` than below: -1 to 1, 0 for alike (Cliff 1993).
#[must_use]
pub(crate) fn cliffs_delta(a: &[f64], b: &[f64]) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    let mut sum = 0_i64;
    for x in a {
        for y in b {
            sum += i64::from(y > x) - i64::from(y < x);
        }
    }
    sum as f64 / (a.len() * b.len()) as f64
}

/// Probabilities corrected for there being many of them (Holm 1979), in the order given: compare each with the level.
#[must_use]
pub(crate) fn holm(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]));
    let mut corrected = vec![1.0; probabilities.len()];
    let mut highest = 0.0_f64;
    for (place, &index) in order.iter().enumerate() {
        highest = highest.max(probabilities[index] * (probabilities.len() - place) as f64).min(1.0);
        corrected[index] = highest;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        // All of one set below all of the other: 2 ways of C(10, 5) = 252.
        let low = [1.0, 2.0, 3.0, 4.0, 5.0];
        let high = [6.0, 7.0, 8.0, 9.0, 10.0];
        assert!((mann_whitney(&low, &high) - 2.0 / 252.0).abs() < 1e-12);
        assert_eq!(cliffs_delta(&low, &high), 1.0);
        // All six differences above 0: 2 of 2^6.
        assert!((signed_rank(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) - 2.0 / 64.0).abs() < 1e-12);
        assert!((mann_whitney(&low, &low) - 1.0).abs() < 1e-6);
        assert_eq!(signed_rank(&[0.0, 0.0]), 1.0);
    }

    #[test]
    fn counting_all_cases_and_the_normal_approximation_agree_where_they_meet() {
        let a: Vec<f64> = (0..20).map(|i| f64::from(i) * 1.37).collect();
        let b: Vec<f64> = (0..20).map(|i| 4.01 + f64::from(i) * 1.41).collect();
        let exact = mann_whitney(&a, &b);
        let u = a.iter().flat_map(|x| b.iter().map(move |y| f64::from(x > y))).sum();
        let normal = mann_whitney_normal(a.len(), b.len(), u, 0.0);
        assert!(exact < 0.2 && (exact - normal).abs() < 0.005, "{exact} {normal}");
    }

    #[test]
    fn holm_by_hand() {
        let corrected = holm(&[0.01, 0.04, 0.03, 0.005]);
        let wanted = [0.03, 0.06, 0.06, 0.02];
        assert!(corrected.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12), "{corrected:?}");
    }

    proptest! {
        #[test]
        fn a_probability_is_one_and_does_not_care_which_set_comes_first(
            a in prop::collection::vec(-5_i32..5, 0..30),
            b in prop::collection::vec(-5_i32..5, 0..30),
        ) {
            let a: Vec<f64> = a.into_iter().map(f64::from).collect();
            let b: Vec<f64> = b.into_iter().map(f64::from).collect();
            let p = mann_whitney(&a, &b);
            prop_assert!((0.0..=1.0).contains(&p));
            prop_assert!((p - mann_whitney(&b, &a)).abs() < 1e-9);
            let turned: Vec<f64> = a.iter().map(|value| -value).collect();
            prop_assert!((signed_rank(&a) - signed_rank(&turned)).abs() < 1e-9);
            prop_assert!((0.0..=1.0).contains(&signed_rank(&a)));
        }

        #[test]
        fn holm_only_raises_and_keeps_the_order(p in prop::collection::vec(0.0_f64..1.0, 0..20)) {
            let corrected = holm(&p);
            for (one, other) in p.iter().zip(&corrected) {
                prop_assert!(other >= one && *other <= 1.0);
            }
            for i in 0..p.len() {
                for j in 0..p.len() {
                    prop_assert!(p[i] > p[j] || corrected[i] <= corrected[j] + 1e-12 || p[i] == p[j]);
                }
            }
        }
    }
}
