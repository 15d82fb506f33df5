//! `invar lab tap`: a proxy between any client and a server that reports where the time of each command went.

use std::net::{SocketAddr, ToSocketAddrs};
use std::time::{Duration, Instant};

use lab::interrupt;
use lab::tap::{Around, Config, Tap};

/// Stands between any client and a server, and says where the time of each command went.
///
/// Clients connect to the address of --listen instead of to the server; every byte is handed on unchanged. At the end (Ctrl-C),
/// and every --every seconds, it prints for each kind of command how many there were and how long the client thought before it,
/// sent it, waited for the answer's first byte and received the rest, on average. It looks into no TLS and no compression: there
/// it times bursts of bytes without knowing commands. Let the client connect without (ssl-mode=DISABLED).
///
/// With --proxy there are two taps around it: clients connect to --listen, whence their bytes go to the proxy at --proxy; the
/// proxy's own server has to be set to --behind, whence its bytes go to --to. What it adds to each command is printed: time,
/// bytes, commands.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The server
    #[arg(long, value_name = "mysql://user@host:port", value_parser = target)]
    to: Option<client::Address>,
    /// Where clients connect [default: a free local port]
    #[arg(long, value_name = "HOST:PORT", value_parser = socket_address)]
    listen: Option<SocketAddr>,
    /// A proxy between two taps
    #[arg(long, value_name = "HOST:PORT", value_parser = socket_address)]
    proxy: Option<SocketAddr>,
    /// Where the proxy finds its server
    #[arg(long, value_name = "HOST:PORT", value_parser = socket_address)]
    behind: Option<SocketAddr>,
    /// Prints and begins again every S seconds
    #[arg(long, value_name = "S", value_parser = seconds)]
    every: Option<Duration>,
    /// Ends after S seconds
    #[arg(long = "for", value_name = "S", value_parser = seconds)]
    ends_after: Option<Duration>,
    /// Makes the link slower by so much each way
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    delay_ms: Option<Duration>,
    /// The same on the way to the server
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    delay_up_ms: Option<Duration>,
    /// The same on the way to the client
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    delay_down_ms: Option<Duration>,
    /// Makes the link that narrow, each way and connection
    #[arg(long, value_name = "N", value_parser = kilobytes)]
    kb_per_s: Option<u64>,
    /// A JSON object a line
    #[arg(long)]
    json: bool,
}

/// How often it looks whether to end.
const LOOK: Duration = Duration::from_millis(50);

/// What is to be started: the tap, and one behind a proxy where there is one.
#[derive(Debug)]
struct Taps {
    front: Config,
    back: Option<Config>,
}

/// Runs until it is interrupted or its time is over.
pub(super) fn run(found: &Arguments) -> Result<(), String> {
    let taps = taps(found)?;
    let start =
        |config: &Config| Tap::start(config).map_err(|error| format!("tap on {}: {error}", config.listen));
    // The one behind first: a proxy that connects at once finds its server.
    let back = taps.back.as_ref().map(start).transpose()?;
    let tap = start(&taps.front)?;
    eprintln!("listening on {}", tap.address());
    if let Some(back) = &back {
        eprintln!("listening on {} for the proxy", back.address());
    }
    let say = || match &back {
        None if found.json => println!("{}", tap.take().to_json()),
        None => println!("{}", tap.take().table()),
        Some(back) => {
            let around = Around::new(tap.take(), back.take());
            println!("{}", if found.json { around.to_json() } else { around.table() });
        }
    };
    let began = Instant::now();
    let mut printed = Instant::now();
    while !interrupt::requested() && found.ends_after.is_none_or(|most| began.elapsed() < most) {
        if !tap.is_alive() || back.as_ref().is_some_and(|back| !back.is_alive()) {
            return Err("the tap ended: this machine refuses to poll its sockets".to_owned());
        }
        std::thread::sleep(LOOK);
        if found.every.is_some_and(|every| printed.elapsed() >= every) {
            say();
            printed = Instant::now();
        }
    }
    say();
    Ok(())
}

