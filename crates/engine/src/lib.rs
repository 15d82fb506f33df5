//! Answers from local tables: sessions, transactions, DDL, accounts, system schemas.
