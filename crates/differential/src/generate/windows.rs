//! Window functions with one right answer.
//!
//! What depends on the order of rows within peers is asked over an order by all columns in scope: rows that are equal there are the same. Over
//! other orders stand functions that give all peers the same value.

use super::Generator;
use super::expressions::Typed;
use super::{Info, Visible};
use crate::ast::{Expr, Select, Window};
use crate::forms;
use crate::schema::Family;
use crate::value::Value;

/// Most columns of an order by all of them.
const COLUMNS_MAX: usize = 14;

fn known(family: Family) -> Info {
    Info { family, is_stable: true, is_small: false, is_unsigned: false }
}

fn column(relation: &str, name: &str) -> Expr {
    Expr::Column { relation: relation.to_owned(), name: name.to_owned() }
}

impl Generator {
    /// A window function over the rows of a SELECT without groups, whose WINDOW clause it may extend.
    pub(super) fn windowed(&mut self, select: &mut Select) -> Typed {
        let budget = std::mem::take(&mut self.budget);
        let was_local = std::mem::replace(&mut self.is_local, true);
        let typed = self.local_window(select);
        self.is_local = was_local;
        self.budget = budget;
        typed
    }

    fn local_window(&mut self, select: &mut Select) -> Typed {
        let mut window = Window::default();
        for _ in 0..self.random.below(3) {
            if let Some((expr, _)) = self.column_where(|_| true) {
                window.partition.push(expr);
            }
        }
        let total = if self.random.chance(55) { self.total_order() } else { None };
        let typed = match total {
            Some(order) => {
                window.order = order;
                self.by_rows(&mut window)
            }
            None => self.by_peers(&mut window),
        };
        let (function, arguments, info) = typed;
        let window = if self.random.chance(20) { self.named(window, select) } else { window };
        (Expr::Window { function, arguments, window: Box::new(window) }, info)
    }

    /// Moves a part of a window into the WINDOW clause.
    fn named(&mut self, window: Window, select: &mut Select) -> Window {
        let name = self.fresh("w");
        let is_whole = window.frame.is_none() || self.random.chance(50);
        let (clause, rest) = if is_whole {
            (window, Window { base: Some(name.clone()), ..Window::default() })
        } else {
            let frame = window.frame.clone();
            (
                Window { frame: None, ..window },
                Window { base: Some(name.clone()), frame, ..Window::default() },
            )
        };
        select.windows.push((name, clause));
        rest
    }

    /// All columns in scope, texts by their bytes.
    fn total_order(&mut self) -> Option<Vec<(Expr, bool)>> {
        let relations = self.scopes.last()?;
        let columns: Vec<(String, Visible)> = relations
            .iter()
            .flat_map(|relation| {
                relation.columns.iter().map(|visible| (relation.alias.clone(), visible.clone()))
            })
            .collect();
        if columns.len() > COLUMNS_MAX || columns.is_empty() {
            return None;
        }
        let mut order = Vec::new();
        for (alias, visible) in columns {
            let expr = column(&alias, &visible.name);
            let form = match visible.info.family {
                Family::Json => Some(forms::HEX_CHAR),
                Family::Text | Family::Enum | Family::Set => Some(forms::HEX),
                _ => None,
            };
            let expr = match form {
                Some(form) => Expr::Call { form, arguments: vec![expr] },
                None => expr,
            };
            order.push((expr, self.random.chance(30)));
        }
        for at in (1..order.len()).rev() {
            order.swap(at, self.random.below(at + 1));
        }
        Some(order)
    }

