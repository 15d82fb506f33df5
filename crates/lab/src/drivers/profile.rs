//! Driver profiles: what a driver sends for the same call.
//!
//! A driver decides what follows a connection's login, whether a statement with parameters is prepared at the server or put
//! together as text, whether it is prepared once or for each call, how a transaction begins, how values look, and whether the
//! types of parameters go along each time.
//!
//! Nothing here is guessed. `lab/shims/record.py` stood between the real driver and MySQL 9.7.4 and wrote every command down
//! (connections to 5.6.24, 5.7.29 and MariaDB 10.11 too, for what depends on the server); what it wrote is kept in `golden/`,
//! and a test holds each profile to it, command by command. The call is the same for all: take a statement from the
//! connection, set parameters, execute, read all rows, close it; a transaction is begun and committed the way the
//! driver's language has for it.
//!
//! Not imitated, because it is over before a block is measured or never happens in one: the character set that a driver sends at
//! login (the lab sets one for all), a `SHOW WARNINGS` of Connector/J 8 while it connects to 5.7, that a type is sent again
//! where a value is NULL only sometimes and types go once, and RESET before the first execution, which real ones leave out.

use wire::ColumnType;

use super::Protocol;

/// When a prepared statement is prepared.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Prepare {
    /// The driver cannot.
    Never,
    /// Once for each connection; afterwards it is executed alone.
    Once,
    /// Once, and each execution is preceded by COM_STMT_RESET.
    OnceWithReset,
    /// For each call: prepare, execute, close.
    EachCall,
}

/// What a driver makes of a batch: rows it is given one after the other and executes at once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Batches {
    /// Not recorded, so not imitated.
    Unknown,
    /// A statement for each row. The driver asks this first, once for text and twice for a prepared statement.
    Rows(Option<&'static str>),
    /// One statement with a row of values for each; the driver asks this first. Where it is prepared, the statement of one row
    /// was prepared before, in vain.
    Rewritten(&'static str),
}

/// How values look as text and as parameters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Values {
    /// NULL in text.
    pub null: &'static str,
    /// A quote in text has a backslash before it, and is not written twice.
    pub is_quote_escaped: bool,
    /// The type of texts as parameters.
    pub text: ColumnType,
    /// The type sent for a NULL parameter; that of its column where absent.
    pub null_type: Option<ColumnType>,
    /// Decimals are sent as texts: the language has none.
    pub decimal_is_text: bool,
    /// Types go with every execution, not only with the first.
    pub types_each_time: bool,
    /// Without parameters an empty mark that no types follow is sent all the same.
    pub has_empty_mark: bool,
}

/// Flags of the login that change what either side sends later.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Login {
    /// UPDATE counts rows found.
    pub found_rows: bool,
    /// Several statements in one query are allowed.
    pub multi_statements: bool,
    /// No EOF packets of old.
    pub deprecate_eof: bool,
    /// Changes of session state come with OK.
    pub session_track: bool,
    /// Queries carry attributes, if only the count of none.
    pub query_attributes: bool,
}

/// How long a driver takes, within one operation, from an answer to the next command: medians through a tap, microseconds, less what
/// our own client takes in the same place. Measured by `lab/shims/think.py`, of the version that the profile names.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Think {
    /// Before COM_STMT_EXECUTE.
    pub execute_us: u32,
    /// Before COM_STMT_CLOSE.
    pub close_us: u32,
}

/// How a driver behaves.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Name in scenarios and options.
    pub name: &'static str,
    /// Which driver, at which settings.
    pub about: &'static str,
    /// Flags of the login.
    pub login: Login,
    /// SQL after login, before the first call; [`connect`](Self::connect) fills in what depends on the server.
    pub(crate) connect: &'static [&'static str],
    /// What [`Protocol::Auto`] means with parameters.
    pub auto: Protocol,
    /// When statements are prepared, where they are.
    pub prepare: Prepare,
    /// How values look.
    pub values: Values,
    /// How a transaction begins, a command each.
    pub begin: &'static [&'static str],
    /// How it ends, a command each.
    pub commit: &'static [&'static str],
    /// What becomes of a batch.
    pub batches: Batches,
    /// How long it thinks within an operation.
    pub think: Think,
}

