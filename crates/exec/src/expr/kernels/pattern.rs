//! LIKE and regular expressions.
//!
//! A constant pattern is prepared once per execution and kept in the call's state. Regular expressions follow ICU's
//! syntax as far as the engine at hand knows it; whether letters match without case follows the collation unless the
//! match type says otherwise.

use super::super::compile::{Class, ScalarKernel};
use super::super::context::{SqlResult, sql_mode};
use super::super::program::{Kernel, Row};
use fancy_regex::Regex;
use plan::expr::Expr;
use plan::function::FunctionId;
use service::error::{
    ER_REGEXP_ILLEGAL_ARGUMENT, ER_REGEXP_INDEX_OUTOFBOUNDS_ERROR, ER_REGEXP_MISMATCHED_PAREN,
    ER_REGEXP_MISSING_CLOSE_BRACKET, ER_REGEXP_PATTERN_TOO_BIG, ER_REGEXP_RULE_SYNTAX, ER_REGEXP_TIME_OUT,
    ER_WRONG_ARGUMENTS, ER_WRONG_PARAMETERS_TO_NATIVE_FCT,
};
use types::CollationId;
use types::charset::{Charset, convert_lossy};
use types::collation::LikePattern;

pub(super) fn scalar_kernel(function: FunctionId, _args: &[Expr]) -> Option<ScalarKernel> {
    use Class::{Int, Text, Utf8};
    use FunctionId as F;
    let plain = |kernel: Kernel, classes: &'static [Class]| {
        Some(ScalarKernel { kernel, classes, null_propagates: true })
    };
    match function {
        F::Like => plain(like, &[Text]),
        F::RegexpLike => plain(regexp_like, &[Utf8]),
        F::RegexpInstr => plain(regexp_instr, &[Utf8, Utf8, Int, Int, Int, Text]),
        F::RegexpSubstr => plain(regexp_substr, &[Utf8, Utf8, Int, Int, Text]),
        F::RegexpReplace => plain(regexp_replace, &[Utf8, Utf8, Utf8, Int, Int, Text]),
        _ => None,
    }
}

/// The collation of the first text argument.
fn collation(r: &Row<'_, '_>) -> CollationId {
    r.call
        .types
        .iter()
        .find(|data_type| data_type.is_string() || data_type.members.is_some())
        .map_or(CollationId::UTF8MB4_0900_AI_CI, |data_type| data_type.collation)
}

struct PreparedLike {
    source: Vec<u8>,
    escape: Option<u32>,
    pattern: LikePattern,
}

fn like(r: &mut Row<'_, '_>) -> SqlResult<()> {
    let (text, pattern) = (r.bytes(0), r.bytes(1));
    let collation = collation(r);
    let escape = if r.count() > 2 {
        let escape = r.bytes(2);
        match escape.first() {
            None => None,
            Some(_) => {
                let charset = collation.charset();
                let mut chars = charset.chars(escape);
                let first = chars.next().and_then(|decoded| match decoded {
                    types::charset::Decoded::Char { code, .. } => Some(code),
                    _ => None,
                });
                if charset.char_count(escape) > 1 {
                    return Err(ER_WRONG_ARGUMENTS.with(&[&"ESCAPE"]));
                }
                first
            }
        }
    } else if r.ctx.settings.has(sql_mode::NO_BACKSLASH_ESCAPES) {
        None
    } else {
        Some(u32::from(b'\\'))
    };
    if let Some(prepared) = r.state.as_ref().and_then(|state| state.downcast_ref::<PreparedLike>())
        && prepared.source == pattern
        && prepared.escape == escape
    {
        let found = prepared.pattern.matches(text);
        return r.put_bool(found);
    }
    let prepared = LikePattern::new(collation, pattern, escape);
    let found = prepared.matches(text);
    *r.state = Some(Box::new(PreparedLike { source: pattern.to_vec(), escape, pattern: prepared }));
    r.put_bool(found)
}

