//! What the client said of itself when it connected, and by COM_SET_OPTION: it lasts as long as the connection.

use std::sync::Arc;

use service::{Capabilities, SetOption, TlsDetails};

/// The client's side of the connection.
#[derive(Debug)]
pub(crate) struct Client {
    capabilities: Capabilities,
    multi_statements: bool,
    tls: Option<Arc<TlsDetails>>,
    /// Bytes of its packets that are in memory, where that is much.
    input_bytes: u64,
}

impl Client {
    pub(super) fn new(capabilities: Capabilities, tls: Option<TlsDetails>) -> Self {
        Self {
            multi_statements: capabilities.has(Capabilities::MULTI_STATEMENTS),
            capabilities,
            tls: tls.map(Arc::new),
            input_bytes: 0,
        }
    }

    /// Bytes of its packets that are in memory, where that is much.
    #[inline]
    pub(super) fn input_bytes(&self) -> u64 {
        self.input_bytes
    }

    pub(super) fn set_input_bytes(&mut self, bytes: u64) {
        self.input_bytes = bytes;
    }

    /// Whether the client understands or asked for this.
    #[inline]
    pub(crate) fn has(&self, capability: Capabilities) -> bool {
        self.capabilities.has(capability)
    }

    /// Whether a text may hold several statements.
    #[inline]
    pub(super) fn may_send_several(&self) -> bool {
        self.multi_statements
    }

    /// COM_SET_OPTION.
    pub(super) fn set_option(&mut self, option: SetOption) {
        self.multi_statements = option == SetOption::MultiStatementsOn;
    }

    /// The connection's encryption, if it has one.
    pub(crate) fn tls(&self) -> Option<&Arc<TlsDetails>> {
        self.tls.as_ref()
    }
}
