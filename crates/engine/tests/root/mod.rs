//! Root's session at an engine, without sockets.

use std::sync::Arc;

use engine::engine::Engine;
use service::{Capabilities, ClientHost, ConnectRequest, ConnectionControl, Service, Session, Transport};

/// Lets root in, as a client of these capabilities.
pub(crate) fn connect(engine: &Engine, capabilities: Capabilities) -> Box<dyn Session> {
    let host = ClientHost { name: "localhost".to_owned(), address: None };
    let account = engine.find_account("root", &host).expect("root is there from the start");
    let request = ConnectRequest {
        control: Arc::new(ConnectionControl::new(1, None)),
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
