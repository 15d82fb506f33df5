//! Names of system schemas that statements know by name.

/// The schema of MySQL's views for people. Of those it has `innodb_lock_waits`.
pub(crate) const SYS_SCHEMA: &str = "sys";

/// The schema of MySQL's own tables. Of those it has the two logs, always empty as with `log_output` FILE; accounts and
/// definitions live in the dictionary. It is there because tools look for it (`mysqldump --all-databases` of 9.7 dumps
/// nothing without it, MariaDB's wants the logs in it).
pub const MYSQL_SCHEMA: &str = "mysql";
