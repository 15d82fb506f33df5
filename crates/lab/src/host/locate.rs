//! Which process of this machine answers at an address: by the process that holds its listening socket, and by the server's pid file.
//!
//! The two are independent. A tunnel or a container's proxy holds the socket of a server it is not; the pid file of a server
//! on another machine may name a number that here belongs to another process. So a process is taken for the server only if it
//! holds the socket and is no known forwarder, or if the pid file names a process that holds the socket, or runs a server's
//! program. In a container a process has another number inside than outside: both are compared.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use client::Address;
use serde::{Deserialize, Serialize};

/// Programs that hold a socket on behalf of another.
const FORWARDERS: [&str; 9] =
    ["docker-proxy", "rootlessport", "ssh", "sshd", "socat", "haproxy", "nginx", "conmon", "slirp4netns"];
/// Programs that are servers.
const SERVERS: [&str; 7] =
    ["mysqld", "mariadbd", "invar", "proxysql", "mysqlrouter", "tidb-server", "vtgate"];

/// A server's process on this machine.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Located {
    /// Process number.
    pub pid: u32,
    /// The program's file, as seen from outside of any container.
    pub binary: PathBuf,
    /// How it was found, for people.
    pub how: String,
}

/// Finds the process of the server at `address`. `pid_file` is the server's variable of that name, if it could be asked.
///
/// # Errors
/// Why there is none: a sentence for people.
pub fn locate(address: &Address, pid_file: Option<&str>) -> Result<Located, String> {
    let (holder, refused) = match socket_inodes(address) {
        Ok(inodes) => match holder_of(&inodes) {
            Some(pid) => (Some(pid), None),
            None => (
                None,
                Some("its socket is held by a process that we may not look into (try as root)".to_owned()),
            ),
        },
        Err(why) => (None, Some(why)),
    };
    let by_file = pid_file.and_then(|path| process_of_pid_file(path, holder));
    let located = |pid, how: &str| Located { pid, binary: binary_of(pid), how: how.to_owned() };
    match (holder, by_file) {
        (Some(holder), Some(named)) if holder == named => {
            Ok(located(holder, "holds the listening socket, and the pid file names it"))
        }
        (Some(holder), named) => {
            let name = program_of(holder);
            if FORWARDERS.contains(&name.as_str()) || is_tap(holder) {
                return match named {
                    Some(pid) if is_server(pid) => {
                        Ok(located(pid, "named by the pid file; the socket is forwarded"))
                    }
                    _ => Err(format!(
                        "the socket is held by {name} (process {holder}), which forwards to somewhere else"
                    )),
                };
            }
            if let Some(pid) = named.filter(|pid| !is_server(holder) && is_server(*pid)) {
                return Ok(located(pid, "named by the pid file; the socket is forwarded"));
            }
            Ok(located(holder, "holds the listening socket"))
        }
        // Without the right to see which process holds the socket, the pid file of a local address is good evidence if a server's
        // program runs under that number.
        (None, Some(named)) if is_local(address) && is_server(named) => {
            Ok(located(named, "named by the pid file"))
        }
        (None, _) => Err(refused.unwrap_or_else(|| "no process was found".to_owned())),
    }
}

/// The program that holds the listening socket of `address` and is not the server `pid_file` names: a proxy, a tunnel. Only
/// what runs on this machine can be seen.
#[must_use]
pub(crate) fn forwarder(address: &Address, pid_file: Option<&str>) -> Option<String> {
    let holder = holder_of(&socket_inodes(address).ok()?)?;
    let named = pid_file.and_then(|path| process_of_pid_file(path, Some(holder)));
    let name = program_of(holder);
    let is_other = match named {
        Some(named) if named == holder => false,
        Some(named) => !is_server(holder) && is_server(named),
        None => false,
    };
    (is_other || is_tap(holder) || FORWARDERS.contains(&name.as_str())).then_some(name)
}

/// Our own tap hands on and is no server, though its program can be one.
fn is_tap(pid: u32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut words = line.split(|byte| *byte == 0).skip(1);
    words.next() == Some(b"lab") && words.next() == Some(b"tap")
}

/// Whether an address is this machine.
#[must_use]
pub fn is_local(address: &Address) -> bool {
    match address {
        Address::Unix(_) => true,
        Address::Tcp { host, port } => {
            addresses_of(host, *port).iter().any(|ip| ip.is_loopback() || own_addresses().contains(ip))
        }
    }
}

fn addresses_of(host: &str, port: u16) -> Vec<IpAddr> {
    (host, port)
        .to_socket_addrs()
        .map(|found| found.map(|address| address.ip()).collect())
        .unwrap_or_default()
}

