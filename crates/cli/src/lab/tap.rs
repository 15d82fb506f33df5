//! `invar lab tap`: stands between any client and a server, and says where the time of each command went.

use std::net::{SocketAddr, ToSocketAddrs};
use std::time::{Duration, Instant};

use lab::interrupt;
use lab::tap::{Config, Phases, Tap};

/// What `invar lab tap --help` says.
pub(super) const HELP: &str = "\
invar lab tap --to mysql://user@host:port [--listen HOST:PORT] [options]

Clients connect to HOST:PORT (a free local port unless given) instead of to the server; every byte is handed on unchanged. At the
end (Ctrl-C), and every --every seconds, it prints for each kind of command how many there were and how long the client thought
before it, sent it, waited for the answer's first byte and received the rest, on average. It looks into no TLS and no compression:
there it times bursts of bytes without knowing commands. Let the client connect without (ssl-mode=DISABLED).

  --every S           print and begin anew every so many seconds      --for S      end after so many seconds
  --delay-ms MS       make the link slower by so much each way        --delay-up-ms MS, --delay-down-ms MS
  --kb-per-s N        and that narrow, each way and connection        --json       a JSON object a line";

/// How often it looks whether to end.
const LOOK: Duration = Duration::from_millis(50);

struct Asked {
    config: Config,
    every: Option<Duration>,
    ends_after: Option<Duration>,
    as_json: bool,
}

/// Runs until it is interrupted or its time is over.
pub(super) fn run(words: &[&str]) -> Result<(), String> {
    let asked = read(words)?;
    let tap = Tap::start(&asked.config).map_err(|error| format!("tap: {error}"))?;
    eprintln!("listening on {}", tap.address());
    let began = Instant::now();
    let mut printed = Instant::now();
    while !interrupt::requested() && asked.ends_after.is_none_or(|most| began.elapsed() < most) {
        if !tap.is_alive() {
            return Err("the tap ended: this machine refuses to poll its sockets".to_owned());
        }
        std::thread::sleep(LOOK);
        if asked.every.is_some_and(|every| printed.elapsed() >= every) {
            say(&tap.take(), asked.as_json);
            printed = Instant::now();
        }
    }
    say(&tap.take(), asked.as_json);
    Ok(())
}

fn say(phases: &Phases, as_json: bool) {
    if as_json {
        println!("{}", phases.to_json());
    } else {
        println!("{}", phases.table());
    }
}

fn read(words: &[&str]) -> Result<Asked, String> {
    let mut listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut target = None;
    let (mut up, mut down) = (Duration::ZERO, Duration::ZERO);
    let (mut bytes_per_s, mut every, mut ends_after, mut as_json) = (None, None, None, false);
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        if word == "--json" {
            as_json = true;
            continue;
        }
        let value = *words.next().ok_or_else(|| format!("{word} needs a value; see invar lab tap --help"))?;
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
            "--listen" => {
                let mut found = value
                    .to_socket_addrs()
                    .map_err(|error| format!("--listen {value}: expected HOST:PORT: {error}"))?;
                listen = found.next().ok_or_else(|| format!("--listen {value}: no such address"))?;
            }
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
    let config = Config { listen, target, delay_up: up, delay_down: down, bytes_per_s };
    Ok(Asked { config, every, ends_after, as_json })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_what_is_wrong_is_one_line() {
        let good = ["--to", "mysql://root@127.0.0.1:3306", "--delay-ms", "2.5", "--kb-per-s", "64", "--json"];
        let asked = read(&good).unwrap();
        assert_eq!(asked.config.delay_up, Duration::from_micros(2500));
        assert_eq!(
            (asked.config.delay_down, asked.config.bytes_per_s),
            (asked.config.delay_up, Some(64_000))
        );
        for (words, want) in [
            (vec!["--json"], "to which server"),
            (vec!["--to", "http://x"], "is not mysql://"),
            (vec!["--to"], "needs a value"),
            (vec!["--delay-ms", "fast"], "expected milliseconds"),
            (vec!["--listen", "nowhere"], "expected HOST:PORT"),
            (vec!["--frobnicate", "1"], "unknown option"),
        ] {
            let why = read(&words).map(|_| ()).unwrap_err();
            assert!(why.contains(want) && !why.contains('\n'), "{words:?}: {why}");
        }
    }
}
