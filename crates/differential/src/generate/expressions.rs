//! Expressions over what is in scope.

use super::tables::{DATES, DOCUMENTS, MEMBERS, PLAIN_WORDS, TIMES, WILD_WORDS};
use super::{Generator, Info};
use crate::ast::Expr;
use crate::forms::{self, Form};
use crate::schema::{FAMILIES, Family};
use crate::value::Value;

/// An expression and what is known of it.
pub(super) type Typed = (Expr, Info);

fn info(family: Family, is_stable: bool, is_small: bool) -> Info {
    Info { family, is_stable, is_small, is_unsigned: false }
}

/// Whether values of a family that compare equal are the same.
fn is_stable_family(family: Family) -> bool {
    !matches!(family, Family::Text | Family::Json | Family::Real | Family::Decimal)
}

impl Generator {
    /// A literal of a family.
    pub(super) fn literal(&mut self, family: Family) -> Typed {
        if self.random.chance(4) {
            return (Expr::Literal { value: Value::Null, is_bound: false }, info(family, true, true));
        }
        // A JSON parameter is text.
        let is_bound = family != Family::Json && self.random.chance(35);
        let is_ascii = self.is_ascii && !self.random.chance(2);
        let mut is_stable = true;
        let random = &mut self.random;
        let value = match family {
            Family::Integer | Family::Bit => Value::Int(i128::from(random.between(-2, 10))),
            Family::Condition => Value::Int(i128::from(random.between(0, 1))),
            Family::Year => Value::Int(*random.pick(&[2020, 1999, 2000])),
            Family::Decimal => {
                Value::Decimal((*random.pick(&["0.5", "1.5", "2.25", "3.0", "-1.1", "0.00"])).to_owned())
            }
            Family::Real => Value::Real(*random.pick(&[0.5, 1.25, 2.0, -3.5, 10.0])),
            Family::Text => {
                is_stable = random.chance(70);
                let mut word = *random.pick(if is_stable { PLAIN_WORDS } else { WILD_WORDS });
                if is_ascii && !word.is_ascii() {
                    word = "A";
                }
                Value::Text(word.to_owned())
            }
            Family::Bytes => {
                Value::Bytes(random.pick::<&[u8]>(&[b"a", b"ab", b"\xff", b"A", b"12"]).to_vec())
            }
            Family::Date => Value::Date((*random.pick(DATES)).to_owned()),
            Family::Time => Value::Time((*random.pick(TIMES)).to_owned()),
            Family::DateTime => {
                let time = *random.pick(&["00:00:00", "10:00:00", "12:34:56.5", "23:59:59"]);
                Value::DateTime(format!("{} {time}", random.pick(DATES)))
            }
            Family::Enum => Value::Text((*random.pick(MEMBERS)).to_owned()),
            Family::Set => Value::Text((*random.pick(&["x", "a,foo", "x,a", ""])).to_owned()),
            Family::Json => {
                is_stable = false;
                Value::Json((*random.pick(DOCUMENTS)).to_owned())
            }
        };
        (Expr::Literal { value, is_bound }, info(family, is_stable, true))
    }

    /// A column in scope for which `wanted` holds; those of outer queries seldom.
    pub(super) fn column_where(&mut self, wanted: impl Fn(&Info) -> bool) -> Option<Typed> {
        let mut level = self.scopes.len().checked_sub(1)?;
        while level > 0 && !self.is_local && self.random.chance(18) {
            level -= 1;
        }
        let mut found: Vec<(&str, &str, Info)> = Vec::new();
        for relation in &self.scopes[level] {
            let columns = relation.columns.iter().filter(|column| wanted(&column.info));
            found.extend(columns.map(|column| (relation.alias.as_str(), column.name.as_str(), column.info)));
        }
        if found.is_empty() {
            return None;
        }
        let (relation, name, info) = found[self.random.below(found.len())];
        Some((Expr::Column { relation: relation.to_owned(), name: name.to_owned() }, info))
    }

    /// The family of a column in scope, or any.
    pub(super) fn some_family(&mut self) -> Family {
        match self.column_where(|_| true) {
            Some((_, info)) if self.random.chance(85) => info.family,
            _ => *self.random.pick(&FAMILIES),
        }
    }

    /// An expression of a family.
    pub(super) fn expr(&mut self, family: Family, depth: usize) -> Typed {
        let choice = self.random.below(100);
        if family == Family::Condition {
            return self.condition(depth);
        }
        let from_column = if depth == 0 { 75 } else { 50 };
        if choice < from_column
            && let Some(column) = self.column_where(|info| info.family == family)
        {
            return column;
        }
        if depth == 0 || choice < from_column + 12 {
            return self.literal(family);
        }
        if choice >= 92 {
            return self.case(family, depth - 1);
        }
        if choice >= 88
            && self.budget > 0
            && !self.scopes.is_empty()
            && let Some(scalar) = self.scalar_subquery(family)
        {
            return scalar;
        }
        if let Some(form) = self.stored_function(family) {
            return self.call(form, family, depth - 1);
        }
        match forms::giving(family) {
            [] => self.literal(family),
            forms => {
                let form = forms[self.random.below(forms.len())];
                self.call(form, family, depth - 1)
            }
        }
    }