/// All four Connector/J that prepare for each call: 27 to 36 and 14 to 58 microseconds.
const CONNECTOR_J_THINKS: Think = Think { execute_us: 30, close_us: 40 };

/// Its operations have no command after another, or none that was measured.
const NONE: Think = Think { execute_us: 0, close_us: 0 };

/// Of our own client.
const OWN: Values = Values {
    null: "NULL",
    is_quote_escaped: false,
    text: ColumnType::VarString,
    null_type: None,
    decimal_is_text: false,
    types_each_time: false,
    has_empty_mark: false,
};

/// Of Connector/J 8.0.22.
const CONNECTOR_J: Values =
    Values { null: "null", null_type: Some(ColumnType::Null), has_empty_mark: true, ..OWN };
/// From 8.0.33 on: a query can have attributes, and types go each time.
const CONNECTOR_J_NEW: Values = Values { types_each_time: true, has_empty_mark: false, ..CONNECTOR_J };

const CONNECTOR_J_LOGIN: Login = Login {
    found_rows: true,
    multi_statements: false,
    deprecate_eof: true,
    session_track: false,
    query_attributes: false,
};

macro_rules! settings {
    ($comment:literal, $more:literal) => {
        concat!(
            "/* ",
            $comment,
            " */SELECT  @@session.auto_increment_increment AS auto_increment_increment, ",
            "@@character_set_client AS character_set_client, @@character_set_connection AS character_set_connection, ",
            "@@character_set_results AS character_set_results, @@character_set_server AS character_set_server, ",
            "@@collation_server AS collation_server, @@collation_connection AS collation_connection, ",
            "@@init_connect AS init_connect, @@interactive_timeout AS interactive_timeout, @@license AS license, ",
            "@@lower_case_table_names AS lower_case_table_names, @@max_allowed_packet AS max_allowed_packet, ",
            $more,
            "@@net_write_timeout AS net_write_timeout, @@performance_schema AS performance_schema, ",
            "{query_cache}@@sql_mode AS sql_mode, @@system_time_zone AS system_time_zone, @@time_zone AS time_zone, ",
            "@@{isolation} AS transaction_isolation, @@wait_timeout AS wait_timeout"
        )
    };
}

/// A Connector/J with its defaults, with a cache of prepared statements, and with batches rewritten.
const fn connector_j(
    [name, cached_name, rewrite_name]: [&'static str; 3],
    connect: &'static [&'static str],
    (values, is_new): (Values, bool),
    cached: Prepare,
    asks: &'static str,
    [think, cached_think]: [Think; 2],
) -> [Profile; 3] {
    let plain = Profile {
        name,
        about: "Connector/J; protocol = prepared is useServerPrepStmts=true",
        login: Login { query_attributes: is_new, ..CONNECTOR_J_LOGIN },
        connect,
        auto: Protocol::Text,
        prepare: Prepare::EachCall,
        values,
        begin: &["SET autocommit=0"],
        commit: &["commit", "SET autocommit=1"],
        batches: Batches::Rows(Some(asks)),
        think,
    };
    let cached = Profile {
        name: cached_name,
        about: "Connector/J with cachePrepStmts=true and room for every statement",
        prepare: cached,
        batches: Batches::Unknown,
        think: cached_think,
        ..plain
    };
    let rewrite = Profile {
        name: rewrite_name,
        about: "Connector/J with rewriteBatchedStatements=true",
        batches: Batches::Rewritten(asks),
        ..plain
    };
    [plain, cached, rewrite]
}

