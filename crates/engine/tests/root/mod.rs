//! Root's session at an engine, without sockets.

use std::sync::Arc;

use engine::engine::Engine;
use service::{Capabilities, ClientHost, ConnectRequest, ConnectionControl, Service, Session, Transport};

/// Lets root in, as a client of these capabilities.
#[allow(dead_code, reason = "who needs several connections numbers them")]
pub(crate) fn connect(engine: &Engine, capabilities: Capabilities) -> Box<dyn Session> {
    connect_as(engine, capabilities, 1)
}

/// The same, as connection `number`: where there is more than one.
pub(crate) fn connect_as(engine: &Engine, capabilities: Capabilities, number: u64) -> Box<dyn Session> {
    let host = ClientHost { name: "localhost".to_owned(), address: None };
    let account = engine.find_account("root", &host).expect("root is there from the start");
    let request = ConnectRequest {
        control: Arc::new(ConnectionControl::new(number, None)),
        account,
        user: "root".to_owned(),
        host,
        database: None,
        attributes: Vec::new(),
        capabilities,
        collation: 255,
        transport: Transport::Unix,
        tls: None,
    };
    engine.connect(request).expect("root may connect")
}