    /// A number for arithmetic.
    fn number(&mut self, only_integers: bool, depth: usize) -> Typed {
        let choice = self.random.below(100);
        let is_number = |family| match family {
            Family::Integer => true,
            Family::Decimal | Family::Real => !only_integers,
            _ => false,
        };
        if choice < 65
            && let Some(column) =
                self.column_where(|info| info.is_small && !info.is_unsigned && is_number(info.family))
        {
            return column;
        }
        if depth == 0 || choice < 85 {
            let families = [Family::Integer, Family::Integer, Family::Decimal, Family::Real];
            let family = if only_integers { Family::Integer } else { *self.random.pick(&families) };
            return self.literal(family);
        }
        let templates: &[&str] = if only_integers {
            &[
                "LENGTH({})",
                "CHAR_LENGTH({})",
                "({} % {})",
                "({} + {})",
                "SIGN({})",
                "DAYOFMONTH({})",
                "MONTH({})",
            ]
        } else {
            &["({} + {})", "({} - {})", "({} * {})", "ABS({})", "({} / {})", "ROUND({}, {})", "LENGTH({})"]
        };
        let template = *self.random.pick(templates);
        let Some(form) = forms::FORMS.iter().find(|form| form.template == template) else {
            return self.literal(Family::Integer);
        };
        let (expr, mut info) = self.call(form, Family::Integer, depth - 1);
        info.is_small = true;
        (expr, info)
    }

    /// A call of a form; `family` is what its `x` are.
    pub(super) fn call(&mut self, form: &'static Form, family: Family, depth: usize) -> Typed {
        let mut shared = family;
        if form.result.is_some() && form.arguments.contains('x') {
            shared = self.some_family();
        }
        let mut arguments = Vec::new();
        let mut is_stable = true;
        for letter in form.arguments.chars() {
            let (argument, info) = self.argument(letter, shared, depth);
            is_stable &= info.is_stable;
            arguments.push(argument);
        }
        let family = form.result.unwrap_or(shared);
        let is_stable = match form.template {
            "HEX({})" | "BIN({})" | "OCT({})" | "DAYNAME({})" | "MONTHNAME({})" => true,
            "IF({}, {}, {})" | "IFNULL({}, {})" | "COALESCE({}, {})" | "COALESCE({}, {}, {})" => is_stable,
            _ => is_stable_family(family),
        };
        (Expr::Call { form, arguments }, info(family, is_stable, false))
    }

    fn argument(&mut self, letter: char, shared: Family, depth: usize) -> Typed {
        let fixed =
            |text: &str| (Expr::literal(Value::Text(text.to_owned())), info(Family::Text, true, false));
        match letter {
            'x' => {
                let mut family = if self.random.chance(9) { self.some_family() } else { shared };
                if super::is_temporal(family) != super::is_temporal(shared) && !self.random.chance(4) {
                    family = shared;
                }
                self.expr(family, depth)
            }
            'N' => {
                let number = |family| {
                    matches!(
                        family,
                        Family::Integer | Family::Decimal | Family::Real | Family::Bit | Family::Year
                    )
                };
                let column = self.random.chance(50).then(|| self.column_where(|info| number(info.family)));
                column.flatten().unwrap_or_else(|| self.number(false, depth))
            }
            'n' => self.number(false, depth),
            'i' => self.number(true, depth),
            't' => {
                let family = if self.random.chance(88) { Family::Text } else { self.some_family() };
                self.expr(family, depth)
            }
            'b' => self.expr(Family::Bytes, depth),
            'j' => self.expr(Family::Json, depth),
            'd' => {
                let family = *self.random.pick(&[Family::Date, Family::DateTime]);
                self.expr(family, depth)
            }
            'D' => self.expr(Family::DateTime, depth),
            'T' => self.expr(Family::Time, depth),
            'c' => self.condition(depth),
            '0' => {
                let value = i128::from(self.random.between(0, 9));
                let is_bound = self.random.chance(20);
                (Expr::Literal { value: Value::Int(value), is_bound }, info(Family::Integer, true, true))
            }
            'f' => fixed(self.random.word(&[
                "%Y-%m-%d",
                "%d.%m.%y %H:%i:%s",
                "%W %M %Y",
                "%j %U %u %V %v %X %x",
                "%b %c %e %f",
                "%r %T %p %h %k %l",
                "%a %D %w %%",
            ])),
            'F' => fixed(self.random.word(&["%H:%i:%s.%f", "%h %p", "%k %l", "%r", "%T"])),
            'P' => fixed(self.random.word(&["$", "$.a", "$.a.b", "$[0]", "$[last]", "$.c", "$.b"])),
            'W' => fixed(self.random.word(&[
                "$**.a",
                "$**.b",
                "$.*",
                "$[*]",
                "$.a.*",
                "$**[0]",
                "$[0 to 1]",
                "$[last-1]",
                "$[last-1 to last]",
                "$.*.b",
            ])),
            'k' => {
                let pattern = self.random.word(&[
                    "a%", "%a", "%", "_", "a_", "%b%", "", "A%", "_x", "\\_x", "100\\%", "é%", "%1%",
                ]);
                fixed(if self.is_ascii && !pattern.is_ascii() { "a%" } else { pattern })
            }
            'r' => fixed(self.random.word(&[
                "a",
                "^a",
                "b$",
                "[0-9]+",
                "a|b",
                "^$",
                ".",
                "[[:alpha:]]",
                "é",
                "(a)(b)?",
            ])),
            'z' => fixed(self.random.word(&["+00:00", "+05:30", "-08:00", "+13:00"])),
            _ => {
                let family = self.some_family();
                self.expr(family, depth)
            }
        }
    }

