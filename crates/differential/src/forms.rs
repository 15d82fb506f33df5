//! Operators, functions and casts that expressions are made of: text, what they take and what they give.
//!
//! Each letter of `arguments` stands for one `{}` of the template:
//!
//! | letter | argument |
//! | --- | --- |
//! | `x` | any family, the same one for all `x` of a call, but seldom mixed |
//! | `a` | any family |
//! | `N` | any number |
//! | `n`, `i` | a number, an integer, small enough that sums and products of some stay in range |
//! | `t`, `b`, `j` | text, bytes, JSON |
//! | `d`, `T`, `D` | DATE or DATETIME, TIME, DATETIME |
//! | `c` | a condition |
//! | `0` | a small integer literal |
//! | `f`, `F`, `P`, `W`, `k`, `r`, `z` | literals: a date format, a time format, a JSON path, one with wildcards, a LIKE pattern, a regular expression, a time zone |

use std::sync::LazyLock;

use crate::schema::Family;

/// An operator, function or cast.
#[derive(Debug, PartialEq)]
pub struct Form {
    /// Text with `{}` for each argument.
    pub template: &'static str,
    /// What the arguments are; see the module.
    pub arguments: &'static str,
    /// What it gives; `None` is the family of its `x`.
    pub result: Option<Family>,
}

pub(crate) const fn form(template: &'static str, arguments: &'static str, result: Option<Family>) -> Form {
    Form { template, arguments, result }
}

const INTEGER: Option<Family> = Some(Family::Integer);
const DECIMAL: Option<Family> = Some(Family::Decimal);
const REAL: Option<Family> = Some(Family::Real);
const TEXT: Option<Family> = Some(Family::Text);
const BYTES: Option<Family> = Some(Family::Bytes);
const DATE: Option<Family> = Some(Family::Date);
const TIME: Option<Family> = Some(Family::Time);
const DATETIME: Option<Family> = Some(Family::DateTime);
const YEAR: Option<Family> = Some(Family::Year);
const JSON: Option<Family> = Some(Family::Json);
const CONDITION: Option<Family> = Some(Family::Condition);

