//! Keys as people read them, in lists of locks. Nothing here is on the way of a statement.

use std::fmt::Write as _;

use access::Utc;
use store::TreeId;

use crate::codec::field::Field;
use crate::codec::key::KeyPart;
use crate::table::Table;

impl Table {
    /// The trees with the rows and with each other index, and which index of the definition that is (`None`: rows without a
    /// key of their own).
    #[must_use]
    pub fn index_trees(&self) -> Vec<(TreeId, Option<usize>)> {
        let others = self.indexes.iter().enumerate().filter(|(_, index)| index.entries.is_some());
        let others = others.map(|(number, index)| (index.tree.id(), Some(number)));
        std::iter::once((self.rows.id(), self.definition.clustered)).chain(others).collect()
    }

    /// The values in a key of an index, or in the first bytes of one, as in `7, 42`. Numbers are written as such, NULL too; what
    /// is kept as other bytes than SQL's (a text's sort key) as hexadecimal digits.
    #[must_use]
    pub fn describe_key(&self, index: Option<usize>, key: &[u8]) -> String {
        let mut text = String::new();
        let mut left = key;
        if let Some(index) = index {
            describe_parts(self.key_codec(index).parts(), &mut left, &mut text);
        }
        if index != self.definition.clustered {
            // The row's own key ends the key of an entry.
            match &self.clustered {
                Some(codec) => describe_parts(codec.parts(), &mut left, &mut text),
                None => describe_rest(&mut left, &mut text),
            }
        }
        describe_rest(&mut left, &mut text);
        text
    }
}

fn separate(text: &mut String) {
    if !text.is_empty() {
        text.push_str(", ");
    }
}

fn describe_rest(left: &mut &[u8], text: &mut String) {
    if !left.is_empty() {
        separate(text);
        push_hex(std::mem::take(left), text);
    }
}

fn push_hex(bytes: &[u8], text: &mut String) {
    text.push_str("0x");
    for byte in bytes {
        let _ = write!(text, "{byte:02X}"); // Writing to a String cannot fail.
    }
}

/// Describes the parts at the start of `left` and takes them off; stops where one is cut off, or a string's end is not seen.
fn describe_parts(parts: &[KeyPart], left: &mut &[u8], text: &mut String) {
    for part in parts {
        let width = part.field.width();
        let whole = width.unwrap_or(1) + usize::from(part.nullable);
        if left.len() < whole {
            return;
        }
        let turned = |byte: u8| if part.descending { !byte } else { byte };
        let mut bytes = *left;
        if part.nullable {
            let is_null = turned(bytes[0]) == 0;
            bytes = &bytes[1..];
            if is_null {
                separate(text);
                text.push_str("NULL");
                *left = &bytes[width.unwrap_or(0)..];
                continue;
            }
        }
        let Some(width) = width else { return describe_rest(left, text) };
        let value: Vec<u8> = bytes[..width].iter().map(|&byte| turned(byte)).collect();
        *left = &bytes[width..];
        separate(text);
        let _ = match part.field {
            Field::Int { signed: false, shift: 0, .. } => {
                write!(text, "{}", part.field.read_int(&value, &Utc) as u64)
            }
            Field::Int { shift: 0, .. } => write!(text, "{}", part.field.read_int(&value, &Utc)),
            Field::Decimal { .. } => write!(text, "{}", part.field.read_decimal(&value)),
            Field::Float | Field::Double => write!(text, "{}", part.field.read_double(&value)),
            _ => {
                push_hex(&value, text);
                Ok(())
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(field: Field, nullable: bool, descending: bool) -> KeyPart {
        KeyPart { column: 0, field, nullable, descending, prefix_length: None }
    }

    fn described(parts: &[KeyPart], key: &[u8]) -> String {
        let (mut left, mut text) = (key, String::new());
        describe_parts(parts, &mut left, &mut text);
        describe_rest(&mut left, &mut text);
        text
    }

    #[test]
    fn numbers_null_and_bytes_are_told() {
        let int = |signed| Field::Int { width: 4, signed, shift: 0 };
        let text = Field::Bytes { collation: types::collation::CollationId::BINARY };
        assert_eq!(described(&[part(int(true), false, false)], &[0x7f, 0xff, 0xff, 0xff]), "-1");
        assert_eq!(described(&[part(int(false), false, true)], &[0xff, 0xff, 0xff, 0xf8]), "7");
        let nullable = [part(int(true), true, false), part(text, false, false)];
        assert_eq!(described(&nullable, &[1, 0x80, 0, 0, 5, 0x61, 0x62]), "5, 0x6162");
        assert_eq!(described(&nullable, &[0, 0, 0, 0, 0, 0x61]), "NULL, 0x61");
        // A part cut off is shown as bytes.
        assert_eq!(described(&nullable, &[1, 0x80]), "0x0180");
    }
}