/// Bytes of a pattern's text. Compiling it cannot be interrupted, and takes about 3 us and 300 bytes of memory for each.
const PATTERN_BYTES_MAX: usize = 256 << 10;
/// Classes of a pattern that stand for parts of Unicode (`\w`, `\p{..}`, `[:alpha:]`): each has hundreds of ranges, which are
/// merged in up to 0.3 ms.
const PATTERN_CLASSES_MAX: usize = 4096;

struct PreparedRegex {
    source: Vec<u8>,
    flags: Vec<u8>,
    regex: Regex,
}

/// Prepares the pattern in argument 1 with the match type in argument `flags`, if given.
fn prepare(r: &mut Row<'_, '_>, flags: usize) -> SqlResult<()> {
    let pattern = r.bytes(1);
    let flags: &[u8] = if r.count() > flags { r.bytes(flags) } else { b"" };
    if let Some(prepared) = r.state.as_ref().and_then(|state| state.downcast_ref::<PreparedRegex>())
        && prepared.source == pattern
        && prepared.flags == flags
    {
        return Ok(());
    }
    if pattern.is_empty() {
        return Err(ER_REGEXP_ILLEGAL_ARGUMENT.bare());
    }
    let name = collation(r).name();
    let mut insensitive = name.ends_with("_ci");
    let (mut multi_line, mut dot_all) = (false, false);
    for flag in flags {
        match flag {
            b'c' => insensitive = false,
            b'i' => insensitive = true,
            b'm' => multi_line = true,
            b'n' => dot_all = true,
            b'u' => {}
            _ => return Err(ER_WRONG_ARGUMENTS.with(&[&r.call.name])),
        }
    }
    let mut source = String::new();
    for (on, letter) in [(insensitive, 'i'), (multi_line, 'm'), (dot_all, 's')] {
        if on {
            source.push_str("(?");
            source.push(letter);
            source.push(')');
        }
    }
    push_with_unicode_classes(&mut source, &text(r, 1));
    if source.len() > PATTERN_BYTES_MAX || unicode_class_count(&source) > PATTERN_CLASSES_MAX {
        return Err(ER_REGEXP_PATTERN_TOO_BIG.bare());
    }
    let regex =
        fancy_regex::RegexBuilder::new(&source).backtrack_limit(1_000_000).build().map_err(|error| {
            if let fancy_regex::Error::CompileError(fancy_regex::CompileError::InnerError(error)) = &error
                && error.size_limit().is_some()
            {
                return ER_REGEXP_PATTERN_TOO_BIG.bare();
            }
            let text = error.to_string();
            if text.contains("unclosed group")
                || text.contains("unopened group")
                || text.contains("parenthes")
            {
                ER_REGEXP_MISMATCHED_PAREN.bare()
            } else if text.contains("class") || text.contains("bracket") {
                ER_REGEXP_MISSING_CLOSE_BRACKET.bare()
            } else {
                ER_REGEXP_RULE_SYNTAX.with(&[&1, &1])
            }
        })?;
    *r.state = Some(Box::new(PreparedRegex { source: pattern.to_vec(), flags: flags.to_vec(), regex }));
    Ok(())
}

/// Appends a pattern, its POSIX classes (`[[:alpha:]]`) as the classes of all Unicode's characters that ICU takes them for.
fn push_with_unicode_classes(out: &mut String, pattern: &str) {
    const CLASSES: [(&str, &str); 9] = [
        ("[:alpha:]", r"\p{Alphabetic}"),
        ("[:lower:]", r"\p{Lowercase}"),
        ("[:upper:]", r"\p{Uppercase}"),
        ("[:digit:]", r"\p{Nd}"),
        ("[:alnum:]", r"\p{Alphabetic}\p{Nd}"),
        ("[:space:]", r"\s"),
        ("[:punct:]", r"\p{P}"),
        ("[:graph:]", r"\p{L}\p{M}\p{N}\p{P}\p{S}"),
        ("[:print:]", r"\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}"),
    ];
    let mut rest = pattern;
    let mut depth = 0u32;
    while let Some(at) = rest.find(['\\', '[', ']']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let class = CLASSES.iter().find(|(name, _)| depth > 0 && rest.starts_with(name));
        let taken = match (class, rest.as_bytes()[0]) {
            (Some((name, unicode)), _) => {
                out.push_str(unicode);
                rest = &rest[name.len()..];
                continue;
            }
            (None, b'\\') => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            (None, b'[') => {
                depth += 1;
                1
            }
            (None, _) => {
                depth = depth.saturating_sub(1);
                1
            }
        };
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    out.push_str(rest);
}

/// Escapes that may be classes of Unicode's characters, in a pattern without POSIX classes.
fn unicode_class_count(pattern: &str) -> usize {
    let mut count = 0;
    let mut bytes = pattern.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'\\' {
            count += usize::from(matches!(
                bytes.next(),
                Some(b'p' | b'P' | b'w' | b'W' | b'd' | b'D' | b's' | b'S')
            ));
        }
    }
    count
}

