//! Window functions beside a reference that looks at all rows of a partition for each row: every pair of bounds, ROWS and RANGE, both
//! directions, keys that are NULL or equal.

mod local;
#[allow(dead_code, reason = "shared with tests of stored answers")]
mod world;

use std::cmp::Ordering;

use local::Local;
use world::World;

/// A row: its number, its partition, its key, its value.
#[derive(Clone, Copy)]
struct Row {
    id: i64,
    part: i64,
    key: Option<i64>,
    value: Option<i64>,
}

/// One end of a frame.
#[derive(Clone, Copy, PartialEq)]
enum Bound {
    Start,
    Before(i64),
    Current,
    Behind(i64),
    End,
}

impl Bound {
    fn text(self) -> String {
        match self {
            Bound::Start => "UNBOUNDED PRECEDING".into(),
            Bound::Before(count) => format!("{count} PRECEDING"),
            Bound::Current => "CURRENT ROW".into(),
            Bound::Behind(count) => format!("{count} FOLLOWING"),
            Bound::End => "UNBOUNDED FOLLOWING".into(),
        }
    }
}

/// A pseudo-random number below `end`.
fn draw(state: &mut u64, end: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % end
}

fn rows(seed: u64, count: i64) -> Vec<Row> {
    let mut state = seed;
    let mut row = |id| Row {
        id,
        part: draw(&mut state, 3).cast_signed(),
        key: (draw(&mut state, 6) > 0).then(|| draw(&mut state, 15).cast_signed() - 5),
        value: (draw(&mut state, 5) > 0).then(|| draw(&mut state, 100).cast_signed() - 50),
    };
    (0..count).map(&mut row).collect()
}

/// NULL comes first, or last if keys go down; equal keys in the order of their numbers.
fn order(a: &Row, b: &Row, descending: bool) -> Ordering {
    let keys = a.key.cmp(&b.key);
    (if descending { keys.reverse() } else { keys }).then(a.id.cmp(&b.id))
}

/// Whether the row at `other` of a partition is in the frame of the row at `at`.
fn is_within(
    rows: &[Row],
    at: usize,
    other: usize,
    counts_rows: bool,
    bounds: (Bound, Bound),
    descending: bool,
) -> bool {
    let distance = if counts_rows {
        Some(other as i64 - at as i64)
    } else {
        match (rows[at].key, rows[other].key) {
            (Some(key), Some(other)) => Some(if descending { key - other } else { other - key }),
            (None, None) => Some(0),
            _ => None,
        }
    };
    // How far away NULL is from a key nobody knows, but it is on one side of all keys.
    let side = order(&rows[other], &rows[at], descending);
    let is_behind_start = match (bounds.0, distance) {
        (Bound::Start, _) => true,
        (Bound::Before(count), Some(distance)) => {
            distance >= if rows[at].key.is_none() && !counts_rows { 0 } else { -count }
        }
        (Bound::Behind(count), Some(distance)) => {
            distance >= if rows[at].key.is_none() && !counts_rows { 0 } else { count }
        }
        (_, Some(distance)) => distance >= 0,
        (_, None) => side == Ordering::Greater,
    };
    let is_before_end = match (bounds.1, distance) {
        (Bound::End, _) => true,
        (Bound::Before(count), Some(distance)) => {
            distance <= if rows[at].key.is_none() && !counts_rows { 0 } else { -count }
        }
        (Bound::Behind(count), Some(distance)) => {
            distance <= if rows[at].key.is_none() && !counts_rows { 0 } else { count }
        }
        (_, Some(distance)) => distance <= 0,
        (_, None) => side == Ordering::Less,
    };
    is_behind_start && is_before_end
}

fn shown(value: Option<i64>) -> String {
    value.map_or_else(|| "NULL".into(), |value| value.to_string())
}