/// All forms.
pub static FORMS: &[Form] = &[
    // Comparisons, twice where conditions should have them often.
    form("({} = {})", "xx", CONDITION),
    form("({} = {})", "xx", CONDITION),
    form("({} <=> {})", "xx", CONDITION),
    form("({} <> {})", "xx", CONDITION),
    form("({} < {})", "xx", CONDITION),
    form("({} <= {})", "xx", CONDITION),
    form("({} > {})", "xx", CONDITION),
    form("({} >= {})", "xx", CONDITION),
    form("({} BETWEEN {} AND {})", "xxx", CONDITION),
    form("({} NOT BETWEEN {} AND {})", "xxx", CONDITION),
    form("({} IS NULL)", "a", CONDITION),
    form("({} IS NOT NULL)", "a", CONDITION),
    form("({} IS TRUE)", "c", CONDITION),
    form("({} IS NOT TRUE)", "c", CONDITION),
    form("({} IS FALSE)", "c", CONDITION),
    form("({} IS UNKNOWN)", "c", CONDITION),
    form("({} AND {})", "cc", CONDITION),
    form("({} AND {})", "cc", CONDITION),
    form("({} OR {})", "cc", CONDITION),
    form("({} OR {})", "cc", CONDITION),
    form("({} XOR {})", "cc", CONDITION),
    form("(NOT {})", "c", CONDITION),
    form("({} LIKE {})", "tk", CONDITION),
    form("({} NOT LIKE {})", "tk", CONDITION),
    form("ISNULL({})", "a", CONDITION),
    form("REGEXP_LIKE({}, {})", "tr", CONDITION),
    form("({} REGEXP {})", "tr", CONDITION),
    form("JSON_CONTAINS({}, {})", "jj", CONDITION),
    form("JSON_OVERLAPS({}, {})", "jj", CONDITION),
    form("JSON_CONTAINS_PATH({}, 'one', {})", "jP", CONDITION),
    form("JSON_CONTAINS_PATH({}, 'all', {}, {})", "jPW", CONDITION),
    form("JSON_CONTAINS({}, {}, {})", "jjP", CONDITION),
    form("JSON_VALID({})", "a", CONDITION),
    form("({} SOUNDS LIKE {})", "tt", CONDITION),
    form("({} LIKE {} ESCAPE '|')", "tk", CONDITION),
    form("({} MEMBER OF ({}))", "nj", CONDITION),
    form("IS_IPV4({})", "t", CONDITION),
    form("IS_UUID({})", "t", CONDITION),
    // Numbers.
    form("({} + {})", "nn", DECIMAL),
    form("({} - {})", "nn", DECIMAL),
    form("({} * {})", "nn", DECIMAL),
    form("({} / {})", "nn", DECIMAL),
    form("({} + {})", "ii", INTEGER),
    form("({} * {})", "ii", INTEGER),
    form("({} DIV {})", "nn", INTEGER),
    form("({} MOD {})", "nn", DECIMAL),
    form("({} % {})", "ii", INTEGER),
    form("(- {})", "i", INTEGER),
    form("({} | {})", "ii", INTEGER),
    form("({} & {})", "ii", INTEGER),
    form("({} ^ {})", "ii", INTEGER),
    form("({} << {})", "i0", INTEGER),
    form("({} >> {})", "i0", INTEGER),
    form("(~ {})", "i", INTEGER),
    form("ABS({})", "n", DECIMAL),
    form("CEILING({})", "N", INTEGER),
    form("FLOOR({})", "N", INTEGER),
    form("ROUND({})", "N", INTEGER),
    form("ROUND({}, {})", "N0", DECIMAL),
    form("TRUNCATE({}, {})", "N0", DECIMAL),
    form("SIGN({})", "N", INTEGER),
    form("SQRT({})", "N", REAL),
    form("SIN({})", "n", REAL),
    form("COS({})", "n", REAL),
    form("TAN({})", "n", REAL),
    form("ATAN({})", "N", REAL),
    form("ATAN2({}, {})", "nn", REAL),
    form("ASIN({})", "n", REAL),
    form("ACOS({})", "n", REAL),
    form("LN({})", "N", REAL),
    form("LOG({}, {})", "nn", REAL),
    form("LOG2({})", "N", REAL),
    form("LOG10({})", "N", REAL),
    form("POW({}, {})", "n0", REAL),
    form("DEGREES({})", "n", REAL),
    form("RADIANS({})", "n", REAL),
    form("PI()", "", REAL),
    form("CRC32({})", "a", INTEGER),
    form("BIT_COUNT({})", "i", INTEGER),
    form("INTERVAL({}, {}, {}, {})", "NNNN", INTEGER),
    form("MOD({}, {})", "NN", DECIMAL),
    form("GREATEST({}, {}, {})", "NNN", DECIMAL),
    form("CAST({} AS SIGNED)", "a", INTEGER),
    form("CAST({} AS UNSIGNED)", "a", INTEGER),
    form("CAST({} AS DECIMAL(20,3))", "a", DECIMAL),
    form("CAST({} AS DOUBLE)", "a", REAL),
    form("CAST({} AS FLOAT)", "N", REAL),
    form("CAST({} AS YEAR)", "n", YEAR),
    // Flow, over any family.
    form("IF({}, {}, {})", "cxx", None),
    form("IFNULL({}, {})", "xx", None),
    form("NULLIF({}, {})", "xx", None),
    form("COALESCE({}, {})", "xx", None),
    form("COALESCE({}, {}, {})", "xxx", None),
    form("GREATEST({}, {})", "xx", None),
    form("LEAST({}, {}, {})", "xxx", None),
    form("FIELD({}, {}, {})", "xxx", INTEGER),
    form("ELT({}, {}, {})", "0tt", TEXT),
    // Text.
    form("CONCAT({}, {})", "tt", TEXT),
    form("CONCAT({}, {})", "ta", TEXT),
    form("CONCAT_WS(',', {}, {}, {})", "tta", TEXT),
    form("LOWER({})", "t", TEXT),
    form("UPPER({})", "t", TEXT),
    form("LEFT({}, {})", "t0", TEXT),
    form("RIGHT({}, {})", "t0", TEXT),
    form("SUBSTRING({}, {})", "t0", TEXT),
    form("SUBSTRING({}, {}, {})", "t00", TEXT),
    form("SUBSTRING_INDEX({}, {}, {})", "tt0", TEXT),
    form("LPAD({}, {}, {})", "t0t", TEXT),
    form("RPAD({}, {}, {})", "t0t", TEXT),
    form("TRIM({})", "t", TEXT),
    form("TRIM(LEADING {} FROM {})", "tt", TEXT),
    form("TRIM(TRAILING {} FROM {})", "tt", TEXT),
    form("LTRIM({})", "t", TEXT),
    form("RTRIM({})", "t", TEXT),
    form("REPLACE({}, {}, {})", "ttt", TEXT),
    form("REVERSE({})", "t", TEXT),
    form("REPEAT({}, {})", "t0", TEXT),
    form("SPACE({})", "0", TEXT),
    form("INSERT({}, {}, {}, {})", "t00t", TEXT),
    form("QUOTE({})", "t", TEXT),
    form("SOUNDEX({})", "t", TEXT),
    form("HEX({})", "a", TEXT),
    form("HEX({})", "i", TEXT),
    form("BIN({})", "i", TEXT),
    form("OCT({})", "i", TEXT),
    form("CONV({}, 10, 16)", "i", TEXT),
    form("FORMAT({}, {})", "N0", TEXT),
    form("CHAR({}, {})", "ii", BYTES),
    form("CHAR({} USING utf8mb4)", "i", TEXT),
    form("TO_BASE64({})", "t", TEXT),
    form("FROM_BASE64({})", "t", BYTES),
    form("UNHEX({})", "t", BYTES),
    form("SHA2({}, 256)", "t", TEXT),
    form("MAKE_SET({}, {}, {})", "itt", TEXT),
    form("EXPORT_SET({}, 'Y', 'N', ',', {})", "i0", TEXT),
    form("REGEXP_REPLACE({}, {}, {})", "trt", TEXT),
    form("REGEXP_SUBSTR({}, {})", "tr", TEXT),
    form("REGEXP_INSTR({}, {})", "tr", INTEGER),
    form("CHARSET({})", "a", TEXT),
    form("COLLATION({})", "a", TEXT),
    form("COERCIBILITY({})", "a", INTEGER),
    form("WEIGHT_STRING({})", "t", BYTES),
    form("({} COLLATE utf8mb4_0900_as_cs)", "t", TEXT),
    form("CONVERT({} USING utf8mb4)", "t", TEXT),
    form("CONVERT({} USING latin1)", "t", TEXT),
    form("CAST({} AS CHAR)", "a", TEXT),
    form("CAST({} AS CHAR(3))", "a", TEXT),
    form("CAST({} AS CHAR CHARACTER SET latin1)", "a", TEXT),
    form("CONCAT({}, {})", "bb", BYTES),
    form("CONCAT_WS({}, {}, {})", "tta", TEXT),
    form("LEFT({}, {})", "b0", BYTES),
    form("LCASE({})", "a", TEXT),
    form("(BINARY {})", "t", BYTES),
    form("CONV({}, 16, 8)", "t", TEXT),
    form("POSITION({} IN {})", "tt", INTEGER),
    form("LOCATE({}, {})", "tt", INTEGER),
    form("CAST({} AS BINARY)", "a", BYTES),
    form("CAST({} AS BINARY(4))", "a", BYTES),
    form("ASCII({})", "t", INTEGER),
    form("ORD({})", "t", INTEGER),
    form("LENGTH({})", "a", INTEGER),
    form("CHAR_LENGTH({})", "a", INTEGER),
    form("BIT_LENGTH({})", "t", INTEGER),
    form("INSTR({}, {})", "tt", INTEGER),
    form("LOCATE({}, {}, {})", "tt0", INTEGER),
    form("FIND_IN_SET({}, {})", "tt", INTEGER),
    form("STRCMP({}, {})", "tt", INTEGER),
    form("({} | {})", "bb", BYTES),
    form("({} & {})", "bb", BYTES),
    form("INET_NTOA({})", "i", TEXT),
    form("INET_ATON({})", "t", INTEGER),
    form("UNCOMPRESSED_LENGTH(COMPRESS({}))", "t", INTEGER),
    form("UNCOMPRESS(COMPRESS({}))", "t", BYTES),
    // Dates and times.
    form("DATE({})", "d", DATE),
    form("TIME({})", "D", TIME),
    form("TIMESTAMP({})", "d", DATETIME),
    form("TIMESTAMP({}, {})", "dT", DATETIME),
    form("YEAR({})", "d", YEAR),
    form("MONTH({})", "d", INTEGER),
    form("DAYOFMONTH({})", "d", INTEGER),
    form("DAYOFWEEK({})", "d", INTEGER),
    form("DAYOFYEAR({})", "d", INTEGER),
    form("WEEKDAY({})", "d", INTEGER),
    form("QUARTER({})", "d", INTEGER),
    form("WEEK({}, {})", "d0", INTEGER),
    form("YEARWEEK({})", "d", INTEGER),
    form("WEEKOFYEAR({})", "d", INTEGER),
    form("DAYNAME({})", "d", TEXT),
    form("MONTHNAME({})", "d", TEXT),
    form("LAST_DAY({})", "d", DATE),
    form("TO_DAYS({})", "d", INTEGER),
    form("TO_SECONDS({})", "d", INTEGER),
    form("FROM_DAYS({})", "i", DATE),
    form("DATEDIFF({}, {})", "dd", INTEGER),
    form("HOUR({})", "T", INTEGER),
    form("MINUTE({})", "T", INTEGER),
    form("SECOND({})", "T", INTEGER),
    form("MICROSECOND({})", "T", INTEGER),
    form("TIME_TO_SEC({})", "T", INTEGER),
    form("SEC_TO_TIME({})", "n", TIME),
    form("MAKETIME({}, {}, {})", "i0n", TIME),
    form("MAKEDATE({}, {})", "ii", DATE),
    form("ADDTIME({}, {})", "TT", TIME),
    form("SUBTIME({}, {})", "DT", DATETIME),
    form("TIMEDIFF({}, {})", "TT", TIME),
    form("TIMEDIFF({}, {})", "DD", TIME),
    form("({} + INTERVAL {} DAY)", "di", DATE),
    form("({} - INTERVAL {} MONTH)", "di", DATE),
    form("DATE_ADD({}, INTERVAL {} HOUR)", "Di", DATETIME),
    form("DATE_ADD({}, INTERVAL {} SECOND)", "Dn", DATETIME),
    form("DATE_SUB({}, INTERVAL {} MICROSECOND)", "Di", DATETIME),
    form("DATE_ADD({}, INTERVAL '1:2' DAY_HOUR)", "d", DATETIME),
    form("DATE_ADD({}, INTERVAL {} QUARTER)", "di", DATE),
    form("DATE_SUB({}, INTERVAL {} WEEK)", "di", DATE),
    form("DATE_ADD({}, INTERVAL {} YEAR_MONTH)", "di", DATE),
    form("DATE_SUB({}, INTERVAL {} MINUTE)", "di", DATETIME),
    form("DATE_ADD({}, INTERVAL {} HOUR)", "Ti", TIME),
    form("ADDDATE({}, {})", "di", DATE),
    form("SUBDATE({}, INTERVAL {} YEAR)", "di", DATE),
    form("TIMESTAMPDIFF(QUARTER, {}, {})", "dd", INTEGER),
    form("TIMESTAMPDIFF(MICROSECOND, {}, {})", "DD", INTEGER),
    form("EXTRACT(WEEK FROM {})", "d", INTEGER),
    form("EXTRACT(DAY_SECOND FROM {})", "D", INTEGER),
    form("TIMESTAMPDIFF(DAY, {}, {})", "dd", INTEGER),
    form("TIMESTAMPDIFF(MONTH, {}, {})", "dd", INTEGER),
    form("TIMESTAMPDIFF(SECOND, {}, {})", "DD", INTEGER),
    form("TIMESTAMPADD(MINUTE, {}, {})", "iD", DATETIME),
    form("EXTRACT(YEAR_MONTH FROM {})", "d", INTEGER),
    form("EXTRACT(HOUR_MICROSECOND FROM {})", "T", INTEGER),
    form("DATE_FORMAT({}, {})", "df", TEXT),
    form("TIME_FORMAT({}, {})", "TF", TEXT),
    form("STR_TO_DATE({}, {})", "tf", DATETIME),
    form("FROM_UNIXTIME({})", "n", DATETIME),
    form("UNIX_TIMESTAMP({})", "d", INTEGER),
    form("PERIOD_ADD(202001, {})", "0", INTEGER),
    form("PERIOD_DIFF(202001, 201912)", "", INTEGER),
    form("CONVERT_TZ({}, {}, {})", "Dzz", DATETIME),
    form("CAST({} AS DATE)", "d", DATE),
    form("CAST({} AS DATETIME(3))", "d", DATETIME),
    form("CAST({} AS DATETIME)", "t", DATETIME),
    form("CAST({} AS TIME(2))", "D", TIME),
    form("CAST({} AS TIME)", "t", TIME),
    form("CAST({} AS TIME(6))", "t", TIME),
    form("CAST({} AS DATE)", "t", DATE),
    form("NOW(3)", "", DATETIME),
    form("CURDATE()", "", DATE),
    form("CURTIME(6)", "", TIME),
    form("GET_FORMAT(DATE, 'EUR')", "", TEXT),
    // JSON.
    form("JSON_ARRAY({}, {})", "aa", JSON),
    form("JSON_OBJECT('k', {}, 'l', {})", "aa", JSON),
    form("JSON_EXTRACT({}, {})", "jP", JSON),
    form("JSON_EXTRACT({}, {})", "jW", JSON),
    form("JSON_EXTRACT({}, {}, {})", "jPP", JSON),
    form("JSON_KEYS({}, {})", "jP", JSON),
    form("JSON_ARRAY_APPEND({}, {}, {})", "jPa", JSON),
    form("JSON_REMOVE({}, {})", "jP", JSON),
    form("JSON_SET({}, {}, {})", "jPa", JSON),
    form("JSON_INSERT({}, {}, {})", "jPa", JSON),
    form("JSON_REPLACE({}, {}, {})", "jPa", JSON),
    form("JSON_REMOVE({}, '$.a')", "j", JSON),
    form("JSON_MERGE_PATCH({}, {})", "jj", JSON),
    form("JSON_MERGE_PRESERVE({}, {})", "jj", JSON),
    form("JSON_ARRAY_APPEND({}, '$', {})", "ja", JSON),
    form("JSON_ARRAY_INSERT({}, '$[0]', {})", "ja", JSON),
    form("JSON_KEYS({})", "j", JSON),
    form("CAST({} AS JSON)", "n", JSON),
    form("CAST({} AS JSON)", "d", JSON),
    form("JSON_QUOTE({})", "t", TEXT),
    form("JSON_UNQUOTE({})", "j", TEXT),
    form("JSON_UNQUOTE(JSON_EXTRACT({}, {}))", "jP", TEXT),
    form("JSON_TYPE({})", "j", TEXT),
    form("JSON_PRETTY({})", "j", TEXT),
    form("JSON_VALUE({}, '$.a')", "j", TEXT),
    form("JSON_VALUE({}, '$.a' RETURNING DECIMAL(10,2) NULL ON ERROR)", "j", DECIMAL),
    form("JSON_DEPTH({})", "j", INTEGER),
    form("JSON_LENGTH({})", "j", INTEGER),
    form("JSON_LENGTH({}, {})", "jP", INTEGER),
    form("JSON_LENGTH(JSON_EXTRACT({}, {}))", "jW", INTEGER),
    form("JSON_STORAGE_FREE({})", "j", INTEGER),
    form("JSON_SEARCH({}, 'one', {})", "jt", JSON),
];