fn taps(arguments: &Arguments) -> Result<Taps, String> {
    let target = arguments.to.clone().ok_or("to which server? --to mysql://user@host:port")?;
    let both = arguments.delay_ms.unwrap_or_default();
    let mut front = Config {
        listen: arguments.listen.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 0))),
        target,
        delay_up: arguments.delay_up_ms.unwrap_or(both),
        delay_down: arguments.delay_down_ms.unwrap_or(both),
        bytes_per_s: arguments.kb_per_s,
    };
    let back = match (arguments.proxy, arguments.behind) {
        (None, None) => None,
        (Some(proxy), Some(behind)) => {
            let back = Config { listen: behind, ..Config::new(front.target) };
            front.target = client::Address::Tcp { host: proxy.ip().to_string(), port: proxy.port() };
            Some(back)
        }
        (Some(_), None) => {
            return Err("--proxy needs --behind HOST:PORT, where the proxy finds its server".into());
        }
        (None, Some(_)) => return Err("--behind needs --proxy HOST:PORT, where the proxy listens".into()),
    };
    Ok(Taps { front, back })
}

fn target(value: &str) -> Result<client::Address, String> {
    client::Options::from_url(value).map(|options| options.address).map_err(|error| error.to_string())
}

fn number(value: &str, unit: &str) -> Result<f64, String> {
    let number = value.parse::<f64>().ok().filter(|number| (0.0..=1e9).contains(number));
    number.ok_or_else(|| format!("expected {unit}"))
}

fn seconds(value: &str) -> Result<Duration, String> {
    number(value, "seconds").map(Duration::from_secs_f64)
}

fn milliseconds(value: &str) -> Result<Duration, String> {
    number(value, "milliseconds").map(|number| Duration::from_secs_f64(number * 1e-3))
}

fn kilobytes(value: &str) -> Result<u64, String> {
    number(value, "kilobytes").map(|number| (number * 1e3).max(1.0) as u64)
}

/// `HOST:PORT`
fn socket_address(value: &str) -> Result<SocketAddr, String> {
    let mut found = value.to_socket_addrs().map_err(|error| format!("expected HOST:PORT: {error}"))?;
    found.next().ok_or_else(|| "no such address".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn read(line: &[&str]) -> Result<Taps, String> {
        let parsed = <Line as clap::Parser>::try_parse_from([&["tap"], line].concat());
        taps(&parsed.map_err(|error| crate::one_line(&error))?.arguments)
    }

    #[test]
    fn options_are_read_and_what_is_wrong_is_one_line() {
        let good = ["--to", "mysql://root@127.0.0.1:3306", "--delay-ms", "2.5", "--kb-per-s", "64", "--json"];
        let found = read(&good).unwrap().front;
        assert_eq!(found.delay_up, Duration::from_micros(2500));
        assert_eq!((found.delay_down, found.bytes_per_s), (found.delay_up, Some(64_000)));
        let around = ["--to", "mysql://u@h:3306", "--proxy", "127.0.0.1:6033", "--behind", "127.0.0.1:3307"];
        let found = read(&around).unwrap();
        assert!(matches!(found.front.target, client::Address::Tcp { port: 6033, .. }));
        let back = found.back.unwrap();
        assert!(matches!(back.target, client::Address::Tcp { port: 3306, .. }) && back.listen.port() == 3307);
        for (arguments, want) in [
            (around[..4].to_vec(), "--proxy needs --behind"),
            (vec!["--to", "mysql://u@h", "--behind", "127.0.0.1:1"], "--behind needs --proxy"),
            (vec!["--json"], "to which server"),
            (vec!["--to", "http://x"], "is not mysql://"),
            (vec!["--to"], "a value is required"),
            (vec!["--delay-ms", "fast"], "expected milliseconds"),
            (vec!["--listen", "nowhere"], "expected HOST:PORT"),
            (vec!["--frobnicate", "1"], "unexpected argument"),
        ] {
            let why = read(&arguments).map(|_| ()).unwrap_err();
            assert!(why.contains(want) && !why.contains('\n'), "{arguments:?}: {why}");
        }
    }
}