    fn case(&mut self, family: Family, depth: usize) -> Typed {
        let compared = self.some_family();
        let operand = self.random.chance(35).then(|| Box::new(self.expr(compared, depth.min(1)).0));
        let mut is_stable = is_stable_family(family) || family == Family::Text;
        let branches = (0..1 + self.random.below(2))
            .map(|_| {
                let when =
                    if operand.is_some() { self.expr(compared, 0).0 } else { self.condition(depth.min(1)).0 };
                let (then, info) = self.argument('x', family, depth);
                is_stable &= info.is_stable;
                (when, then)
            })
            .collect();
        let otherwise = self.random.chance(70).then(|| {
            let (otherwise, info) = self.argument('x', family, depth);
            is_stable &= info.is_stable;
            Box::new(otherwise)
        });
        (Expr::Case { operand, branches, otherwise }, info(family, is_stable, false))
    }

    /// A condition.
    pub(super) fn condition(&mut self, depth: usize) -> Typed {
        let known = info(Family::Condition, true, true);
        if self.settings.generated
            && self.random.chance(22)
            && let Some(condition) = self.formula_condition()
        {
            return (condition, known);
        }
        if depth > 0
            && let Some(form) = self.stored_function(Family::Condition)
        {
            return (self.call(form, Family::Condition, depth - 1).0, known);
        }
        let choice = self.random.below(100);
        if choice < 22 && depth > 0 && self.budget > 0 && !self.scopes.is_empty() {
            return (self.subquery_condition(), known);
        }
        if choice < 34 {
            let family = self.some_family();
            let left = self.expr(family, depth.saturating_sub(1)).0;
            let list = (0..1 + self.random.below(4)).map(|_| {
                let other = if self.random.chance(6) { self.some_family() } else { family };
                let is_mixed = super::is_temporal(family) != super::is_temporal(other);
                self.expr(if is_mixed { family } else { other }, 0).0
            });
            let list = list.collect();
            return (Expr::In { left: Box::new(left), list, is_negated: self.random.chance(35) }, known);
        }
        if choice < 37 {
            let families = [self.some_family(), self.some_family()];
            let row = |generator: &mut Generator| {
                Expr::Row(families.map(|family| generator.expr(family, 0).0).to_vec())
            };
            let left = row(self);
            if self.random.chance(40) {
                let templates =
                    ["({} = {})", "({} = {})", "({} <> {})", "({} <=> {})", "({} < {})", "({} >= {})"];
                let form = forms::by_template(self.random.word(&templates)).unwrap_or(forms::EQUAL);
                let is_query = self.budget > 0 && !self.scopes.is_empty() && self.random.chance(20);
                let query = if is_query { self.row_subquery(&families) } else { None };
                let right = query.unwrap_or_else(|| row(self));
                return (Expr::Call { form, arguments: vec![left, right] }, known);
            }
            let list = (0..1 + self.random.below(3)).map(|_| {
                let is_query = self.budget > 0 && !self.scopes.is_empty() && self.random.chance(15);
                let query = if is_query { self.row_subquery(&families) } else { None };
                query.unwrap_or_else(|| row(self))
            });
            let list = list.collect();
            return (Expr::In { left: Box::new(left), list, is_negated: self.random.chance(35) }, known);
        }
        let forms = forms::giving(Family::Condition);
        // Comparisons and their combinations stand first in the table and are drawn more often.
        let end = if self.random.chance(80) { 24 } else { forms.len() };
        let form = forms[self.random.below(end)];
        let (call, _) = self.call(form, Family::Condition, depth.saturating_sub(1));
        (call, known)
    }

    /// The expression, or what prints the same for all values that compare equal.
    pub(super) fn stabilise(&mut self, (expr, known): Typed) -> Typed {
        if known.is_stable {
            return (expr, known);
        }
        let form = match known.family {
            Family::Json => forms::HEX_CHAR,
            // A number's zeros behind the point and the sign of zero may come from any of the equal values.
            Family::Decimal | Family::Real => forms::ROUNDED,
            _ => forms::HEX,
        };
        (Expr::Call { form, arguments: vec![expr] }, info(Family::Text, true, false))
    }
}