/// An argument as text; the bytes of a byte string are the characters with these numbers.
fn text<'r>(r: &'r Row<'_, '_>, arg: usize) -> std::borrow::Cow<'r, str> {
    let bytes = r.bytes(arg);
    if r.call.types[arg].is_binary_string()
        && !bytes.is_ascii()
        && r.call.result.collation == CollationId::BINARY
    {
        return bytes.iter().copied().map(char::from).collect::<String>().into();
    }
    String::from_utf8_lossy(bytes)
}

/// Gives a text in the character set of the result; see [`text`] for byte strings.
fn put_text(r: &mut Row<'_, '_>, text: &str) -> SqlResult<()> {
    let charset = r.call.result.collation.charset();
    if text.is_ascii() && charset.extends_ascii() || charset == Charset::Utf8mb4 {
        r.put_bytes(text.as_bytes())
    } else if charset == Charset::Binary {
        let bytes: Vec<u8> =
            text.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap_or(b'?')).collect();
        r.put_bytes(&bytes)
    } else {
        r.put_with(|out| {
            convert_lossy(Charset::Utf8mb4, text.as_bytes(), charset, out);
        })
    }
}

fn regex<'r>(r: &'r Row<'_, '_>) -> SqlResult<&'r Regex> {
    r.state
        .as_ref()
        .and_then(|state| state.downcast_ref::<PreparedRegex>())
        .map(|prepared| &prepared.regex)
        .ok_or_else(|| crate::error::internal("no prepared pattern"))
}

fn regexp_like(r: &mut Row<'_, '_>) -> SqlResult<()> {
    prepare(r, 2)?;
    let subject = text(r, 0);
    let found = regex(r)?.is_match(&subject).map_err(|_| ER_REGEXP_TIME_OUT.bare())?;
    r.put_bool(found)
}

/// Byte position of a 1-based character position.
fn start_byte(r: &Row<'_, '_>, text: &str, arg: usize) -> SqlResult<usize> {
    if r.count() <= arg {
        return Ok(0);
    }
    let position = r.wide(arg);
    let count = text.chars().count() as i128;
    if position < 1 {
        return Err(ER_WRONG_PARAMETERS_TO_NATIVE_FCT.with(&[&r.call.name]));
    }
    if position > count + 1 {
        return Err(ER_REGEXP_INDEX_OUTOFBOUNDS_ERROR.bare());
    }
    Ok(text.char_indices().nth((position - 1) as usize).map_or(text.len(), |(at, _)| at))
}

/// The `occurrence`-th match from `start`.
fn nth_match(
    r: &Row<'_, '_>,
    text: &str,
    start: usize,
    occurrence: usize,
) -> SqlResult<Option<(usize, usize)>> {
    let regex = regex(r)?;
    let mut at = start;
    let mut left = occurrence;
    loop {
        let found = regex.find_from_pos(text, at).map_err(|_| ER_REGEXP_TIME_OUT.bare())?;
        let Some(found) = found else {
            return Ok(None);
        };
        left -= 1;
        if left == 0 {
            return Ok(Some((found.start(), found.end())));
        }
        at = if found.end() > found.start() { found.end() } else { next_char(text, found.end()) };
        if at > text.len() {
            return Ok(None);
        }
    }
}

