//! What MySQL's JSON functions do to documents.

use super::path::{Leg, Path};
use super::value::{Json, Kind, View, compare_views, key_order, sort_key};

/// How JSON_SET, JSON_INSERT and JSON_REPLACE treat a path that exists or does not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Change {
    /// Replaces or adds.
    Set,
    /// Adds only.
    Insert,
    /// Replaces only.
    Replace,
    /// Takes away.
    Remove,
    /// Puts behind the last element; what is no array becomes the first element of one.
    ArrayAppend,
}

/// JSON_ARRAY_INSERT with a path that does not end in an array position: error 3165.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ArrayInsertError;

/// Changes the value that `path` (without wildcards) names.
pub fn change(root: &mut Json, path: &Path, value: Json, how: Change) {
    let Some((last, parents)) = path.legs.split_last() else {
        match how {
            Change::Set | Change::Replace => *root = value,
            Change::ArrayAppend => append(root, value),
            Change::Insert | Change::Remove => {}
        }
        return;
    };
    if how == Change::ArrayAppend {
        if let Some(target) = find(root, &path.legs) {
            append(target, value);
        }
        return;
    }
    let Some(parent) = find(root, parents) else {
        return;
    };
    match last {
        Leg::Member(key) => {
            let Json::Object(members) = parent else {
                return;
            };
            match (members.binary_search_by(|(other, _)| key_order(other, key)), how) {
                (Ok(at), Change::Set | Change::Replace) => members[at].1 = value,
                (Ok(at), Change::Remove) => {
                    members.remove(at);
                }
                (Err(at), Change::Set | Change::Insert) => members.insert(at, (key.clone(), value)),
                _ => {}
            }
        }
        Leg::Cell(index) => match parent {
            Json::Array(items) => match (index.resolve(items.len()), how) {
                (Some(at), Change::Set | Change::Replace) if at < items.len() => items[at] = value,
                (Some(at), Change::Remove) if at < items.len() => {
                    items.remove(at);
                }
                (Some(at), Change::Set | Change::Insert) if at >= items.len() => items.push(value),
                (None, Change::Set | Change::Insert) => items.insert(0, value),
                _ => {}
            },
            // A scalar is an array of itself: position 0 is the value, one beyond makes it an array.
            scalar => match (index.resolve(1), how) {
                (Some(0), Change::Set | Change::Replace) => *scalar = value,
                (Some(1..), Change::Set | Change::Insert) => {
                    let first = std::mem::replace(scalar, Json::Null);
                    *scalar = Json::Array(vec![first, value]);
                }
                (None, Change::Set | Change::Insert) => {
                    let second = std::mem::replace(scalar, Json::Null);
                    *scalar = Json::Array(vec![value, second]);
                }
                _ => {}
            },
        },
        _ => {}
    }
}

fn append(target: &mut Json, value: Json) {
    match target {
        Json::Array(items) => items.push(value),
        other => {
            let first = std::mem::replace(other, Json::Null);
            *other = Json::Array(vec![first, value]);
        }
    }
}

/// JSON_ARRAY_INSERT: puts `value` before the position the path names.
///
/// # Errors
/// The path does not end in an array position.
pub fn array_insert(root: &mut Json, path: &Path, value: Json) -> Result<(), ArrayInsertError> {
    let Some((Leg::Cell(index), parents)) = path.legs.split_last() else {
        return Err(ArrayInsertError);
    };
    if let Some(Json::Array(items)) = find(root, parents) {
        let at = if index.from_end {
            items.len().saturating_sub(index.offset + 1)
        } else {
            index.offset.min(items.len())
        };
        items.insert(at, value);
    }
    Ok(())
}

fn find<'j>(root: &'j mut Json, legs: &[Leg]) -> Option<&'j mut Json> {
    let mut at = root;
    for leg in legs {
        at = match (leg, at) {
            (Leg::Member(key), Json::Object(members)) => {
                let index = members.binary_search_by(|(other, _)| key_order(other, key)).ok()?;
                &mut members[index].1
            }
            (Leg::Cell(index), Json::Array(items)) => {
                let index = index.resolve(items.len())?;
                items.get_mut(index)?
            }
            (Leg::Cell(index), other) if index.resolve(1) == Some(0) => other,
            _ => return None,
        };
    }
    Some(at)
}

/// JSON_MERGE_PATCH (RFC 7396).
#[must_use]
pub fn merge_patch(target: Json, patch: Json) -> Json {
    let Json::Object(changes) = patch else {
        return patch;
    };
    let mut members = match target {
        Json::Object(members) => members,
        _ => Vec::new(),
    };
    for (key, value) in changes {
        match members.binary_search_by(|(other, _)| key_order(other, &key)) {
            Ok(at) if value == Json::Null => {
                members.remove(at);
            }
            Ok(at) => {
                let old = std::mem::replace(&mut members[at].1, Json::Null);
                members[at].1 = merge_patch(old, value);
            }
            Err(_) if value == Json::Null => {}
            Err(at) => members.insert(at, (key, merge_patch(Json::Null, value))),
        }
    }
    Json::Object(members)
}

