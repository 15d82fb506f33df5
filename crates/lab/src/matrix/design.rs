//! Which combinations of two-level axes run when not all do: regular fractions of a factorial design.
//!
//! With `b` basic axes every combination of them runs; the level of each further axis is the product of some basic ones (its
//! *generator*). What that product stands for can then not be distinguished from the axis itself, and so on for every product of
//! generators: the *defining words*. The shortest word is the resolution. At III a main effect hides behind interactions
//! of two axes, at IV such interactions hide behind each other, at V neither (Box, Hunter, Hunter, "Statistics for
//! Experimenters", chapter 6).
//!
//! Invariants:
//! 1. The combination of all first levels runs.
//! 2. No word is shorter than the resolution asked for; if no smaller fraction has it, all combinations run.

/// Axes that may be fractioned; more are refused before this is asked.
pub(crate) const AXES_MAX: usize = 10;

/// A fraction of the combinations of axes with two levels each.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Fraction {
    axes: usize,
    /// The first axes are basic.
    basic: usize,
    /// Of each further axis: which basic ones it is the product of.
    generators: Vec<u32>,
}

impl Fraction {
    /// The smallest fraction of `axes` axes whose words have at least `resolution` letters.
    pub(crate) fn new(axes: usize, resolution: u32) -> Fraction {
        let axes = axes.min(AXES_MAX);
        for basic in 1..axes {
            let mut generators = Vec::new();
            if extend(&mut generators, &mut vec![0], basic, axes, resolution) {
                return Fraction { axes, basic, generators };
            }
        }
        Fraction { axes, basic: axes, generators: Vec::new() }
    }

    /// Whether a combination runs: bit `i` is set if axis `i` has its second level.
    pub(crate) fn has(&self, levels: u32) -> bool {
        let is_product = |(index, generator): (usize, &u32)| {
            let odd = (levels & generator).count_ones() & 1;
            levels >> (self.basic + index) & 1 == odd
        };
        self.generators.iter().enumerate().all(is_product)
    }

    /// All products of generators with their axes, the empty one too.
    fn words(&self) -> Vec<u32> {
        let mut words = vec![0];
        for (index, generator) in self.generators.iter().enumerate() {
            let word = generator | 1 << (self.basic + index);
            words.extend(words.clone().into_iter().map(|other| other ^ word));
        }
        words
    }

    /// The length of the shortest word; `None` if all combinations run.
    pub(crate) fn resolution(&self) -> Option<u32> {
        self.words().into_iter().filter(|&word| word != 0).map(u32::count_ones).min()
    }

    /// Groups of axes and pairs of axes whose effects cannot be distinguished, each as sets of bits.
    pub(crate) fn aliases(&self) -> Vec<Vec<u32>> {
        let words = self.words();
        let singles = (0..self.axes).map(|axis| 1u32 << axis);
        let pairs = (0..self.axes).flat_map(|a| (a + 1..self.axes).map(move |b| 1u32 << a | 1 << b));
        let effects: Vec<u32> = singles.chain(pairs).collect();
        let mut groups: Vec<Vec<u32>> = Vec::new();
        for &effect in &effects {
            if groups.iter().any(|group| group.contains(&effect)) {
                continue;
            }
            let group: Vec<u32> =
                effects.iter().copied().filter(|other| words.contains(&(effect ^ other))).collect();
            if group.len() > 1 {
                groups.push(group);
            }
        }
        groups
    }
}

/// Finds generators for the axes that lack one; `words` are the products of those found. Longer ones first: they hide less.
fn extend(
    generators: &mut Vec<u32>,
    words: &mut Vec<u32>,
    basic: usize,
    axes: usize,
    resolution: u32,
) -> bool {
    let next = basic + generators.len();
    if next == axes {
        return true;
    }
    let mut candidates: Vec<u32> = (1..1u32 << basic)
        .filter(|mask| mask.count_ones() + 1 >= resolution && !generators.contains(mask))
        .collect();
    candidates.sort_by_key(|mask| (std::cmp::Reverse(mask.count_ones()), *mask));
    for generator in candidates {
        let word = generator | 1 << next;
        let longer: Vec<u32> = words.iter().map(|other| other ^ word).collect();
        if longer.iter().any(|word| word.count_ones() < resolution) {
            continue;
        }
        let known = words.len();
        words.extend(longer);
        generators.push(generator);
        if extend(generators, words, basic, axes, resolution) {
            return true;
        }
        generators.pop();
        words.truncate(known);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(fraction: &Fraction) -> Vec<u32> {
        (0..1u32 << fraction.axes).filter(|&levels| fraction.has(levels)).collect()
    }

    #[test]
    fn known_fractions_have_their_size_and_resolution() {
        // Axes, resolution asked for; runs and resolution of the standard tables.
        for (axes, resolution, size, got) in [
            (3, 3, 4, Some(3)),
            (4, 4, 8, Some(4)),
            (5, 5, 16, Some(5)),
            (5, 3, 8, Some(3)),
            (6, 4, 16, Some(4)),
            (7, 3, 8, Some(3)),
            (7, 4, 16, Some(4)),
            (8, 4, 16, Some(4)),
            (3, 4, 8, None),
            (2, 3, 4, None),
            (1, 3, 2, None),
            (0, 3, 1, None),
        ] {
            let fraction = Fraction::new(axes, resolution);
            assert_eq!(
                (runs(&fraction).len(), fraction.resolution()),
                (size, got),
                "{axes} axes at {resolution}"
            );
            assert!(fraction.has(0), "the first levels run");
        }
    }

    #[test]
    fn every_level_and_below_the_resolution_every_combination_runs_equally_often() {
        for (axes, resolution) in [(4, 4), (6, 3), (7, 4), (5, 5)] {
            let fraction = Fraction::new(axes, resolution);
            let runs = runs(&fraction);
            // Strength: any resolution - 1 axes see all their combinations.
            for chosen in (0..1u32 << axes).filter(|mask| mask.count_ones() == resolution - 1) {
                let mut counts = std::collections::BTreeMap::new();
                for levels in &runs {
                    *counts.entry(levels & chosen).or_insert(0) += 1;
                }
                assert_eq!(counts.len(), 1 << (resolution - 1));
                assert!(counts.values().all(|&count| count == runs.len() >> (resolution - 1)));
            }
        }
    }

    #[test]
    fn what_cannot_be_distinguished_is_named() {
        // D = ABC: AB = CD, AC = BD, BC = AD.
        let aliases = Fraction::new(4, 4).aliases();
        assert_eq!(aliases, [vec![0b0011, 0b1100], vec![0b0101, 0b1010], vec![0b1001, 0b0110]]);
        // C = AB: each axis hides behind the product of the others.
        assert_eq!(
            Fraction::new(3, 3).aliases(),
            [vec![0b001, 0b110], vec![0b010, 0b101], vec![0b100, 0b011]]
        );
        assert!(Fraction::new(5, 5).aliases().is_empty());
        assert!(Fraction::new(3, 4).aliases().is_empty());
    }
}