fn next_char(text: &str, at: usize) -> usize {
    at + text[at..].chars().next().map_or(1, char::len_utf8)
}

fn occurrence(r: &Row<'_, '_>, arg: usize) -> usize {
    if r.count() > arg { r.narrow(arg).clamp(1, 1 << 30) as usize } else { 1 }
}

fn regexp_instr(r: &mut Row<'_, '_>) -> SqlResult<()> {
    prepare(r, 5)?;
    let text = text(r, 0).into_owned();
    let start = start_byte(r, &text, 2)?;
    let after = r.count() > 4 && r.wide(4) == 1;
    if r.count() > 4 && !(0..=1).contains(&r.wide(4)) {
        return Err(ER_WRONG_ARGUMENTS.with(&[&"regexp_instr: return_option must be 1 or 0."]));
    }
    match nth_match(r, &text, start, occurrence(r, 3))? {
        Some((from, to)) => {
            let at = if after { to } else { from };
            r.put_int(text[..at].chars().count() as i64 + 1)
        }
        None => r.put_int(0),
    }
}

fn regexp_substr(r: &mut Row<'_, '_>) -> SqlResult<()> {
    prepare(r, 4)?;
    let text = text(r, 0).into_owned();
    let start = start_byte(r, &text, 2)?;
    match nth_match(r, &text, start, occurrence(r, 3))? {
        Some((from, to)) => put_text(r, &text[from..to]),
        None => r.null(),
    }
}

fn regexp_replace(r: &mut Row<'_, '_>) -> SqlResult<()> {
    prepare(r, 5)?;
    let replacement = text(r, 2).into_owned();
    let text = text(r, 0).into_owned();
    let start = start_byte(r, &text, 3)?;
    // MySQL replaces nothing in an empty text, whatever matches it.
    if text.is_empty() {
        regex(r)?;
        return put_text(r, "");
    }
    let only = if r.count() > 4 { r.wide(4).max(0) } else { 0 };
    let mut out = String::with_capacity(text.len());
    out.push_str(&text[..start]);
    let mut at = start;
    let mut copied = start;
    let mut number = 0;
    loop {
        let captures = regex(r)?.captures_from_pos(&text, at).map_err(|_| ER_REGEXP_TIME_OUT.bare())?;
        let Some(captures) = captures else {
            break;
        };
        let Some(whole) = captures.get(0) else {
            break;
        };
        number += 1;
        if only == 0 || number == only {
            out.push_str(&text[copied..whole.start()]);
            expand(&replacement, &captures, &mut out)?;
            copied = whole.end();
            if only != 0 {
                break;
            }
        }
        at = if whole.end() > whole.start() { whole.end() } else { next_char(&text, whole.end()) };
        if at > text.len() {
            break;
        }
    }
    out.push_str(&text[copied.min(text.len())..]);
    if r.too_large(out.len())? {
        return Ok(());
    }
    put_text(r, &out)
}

/// `$n` is a group, `\x` the character x.
fn expand(replacement: &str, captures: &fancy_regex::Captures<'_>, out: &mut String) -> SqlResult<()> {
    let mut chars = replacement.chars().peekable();
    while let Some(letter) = chars.next() {
        match letter {
            '\\' => out.extend(chars.next()),
            '$' => {
                let mut group: Option<usize> = None;
                while let Some(digit) = chars.peek().and_then(|letter| letter.to_digit(10)) {
                    let next = group.unwrap_or(0) * 10 + digit as usize;
                    if group.is_some() && next >= captures.len() {
                        break;
                    }
                    group = Some(next);
                    chars.next();
                }
                match group {
                    Some(group) if group < captures.len() => {
                        out.push_str(captures.get(group).map_or("", |found| found.as_str()));
                    }
                    _ => return Err(ER_REGEXP_INDEX_OUTOFBOUNDS_ERROR.bare()),
                }
            }
            other => out.push(other),
        }
    }
    Ok(())
}
