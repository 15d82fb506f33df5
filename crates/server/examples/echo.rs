//! A server that answers a few words (see `tests/echo`), for clients and measurements:
//! `cargo run --release -p server --example echo -- PORT [SOCKET] [SYNC_US]`.

#[path = "../tests/echo/mod.rs"]
mod echo;

use std::sync::Arc;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let port: u16 = arguments.first().map_or(Ok(13306), |text| text.parse())?;
    let sync_us: u64 = arguments.get(2).map_or(Ok(0), |text| text.parse())?;
    let folder = std::env::temp_dir().join(format!("invar-echo-{port}"));
    std::fs::create_dir_all(&folder)?;
    let config = server::Config {
        tls: Some(server::make_tls_files(&folder)?),
        key_folder: Some(folder),
        ..server::Config::default()
    };
    let echo = echo::Echo::new(Duration::from_micros(sync_us));
    let listeners =
        server::Listeners::bind(&[([127, 0, 0, 1], port).into()], arguments.get(1).map(Into::into))?;
    let server = server::Server::start(listeners, config, Arc::new(echo::Handle(echo)))?;
    println!("ready on {:?}", server.tcp_addresses());
    std::io::stdin().read_line(&mut String::new())?;
    println!("stopped: {}", server.stop(Duration::from_secs(5)));
    Ok(())
}
