//! `invar lab tap`: stands between any client and a server, and says where the time of each command went.

use std::net::{SocketAddr, ToSocketAddrs};
use std::time::{Duration, Instant};

use lab::interrupt;
use lab::tap::{Around, Config, Tap};

/// What `invar lab tap --help` says.
pub(super) const HELP: &str = "\
invar lab tap --to mysql://user@host:port [--listen HOST:PORT] [options]
invar lab tap --to mysql://user@host:port --proxy HOST:PORT
              --behind HOST:PORT [--listen HOST:PORT] [options]

Clients connect to HOST:PORT (a free local port unless given) instead of to
the server; every byte is handed on unchanged. At the end (Ctrl-C), and every
--every seconds, it prints for each kind of command how many there were and how
long the client thought before it, sent it, waited for the answer's first byte
and received the rest, on average. It looks into no TLS and no compression:
there it times bursts of bytes without knowing commands. Let the client connect
without (ssl-mode=DISABLED).

With --proxy there are two taps around it: clients connect to --listen, whence
their bytes go to the proxy at --proxy; the proxy's own server has to be set to
--behind, whence its bytes go to --to. What it adds to each command is printed:
time, bytes, commands.

  --every S           print and begin again every S seconds
  --for S             end after S seconds
  --delay-ms MS       make the link slower by so much each way
  --delay-up-ms MS, --delay-down-ms MS
  --kb-per-s N        and that narrow, each way and connection
  --json              a JSON object a line";

/// How often it looks whether to end.
const LOOK: Duration = Duration::from_millis(50);

struct Arguments {
    config: Config,
    /// Behind a proxy, where there is one.
    back: Option<Config>,
    every: Option<Duration>,
    ends_after: Option<Duration>,
    as_json: bool,
}

/// Runs until it is interrupted or its time is over.
pub(super) fn run(arguments: &[&str]) -> Result<(), String> {
    let found = read(arguments)?;
    let start =
        |config: &Config| Tap::start(config).map_err(|error| format!("tap on {}: {error}", config.listen));
    // The one behind first: a proxy that connects at once finds its server.
    let back = found.back.as_ref().map(start).transpose()?;
    let tap = start(&found.config)?;
    eprintln!("listening on {}", tap.address());
    if let Some(back) = &back {
        eprintln!("listening on {} for the proxy", back.address());
    }
    let say = || match &back {
        None if found.as_json => println!("{}", tap.take().to_json()),
        None => println!("{}", tap.take().table()),
        Some(back) => {
            let around = Around::new(tap.take(), back.take());
            println!("{}", if found.as_json { around.to_json() } else { around.table() });
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

fn read(arguments: &[&str]) -> Result<Arguments, String> {
    let mut listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut target = None;
    let (mut proxy, mut behind) = (None, None);
    let (mut up, mut down) = (Duration::ZERO, Duration::ZERO);
    let (mut bytes_per_s, mut every, mut ends_after, mut as_json) = (None, None, None, false);
    let mut arguments = arguments.iter();
    while let Some(&word) = arguments.next() {
        if word == "--json" {
            as_json = true;
            continue;
        }
        let value =
            *arguments.next().ok_or_else(|| format!("{word} needs a value; see invar lab tap --help"))?;
        let number = |unit: &str| {
            let number = value.parse::<f64>().ok().filter(|number| (0.0..=1e9).contains(number));
            number.ok_or_else(|| format!("{word} {value}: expected {unit}"))
        };
        let time = |unit_s: f64, unit: &str| Ok::<_, String>(Duration::from_secs_f64(number(unit)? * unit_s));
        match word {
            "--to" => {
                let options = client::Options::from_url(value).map_err(|error| format!("--to: {error}"))?;
                target = Some(options.address);
            }
            "--listen" => listen = place(word, value)?,
            "--proxy" => proxy = Some(place(word, value)?),
            "--behind" => behind = Some(place(word, value)?),
            "--delay-ms" => {
                up = time(1e-3, "milliseconds")?;
                down = up;
            }
            "--delay-up-ms" => up = time(1e-3, "milliseconds")?,
            "--delay-down-ms" => down = time(1e-3, "milliseconds")?,
            "--kb-per-s" => bytes_per_s = Some((number("kilobytes")? * 1e3).max(1.0) as u64),
            "--every" => every = Some(time(1.0, "seconds")?),
            "--for" => ends_after = Some(time(1.0, "seconds")?),
            unknown => return Err(format!("unknown option {unknown}; see invar lab tap --help")),
        }
    }
    let target = target.ok_or("to which server? --to mysql://user@host:port")?;
    let mut config = Config { listen, target, delay_up: up, delay_down: down, bytes_per_s };
    let back = match (proxy, behind) {
        (None, None) => None,
        (Some(proxy), Some(behind)) => {
            let back = Config { listen: behind, ..Config::new(config.target) };
            config.target = client::Address::Tcp { host: proxy.ip().to_string(), port: proxy.port() };
            Some(back)
        }
        (Some(_), None) => {
            return Err("--proxy needs --behind HOST:PORT, where the proxy finds its server".into());
        }
        (None, Some(_)) => return Err("--behind needs --proxy HOST:PORT, where the proxy listens".into()),
    };
    Ok(Arguments { config, back, every, ends_after, as_json })
}

/// `HOST:PORT`
fn place(option: &str, value: &str) -> Result<SocketAddr, String> {
    let mut found =
        value.to_socket_addrs().map_err(|error| format!("{option} {value}: expected HOST:PORT: {error}"))?;
    found.next().ok_or_else(|| format!("{option} {value}: no such address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_what_is_wrong_is_one_line() {
        let good = ["--to", "mysql://root@127.0.0.1:3306", "--delay-ms", "2.5", "--kb-per-s", "64", "--json"];
        let found = read(&good).unwrap();
        assert_eq!(found.config.delay_up, Duration::from_micros(2500));
        assert_eq!(
            (found.config.delay_down, found.config.bytes_per_s),
            (found.config.delay_up, Some(64_000))
        );
        let around = ["--to", "mysql://u@h:3306", "--proxy", "127.0.0.1:6033", "--behind", "127.0.0.1:3307"];
        let found = read(&around).unwrap();
        assert!(matches!(found.config.target, client::Address::Tcp { port: 6033, .. }));
        let back = found.back.unwrap();
        assert!(matches!(back.target, client::Address::Tcp { port: 3306, .. }) && back.listen.port() == 3307);
        for (arguments, want) in [
            (around[..4].to_vec(), "--proxy needs --behind"),
            (vec!["--to", "mysql://u@h", "--behind", "127.0.0.1:1"], "--behind needs --proxy"),
            (vec!["--json"], "to which server"),
            (vec!["--to", "http://x"], "is not mysql://"),
            (vec!["--to"], "needs a value"),
            (vec!["--delay-ms", "fast"], "expected milliseconds"),
            (vec!["--listen", "nowhere"], "expected HOST:PORT"),
            (vec!["--frobnicate", "1"], "unknown option"),
        ] {
            let why = read(&arguments).map(|_| ()).unwrap_err();
            assert!(why.contains(want) && !why.contains('\n'), "{arguments:?}: {why}");
        }
    }
}