/// IPv4 addresses of this machine's cards, from the kernel's routing trie, and IPv6 ones.
fn own_addresses() -> Vec<IpAddr> {
    let trie = fs::read_to_string("/proc/net/fib_trie").unwrap_or_default();
    let six = fs::read_to_string("/proc/net/if_inet6").unwrap_or_default();
    let mut own = parse_fib_trie(&trie);
    own.extend(six.lines().filter_map(|line| {
        let digits = line.split_ascii_whitespace().next()?;
        u128::from_str_radix(digits, 16).ok().map(|bits| IpAddr::V6(Ipv6Addr::from(bits)))
    }));
    own
}

/// The addresses that `/proc/net/fib_trie` calls `host LOCAL`.
fn parse_fib_trie(text: &str) -> Vec<IpAddr> {
    let mut last = None;
    let mut own = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(address) = line.strip_prefix("|-- ") {
            last = address.parse::<Ipv4Addr>().ok();
        } else if line.contains("host LOCAL") {
            own.extend(last.map(IpAddr::V4));
        }
    }
    own.dedup();
    own
}

/// The inodes of the sockets that listen at an address of this machine.
fn socket_inodes(address: &Address) -> Result<Vec<u64>, String> {
    let inodes = match address {
        Address::Unix(path) => {
            let table =
                fs::read_to_string("/proc/net/unix").map_err(|error| format!("/proc/net/unix: {error}"))?;
            let full = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
            parse_unix(&table, &[path, &full])
        }
        Address::Tcp { host, port } => {
            if !is_local(address) {
                return Err(format!("{host} is not this machine"));
            }
            let mut found = Vec::new();
            for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
                found.extend(parse_tcp(&fs::read_to_string(table).unwrap_or_default(), *port));
            }
            found
        }
    };
    match inodes.is_empty() {
        true => Err("no socket listens there in this network namespace: a container, or a tunnel".to_owned()),
        false => Ok(inodes),
    }
}

/// Inodes of listening sockets with this port in `/proc/net/tcp` or `tcp6`.
fn parse_tcp(text: &str, port: u16) -> Vec<u64> {
    const LISTEN: &str = "0A";
    text.lines()
        .skip(1)
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let local = u16::from_str_radix(fields.get(1)?.rsplit_once(':')?.1, 16).ok()?;
            (local == port && fields.get(3) == Some(&LISTEN)).then_some(())?;
            fields.get(9)?.parse().ok()
        })
        .collect()
}

/// Inodes of listening sockets with one of these paths in `/proc/net/unix`.
fn parse_unix(text: &str, paths: &[&PathBuf]) -> Vec<u64> {
    const ACCEPTS: u32 = 0x1_0000;
    text.lines()
        .skip(1)
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let flags = u32::from_str_radix(fields.get(3)?, 16).ok()?;
            let path = Path::new(fields.get(7)?);
            (flags & ACCEPTS != 0 && paths.iter().any(|wanted| wanted.as_path() == path)).then_some(())?;
            fields.get(6)?.parse().ok()
        })
        .collect()
}

/// The process that has one of these sockets open; the oldest if they are several, as a server passes it to its children.
fn holder_of(inodes: &[u64]) -> Option<u32> {
    let wanted: Vec<PathBuf> =
        inodes.iter().map(|inode| PathBuf::from(format!("socket:[{inode}]"))).collect();
    let mut pids: Vec<u32> = fs::read_dir("/proc")
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    pids.sort_unstable();
    pids.into_iter().find(|pid| {
        let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
        files.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|target| wanted.contains(&target)))
    })
}

/// The process a pid file names. In a container's file the number is the inner one: then `holder` is compared by its own
/// inner number.
fn process_of_pid_file(path: &str, holder: Option<u32>) -> Option<u32> {
    let read = |path: PathBuf| fs::read_to_string(path).ok()?.trim().parse::<u32>().ok();
    if let Some(holder) = holder {
        let inside = PathBuf::from(format!("/proc/{holder}/root")).join(path.trim_start_matches('/'));
        let status = fs::read_to_string(format!("/proc/{holder}/status")).unwrap_or_default();
        if read(inside).is_some_and(|named| innermost_pid(&status) == Some(named)) {
            return Some(holder);
        }
    }
    read(PathBuf::from(path)).filter(|pid| Path::new(&format!("/proc/{pid}")).exists())
}

/// The number a process has in its own namespace: the last of `NSpid` in `/proc/PID/status`.
fn innermost_pid(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_ascii_whitespace().last()?.parse().ok()
}

fn is_server(pid: u32) -> bool {
    SERVERS.contains(&program_of(pid).as_str())
}