/// JSON_MERGE_PRESERVE: arrays are joined, objects merged member by member, all else becomes arrays.
#[must_use]
pub fn merge_preserve(left: Json, right: Json) -> Json {
    match (left, right) {
        (Json::Object(mut members), Json::Object(more)) => {
            for (key, value) in more {
                match members.binary_search_by(|(other, _)| key_order(other, &key)) {
                    Ok(at) => {
                        let old = std::mem::replace(&mut members[at].1, Json::Null);
                        members[at].1 = merge_preserve(old, value);
                    }
                    Err(at) => members.insert(at, (key, value)),
                }
            }
            Json::Object(members)
        }
        (left, right) => {
            let items = |value: Json| match value {
                Json::Array(items) => items,
                other => vec![other],
            };
            let mut all = items(left);
            all.extend(items(right));
            Json::Array(all)
        }
    }
}

/// The bytes by which values are equal: numbers by their decimal digits, whatever their type.
fn key(value: View<'_>) -> Vec<u8> {
    let (mut document, mut key) = (Vec::new(), Vec::new());
    value.copy_to(&mut document);
    sort_key(&document, &mut key);
    key
}

/// Are the values equal? A DOUBLE is equal to the whole number and the decimal that have its digits, not to others that are
/// rounded to it.
fn equal(a: View<'_>, b: View<'_>) -> bool {
    let is_same = a.kind() == b.kind() && !matches!(a.kind(), Kind::Array | Kind::Object);
    compare_views(a, b).is_eq() && (is_same || key(a) == key(b))
}

/// Keys of elements in order, so that each of many others is looked up without comparing it with all. Values themselves have no
/// order to sort by: two whole numbers that differ may both compare equal to the DOUBLE that they are rounded to.
struct Sorted(Vec<Vec<u8>>);

impl Sorted {
    fn of<'a>(elements: impl Iterator<Item = View<'a>>) -> Self {
        let mut keys: Vec<Vec<u8>> = elements.map(key).collect();
        keys.sort_unstable();
        Self(keys)
    }

    fn has(&self, element: View<'_>) -> bool {
        self.0.binary_search(&key(element)).is_ok()
    }
}

/// JSON_CONTAINS: is `candidate` in `target`?
#[must_use]
pub fn contains(target: View<'_>, candidate: View<'_>) -> bool {
    match (target.kind(), candidate.kind()) {
        (Kind::Object, Kind::Object) => candidate
            .members()
            .all(|(key, value)| target.get(key).is_some_and(|found| contains(found, value))),
        (Kind::Array, Kind::Array) => {
            let is_nested = |element: &View<'_>| matches!(element.kind(), Kind::Array | Kind::Object);
            let (nested, scalars): (Vec<_>, Vec<_>) = target.elements().partition(is_nested);
            let scalars = Sorted::of(scalars.into_iter());
            candidate.elements().all(|value| {
                !is_nested(&value) && scalars.has(value)
                    || nested.iter().any(|&element| contains(element, value))
            })
        }
        (Kind::Array, _) => target.elements().any(|element| contains(element, candidate)),
        (_, Kind::Array | Kind::Object) => false,
        _ => equal(target, candidate),
    }
}

/// JSON_OVERLAPS: have they a member or element in common?
#[must_use]
pub fn overlaps(a: View<'_>, b: View<'_>) -> bool {
    match (a.kind(), b.kind()) {
        (Kind::Object, Kind::Object) => {
            a.members().any(|(key, value)| b.get(key).is_some_and(|other| equal(value, other)))
        }
        (Kind::Array, Kind::Array) => {
            let sorted = Sorted::of(b.elements());
            a.elements().any(|x| sorted.has(x))
        }
        (Kind::Array, _) => a.elements().any(|x| equal(x, b)),
        (_, Kind::Array) => b.elements().any(|y| equal(a, y)),
        _ => equal(a, b),
    }
}

/// JSON_DEPTH: 1 for a scalar or an empty array or object.
#[must_use]
pub fn depth(view: View<'_>) -> usize {
    let below = view.elements().map(depth).chain(view.members().map(|(_, value)| depth(value))).max();
    1 + below.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(value: &Json) -> Vec<u8> {
        let mut out = Vec::new();
        value.encode(&mut out);
        out
    }

    #[test]
    fn many_numbers_that_round_to_one_double_are_distinguished() {
        const WHOLE: i64 = 1 << 53;
        let numbers = [Json::Int(WHOLE), Json::Int(WHOLE + 1), Json::Double(WHOLE as f64)];
        for has_odd in [false, true] {
            let of_target: Vec<&Json> =
                numbers.iter().filter(|&number| (*number == numbers[1]) == has_odd).collect();
            let mixed = (0..50).map(|at| of_target[at * 7 % of_target.len()].clone()).collect();
            let target = document(&Json::Array(mixed));
            for (at, number) in numbers.iter().enumerate() {
                let sought = document(&Json::Array(vec![number.clone(); 50]));
                let alone = document(number);
                let (target, sought, alone) = (View::new(&target), View::new(&sought), View::new(&alone));
                let expected = (at == 1) == has_odd;
                assert_eq!(contains(target, sought), expected, "{number:?}");
                assert_eq!(contains(target, alone), expected, "{number:?}");
                assert_eq!(overlaps(target, sought), expected, "{number:?}");
                assert_eq!(overlaps(sought, target), expected, "{number:?}");
                assert_eq!(overlaps(alone, target), expected, "{number:?}");
            }
        }
        let all = (0..150).map(|at| numbers[at * 7 % 3].clone()).collect();
        let all = document(&Json::Array(all));
        assert!(contains(View::new(&all), View::new(&all)));
        let tenth = document(&Json::Array(vec![Json::Double(0.1)]));
        let exact = document(&Json::Array(vec![Json::Decimal(crate::Decimal::from_units(10, 2))]));
        assert!(overlaps(View::new(&tenth), View::new(&exact)));
    }
}