    /// A function that depends on the order of all rows.
    fn by_rows(&mut self, window: &mut Window) -> (&'static str, Vec<Expr>, Info) {
        let choice = self.random.below(100);
        let number = |random: &mut crate::random::Random, low| {
            Expr::literal(Value::Int(i128::from(random.between(low, 4))))
        };
        match choice {
            0..=14 => return ("ROW_NUMBER", Vec::new(), known(Family::Integer)),
            15..=22 => return ("NTILE", vec![number(&mut self.random, 1)], known(Family::Integer)),
            23..=42 => {
                let (expr, info) = self.value_of_row();
                let function = self.random.word(&["LAG", "LEAD"]);
                let mut arguments = vec![expr];
                if self.random.chance(60) {
                    arguments.push(number(&mut self.random, 0));
                    if self.random.chance(50) {
                        arguments.push(self.literal(info.family).0);
                    }
                }
                let is_stable = info.is_stable && arguments.len() < 3;
                return (function, arguments, Info { is_stable, is_small: false, ..info });
            }
            _ => {}
        }
        if self.random.chance(80) {
            window.frame = Some(self.row_frame());
        }
        match choice {
            43..=52 => {
                let (expr, info) = self.value_of_row();
                let function = self.random.word(&["FIRST_VALUE", "LAST_VALUE"]);
                (function, vec![expr], Info { is_small: false, ..info })
            }
            53..=60 => {
                let (expr, info) = self.value_of_row();
                let number = number(&mut self.random, 1);
                ("NTH_VALUE", vec![expr, number], Info { is_small: false, ..info })
            }
            _ => self.aggregate_of_window(),
        }
    }

    /// A value of a family that stays the same family.
    fn value_of_row(&mut self) -> Typed {
        let families = [
            Family::Integer,
            Family::Integer,
            Family::Decimal,
            Family::Text,
            Family::Date,
            Family::DateTime,
            Family::Bytes,
        ];
        let family = *self.random.pick(&families);
        let depth = usize::from(self.random.chance(30));
        let (expr, info) = self.expr(family, depth);
        (super::queries::unbound(expr), info)
    }

    /// A function that gives all peers the same value.
    fn by_peers(&mut self, window: &mut Window) -> (&'static str, Vec<Expr>, Info) {
        // 9.7 does not sort arrays and objects (1235), but finds that they are no peers.
        for _ in 0..self.random.below(3) {
            if let Some((expr, _)) = self.column_where(|info| info.family != Family::Json)
                && !window.order.iter().any(|(other, _)| *other == expr)
            {
                window.order.push((expr, self.random.chance(30)));
            }
        }
        if self.random.chance(40) {
            let function = self.random.word(&["RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST"]);
            let family =
                if matches!(function, "RANK" | "DENSE_RANK") { Family::Integer } else { Family::Real };
            return (function, Vec::new(), known(family));
        }
        match self.random.below(10) {
            0..=2 => {}
            3..=6 => {
                let is_signed = |info: &Info| {
                    info.is_small
                        && !info.is_unsigned
                        && matches!(info.family, Family::Integer | Family::Decimal)
                };
                if let Some((expr, _)) = self.column_where(is_signed) {
                    window.order = vec![(expr, self.random.chance(30))];
                    window.frame = Some(self.range_frame(""));
                }
            }
            7 => {
                if let Some((expr, _)) =
                    self.column_where(|info| matches!(info.family, Family::Date | Family::DateTime))
                {
                    let unit = self.random.word(&["DAY", "MONTH", "YEAR", "HOUR", "QUARTER"]);
                    // NULL for the zero date, which has no distance from others: 9.7 gives other rows no frames either, those behind it.
                    let zero = Expr::literal(Value::Int(0));
                    let expr = match forms::by_template("({} + INTERVAL {} DAY)") {
                        Some(form) => Expr::Call { form, arguments: vec![expr, zero] },
                        None => expr,
                    };
                    window.order = vec![(expr, self.random.chance(30))];
                    window.frame = Some(self.range_frame(unit));
                }
            }
            _ => {
                let start = self.random.word(&["UNBOUNDED PRECEDING", "CURRENT ROW"]);
                let end = self.random.word(&["UNBOUNDED FOLLOWING", "CURRENT ROW"]);
                window.frame = Some(format!("RANGE BETWEEN {start} AND {end}"));
            }
        }
        self.aggregate_of_window()
    }

