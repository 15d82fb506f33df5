//! Values that clients know by number: prepared statements. Each execution looks one up, so a number says where its value lies.
//!
//! Invariants:
//! 1. Numbers are 1, 2, 3 and so on until one is given back. Its place is used again under another number, so that a client which
//!    still uses the old one gets an error, unless the place has been reused 512 times since.
//! 2. No number is 0.

/// Of a number, the bits that say where the value lies; the others distinguish the values that have lain there. `max_prepared_stmt_count`
/// is at most half as many.
const PLACE_BITS: u32 = 23;
const PLACE_MASK: u32 = (1 << PLACE_BITS) - 1;

/// Values by number.
#[derive(Debug)]
pub(super) struct ByNumber<T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Place<T> {
    /// That of the value which lies here or lay here last.
    number: u32,
    value: Option<T>,
}

impl<T> Default for ByNumber<T> {
    fn default() -> ByNumber<T> {
        ByNumber { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> ByNumber<T> {
    /// Adds a value. Returns its number.
    pub(super) fn insert(&mut self, value: T) -> u32 {
        if let Some(at) = self.free.pop()
            && let Some(place) = self.places.get_mut(at as usize)
        {
            place.number = place.number.wrapping_add(1 << PLACE_BITS);
            place.value = Some(value);
            return place.number;
        }
        // Place 0 is number 1, so that none is 0: the last place of all is never used.
        let number = u32::try_from(self.places.len()).map_or(PLACE_MASK, |at| at + 1);
        assert!(number <= PLACE_MASK, "prepared statements are limited to fewer");
        self.places.push(Place { number, value: Some(value) });
        number
    }

    /// The value with this number.
    #[inline]
    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let at = (number & PLACE_MASK).wrapping_sub(1);
        let place = self.places.get_mut(at as usize)?;
        if place.number == number { place.value.as_mut() } else { None }
    }

    /// Takes a value away; its number is free.
    pub(super) fn remove(&mut self, number: u32) -> Option<T> {
        let at = (number & PLACE_MASK).wrapping_sub(1);
        let place = self.places.get_mut(at as usize)?;
        if place.number != number {
            return None;
        }
        let value = place.value.take()?;
        self.free.push(at);
        Some(value)
    }

    /// The values.
    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|place| place.value.as_ref())
    }

    /// Takes all away. Returns how many there were.
    pub(super) fn clear(&mut self) -> usize {
        let count = self.places.len() - self.free.len();
        *self = ByNumber::default();
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_given_back_is_nobodys() {
        let mut all = ByNumber::default();
        assert_eq!((all.insert('a'), all.insert('b'), all.insert('c')), (1, 2, 3));
        assert_eq!(all.remove(2), Some('b'));
        assert_eq!(all.remove(2), None);
        let again = all.insert('d');
        assert_ne!(again, 2);
        for (number, value) in
            [(2, None), (again, Some('d')), (0, None), (PLACE_MASK, None), (u32::MAX, None)]
        {
            assert_eq!(all.get_mut(number).copied(), value, "{number}");
        }
        assert_eq!(all.insert('e'), 4);
        for _ in 0..3000 {
            let number = all.insert('f');
            assert_ne!(number & PLACE_MASK, 0);
            assert_eq!(all.remove(number), Some('f'));
        }
        assert_eq!(all.clear(), 4);
        assert_eq!(all.get_mut(1), None);
    }
}
