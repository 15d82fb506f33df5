//! `invar serve` over local tables: the engine as the server's backend.

use std::sync::Arc;

use engine::{Engine, StartOptions};
use service::Service;
use session::variables::{self, Kind as VariableKind};

use crate::options::Kind;
use crate::serve::{Backend, Options};

/// The engine, open.
pub(crate) struct Local {
    engine: Engine,
}

impl Backend for Local {
    fn variable(name: &str) -> Option<Kind> {
        let definition = variables::by_name(name.as_bytes())?.definition();
        Some(if definition.kind == VariableKind::Boolean { Kind::Flag } else { Kind::Value })
    }

    fn open(options: &Options, root_password: Option<String>) -> Result<Self, String> {
        let start = StartOptions {
            data_folder: options.data_dir.clone(),
            variables: options.variables.clone(),
            root_password,
            program: std::env::current_exe().map(|path| path.display().to_string()).unwrap_or_default(),
        };
        let env = env::Env::real();
        session::panics::install(&env);
        let engine = Engine::open(&env, &start).map_err(|error| error.to_string())?;
        for text in &options.ignored {
            session::error_log::warning(&env, text);
        }
        Ok(Self { engine })
    }

    fn has_account_without_password(&self) -> bool {
        self.engine.account_without_password().is_some()
    }

    fn service(&self) -> Arc<dyn Service> {
        Arc::new(self.engine.clone())
    }

    fn shutdown_requested(&self) -> bool {
        self.engine.core().shutdown_requested()
    }

    fn close(self) -> Result<(), String> {
        self.engine
            .close()
            .map_err(|error| format!("the last checkpoint failed, the next start recovers: {error}"))
    }
}