const CJ_5_1_49: [Profile; 3] = connector_j(
    ["cj-5.1.49", "cj-5.1.49-cached", "cj-5.1.49-rewrite"],
    &[
        settings!(
            "mysql-connector-java-5.1.49 ( Revision: ad86f36e100e104cd926c6b81c8cab9565750116 )",
            "@@net_buffer_length AS net_buffer_length, "
        ),
        "SET NAMES utf8mb4",
        "SET character_set_results = NULL",
        "SET autocommit=1",
    ],
    (Values { is_quote_escaped: true, ..CONNECTOR_J }, false),
    Prepare::Once,
    "select @@session.{read_only}",
    [CONNECTOR_J_THINKS, NONE],
);
const CJ_8_0_22: [Profile; 3] = connector_j(
    ["cj-8.0.22", "cj-8.0.22-cached", "cj-8.0.22-rewrite"],
    &[
        settings!("mysql-connector-java-8.0.22 (Revision: d64b664fa93e81296a377de031b8123a67e6def2)", ""),
        "SET NAMES utf8mb4",
        "SET character_set_results = NULL",
        "SET autocommit=1",
    ],
    (CONNECTOR_J, false),
    Prepare::OnceWithReset,
    "SELECT @@session.{read_only}",
    [CONNECTOR_J_THINKS, NONE],
);
const CJ_8_0_33: [Profile; 3] = connector_j(
    ["cj-8.0.33", "cj-8.0.33-cached", "cj-8.0.33-rewrite"],
    &[
        settings!("mysql-connector-j-8.0.33 (Revision: 7d6b0800528b6b25c68b52dc10d6c1c8429c100c)", ""),
        "SET character_set_results = NULL",
        "SET autocommit=1",
    ],
    (CONNECTOR_J_NEW, true),
    Prepare::OnceWithReset,
    "SELECT @@session.{read_only}",
    [CONNECTOR_J_THINKS, NONE],
);
const CJ_8_3_0: [Profile; 3] = connector_j(
    ["cj-8.3.0", "cj-8.3.0-cached", "cj-8.3.0-rewrite"],
    &[
        settings!("mysql-connector-j-8.3.0 (Revision: 805f872a57875f311cb82487efcfb070411a3fa0)", ""),
        "SET character_set_results = NULL",
        "SET autocommit=1",
    ],
    (CONNECTOR_J_NEW, true),
    Prepare::Once,
    "SELECT @@session.{read_only}",
    [CONNECTOR_J_THINKS, NONE],
);

const NATIVE: Profile = Profile {
    name: "native",
    about: "our own: the least that is needed",
    login: Login {
        found_rows: false,
        multi_statements: true,
        deprecate_eof: true,
        session_track: false,
        query_attributes: false,
    },
    connect: &[],
    auto: Protocol::Prepared,
    prepare: Prepare::Once,
    values: OWN,
    begin: &["BEGIN"],
    commit: &["COMMIT"],
    batches: Batches::Rows(None),
    think: NONE,
};

const MARIADB_JAVA: Profile = Profile {
    name: "mariadb-java",
    about: "MariaDB Connector/J 3.5.6; protocol = prepared is useServerPrepStmts=true",
    login: Login { session_track: true, ..CONNECTOR_J_LOGIN },
    connect: &["set sql_mode=CONCAT(@@sql_mode,',STRICT_TRANS_TABLES'),session_track_system_variables = \
         CONCAT(@@global.session_track_system_variables,',{isolation}'),NAMES utf8mb4"],
    auto: Protocol::Text,
    prepare: Prepare::Once,
    values: Values {
        null: "null",
        is_quote_escaped: true,
        null_type: Some(ColumnType::VarChar),
        types_each_time: true,
        ..OWN
    },
    begin: &["set autocommit=0"],
    commit: &["COMMIT", "set autocommit=1"],
    batches: Batches::Unknown,
    think: NONE,
};

const GO: Profile = Profile {
    name: "go-sql-driver",
    about: "go-sql-driver/mysql 1.10.1 through database/sql; protocol = text is interpolateParams=true",
    login: Login { found_rows: false, ..CONNECTOR_J_LOGIN },
    connect: &[],
    auto: Protocol::Prepared,
    prepare: Prepare::EachCall,
    values: Values {
        null: "NULL",
        is_quote_escaped: true,
        text: ColumnType::String,
        null_type: Some(ColumnType::Null),
        decimal_is_text: true,
        types_each_time: true,
        ..OWN
    },
    begin: &["START TRANSACTION"],
    commit: &["COMMIT"],
    batches: Batches::Unknown,
    think: Think { execute_us: 38, close_us: 45 },
};