    fn aggregate_of_window(&mut self) -> (&'static str, Vec<Expr>, Info) {
        match self.random.below(10) {
            0 | 1 => ("COUNT", Vec::new(), known(Family::Integer)),
            2 => {
                let family = self.some_family();
                ("COUNT", vec![super::queries::unbound(self.expr(family, 1).0)], known(Family::Integer))
            }
            3..=5 => {
                let family = self.some_family();
                let typed = self.expr(family, 0);
                let (expr, info) = self.stabilise(typed);
                let function = self.random.word(&["MIN", "MAX"]);
                (function, vec![super::queries::unbound(expr)], known(info.family))
            }
            6 | 7 => {
                let column = self.column_where(|info| info.is_small && info.family == Family::Integer);
                let (expr, _) = column.unwrap_or_else(|| self.literal(Family::Integer));
                let function = self.random.word(&["BIT_AND", "BIT_OR", "BIT_XOR"]);
                (function, vec![super::queries::unbound(expr)], known(Family::Integer))
            }
            _ => {
                let column = self.column_where(|info| info.is_small);
                let (expr, _) = column.unwrap_or_else(|| self.literal(Family::Integer));
                let function = self.random.word(&["SUM", "SUM", "AVG"]);
                (function, vec![super::queries::unbound(expr)], known(Family::Decimal))
            }
        }
    }

    fn row_frame(&mut self) -> String {
        let mut count = || *self.random.pick(&[0, 1, 1, 2, 3, 7, 1000]);
        let counts = [count(), count()];
        let starts = [
            "UNBOUNDED PRECEDING".to_owned(),
            "CURRENT ROW".to_owned(),
            format!("{} PRECEDING", counts[0]),
            format!("{} FOLLOWING", counts[0]),
        ];
        let ends = [
            "UNBOUNDED FOLLOWING".to_owned(),
            "CURRENT ROW".to_owned(),
            format!("{} FOLLOWING", counts[1]),
            format!("{} PRECEDING", counts[1]),
        ];
        self.frame("ROWS", &starts, &ends)
    }

    /// `unit`: of intervals; none: numbers.
    fn range_frame(&mut self, unit: &str) -> String {
        let mut distance = || {
            let number = *self.random.pick(&["0", "1", "2", "1.5", "100"]);
            match unit {
                "" => number.to_owned(),
                unit => format!("INTERVAL {} {unit}", number.split('.').next().unwrap_or(number)),
            }
        };
        let distances = [distance(), distance()];
        let starts = [
            "UNBOUNDED PRECEDING".to_owned(),
            "CURRENT ROW".to_owned(),
            format!("{} PRECEDING", distances[0]),
            format!("{} FOLLOWING", distances[0]),
        ];
        let ends = [
            "UNBOUNDED FOLLOWING".to_owned(),
            "CURRENT ROW".to_owned(),
            format!("{} FOLLOWING", distances[1]),
            format!("{} PRECEDING", distances[1]),
        ];
        self.frame("RANGE", &starts, &ends)
    }

    fn frame(&mut self, unit: &str, starts: &[String; 4], ends: &[String; 4]) -> String {
        let start = self.random.below(4);
        let end = self.random.below(4);
        // What ends before it begins is refused; seldom is enough.
        let is_refused = start == 1 && end == 3 || start == 3 && (end == 1 || end == 3);
        let end = if is_refused && self.random.chance(95) { 0 } else { end };
        if end == 1 && start != 3 && self.random.chance(30) {
            return format!("{unit} {}", starts[start]);
        }
        format!("{unit} BETWEEN {} AND {}", starts[start], ends[end])
    }

    /// A window function over the groups of a SELECT.
    pub(super) fn window_over_groups(&mut self) -> Typed {
        let (key, _) = self.lone_aggregate(None, true);
        let order = vec![(super::queries::unbound(key), self.random.chance(30))];
        let window = Box::new(Window { order, ..Window::default() });
        if self.random.chance(50) {
            let function = self.random.word(&["RANK", "DENSE_RANK"]);
            return (Expr::Window { function, arguments: Vec::new(), window }, known(Family::Integer));
        }
        let counted = Expr::Aggregate {
            function: "COUNT",
            is_distinct: false,
            arguments: Vec::new(),
            order: Vec::new(),
            separator: None,
        };
        let function = self.random.word(&["SUM", "MAX", "COUNT", "AVG"]);
        (Expr::Window { function, arguments: vec![counted], window }, known(Family::Decimal))
    }
}
