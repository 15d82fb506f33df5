//! A JSON document as EXPLAIN builds and prints it.

use types::json::write_quoted;
use types::number;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Document {
    Text(String),
    Bool(bool),
    Count(u64),
    Double(f64),
    List(Vec<Document>),
    Object(Members),
}

/// The members of an object.
pub(crate) type Members = Vec<(&'static str, Document)>;

/// How a document is written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Form {
    /// Without line breaks.
    pub(crate) one_line: bool,
    /// Behind a list or an object that is a member stands its name, in a comment.
    pub(crate) end_markers: bool,
}

impl From<&str> for Document {
    fn from(text: &str) -> Document {
        Document::Text(text.into())
    }
}

impl From<String> for Document {
    fn from(text: String) -> Document {
        Document::Text(text)
    }
}

impl From<bool> for Document {
    fn from(value: bool) -> Document {
        Document::Bool(value)
    }
}

/// A list of texts.
pub(crate) fn texts<T: Into<String>>(items: impl IntoIterator<Item = T>) -> Document {
    Document::List(items.into_iter().map(|item| Document::Text(item.into())).collect())
}

impl Document {
    /// A number, without a point if it is whole.
    pub(crate) fn number(value: f64) -> Document {
        match value.fract() == 0.0 && (0.0..1e15).contains(&value) {
            true => Document::Count(value as u64),
            false => Document::Double(value),
        }
    }

    /// Orders members as MySQL's JSON type does: by the length of their names, then by their bytes.
    pub(crate) fn sort(&mut self) {
        match self {
            Document::List(items) => items.iter_mut().for_each(Document::sort),
            Document::Object(members) => {
                members.sort_by(|(a, _), (b, _)| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
                members.iter_mut().for_each(|(_, value)| value.sort());
            }
            _ => {}
        }
    }

    /// The document as a text of several lines, members in their order.
    pub(crate) fn pretty(&self) -> String {
        let mut out = Vec::new();
        self.write_in(Form::default(), 0, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    /// Appends the document, whose first line stands `level` levels deep.
    pub(crate) fn write_in(&self, form: Form, level: usize, out: &mut Vec<u8>) {
        let line = |level: usize, out: &mut Vec<u8>| {
            if !form.one_line {
                out.push(b'\n');
                out.extend(std::iter::repeat_n(b' ', 2 * level));
            }
        };
        match self {
            Document::Text(text) => write_quoted(text.as_bytes(), out),
            Document::Bool(value) => out.extend_from_slice(value.to_string().as_bytes()),
            Document::Count(count) => out.extend_from_slice(count.to_string().as_bytes()),
            Document::Double(value) => {
                let start = out.len();
                number::write_double(*value, out);
                // A double stays one when it is read.
                if !out[start..].iter().any(|byte| matches!(byte, b'.' | b'e')) {
                    out.extend_from_slice(b".0");
                }
            }
            Document::List(items) => {
                out.push(b'[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    line(level + 1, out);
                    item.write_in(form, level + 1, out);
                }
                if !items.is_empty() {
                    line(level, out);
                }
                out.push(b']');
            }
            Document::Object(members) => {
                out.push(b'{');
                for (at, (name, value)) in members.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    line(level + 1, out);
                    write_quoted(name.as_bytes(), out);
                    out.extend_from_slice(b": ");
                    value.write_in(form, level + 1, out);
                    if form.end_markers && matches!(value, Document::List(_) | Document::Object(_)) {
                        out.extend_from_slice(format!(" /* {name} */").as_bytes());
                    }
                }
                if !members.is_empty() {
                    line(level, out);
                }
                out.push(b'}');
            }
        }
    }
}
