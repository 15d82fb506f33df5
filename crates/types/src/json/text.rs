//! JSON text to documents (RFC 8259), with MySQL's messages and positions.

use super::value::Json;

/// Deepest nesting of a document.
pub const DEPTH_MAX: usize = 100;

/// Why a text is no JSON.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ParseError {
    /// What is wrong, as error 3140 shows it.
    pub message: &'static str,
    /// Byte in the text.
    pub position: usize,
    /// What kind of error it is.
    pub kind: ParseErrorKind,
}

/// Kinds of parse errors.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ParseErrorKind {
    /// The text is no JSON: error 3140.
    Syntax,
    /// Nested deeper than [`DEPTH_MAX`]: error 3157.
    TooDeep,
    /// The computation has to end ([`env::blocking::must_stop`]): whether the text is JSON is not known.
    Stopped,
}

/// Values between two looks whether the statement must end: a tree may take many times its text.
const VALUES_PER_LOOK: u32 = 4096;

struct Parser<'t> {
    text: &'t [u8],
    at: usize,
    depth: usize,
    /// Values read so far.
    values: u32,
}

/// Appends the binary form of a text. On an error `out` is as before.
///
/// # Errors
/// What is wrong and where.
pub fn parse(text: &[u8], out: &mut Vec<u8>) -> Result<(), ParseError> {
    parse_tree(text)?.encode(out);
    Ok(())
}

/// The tree of a text.
///
/// # Errors
/// What is wrong and where.
pub fn parse_tree(text: &[u8]) -> Result<Json, ParseError> {
    let mut parser = Parser { text, at: 0, depth: 0, values: 0 };
    parser.blanks();
    if parser.at == text.len() {
        return Err(parser.error("The document is empty."));
    }
    let value = parser.value()?;
    parser.blanks();
    if parser.at < text.len() {
        return Err(parser.error("The document root must not be followed by other values."));
    }
    Ok(value)
}

