//! A server whose sessions have their tables on another server.

use std::sync::Arc;

use client::Options;
use engine::Engine;
use service::{
    Account, ClientHost, ConnectRequest, ConnectionEvent, DurableListener, Limits, Outcome, Service, SqlError,
};
use session::core::{Core, Storage};
use session::log::{LogHeader, QueryLogs};
use session::plans::shared::SharedPlans;
use session::variables::Variables;
use session::{Server, Session};

use crate::remote_backend::RemoteBackend;

/// Accounts and limits are those of a local engine, which has the definitions.
pub(crate) struct RemoteServer {
    engine: Engine,
    core: Arc<Core>,
    backend: Arc<RemoteBackend>,
    plans: Arc<SharedPlans<RemoteBackend>>,
}

impl RemoteServer {
    /// Definitions in `engine`, rows on the server of `options`.
    pub(crate) fn new(env: &env::Env, engine: &Engine, options: Options) -> RemoteServer {
        let backend = Arc::new(RemoteBackend::new(engine.clone(), options));
        let storage = Arc::clone(&backend) as Arc<dyn Storage>;
        let globals = Variables::clone(&engine.core().globals());
        let logs = QueryLogs::new(env, &LogHeader::default());
        let core = Core::new(env.clone(), storage, Arc::clone(backend.handle()), globals, logs);
        RemoteServer { engine: engine.clone(), core: Arc::new(core), backend, plans: Arc::default() }
    }
}

impl Service for RemoteServer {
    fn server_version(&self) -> String {
        self.engine.server_version()
    }

    fn find_account(&self, user: &str, host: &ClientHost) -> Option<Account> {
        self.engine.find_account(user, host)
    }

    fn connect(&self, request: ConnectRequest) -> Result<Box<dyn service::Session>, Box<SqlError>> {
        let server = Server {
            core: Arc::clone(&self.core),
            backend: Arc::clone(&self.backend),
            plans: Arc::clone(&self.plans),
        };
        Ok(Box::new(Session::start(server, request)?))
    }

    fn limits(&self) -> Limits {
        self.engine.limits()
    }

    fn note(&self, event: ConnectionEvent) {
        self.engine.note(event);
    }

    fn durable_position(&self) -> u64 {
        self.engine.durable_position()
    }

    fn sync_inline(&self, position: u64) -> Outcome {
        self.engine.sync_inline(position)
    }

    fn try_sync_inline(&self, position: u64) -> Result<bool, Box<SqlError>> {
        self.engine.try_sync_inline(position)
    }

    fn request_sync(&self, position: u64) {
        self.engine.request_sync(position);
    }

    fn on_durable(&self, listener: DurableListener) {
        self.engine.on_durable(listener);
    }

    fn log_failure(&self) -> Option<Box<SqlError>> {
        self.engine.log_failure()
    }
}
