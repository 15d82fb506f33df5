//! Answers from local tables: sessions, transactions, DDL, accounts, system schemas.

pub mod ddl;
pub mod metadata;
