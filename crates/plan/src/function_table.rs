//! The table of functions and operators: name, how many arguments, how its value depends on time and session.

/// How often a call must be evaluated.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stability {
    /// Same arguments, same value, always: may be folded into a cached plan.
    Pure,
    /// Fixed while a statement runs, but depends on the session or the clock: NOW(), DATABASE().
    Statement,
    /// A new value or an effect with each evaluation: RAND(), UUID(), SLEEP().
    Volatile,
}

/// Any number of arguments.
pub(crate) const MANY: u8 = u8::MAX;

macro_rules! functions {
    ($($variant:ident $name:literal [$($alias:literal),*] $min:tt..$max:tt $stability:ident;)*) => {
        /// A function or operator. Operators and special syntax are functions too; their names are no identifiers,
        /// so that no call by name finds them.
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        #[allow(missing_docs, reason = "the names are MySQL's; the table beside gives each one's text")]
        pub enum FunctionId { $($variant,)* }

        /// All functions in declaration order.
        pub static ALL: &[FunctionId] = &[$(FunctionId::$variant,)*];

        impl FunctionId {
            /// The name as MySQL writes it, in small letters; an operator's sign.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(FunctionId::$variant => $name,)* }
            }

            /// Fewest and most arguments; `u8::MAX` is no limit.
            #[must_use]
            pub fn arity(self) -> (u8, u8) {
                match self { $(FunctionId::$variant => ($min, $max),)* }
            }

            /// How often it must be evaluated.
            #[must_use]
            pub fn stability(self) -> Stability {
                match self { $(FunctionId::$variant => Stability::$stability,)* }
            }
        }

        /// The function called `name`, in small letters.
        pub(crate) fn by_name(name: &str) -> Option<FunctionId> {
            match name {
                $($name $(| $alias)* => Some(FunctionId::$variant),)*
                _ => None,
            }
        }
    };
}