const PYMYSQL: Profile = Profile {
    name: "pymysql",
    about: "PyMySQL 1.2.4, autocommit on; text only",
    login: Login { found_rows: false, deprecate_eof: false, ..CONNECTOR_J_LOGIN },
    connect: &["SET NAMES utf8mb4"],
    auto: Protocol::Text,
    prepare: Prepare::Never,
    values: Values { is_quote_escaped: true, ..OWN },
    begin: &["BEGIN"],
    commit: &["COMMIT"],
    batches: Batches::Unknown,
    think: NONE,
};

const MYSQL2: Profile = Profile {
    name: "mysql2",
    about: "mysql2 3.24.5 for Node; text is query(), prepared is execute()",
    login: Login {
        found_rows: true,
        multi_statements: false,
        deprecate_eof: false,
        session_track: true,
        query_attributes: true,
    },
    connect: &[],
    auto: Protocol::Text,
    prepare: Prepare::Once,
    values: Values {
        is_quote_escaped: true,
        null_type: Some(ColumnType::Null),
        decimal_is_text: true,
        types_each_time: true,
        ..OWN
    },
    begin: &["START TRANSACTION"],
    commit: &["COMMIT"],
    batches: Batches::Unknown,
    think: NONE,
};

/// All profiles, the native one first.
static PROFILES: &[Profile] = &[
    NATIVE,
    CJ_5_1_49[0],
    CJ_5_1_49[1],
    CJ_5_1_49[2],
    CJ_8_0_22[0],
    CJ_8_0_22[1],
    CJ_8_0_22[2],
    CJ_8_0_33[0],
    CJ_8_0_33[1],
    CJ_8_0_33[2],
    CJ_8_3_0[0],
    CJ_8_3_0[1],
    CJ_8_3_0[2],
    MARIADB_JAVA,
    GO,
    PYMYSQL,
    MYSQL2,
];

impl Profile {
    /// Our own driver.
    #[must_use]
    pub(crate) fn native() -> &'static Profile {
        &PROFILES[0]
    }

    /// The profile of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Profile> {
        PROFILES.iter().find(|profile| profile.name == name)
    }

    /// All names.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        PROFILES.iter().map(|profile| profile.name).collect()
    }

    /// All profiles.
    #[must_use]
    pub fn all() -> &'static [Profile] {
        PROFILES
    }

    /// What is sent after login to a server that calls itself `version`.
    #[must_use]
    pub fn connect(&self, version: &str) -> Vec<String> {
        self.connect.iter().map(|sql| for_server(sql, version)).collect()
    }

    /// Sets what this driver sends at login.
    pub(crate) fn put_login(&self, options: &mut client::Options) {
        options.found_rows = self.login.found_rows;
        options.multi_statements = self.login.multi_statements;
        options.deprecate_eof = self.login.deprecate_eof;
        options.session_track = self.login.session_track;
        options.query_attributes = self.login.query_attributes;
    }
}

/// Fills in what drivers ask differently of a server that calls itself `version`.
pub(crate) fn for_server(sql: &str, version: &str) -> String {
    // Isolation was renamed and the query cache taken out in MySQL; MariaDB kept both as they were.
    let is_mysql = !version.contains("MariaDB");
    let mut numbers = version.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let mut number = || numbers.next().unwrap_or_default();
    let version = (number(), number(), number());
    let is_renamed = is_mysql && version >= (5, 7, 20);
    let isolation = if is_renamed { "transaction_isolation" } else { "tx_isolation" };
    let read_only = if is_renamed { "transaction_read_only" } else { "tx_read_only" };
    let query_cache = if is_mysql && version >= (8, 0, 3) {
        ""
    } else {
        "@@query_cache_size AS query_cache_size, @@query_cache_type AS query_cache_type, "
    };
    sql.replace("{isolation}", isolation)
        .replace("{read_only}", read_only)
        .replace("{query_cache}", query_cache)
}