/// What is asked of a frame, as text.
fn reference(frame: &[Row]) -> String {
    let values: Vec<i64> = frame.iter().filter_map(|row| row.value).collect();
    let sum = (!values.is_empty()).then(|| values.iter().sum());
    let bits = |start: u64, step: fn(u64, u64) -> u64| {
        values.iter().fold(start, |bits, value| step(bits, value.cast_unsigned()))
    };
    [
        frame.len().to_string(),
        values.len().to_string(),
        shown(sum),
        // The sum of doubles is a whole number, too.
        shown(sum),
        shown(values.iter().min().copied()),
        shown(values.iter().max().copied()),
        shown(frame.first().map(|row| row.id)),
        shown(frame.last().map(|row| row.id)),
        shown(frame.get(1).map(|row| row.id)),
        bits(u64::MAX, |a, b| a & b).to_string(),
        bits(0, |a, b| a | b).to_string(),
        bits(0, |a, b| a ^ b).to_string(),
    ]
    .join("\t")
}

#[test]
fn frames_hold_the_rows_that_a_look_at_all_rows_finds() {
    for (seed, count) in [(1, 40), (2, 1), (3, 90)] {
        let mut world = World::new(Local::new(), "windows_x", false);
        world.answer("CREATE TABLE w (id INT PRIMARY KEY, p INT NOT NULL, k INT, v INT)", false);
        let rows = rows(seed, count);
        for Row { id, part, key, value } in &rows {
            let sql = format!("INSERT INTO w VALUES ({id}, {part}, {}, {})", shown(*key), shown(*value));
            assert_eq!(world.answer(&sql, false), "OK 1\n");
        }
        let starts = [
            Bound::Start,
            Bound::Before(2),
            Bound::Before(0),
            Bound::Current,
            Bound::Behind(1),
            Bound::Behind(50),
        ];
        let ends = [
            Bound::End,
            Bound::Behind(3),
            Bound::Behind(0),
            Bound::Current,
            Bound::Before(1),
            Bound::Before(50),
        ];
        for (counts_rows, descending) in [(true, false), (true, true), (false, false), (false, true)] {
            for start in starts {
                for end in ends {
                    let is_turned = matches!(
                        (start, end),
                        (Bound::Current, Bound::Before(_))
                            | (Bound::Behind(_), Bound::Current | Bound::Before(_))
                    );
                    if is_turned {
                        continue;
                    }
                    let unit = if counts_rows { "ROWS" } else { "RANGE" };
                    let direction = if descending { " DESC" } else { "" };
                    let by = if counts_rows { format!("k{direction}, id") } else { format!("k{direction}") };
                    // Which of its peers a frame of RANGE shows first is not decided: by number, as the table is read.
                    let sql = format!(
                        "SELECT id, COUNT(*) OVER w, COUNT(v) OVER w, SUM(v) OVER w, SUM(v + 0e0) OVER w, MIN(v) OVER w, MAX(v) OVER w, \
                         FIRST_VALUE(id) OVER w, LAST_VALUE(id) OVER w, NTH_VALUE(id, 2) OVER w, BIT_AND(v) OVER w, BIT_OR(v) OVER w, \
                         BIT_XOR(v) OVER w FROM w WINDOW w AS (PARTITION BY p ORDER BY {by} {unit} BETWEEN {} AND {}) ORDER BY id",
                        start.text(),
                        end.text()
                    );
                    let mut expected: Vec<(i64, String)> = Vec::new();
                    for part in 0..3 {
                        let mut partition: Vec<Row> =
                            rows.iter().filter(|row| row.part == part).copied().collect();
                        partition.sort_by(|a, b| order(a, b, descending));
                        for at in 0..partition.len() {
                            let within = |other: &usize| {
                                is_within(&partition, at, *other, counts_rows, (start, end), descending)
                            };
                            let frame: Vec<Row> =
                                (0..partition.len()).filter(within).map(|other| partition[other]).collect();
                            expected.push((partition[at].id, reference(&frame)));
                        }
                    }
                    expected.sort();
                    let expected: String =
                        expected.iter().map(|(id, line)| format!("{id}\t{line}\n")).collect();
                    assert_eq!(world.answer(&sql, false), expected, "{sql}");
                }
            }
        }
    }
}
