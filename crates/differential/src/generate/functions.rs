//! Stored functions for the expressions of a round.
//!
//! Their names and types are always the same, so that they are forms as native functions are; what they compute is drawn for each round.
//! All of it has one right answer, however often and in whatever order rows call them: they read their arguments and `looked`, which nothing
//! changes.

use super::Generator;
use crate::ast::Statement;
use crate::forms::{Form, form};
use crate::schema::Family;

/// A function: how it is called, its parameters, its type, and what it may be.
struct Stored {
    form: Form,
    parameters: &'static str,
    returns: &'static str,
    bodies: &'static [&'static str],
}

const INTEGERS: &[&str] = &[
    "RETURN a",
    "RETURN COALESCE(a, 0) % 7",
    "RETURN (SELECT SUM(k) FROM looked WHERE k < a)",
    "BEGIN DECLARE n BIGINT DEFAULT 0; WHILE n < 3 DO SET n = n + 1; END WHILE; RETURN n + a % 5; END",
    "BEGIN IF a IS NULL THEN RETURN -1; ELSEIF a > 3 THEN RETURN 3; END IF; RETURN a; END",
    "BEGIN DECLARE n BIGINT; SELECT COUNT(*) INTO n FROM looked WHERE k >= a; RETURN n; END",
    "BEGIN DECLARE n BIGINT DEFAULT 4; DECLARE CONTINUE HANDLER FOR NOT FOUND SET n = 9; \
     SELECT k INTO n FROM looked WHERE k = a; RETURN n; END",
    "BEGIN CASE WHEN a < 2 THEN RETURN 1; WHEN a > 5 THEN RETURN 2; ELSE RETURN 3; END CASE; END",
    "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION RETURN 77; IF a = 3 THEN SIGNAL SQLSTATE '45000'; END IF; \
     RETURN a; END",
    "BEGIN DECLARE n, s BIGINT DEFAULT 0; DECLARE c CURSOR FOR SELECT k FROM looked WHERE k <> a ORDER BY k; \
     DECLARE EXIT HANDLER FOR NOT FOUND RETURN s; OPEN c; LOOP FETCH c INTO n; SET s = s * 2 + n; END LOOP; END",
    "BEGIN DECLARE n BIGINT DEFAULT a; l: REPEAT SET n = n - 1; IF n % 4 = 0 THEN LEAVE l; END IF; \
     UNTIL n IS NULL OR n < -9 OR n > 99 END REPEAT; RETURN n; END",
];

const TEXTS: &[&str] = &[
    "RETURN a",
    "RETURN UPPER(a)",
    "RETURN CONCAT('<', a, '>')",
    "RETURN HEX(a)",
    "BEGIN DECLARE s TEXT DEFAULT ''; DECLARE n INT DEFAULT 0; WHILE n < 3 DO SET s = CONCAT(s, LEFT(a, n)); \
     SET n = n + 1; END WHILE; RETURN s; END",
    "BEGIN IF a IS NULL THEN RETURN 'none'; END IF; RETURN LEFT(a, 2); END",
    "RETURN (SELECT MAX(word) FROM looked WHERE word < a)",
    "BEGIN DECLARE s TEXT; SELECT word INTO s FROM looked WHERE k = CHAR_LENGTH(a); RETURN IFNULL(s, a); END",
    "BEGIN CASE a WHEN 'a' THEN RETURN 'is a'; WHEN 'foo' THEN RETURN 'is foo'; ELSE RETURN LOWER(a); END CASE; END",
];

static STORED: &[Stored] = &[
    Stored {
        form: form("stored_i({})", "i", Some(Family::Integer)),
        parameters: "a BIGINT",
        returns: "BIGINT",
        bodies: INTEGERS,
    },
    Stored {
        form: form("stored_n({}, {})", "it", Some(Family::Integer)),
        parameters: "a INT, b TEXT",
        returns: "INT",
        bodies: INTEGERS,
    },
    Stored {
        form: form("stored_c({})", "i", Some(Family::Condition)),
        parameters: "a BIGINT",
        returns: "BOOL",
        bodies: &[
            "RETURN a > 2",
            "RETURN a IN (SELECT k FROM looked)",
            "BEGIN IF a < 3 THEN RETURN TRUE; END IF; RETURN FALSE; END",
            "BEGIN DECLARE found BOOL DEFAULT FALSE; SELECT TRUE INTO found FROM looked WHERE k = a; RETURN found; END",
        ],
    },
    Stored {
        form: form("stored_t({})", "t", Some(Family::Text)),
        parameters: "a TEXT",
        returns: "TEXT",
        bodies: TEXTS,
    },
    Stored {
        form: form("stored_w({}, {}, {})", "tid", Some(Family::Text)),
        parameters: "a TEXT, b INT, c DATE",
        returns: "VARCHAR(2000)",
        bodies: TEXTS,
    },
    Stored {
        form: form("stored_d({}, {})", "nn", Some(Family::Decimal)),
        parameters: "a DECIMAL(30,4), b DECIMAL(30,4)",
        returns: "DECIMAL(40,6)",
        bodies: &[
            "RETURN a",
            "RETURN a + COALESCE(b, 1)",
            "RETURN IF(a < b, a, b)",
            "BEGIN DECLARE x DECIMAL(30,2) DEFAULT a; IF x > b THEN SET x = 1.25; END IF; RETURN x * 2; END",
        ],
    },
    Stored {
        form: form("stored_day({}, {})", "di", Some(Family::Date)),
        parameters: "a DATE, b INT",
        returns: "DATE",
        bodies: &[
            "RETURN a",
            "RETURN DATE_ADD(a, INTERVAL 3 DAY)",
            "BEGIN IF b > 2 THEN RETURN '2021-02-03'; END IF; RETURN LAST_DAY(a); END",
        ],
    },
    Stored {
        form: form("stored_j({})", "i", Some(Family::Json)),
        parameters: "a BIGINT",
        returns: "JSON",
        bodies: &[
            "RETURN JSON_OBJECT('a', a)",
            "RETURN (SELECT JSON_ARRAYAGG(k) FROM looked WHERE k < a)",
            "BEGIN DECLARE j JSON DEFAULT '[1]'; RETURN JSON_ARRAY_APPEND(j, '$', a); END",
        ],
    },
];

impl Generator {
    /// The statements that make the functions.
    pub(super) fn make_functions(&mut self) -> Vec<Statement> {
        let mut sql = vec![
            "CREATE TABLE looked (k INT PRIMARY KEY, word VARCHAR(20))".to_owned(),
            "INSERT INTO looked VALUES (1, 'a'), (2, 'foo'), (3, NULL), (5, 'Bar'), (8, '')".to_owned(),
        ];
        for function in STORED {
            let name = function.form.template.split('(').next().unwrap_or_default();
            let body = *self.random.pick(function.bodies);
            let says =
                *self.random.pick(&["DETERMINISTIC", "READS SQL DATA", "DETERMINISTIC READS SQL DATA"]);
            sql.push(format!(
                "CREATE FUNCTION {name}({}) RETURNS {} {says} {body}",
                function.parameters, function.returns
            ));
        }
        sql.into_iter().map(Statement::Plain).collect()
    }

    /// A function that gives values of a family, seldom or never.
    pub(super) fn stored_function(&mut self, family: Family) -> Option<&'static Form> {
        if !self.settings.functions || !self.random.chance(30) {
            return None;
        }
        let fit: Vec<&'static Stored> =
            STORED.iter().filter(|function| function.form.result == Some(family)).collect();
        if fit.is_empty() { None } else { Some(&fit[self.random.below(fit.len())].form) }
    }
}
