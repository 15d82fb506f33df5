//! What is wrong with a text, as MySQL says it.

/// Why a text is no statement. `number`, `sqlstate` and the message are what a client sees.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SyntaxError {
    /// MySQL's error number: 1064 for nearly all, 1436 when nested too deep, ...
    pub number: u16,
    /// Five characters: `42000`, `HY000`, ...
    pub sqlstate: &'static str,
    /// The whole message.
    pub message: String,
    /// Where in the text it was noticed, in bytes.
    pub offset: usize,
}

impl std::fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}): {}", self.number, self.sqlstate, self.message)
    }
}

impl std::error::Error for SyntaxError {}

/// Bytes of the statement quoted in a 1064.
const NEAR_BYTES_MAX: usize = 80;

/// MySQL's 1064 for a text whose token at `offset` fits nothing.
#[cold]
#[must_use]
pub fn syntax_error_at(sql: &[u8], offset: usize) -> Box<SyntaxError> {
    syntax_error_text(
        "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the \
         right syntax to use",
        sql,
        offset,
    )
}

#[cold]
pub(crate) fn syntax_error_text(text: &str, sql: &[u8], offset: usize) -> Box<SyntaxError> {
    // MySQL cuts blanks and `;` off the end and blanks off the beginning before it reads.
    let is_blank = |c: &u8| c.is_ascii_whitespace() || *c == 0x0b;
    let kept = sql.len() - sql.iter().rev().take_while(|c| is_blank(c) || **c == b';').count();
    let sql = &sql[..kept];
    let skipped = sql.iter().take_while(|c| is_blank(c)).count();
    let offset = offset.clamp(skipped.min(kept), kept);
    let line = 1 + memchr::memchr_iter(b'\n', &sql[skipped.min(offset)..offset]).count();
    let mut near = &sql[offset..sql.len().min(offset + NEAR_BYTES_MAX)];
    if let Some(nul) = memchr::memchr(0, near) {
        near = &near[..nul];
    }
    let mut quoted = String::with_capacity(near.len());
    // Bytes that are no UTF-8 become question marks, one each.
    for chunk in near.utf8_chunks() {
        quoted.push_str(chunk.valid());
        quoted.extend(chunk.invalid().iter().map(|_| '?'));
    }
    Box::new(SyntaxError {
        number: 1064,
        sqlstate: "42000",
        message: format!("{text} near '{quoted}' at line {line}"),
        offset,
    })
}

/// The code that runs the statement knows why; see [`env::blocking::must_stop`].
#[cold]
pub(crate) fn interrupted(offset: usize) -> Box<SyntaxError> {
    Box::new(SyntaxError {
        number: 1317,
        sqlstate: "70100",
        message: "Query execution was interrupted".to_owned(),
        offset,
    })
}

#[cold]
pub(crate) fn too_deep(offset: usize, levels: u32) -> Box<SyntaxError> {
    Box::new(SyntaxError {
        number: 1436,
        sqlstate: "HY000",
        message: format!(
            "Thread stack overrun:  the statement nests deeper than {levels} levels.  Use fewer parentheses, subqueries or \
             chained operators."
        ),
        offset,
    })
}

#[cold]
pub(crate) fn too_long() -> Box<SyntaxError> {
    Box::new(SyntaxError {
        number: 1153,
        sqlstate: "08S01",
        message: "Got a packet bigger than 'max_allowed_packet' bytes".to_owned(),
        offset: 0,
    })
}