/// The name of the program a process runs, without its folder.
fn program_of(pid: u32) -> String {
    binary_of(pid).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The file a process runs. A program started through `ld.so` is not that `ld.so`: the file named by its arguments that is
/// mapped as code is taken. The path leads through `/proc/PID/root`, so that it holds for containers.
#[must_use]
pub(crate) fn binary_of(pid: u32) -> PathBuf {
    let exe = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let name = exe.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut found = exe;
    if name.starts_with("ld-linux") || name.starts_with("ld-musl") || name.starts_with("ld-2") {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<&str> =
            line.split(|byte| *byte == 0).filter_map(|word| std::str::from_utf8(word).ok()).collect();
        if let Some(program) = mapped_program(&maps, &words) {
            found = program;
        }
    }
    let inside =
        Path::new("/proc").join(pid.to_string()).join("root").join(found.strip_prefix("/").unwrap_or(&found));
    let same_root =
        fs::read_link(format!("/proc/{pid}/root")).is_ok_and(|root| root == Path::new("/")) && found.exists();
    if same_root { found } else { inside }
}

/// The first word of a command line that is mapped as code, `ld.so` itself left out.
fn mapped_program(maps: &str, words: &[&str]) -> Option<PathBuf> {
    let code: Vec<&str> = maps
        .lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            fields.get(1)?.contains('x').then(|| fields.get(5).copied()).flatten()
        })
        .collect();
    words.iter().skip(1).find(|word| code.contains(word)).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listening_sockets_are_found_by_port_and_path() {
        let tcp = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            \x20  0: 00000000:07E8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 248 1 00000000 100 0 0 10 0\n\
            \x20  1: 0100007F:5A39 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 982152 1 00000000 100 0 0 10 0\n\
            \x20  2: 0100007F:5A39 0100007F:8001 01 00000000:00000000 00:00000000 00000000     0        0 77 1 00000000 20 4 30 10 -1\n";
        assert_eq!(parse_tcp(tcp, 23097), [982_152], "the listening one, not the connection");
        assert_eq!(parse_tcp(tcp, 1), [] as [u64; 0]);
        let unix = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            00000000f: 00000002 00000000 00010000 0001 01 41234 /tmp/peers/mysql97/sock\n\
            00000000e: 00000003 00000000 00000000 0001 03 41300 /tmp/peers/mysql97/sock\n\
            00000000d: 00000002 00000000 00010000 0001 01 5 /run/other\n";
        assert_eq!(parse_unix(unix, &[&PathBuf::from("/tmp/peers/mysql97/sock")]), [41234]);
    }

    #[test]
    fn numbers_inside_containers_and_programs_behind_the_loader_are_known() {
        assert_eq!(innermost_pid("Name:\tmysqld\nNSpid:\t41034\t1\n"), Some(1));
        let maps = "7f00-7f01 r--p 00000000 fe:00 1 /opt/lib64/ld-linux-x86-64.so.2\n\
            7f10-7f20 r-xp 00000000 fe:00 1 /opt/lib64/ld-linux-x86-64.so.2\n\
            7f30-7f40 r-xp 00001000 fe:00 2 /opt/usr/sbin/mysqld\n\
            7f50-7f60 r-xp 00001000 fe:00 3 /opt/lib/libc.so.6\n";
        let words =
            ["/opt/lib64/ld-linux-x86-64.so.2", "--library-path", "/opt/lib", "/opt/usr/sbin/mysqld", "-P1"];
        assert_eq!(mapped_program(maps, &words), Some("/opt/usr/sbin/mysqld".into()));
    }

    #[test]
    fn addresses_of_this_machine_are_known() {
        let trie = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 10.0.0.0\n        /24 link UNICAST\n     |-- 10.0.0.7\n        /32 host LOCAL\n";
        assert_eq!(parse_fib_trie(trie), [IpAddr::from([10, 0, 0, 7])]);
        let tcp = |host: &str| Address::Tcp { host: host.into(), port: 1 };
        assert!(is_local(&tcp("127.0.0.1")) && is_local(&tcp("::1")));
        assert!(!is_local(&tcp("192.0.2.1")), "a documentation address is nobody's");
    }

    #[test]
    fn the_own_listening_socket_leads_to_the_own_process() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp { host: "127.0.0.1".into(), port: listener.local_addr().unwrap().port() };
        let located = locate(&address, None).unwrap();
        assert_eq!(located.pid, std::process::id());
        assert_eq!(located.binary, std::env::current_exe().unwrap());
        drop(listener);
        assert!(locate(&address, None).unwrap_err().contains("no socket listens"));
        let far = Address::Tcp { host: "192.0.2.1".into(), port: 3306 };
        assert!(locate(&far, None).unwrap_err().contains("not this machine"));
    }
}