functions! {
    // Operators.
    Add "+" [] 2..2 Pure;
    Sub "-" [] 2..2 Pure;
    Mul "*" [] 2..2 Pure;
    Div "/" [] 2..2 Pure;
    IntDiv "div" [] 2..2 Pure;
    Mod "mod" [] 2..2 Pure;
    Neg "neg " [] 1..1 Pure;
    BitOr "|" [] 2..2 Pure;
    BitAnd "&" [] 2..2 Pure;
    BitXor "^" [] 2..2 Pure;
    BitNot "~" [] 1..1 Pure;
    ShiftLeft "<<" [] 2..2 Pure;
    ShiftRight ">>" [] 2..2 Pure;
    Eq "=" [] 2..2 Pure;
    NullSafeEq "<=>" [] 2..2 Pure;
    Ne "<>" [] 2..2 Pure;
    Lt "<" [] 2..2 Pure;
    Le "<=" [] 2..2 Pure;
    Gt ">" [] 2..2 Pure;
    Ge ">=" [] 2..2 Pure;
    And "and " [] 2..MANY Pure;
    Or "or " [] 2..MANY Pure;
    Xor "xor " [] 2..2 Pure;
    Not "not " [] 1..1 Pure;
    IsNull "is null" [] 1..1 Pure;
    IsTrue "is true" [] 1..1 Pure;
    IsFalse "is false" [] 1..1 Pure;
    Between "between" [] 3..3 Pure;
    Like "like" [] 2..3 Pure;
    Cast "cast" [] 1..1 Pure;
    ConvertUsing "convert" [] 1..1 Pure;
    Trim "trim" [] 1..2 Pure;
    Collate "collate" [] 1..1 Pure;
    DateAdd "date_add interval" [] 2..2 Pure;
    DateSub "date_sub interval" [] 2..2 Pure;
    Extract "extract from" [] 1..1 Pure;
    MemberOf "member of" [] 2..2 Pure;
    WithOperand "with operand" [] 2..2 Pure;
    Operand "operand of" [] 0..0 Pure;
    StoredFunction "stored function" [] 0..MANY Volatile;
    DeterministicFunction "stored function of constants" [] 0..MANY Statement;

    // Flow.
    If "if" [] 3..3 Pure;
    IfNull "ifnull" [] 2..2 Pure;
    NullIf "nullif" [] 2..2 Pure;
    Coalesce "coalesce" [] 1..MANY Pure;
    Greatest "greatest" [] 2..MANY Pure;
    Least "least" [] 2..MANY Pure;
    Interval "interval" [] 2..MANY Pure;
    IsNullFunction "isnull" [] 1..1 Pure;
    AnyValue "any_value" [] 1..1 Pure;
    NameConst "name_const" [] 2..2 Pure;

    // Strings.
    Ascii "ascii" [] 1..1 Pure;
    Bin "bin" [] 1..1 Pure;
    BitCount "bit_count" [] 1..1 Pure;
    BitLength "bit_length" [] 1..1 Pure;
    Char "char" [] 1..MANY Pure;
    CharLength "char_length" ["character_length"] 1..1 Pure;
    Charset "charset" [] 1..1 Pure;
    Coercibility "coercibility" [] 1..1 Pure;
    Collation "collation" [] 1..1 Pure;
    Concat "concat" [] 1..MANY Pure;
    ConcatWs "concat_ws" [] 2..MANY Pure;
    Conv "conv" [] 3..3 Pure;
    Elt "elt" [] 2..MANY Pure;
    ExportSet "export_set" [] 3..5 Pure;
    Field "field" [] 2..MANY Pure;
    FindInSet "find_in_set" [] 2..2 Pure;
    Format "format" [] 2..3 Pure;
    FromBase64 "from_base64" [] 1..1 Pure;
    Hex "hex" [] 1..1 Pure;
    Insert "insert" [] 4..4 Pure;
    Instr "instr" [] 2..2 Pure;
    Left "left" [] 2..2 Pure;
    Length "length" ["octet_length"] 1..1 Pure;
    Locate "locate" ["position"] 2..3 Pure;
    Lower "lower" ["lcase"] 1..1 Pure;
    Lpad "lpad" [] 3..3 Pure;
    LTrim "ltrim" [] 1..2 Pure;
    MakeSet "make_set" [] 2..MANY Pure;
    Oct "oct" [] 1..1 Pure;
    Ord "ord" [] 1..1 Pure;
    Quote "quote" [] 1..1 Pure;
    RegexpInstr "regexp_instr" [] 2..6 Pure;
    RegexpLike "regexp_like" [] 2..3 Pure;
    RegexpReplace "regexp_replace" [] 3..6 Pure;
    RegexpSubstr "regexp_substr" [] 2..5 Pure;
    Repeat "repeat" [] 2..2 Pure;
    Replace "replace" [] 3..3 Pure;
    Reverse "reverse" [] 1..1 Pure;
    Right "right" [] 2..2 Pure;
    Rpad "rpad" [] 3..3 Pure;
    RTrim "rtrim" [] 1..2 Pure;
    Soundex "soundex" [] 1..1 Pure;
    Space "space" [] 1..1 Pure;
    Strcmp "strcmp" [] 2..2 Pure;
    Substring "substring" ["substr", "mid"] 2..3 Pure;
    SubstringIndex "substring_index" [] 3..3 Pure;
    ToBase64 "to_base64" [] 1..1 Pure;
    Unhex "unhex" [] 1..1 Pure;
    Upper "upper" ["ucase"] 1..1 Pure;
    WeightString "weight_string" [] 1..1 Pure;

    // Numbers.
    Abs "abs" [] 1..1 Pure;
    Acos "acos" [] 1..1 Pure;
    Asin "asin" [] 1..1 Pure;
    Atan "atan" [] 1..2 Pure;
    Atan2 "atan2" [] 2..2 Pure;
    Ceil "ceiling" ["ceil"] 1..1 Pure;
    Cos "cos" [] 1..1 Pure;
    Cot "cot" [] 1..1 Pure;
    Crc32 "crc32" [] 1..1 Pure;
    Degrees "degrees" [] 1..1 Pure;
    Exp "exp" [] 1..1 Pure;
    Floor "floor" [] 1..1 Pure;
    Ln "ln" [] 1..1 Pure;
    Log "log" [] 1..2 Pure;
    Log10 "log10" [] 1..1 Pure;
    Log2 "log2" [] 1..1 Pure;
    Pi "pi" [] 0..0 Pure;
    Pow "pow" ["power"] 2..2 Pure;
    Radians "radians" [] 1..1 Pure;
    Rand "rand" [] 0..1 Volatile;
    Round "round" [] 1..2 Pure;
    Sign "sign" [] 1..1 Pure;
    Sin "sin" [] 1..1 Pure;
    Sqrt "sqrt" [] 1..1 Pure;
    Tan "tan" [] 1..1 Pure;
    Truncate "truncate" [] 2..2 Pure;

    // Dates and times.
    AddTime "addtime" [] 2..2 Pure;
    ConvertTz "convert_tz" [] 3..3 Pure;
    Curdate "curdate" ["current_date"] 0..0 Statement;
    Curtime "curtime" ["current_time"] 0..1 Statement;
    Date "date" [] 1..1 Pure;
    DateDiff "datediff" [] 2..2 Pure;
    DateFormat "date_format" [] 2..2 Statement;
    DayName "dayname" [] 1..1 Statement;
    DayOfMonth "dayofmonth" ["day"] 1..1 Pure;
    DayOfWeek "dayofweek" [] 1..1 Pure;
    DayOfYear "dayofyear" [] 1..1 Pure;
    FromDays "from_days" [] 1..1 Pure;
    FromUnixtime "from_unixtime" [] 1..2 Statement;
    GetFormat "get_format" [] 1..1 Pure;
    Hour "hour" [] 1..1 Pure;
    LastDay "last_day" [] 1..1 Pure;
    MakeDate "makedate" [] 2..2 Pure;
    MakeTime "maketime" [] 3..3 Pure;
    Microsecond "microsecond" [] 1..1 Pure;
    Minute "minute" [] 1..1 Pure;
    Month "month" [] 1..1 Pure;
    MonthName "monthname" [] 1..1 Statement;
    Now "now" ["current_timestamp", "localtime", "localtimestamp"] 0..1 Statement;
    PeriodAdd "period_add" [] 2..2 Pure;
    PeriodDiff "period_diff" [] 2..2 Pure;
    Quarter "quarter" [] 1..1 Pure;
    SecToTime "sec_to_time" [] 1..1 Pure;
    Second "second" [] 1..1 Pure;
    StrToDate "str_to_date" [] 2..2 Statement;
    SubTime "subtime" [] 2..2 Pure;
    Sysdate "sysdate" [] 0..1 Volatile;
    Time "time" [] 1..1 Pure;
    TimeDiff "timediff" [] 2..2 Pure;
    TimeFormat "time_format" [] 2..2 Statement;
    TimeToSec "time_to_sec" [] 1..1 Pure;
    Timestamp "timestamp" [] 1..2 Pure;
    TimestampDiff "timestampdiff" [] 2..2 Pure;
    ToDays "to_days" [] 1..1 Pure;
    ToSeconds "to_seconds" [] 1..1 Pure;
    UnixTimestamp "unix_timestamp" [] 0..1 Statement;
    UtcDate "utc_date" [] 0..0 Statement;
    UtcTime "utc_time" [] 0..1 Statement;
    UtcTimestamp "utc_timestamp" [] 0..1 Statement;
    Week "week" [] 1..2 Statement;
    WeekOfYear "weekofyear" [] 1..1 Pure;
    Weekday "weekday" [] 1..1 Pure;
    Year "year" [] 1..1 Pure;
    YearWeek "yearweek" [] 1..2 Pure;

    // JSON.
    JsonArray "json_array" [] 0..MANY Pure;
    JsonArrayAppend "json_array_append" [] 3..MANY Pure;
    JsonArrayInsert "json_array_insert" [] 3..MANY Pure;
    JsonContains "json_contains" [] 2..3 Pure;
    JsonContainsPath "json_contains_path" [] 3..MANY Pure;
    JsonDepth "json_depth" [] 1..1 Pure;
    JsonExtract "json_extract" [] 2..MANY Pure;
    JsonInsert "json_insert" [] 3..MANY Pure;
    JsonKeys "json_keys" [] 1..2 Pure;
    JsonLength "json_length" [] 1..2 Pure;
    JsonMergePatch "json_merge_patch" [] 2..MANY Pure;
    JsonMergePreserve "json_merge_preserve" ["json_merge"] 2..MANY Pure;
    JsonObject "json_object" [] 0..MANY Pure;
    JsonOverlaps "json_overlaps" [] 2..2 Pure;
    JsonPretty "json_pretty" [] 1..1 Pure;
    JsonQuote "json_quote" [] 1..1 Pure;
    JsonRemove "json_remove" [] 2..MANY Pure;
    JsonReplace "json_replace" [] 3..MANY Pure;
    JsonSearch "json_search" [] 3..MANY Pure;
    JsonSet "json_set" [] 3..MANY Pure;
    JsonStorageFree "json_storage_free" [] 1..1 Pure;
    JsonStorageSize "json_storage_size" [] 1..1 Pure;
    JsonType "json_type" [] 1..1 Pure;
    JsonUnquote "json_unquote" [] 1..1 Pure;
    JsonValid "json_valid" [] 1..1 Pure;
    JsonValue "json_value" [] 1..1 Pure;

    // Hashes, encodings, addresses, identifiers.
    BinToUuid "bin_to_uuid" [] 1..2 Pure;
    Compress "compress" [] 1..1 Pure;
    Inet6Aton "inet6_aton" [] 1..1 Pure;
    Inet6Ntoa "inet6_ntoa" [] 1..1 Pure;
    InetAton "inet_aton" [] 1..1 Pure;
    InetNtoa "inet_ntoa" [] 1..1 Pure;
    IsIpv4 "is_ipv4" [] 1..1 Pure;
    IsIpv4Compat "is_ipv4_compat" [] 1..1 Pure;
    IsIpv4Mapped "is_ipv4_mapped" [] 1..1 Pure;
    IsIpv6 "is_ipv6" [] 1..1 Pure;
    IsUuid "is_uuid" [] 1..1 Pure;
    Md5 "md5" [] 1..1 Pure;
    RandomBytes "random_bytes" [] 1..1 Volatile;
    Sha1 "sha1" ["sha"] 1..1 Pure;
    Sha2 "sha2" [] 2..2 Pure;
    Uncompress "uncompress" [] 1..1 Pure;
    UncompressedLength "uncompressed_length" [] 1..1 Pure;
    Uuid "uuid" [] 0..0 Volatile;
    UuidShort "uuid_short" [] 0..0 Volatile;
    UuidToBin "uuid_to_bin" [] 1..2 Pure;

    // The session and the server.
    Benchmark "benchmark" [] 2..2 Volatile;
    ConnectionId "connection_id" [] 0..0 Statement;
    CurrentRole "current_role" [] 0..0 Statement;
    CurrentUser "current_user" [] 0..0 Statement;
    Database "database" ["schema"] 0..0 Statement;
    FoundRows "found_rows" [] 0..0 Statement;
    GetLock "get_lock" [] 2..2 Volatile;
    IcuVersion "icu_version" [] 0..0 Statement;
    IsFreeLock "is_free_lock" [] 1..1 Volatile;
    IsUsedLock "is_used_lock" [] 1..1 Volatile;
    LastInsertId "last_insert_id" [] 0..1 Volatile;
    PsCurrentThreadId "ps_current_thread_id" [] 0..0 Statement;
    ReleaseAllLocks "release_all_locks" [] 0..0 Volatile;
    ReleaseLock "release_lock" [] 1..1 Volatile;
    RowCount "row_count" [] 0..0 Statement;
    Sleep "sleep" [] 1..1 Volatile;
    User "user" ["session_user", "system_user"] 0..0 Statement;
    Version "version" [] 0..0 Statement;
}
