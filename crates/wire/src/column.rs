//! Column definitions, encoded once and copied into every result.
//!
//! A plan keeps its [`EncodedColumns`]: the column count packet and one framed packet per column, numbered as in the
//! answer to a plain query (count 1, columns from 2), so that sending them is one copy.

use crate::codec::{Malformed, Reader, lenenc_int_bytes, malformed, put_lenenc_bytes, put_lenenc_int};
use crate::flags::{ColumnFlags, ColumnType};
use crate::packet::{FRAME_PAYLOAD_BYTES_MAX, PacketBuffer};

/// One column of a result, names already in the client's character set.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ColumnDefinition<'a> {
    /// Database; empty for an expression.
    pub schema: &'a [u8],
    /// Alias of the table.
    pub table: &'a [u8],
    /// The table's own name.
    pub org_table: &'a [u8],
    /// Alias of the column.
    pub name: &'a [u8],
    /// The column's own name.
    pub org_name: &'a [u8],
    /// Collation number (`information_schema.collations.id`): 63 for numbers, times and bytes; for strings the collation
    /// of `character_set_results`, or the column's own when that is NULL.
    pub collation: u16,
    /// The most bytes a value takes as text, in the character set of `collation`.
    pub length: u32,
    /// Type byte.
    pub column_type: ColumnType,
    /// What kind of column it is.
    pub flags: ColumnFlags,
    /// Digits after the point; 31 where not fixed, 0 for strings and integers.
    pub decimals: u8,
}

impl<'a> ColumnDefinition<'a> {
    /// Appends the payload of the packet.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_lenenc_bytes(out, b"def");
        for text in [self.schema, self.table, self.org_table, self.name, self.org_name] {
            put_lenenc_bytes(out, text);
        }
        out.push(0x0c);
        out.extend_from_slice(&self.collation.to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
        out.push(self.column_type as u8);
        out.extend_from_slice(&self.flags.0.to_le_bytes());
        out.push(self.decimals);
        out.extend_from_slice(&[0, 0]);
    }

    /// Reads the payload of a packet; the default value of a COM_FIELD_LIST answer is left unread.
    ///
    /// # Errors
    /// If it is cut or its type is unknown.
    pub fn decode(payload: &'a [u8]) -> Result<ColumnDefinition<'a>, Malformed> {
        let mut reader = Reader::new(payload);
        reader.lenenc_bytes()?;
        let schema = reader.lenenc_bytes()?;
        let table = reader.lenenc_bytes()?;
        let org_table = reader.lenenc_bytes()?;
        let name = reader.lenenc_bytes()?;
        let org_name = reader.lenenc_bytes()?;
        let mut fixed = Reader::new(reader.lenenc_bytes()?);
        let collation = fixed.u16()?;
        let length = fixed.u32()?;
        // MySQL describes some computed columns by a type that no parameter may have.
        let column_type = match fixed.u8()? {
            243 => ColumnType::Invalid,
            byte => match ColumnType::from_byte(byte) {
                Some(column_type) => column_type,
                None => return malformed("column type"),
            },
        };
        let flags = ColumnFlags(fixed.u16()?);
        let decimals = fixed.u8()?;
        Ok(ColumnDefinition {
            schema,
            table,
            org_table,
            name,
            org_name,
            collation,
            length,
            column_type,
            flags,
            decimals,
        })
    }
}

/// The first packets of a result, ready to be copied.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct EncodedColumns {
    frames: Vec<u8>,
    count_frame_bytes: usize,
    count: usize,
}

impl EncodedColumns {
    /// Encodes `columns`. Names over 16 MB do not exist: a definition that would not fit a frame is an error in the caller.
    ///
    /// # Panics
    /// If a definition is longer than a frame.
    #[must_use]
    pub fn new<'a>(columns: impl ExactSizeIterator<Item = ColumnDefinition<'a>>) -> EncodedColumns {
        Self::encode(columns.map(|column| (column, None)), false)
    }

    /// The same for COM_FIELD_LIST, each column with the text of its default (`None`: NULL).
    ///
    /// # Panics
    /// If a definition is longer than a frame.
    #[must_use]
    pub fn with_defaults<'a>(
        columns: impl ExactSizeIterator<Item = (ColumnDefinition<'a>, Option<&'a [u8]>)>,
    ) -> EncodedColumns {
        Self::encode(columns, true)
    }

    fn encode<'a>(
        columns: impl ExactSizeIterator<Item = (ColumnDefinition<'a>, Option<&'a [u8]>)>,
        with_defaults: bool,
    ) -> EncodedColumns {
        let mut packets = PacketBuffer::new();
        let count = columns.len();
        packets.set_sequence(1);
        put_lenenc_int(packets.begin(), count as u64);
        packets.end();
        let count_frame_bytes = packets.len();
        for (column, default) in columns {
            let start = packets.len();
            let payload = packets.begin();
            column.encode(payload);
            if with_defaults {
                match default {
                    Some(text) => put_lenenc_bytes(payload, text),
                    None => payload.push(0xfb),
                }
            }
            packets.end();
            assert!(packets.len() - start < FRAME_PAYLOAD_BYTES_MAX, "a column definition fits one frame");
        }
        debug_assert_eq!(count_frame_bytes, 4 + lenenc_int_bytes(count as u64));
        EncodedColumns { frames: packets.take(), count_frame_bytes, count }
    }

    /// How many columns.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Appends the count packet and the definitions.
    #[inline]
    pub fn put_with_count(&self, packets: &mut PacketBuffer) {
        packets.put_framed(&self.frames, self.count + 1, 1);
    }

    /// Appends the definitions only, as in the answers to COM_STMT_PREPARE and COM_FIELD_LIST.
    pub fn put_definitions(&self, packets: &mut PacketBuffer) {
        packets.put_framed(&self.frames[self.count_frame_bytes..], self.count, 2);
    }

    /// Bytes held, for caches that are bounded by bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.frames.len()
    }
}
