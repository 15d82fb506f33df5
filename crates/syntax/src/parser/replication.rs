//! Replication and cloning: parsed in full, not supported by the server yet.

use super::{Parser, R};
use crate::ast::*;
use crate::keywords::T;

impl<'a> Parser<'a> {
    /// `FOR CHANNEL 'name'` or nothing.
    pub(super) fn opt_channel(&mut self) -> R<()> {
        if self.eat(T::FOR) {
            self.expect(T::CHANNEL)?;
            self.string()?;
        }
        Ok(())
    }

    fn thread_types(&mut self) -> R<()> {
        if self.at_any(&[T::SQL_THREAD, T::IO_THREAD, T::RELAY_THREAD]) {
            self.comma_list(|p| p.expect_any(&[T::SQL_THREAD, T::IO_THREAD, T::RELAY_THREAD]))?;
        }
        Ok(())
    }

    /// After `START`.
    pub(super) fn start_replication(&mut self) -> R<Statement<'a>> {
        match self.kind() {
            T::GROUP_REPLICATION => {
                self.bump();
                if self.at_any(&[T::USER, T::PASSWORD, T::DEFAULT_AUTH]) {
                    self.comma_list(|p| {
                        p.expect_any(&[T::USER, T::PASSWORD, T::DEFAULT_AUTH])?;
                        p.expect(T::Eq)?;
                        p.string()
                    })?;
                }
                Ok(Statement::Unsupported { what: "START GROUP_REPLICATION" })
            }
            T::REPLICA => {
                self.bump();
                self.thread_types()?;
                if self.eat(T::UNTIL) {
                    self.comma_list(|p| {
                        match p.expect_any(&[
                            T::SOURCE_LOG_FILE,
                            T::SOURCE_LOG_POS,
                            T::RELAY_LOG_FILE,
                            T::RELAY_LOG_POS,
                            T::SQL_BEFORE_GTIDS,
                            T::SQL_AFTER_GTIDS,
                            T::SQL_AFTER_MTS_GAPS,
                        ])? {
                            T::SQL_AFTER_MTS_GAPS => {}
                            T::SOURCE_LOG_POS | T::RELAY_LOG_POS => {
                                p.expect(T::Eq)?;
                                p.whole_number()?;
                            }
                            _ => {
                                p.expect(T::Eq)?;
                                p.string()?;
                            }
                        }
                        Ok(())
                    })?;
                }
                for word in [T::USER, T::PASSWORD, T::DEFAULT_AUTH, T::PLUGIN_DIR] {
                    if self.eat(word) {
                        self.expect(T::Eq)?;
                        self.string()?;
                    }
                }
                self.opt_channel()?;
                Ok(Statement::Unsupported { what: "START REPLICA" })
            }
            _ => self.fail(),
        }
    }

    /// `STOP ...`.
    pub(super) fn stop(&mut self) -> R<Statement<'a>> {
        self.bump();
        if self.eat(T::GROUP_REPLICATION) {
            return Ok(Statement::Unsupported { what: "STOP GROUP_REPLICATION" });
        }
        self.expect(T::REPLICA)?;
        self.thread_types()?;
        self.opt_channel()?;
        Ok(Statement::Unsupported { what: "STOP REPLICA" })
    }

    /// `RESET ...`.
    pub(super) fn reset(&mut self) -> R<Statement<'a>> {
        self.bump();
        if self.eat(T::PERSIST) {
            let mut reset = ResetPersist { if_exists: false, variable: None };
            if self.at(T::IF) || self.at_ident() {
                reset.if_exists = self.if_exists()?;
                reset.variable = Some(self.var_name(VarScope::Persist)?);
            }
            return Ok(Statement::ResetPersist(self.alloc(reset)));
        }
        let mut what = "";
        self.comma_list(|p| {
            match p.expect_any(&[T::BINARY, T::REPLICA])? {
                T::BINARY => {
                    p.expect_all(&[T::LOGS, T::AND, T::GTIDS])?;
                    if p.eat(T::TO) {
                        p.whole_number()?;
                    }
                    what = "BINARY LOGS AND GTIDS";
                }
                _ => {
                    p.eat(T::ALL);
                    p.opt_channel()?;
                    what = "REPLICA";
                }
            }
            Ok(())
        })?;
        Ok(Statement::Reset(what))
    }

    /// `PURGE BINARY LOGS ...`.
    pub(super) fn purge(&mut self) -> R<Statement<'a>> {
        self.bump();
        self.expect_all(&[T::BINARY, T::LOGS])?;
        if self.eat(T::TO) {
            self.string()?;
        } else {
            self.expect(T::BEFORE)?;
            self.expr()?;
        }
        Ok(Statement::Unsupported { what: "PURGE BINARY LOGS" })
    }

    /// `CHANGE REPLICATION SOURCE TO`, `CHANGE REPLICATION FILTER`.
    pub(super) fn change_replication(&mut self) -> R<Statement<'a>> {
        self.bump();
        self.expect(T::REPLICATION)?;
        if self.eat(T::FILTER) {
            self.comma_list(Self::replication_filter)?;
            self.opt_channel()?;
            return Ok(Statement::Unsupported { what: "CHANGE REPLICATION FILTER" });
        }
        self.expect_all(&[T::SOURCE, T::TO])?;
        self.comma_list(Self::source_option)?;
        self.opt_channel()?;
        Ok(Statement::Unsupported { what: "CHANGE REPLICATION SOURCE" })
    }

    fn source_option(&mut self) -> R<()> {
        let kind = self.tok.kind;
        match kind {
            T::SOURCE_HOST
            | T::SOURCE_BIND
            | T::NETWORK_NAMESPACE
            | T::SOURCE_USER
            | T::SOURCE_PASSWORD
            | T::SOURCE_SSL_CA
            | T::SOURCE_SSL_CAPATH
            | T::SOURCE_TLS_VERSION
            | T::SOURCE_SSL_CERT
            | T::SOURCE_SSL_CIPHER
            | T::SOURCE_SSL_KEY
            | T::SOURCE_SSL_CRL
            | T::SOURCE_SSL_CRLPATH
            | T::SOURCE_PUBLIC_KEY_PATH
            | T::SOURCE_COMPRESSION_ALGORITHMS
            | T::SOURCE_LOG_FILE
            | T::RELAY_LOG_FILE => {
                self.bump();
                self.expect(T::Eq)?;
                self.string()?;
            }
            T::SOURCE_PORT
            | T::SOURCE_CONNECT_RETRY
            | T::SOURCE_RETRY_COUNT
            | T::SOURCE_DELAY
            | T::SOURCE_SSL
            | T::SOURCE_SSL_VERIFY_SERVER_CERT
            | T::GET_SOURCE_PUBLIC_KEY
            | T::SOURCE_ZSTD_COMPRESSION_LEVEL
            | T::SOURCE_AUTO_POSITION
            | T::REQUIRE_ROW_FORMAT
            | T::SOURCE_CONNECTION_AUTO_FAILOVER
            | T::GTID_ONLY
            | T::SOURCE_LOG_POS
            | T::RELAY_LOG_POS => {
                self.bump();
                self.expect(T::Eq)?;
                self.whole_number()?;
            }
            T::SOURCE_HEARTBEAT_PERIOD => {
                self.bump();
                self.expect(T::Eq)?;
                if !self.at_any(&[T::Integer, T::Decimal, T::Float]) {
                    return self.fail();
                }
                self.bump();
            }
            T::SOURCE_TLS_CIPHERSUITES | T::PRIVILEGE_CHECKS_USER => {
                self.bump();
                self.expect(T::Eq)?;
                if !self.eat(T::NULL) {
                    if kind == T::PRIVILEGE_CHECKS_USER {
                        self.account()?;
                    } else {
                        self.string()?;
                    }
                }
            }
            T::IGNORE_SERVER_IDS => {
                self.bump();
                self.expect_all(&[T::Eq, T::LParen])?;
                if !self.at(T::RParen) {
                    self.comma_list(Self::whole_number)?;
                }
                self.expect(T::RParen)?;
            }
            T::REQUIRE_TABLE_PRIMARY_KEY_CHECK => {
                self.bump();
                self.expect(T::Eq)?;
                self.expect_any(&[T::STREAM, T::ON, T::OFF, T::GENERATE])?;
            }
            T::ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS => {
                self.bump();
                self.expect(T::Eq)?;
                if !self.at_any(&[T::OFF, T::LOCAL]) {
                    self.string()?;
                } else {
                    self.bump();
                }
            }
            _ => return self.fail(),
        }
        Ok(())
    }

    fn replication_filter(&mut self) -> R<()> {
        let kind = self.expect_any(&[
            T::REPLICATE_DO_DB,
            T::REPLICATE_IGNORE_DB,
            T::REPLICATE_DO_TABLE,
            T::REPLICATE_IGNORE_TABLE,
            T::REPLICATE_WILD_DO_TABLE,
            T::REPLICATE_WILD_IGNORE_TABLE,
            T::REPLICATE_REWRITE_DB,
        ])?;
        self.expect_all(&[T::Eq, T::LParen])?;
        if !self.at(T::RParen) {
            self.comma_list(|p| {
                match kind {
                    T::REPLICATE_DO_DB | T::REPLICATE_IGNORE_DB => {
                        p.ident()?;
                    }
                    T::REPLICATE_DO_TABLE | T::REPLICATE_IGNORE_TABLE => {
                        p.ident()?;
                        p.expect(T::Dot)?;
                        p.ident()?;
                    }
                    T::REPLICATE_REWRITE_DB => {
                        p.expect(T::LParen)?;
                        p.ident()?;
                        p.expect(T::Comma)?;
                        p.ident()?;
                        p.expect(T::RParen)?;
                    }
                    _ => {
                        p.text_string()?;
                    }
                }
                Ok(())
            })?;
        }
        self.expect(T::RParen)?;
        Ok(())
    }

    /// `CLONE ...`.
    pub(super) fn clone_instance(&mut self) -> R<Statement<'a>> {
        self.bump();
        if self.eat(T::LOCAL) {
            self.expect_all(&[T::DATA, T::DIRECTORY])?;
            self.eat(T::Eq);
            self.string()?;
            return Ok(Statement::Unsupported { what: "CLONE" });
        }
        self.expect_all(&[T::INSTANCE, T::FROM])?;
        self.account()?;
        self.expect(T::Colon)?;
        self.whole_number()?;
        self.expect_all(&[T::IDENTIFIED, T::BY])?;
        self.string()?;
        if self.eat(T::DATA) {
            self.expect(T::DIRECTORY)?;
            self.eat(T::Eq);
            self.string()?;
        }
        if self.at(T::REQUIRE) {
            self.bump();
            self.eat(T::NO);
            self.expect(T::SSL)?;
        }
        Ok(Statement::Unsupported { what: "CLONE" })
    }
}