impl Parser<'_> {
    #[cold]
    fn error(&self, message: &'static str) -> ParseError {
        ParseError { message, position: self.at, kind: ParseErrorKind::Syntax }
    }

    #[cold]
    fn error_at(&self, message: &'static str, position: usize) -> ParseError {
        ParseError { message, position, kind: ParseErrorKind::Syntax }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn enter(&mut self) -> Result<(), ParseError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(ParseError {
                message: "The JSON document exceeds the maximum depth.",
                position: self.at,
                kind: ParseErrorKind::TooDeep,
            });
        }
        self.at += 1;
        self.blanks();
        Ok(())
    }

    fn value(&mut self) -> Result<Json, ParseError> {
        self.values = self.values.wrapping_add(1);
        if self.values.is_multiple_of(VALUES_PER_LOOK) && env::blocking::must_stop() {
            return Err(ParseError {
                kind: ParseErrorKind::Stopped,
                ..self.error("The statement must end.")
            });
        }
        match self.peek() {
            Some(b'{') => {
                self.enter()?;
                let mut members = Vec::new();
                if self.peek() == Some(b'}') {
                    self.at += 1;
                    self.depth -= 1;
                    return Ok(Json::Object(members));
                }
                loop {
                    if self.peek() != Some(b'"') {
                        return Err(self.error("Missing a name for object member."));
                    }
                    let key = self.string()?;
                    self.blanks();
                    if self.peek() != Some(b':') {
                        return Err(self.error("Missing a colon after a name of object member."));
                    }
                    self.at += 1;
                    self.blanks();
                    let value = self.value()?;
                    members.push((key, value));
                    self.blanks();
                    match self.peek() {
                        Some(b',') => {
                            self.at += 1;
                            self.blanks();
                        }
                        Some(b'}') => {
                            self.at += 1;
                            self.depth -= 1;
                            return Ok(Json::object(members));
                        }
                        _ => return Err(self.error("Missing a comma or '}' after an object member.")),
                    }
                }
            }
            Some(b'[') => {
                self.enter()?;
                let mut items = Vec::new();
                if self.peek() == Some(b']') {
                    self.at += 1;
                    self.depth -= 1;
                    return Ok(Json::Array(items));
                }
                loop {
                    items.push(self.value()?);
                    self.blanks();
                    match self.peek() {
                        Some(b',') => {
                            self.at += 1;
                            self.blanks();
                        }
                        Some(b']') => {
                            self.at += 1;
                            self.depth -= 1;
                            return Ok(Json::Array(items));
                        }
                        _ => return Err(self.error("Missing a comma or ']' after an array element.")),
                    }
                }
            }
            Some(b'"') => Ok(Json::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(b"true", Json::Bool(true)),
            Some(b'f') => self.word(b"false", Json::Bool(false)),
            Some(b'n') => self.word(b"null", Json::Null),
            _ => Err(self.error("Invalid value.")),
        }
    }

    fn word(&mut self, word: &[u8], value: Json) -> Result<Json, ParseError> {
        for &byte in word {
            if self.peek() != Some(byte) {
                return Err(self.error("Invalid value."));
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Result<Json, ParseError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else if self.digits() == 0 {
            return Err(self.error("Invalid value."));
        }
        let mut whole = true;
        if self.peek() == Some(b'.') {
            whole = false;
            self.at += 1;
            if self.digits() == 0 {
                return Err(self.error("Miss fraction part in number."));
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            whole = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.digits() == 0 {
                return Err(self.error("Miss exponent in number."));
            }
        }
        let text = std::str::from_utf8(&self.text[start..self.at]).unwrap_or("0");
        if whole {
            // MySQL takes numbers of more than 32 bits for unsigned ones.
            match text.parse::<i64>() {
                Ok(value) if value <= i64::from(u32::MAX) => return Ok(Json::Int(value)),
                _ => {}
            }
            if let Ok(value) = text.parse::<u64>() {
                return Ok(Json::UInt(value));
            }
        }
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Json::Double(value)),
            _ => Err(self.error_at("Number too big to be stored in double.", start)),
        }
    }

    fn hex4(&mut self) -> Result<u32, ParseError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            match digit {
                Some(digit) => code = code << 4 | digit,
                None => return Err(self.error("Incorrect hex digit after \\u escape in string.")),
            }
            self.at += 1;
        }
        Ok(code)
    }

    fn string(&mut self) -> Result<Vec<u8>, ParseError> {
        let start = self.at;
        self.at += 1;
        let mut out = Vec::new();
        loop {
            let run =
                self.text[self.at..].iter().take_while(|&&b| b != b'"' && b != b'\\' && b >= 0x20).count();
            let piece = &self.text[self.at..self.at + run];
            if let Err(error) = std::str::from_utf8(piece) {
                self.at += error.valid_up_to();
                return Err(self.error("Invalid encoding in string."));
            }
            out.extend_from_slice(piece);
            self.at += run;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    let escape_at = self.at;
                    self.at += 1;
                    let plain = match self.peek() {
                        Some(byte @ (b'"' | b'\\' | b'/')) => byte,
                        Some(b'b') => 8,
                        Some(b'f') => 12,
                        Some(b'n') => b'\n',
                        Some(b'r') => b'\r',
                        Some(b't') => b'\t',
                        Some(b'u') => {
                            self.at += 1;
                            let mut code = self.hex4()?;
                            if (0xd800..0xdc00).contains(&code) {
                                if self.text[self.at..].starts_with(b"\\u") {
                                    self.at += 2;
                                    let low = self.hex4()?;
                                    if !(0xdc00..0xe000).contains(&low) {
                                        return Err(self.error_at(
                                            "The surrogate pair in string is invalid.",
                                            escape_at,
                                        ));
                                    }
                                    code = 0x1_0000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                                } else {
                                    return Err(
                                        self.error_at("The surrogate pair in string is invalid.", escape_at)
                                    );
                                }
                            }
                            match char::from_u32(code) {
                                Some(character) => {
                                    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                                }
                                None => {
                                    return Err(
                                        self.error_at("The surrogate pair in string is invalid.", escape_at)
                                    );
                                }
                            }
                            continue;
                        }
                        _ => return Err(self.error_at("Invalid escape character in string.", escape_at)),
                    };
                    out.push(plain);
                    self.at += 1;
                }
                Some(_) => return Err(self.error("Invalid encoding in string.")),
                None => return Err(self.error_at("Missing a closing quotation mark in string.", start)),
            }
        }
    }
}