/// `ROUND(x, 4)`: what depends on the order of additions in its last digits.
pub static ROUNDED: &Form = &form("ROUND({}, 4)", "N", REAL);
/// `HEX(x)`: a text whose equal values are the same.
pub static HEX: &Form = &form("HEX({})", "a", TEXT);
/// `HEX(CAST(x AS CHAR))` for JSON.
pub static HEX_CHAR: &Form = &form("HEX(CAST({} AS CHAR))", "a", TEXT);
/// `a = b`.
pub static EQUAL: &Form = &form("({} = {})", "xx", CONDITION);
/// `a AND b`.
pub static AND: &Form = &form("({} AND {})", "cc", CONDITION);
/// `NOT a`.
pub static NOT: &Form = &form("(NOT {})", "c", CONDITION);
/// `a IS NULL`.
pub static IS_NULL: &Form = &form("({} IS NULL)", "a", CONDITION);
/// `a + b`.
pub static PLUS: &Form = &form("({} + {})", "ii", INTEGER);
/// As its condition, but no server knows before it reads rows.
pub static UNKNOWN: &Form = &form("({} XOR RAND() > 2)", "c", CONDITION);
/// As its operand, but no server knows it before it reads rows.
pub static UNKNOWN_VALUE: &Form = &form("IF(RAND() < 2, {}, NULL)", "a", None);
/// The number of a member of ENUM or SET.
pub static NUMBER: &Form = &form("({} + 0)", "a", INTEGER);
/// `a < b`.
pub static LESS: &Form = &form("({} < {})", "xx", CONDITION);
/// `VALUES(column)` in ON DUPLICATE KEY UPDATE.
pub static VALUES: &Form = &form("VALUES({})", "a", None);

/// Forms that give this family, those over any family included.
#[must_use]
pub fn giving(family: Family) -> &'static [&'static Form] {
    static BY_FAMILY: LazyLock<Vec<(Family, Vec<&'static Form>)>> = LazyLock::new(|| {
        let mut families = crate::schema::FAMILIES.to_vec();
        families.push(Family::Condition);
        let of = |family| {
            let gives = |form: &&Form| form.result == Some(family) || form.result.is_none();
            (family, FORMS.iter().filter(gives).collect())
        };
        families.into_iter().map(of).collect()
    });
    BY_FAMILY.iter().find(|(known, _)| *known == family).map_or(&[], |(_, forms)| forms)
}

/// The form of this text.
#[must_use]
pub fn by_template(template: &str) -> Option<&'static Form> {
    FORMS.iter().find(|form| form.template == template)
}
