//! The bit sets of the protocol: what both sides can do, what state a session is in, what a column is.
//!
//! Source: MySQL 9.7 manual of the client/server protocol, "Capabilities Flags", "SERVER_STATUS_flags_enum",
//! "Column Definition Flags".

macro_rules! bit_set {
    ($(#[$meta:meta])* $name:ident: $repr:ty { $($(#[$bit_meta:meta])* $bit:ident = $value:expr;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
        pub struct $name(pub $repr);

        impl $name {
            $($(#[$bit_meta])* pub const $bit: $name = $name($value);)*

            /// No bit at all.
            pub const NONE: $name = $name(0);

            /// Whether every bit of `other` is here.
            #[inline]
            #[must_use]
            pub const fn has(self, other: $name) -> bool {
                self.0 & other.0 == other.0
            }

            /// These bits and those of `other`.
            #[inline]
            #[must_use]
            pub const fn with(self, other: $name) -> $name {
                $name(self.0 | other.0)
            }

            /// These bits without those of `other`.
            #[inline]
            #[must_use]
            pub const fn without(self, other: $name) -> $name {
                $name(self.0 & !other.0)
            }

            /// These bits, with those of `other` set or cleared.
            #[inline]
            #[must_use]
            pub const fn set(self, other: $name, on: bool) -> $name {
                if on { self.with(other) } else { self.without(other) }
            }
        }

        impl std::ops::BitOr for $name {
            type Output = $name;
            fn bitor(self, other: $name) -> $name {
                self.with(other)
            }
        }

        impl std::ops::BitAnd for $name {
            type Output = $name;
            fn bitand(self, other: $name) -> $name {
                $name(self.0 & other.0)
            }
        }
    };
}

bit_set! {
    /// What one side of a conversation can do. What both can is what they use.
    Capabilities: u32 {
        /// Old long-password flag; always on.
        LONG_PASSWORD = 1;
        /// UPDATE reports rows found and not rows changed.
        FOUND_ROWS = 1 << 1;
        /// Column flags are two bytes.
        LONG_FLAG = 1 << 2;
        /// The handshake response may name a database.
        CONNECT_WITH_DB = 1 << 3;
        /// `db.table.column` is refused.
        NO_SCHEMA = 1 << 4;
        /// Packets travel in zlib frames.
        COMPRESS = 1 << 5;
        /// An ODBC client; no effect.
        ODBC = 1 << 6;
        /// LOAD DATA LOCAL may ask the client for a file.
        LOCAL_FILES = 1 << 7;
        /// Spaces may stand before the parenthesis of a function.
        IGNORE_SPACE = 1 << 8;
        /// The protocol since 4.1; the only one spoken here.
        PROTOCOL_41 = 1 << 9;
        /// `interactive_timeout` instead of `wait_timeout`.
        INTERACTIVE = 1 << 10;
        /// TLS after the first packet.
        SSL = 1 << 11;
        /// No SIGPIPE in the client; no effect.
        IGNORE_SIGPIPE = 1 << 12;
        /// The client understands the transaction status bits.
        TRANSACTIONS = 1 << 13;
        /// Old name of `PROTOCOL_41`; no effect.
        RESERVED = 1 << 14;
        /// Twenty bytes of challenge.
        SECURE_CONNECTION = 1 << 15;
        /// Several statements in one COM_QUERY.
        MULTI_STATEMENTS = 1 << 16;
        /// Several results of one COM_QUERY.
        MULTI_RESULTS = 1 << 17;
        /// Several results of one COM_STMT_EXECUTE.
        PS_MULTI_RESULTS = 1 << 18;
        /// Authentication by named plugin.
        PLUGIN_AUTH = 1 << 19;
        /// The handshake response carries name-value pairs about the client.
        CONNECT_ATTRS = 1 << 20;
        /// The authentication answer is preceded by a length-encoded length.
        PLUGIN_AUTH_LENENC_CLIENT_DATA = 1 << 21;
        /// An expired password leads to a restricted session and not to a refusal.
        CAN_HANDLE_EXPIRED_PASSWORDS = 1 << 22;
        /// OK packets may report changed session state.
        SESSION_TRACK = 1 << 23;
        /// A result ends with an OK packet, and nothing ends its column definitions.
        DEPRECATE_EOF = 1 << 24;
        /// The client can do without column definitions.
        OPTIONAL_RESULTSET_METADATA = 1 << 25;
        /// Packets travel in zstd frames.
        ZSTD_COMPRESSION_ALGORITHM = 1 << 26;
        /// Statements may carry named attributes.
        QUERY_ATTRIBUTES = 1 << 27;
        /// Several authentication factors.
        MULTI_FACTOR_AUTHENTICATION = 1 << 28;
        /// libmysql only; no effect.
        SSL_VERIFY_SERVER_CERT = 1 << 30;
        /// libmysql only; no effect.
        REMEMBER_OPTIONS = 1 << 31;
    }
}

bit_set! {
    /// The state of a session, sent at the end of each result.
    StatusFlags: u16 {
        /// A transaction is open.
        IN_TRANS = 1;
        /// `autocommit` is on.
        AUTOCOMMIT = 1 << 1;
        /// Another result follows.
        MORE_RESULTS_EXISTS = 1 << 3;
        /// No good index was used.
        NO_GOOD_INDEX_USED = 1 << 4;
        /// No index was used.
        NO_INDEX_USED = 1 << 5;
        /// A cursor is open for this statement; rows come by COM_STMT_FETCH.
        CURSOR_EXISTS = 1 << 6;
        /// The last row of a cursor was sent.
        LAST_ROW_SENT = 1 << 7;
        /// A database was dropped.
        DB_DROPPED = 1 << 8;
        /// `sql_mode` has NO_BACKSLASH_ESCAPES.
        NO_BACKSLASH_ESCAPES = 1 << 9;
        /// A prepared statement was prepared again and its columns changed.
        METADATA_CHANGED = 1 << 10;
        /// The statement was slower than `long_query_time`.
        QUERY_WAS_SLOW = 1 << 11;
        /// The result holds the OUT parameters of a procedure.
        PS_OUT_PARAMS = 1 << 12;
        /// The open transaction is read only.
        IN_TRANS_READONLY = 1 << 13;
        /// The OK packet reports changed session state.
        SESSION_STATE_CHANGED = 1 << 14;
    }
}

bit_set! {
    /// What a column of a result is.
    ColumnFlags: u16 {
        /// Never NULL.
        NOT_NULL = 1;
        /// Part of the primary key.
        PRI_KEY = 1 << 1;
        /// Alone a unique key.
        UNIQUE_KEY = 1 << 2;
        /// First part of a non-unique key.
        MULTIPLE_KEY = 1 << 3;
        /// A BLOB or TEXT.
        BLOB = 1 << 4;
        /// No sign.
        UNSIGNED = 1 << 5;
        /// Filled with zeros.
        ZEROFILL = 1 << 6;
        /// Binary collation.
        BINARY = 1 << 7;
        /// An ENUM.
        ENUM = 1 << 8;
        /// Counts up by itself.
        AUTO_INCREMENT = 1 << 9;
        /// A TIMESTAMP.
        TIMESTAMP = 1 << 10;
        /// A SET.
        SET = 1 << 11;
        /// Has no default.
        NO_DEFAULT_VALUE = 1 << 12;
        /// Set to the time of the change by UPDATE.
        ON_UPDATE_NOW = 1 << 13;
        /// Part of an index.
        PART_KEY = 1 << 14;
        /// A number.
        NUM = 1 << 15;
    }
}

/// The type byte of a column or parameter.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[repr(u8)]
pub enum ColumnType {
    /// DECIMAL before 5.0; only read.
    Decimal = 0,
    /// TINYINT.
    Tiny = 1,
    /// SMALLINT.
    Short = 2,
    /// INT.
    Long = 3,
    /// FLOAT.
    Float = 4,
    /// DOUBLE.
    Double = 5,
    /// NULL.
    Null = 6,
    /// TIMESTAMP.
    Timestamp = 7,
    /// BIGINT.
    LongLong = 8,
    /// MEDIUMINT.
    Int24 = 9,
    /// DATE.
    Date = 10,
    /// TIME.
    Time = 11,
    /// DATETIME.
    DateTime = 12,
    /// YEAR.
    Year = 13,
    /// DATE inside the server; only read.
    NewDate = 14,
    /// VARCHAR inside the server; clients may send it for a parameter.
    VarChar = 15,
    /// BIT.
    Bit = 16,
    /// A type that was never decided; only read. MySQL 9.7 describes columns of a query so whose plan was found to give no row early.
    Invalid = 243,
    /// BOOL, as parameter type only.
    Bool = 244,
    /// JSON.
    Json = 245,
    /// DECIMAL.
    NewDecimal = 246,
    /// ENUM, inside the server; a result says `String` with the ENUM flag.
    Enum = 247,
    /// SET, inside the server; a result says `String` with the SET flag.
    Set = 248,
    /// TINYBLOB, TINYTEXT.
    TinyBlob = 249,
    /// MEDIUMBLOB, MEDIUMTEXT.
    MediumBlob = 250,
    /// LONGBLOB, LONGTEXT.
    LongBlob = 251,
    /// BLOB, TEXT of any length.
    Blob = 252,
    /// VARCHAR, VARBINARY.
    VarString = 253,
    /// CHAR, BINARY, ENUM, SET.
    String = 254,
    /// Geometry.
    Geometry = 255,
}

impl ColumnType {
    /// The type of a type byte, if it is one.
    #[must_use]
    pub fn from_byte(byte: u8) -> Option<ColumnType> {
        use ColumnType as T;
        Some(match byte {
            0 => T::Decimal,
            1 => T::Tiny,
            2 => T::Short,
            3 => T::Long,
            4 => T::Float,
            5 => T::Double,
            6 => T::Null,
            7 => T::Timestamp,
            8 => T::LongLong,
            9 => T::Int24,
            10 => T::Date,
            11 => T::Time,
            12 => T::DateTime,
            13 => T::Year,
            14 => T::NewDate,
            15 => T::VarChar,
            16 => T::Bit,
            244 => T::Bool,
            245 => T::Json,
            246 => T::NewDecimal,
            247 => T::Enum,
            248 => T::Set,
            249 => T::TinyBlob,
            250 => T::MediumBlob,
            251 => T::LongBlob,
            252 => T::Blob,
            253 => T::VarString,
            254 => T::String,
            255 => T::Geometry,
            _ => return None,
        })
    }
}
