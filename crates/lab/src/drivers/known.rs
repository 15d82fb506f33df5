//! The real drivers that can be run, and how each is started.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Sources of the shims, so that nothing but toolchain and driver must be there.
const JAVA: &str = include_str!("../../../../lab/shims/Shim.java");
const GO: &str = include_str!("../../../../lab/shims/shim.go");
const GO_MODULE: &str = include_str!("../../../../lab/shims/go.mod");
const GO_SUMS: &str = include_str!("../../../../lab/shims/go.sum");
const PYTHON: &str = include_str!("../../../../lab/shims/shim.py");
const NODE: &str = include_str!("../../../../lab/shims/shim.js");

/// Folders with jars, separated by `:`.
const JARS_VARIABLE: &str = "INVAR_LAB_JARS";
/// The Python that can import PyMySQL; `python3` without it.
const PYTHON_VARIABLE: &str = "INVAR_LAB_PYTHON";
/// The folder `node_modules` that mysql2 lies in.
const NODE_VARIABLE: &str = "INVAR_LAB_NODE_MODULES";
/// Where sources are written and programs built; `~/.cache/invar/lab` and the like without it.
const CACHE_VARIABLE: &str = "INVAR_LAB_CACHE";

/// A real driver.
#[derive(Debug)]
pub struct Real {
    /// Name in scenarios and options.
    pub name: &'static str,
    /// The profile that imitates it.
    pub profile: &'static str,
    /// Properties of the driver, as it calls them.
    pub(crate) properties: &'static [(&'static str, &'static str)],
    runtime: Runtime,
}

/// What it runs on.
#[derive(Debug)]
enum Runtime {
    /// A jar of one of these names.
    Java(&'static [&'static str]),
    /// A program built once.
    Go,
    Python,
    Node,
}

/// Connector/J keeps prepared statements for a connection's life.
const CACHED: &[(&str, &str)] = &[("cachePrepStmts", "true"), ("prepStmtCacheSqlLimit", "100000000")];

macro_rules! connector_j {
    ($version:literal, $jars:expr) => {
        [
            Real {
                name: concat!("real-cj-", $version),
                profile: concat!("cj-", $version),
                properties: &[],
                runtime: Runtime::Java($jars),
            },
            Real {
                name: concat!("real-cj-", $version, "-cached"),
                profile: concat!("cj-", $version, "-cached"),
                properties: CACHED,
                runtime: Runtime::Java($jars),
            },
            Real {
                name: concat!("real-cj-", $version, "-rewrite"),
                profile: concat!("cj-", $version, "-rewrite"),
                properties: &[("rewriteBatchedStatements", "true")],
                runtime: Runtime::Java($jars),
            },
        ]
    };
}

const CONNECTOR_J: [[Real; 3]; 4] = [
    connector_j!("5.1.49", &["5.1.49.jar", "mysql-connector-java-5.1.49.jar"]),
    connector_j!("8.0.22", &["8.0.22.jar", "mysql-connector-java-8.0.22.jar"]),
    connector_j!("8.0.33", &["8.0.33.jar", "mysql-connector-j-8.0.33.jar"]),
    connector_j!("8.3.0", &["8.3.0.jar", "mysql-connector-j-8.3.0.jar"]),
];

static REALS: &[Real] = &{
    let [[a, b, i], [c, d, j], [e, f, k], [g, h, l]] = CONNECTOR_J;
    [
        a,
        b,
        i,
        c,
        d,
        j,
        e,
        f,
        k,
        g,
        h,
        l,
        Real {
            name: "real-mariadb-java",
            profile: "mariadb-java",
            properties: &[],
            runtime: Runtime::Java(&["mariadb-java-client-3.5.6.jar", "mariadb-java-client.jar"]),
        },
        Real { name: "real-go-sql-driver", profile: "go-sql-driver", properties: &[], runtime: Runtime::Go },
        Real { name: "real-pymysql", profile: "pymysql", properties: &[], runtime: Runtime::Python },
        Real { name: "real-mysql2", profile: "mysql2", properties: &[], runtime: Runtime::Node },
    ]
};

impl Real {
    /// The real driver of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Real> {
        REALS.iter().find(|real| real.name == name)
    }

    /// All.
    #[must_use]
    pub fn all() -> &'static [Real] {
        REALS
    }

    /// Its shim hands rows to the driver's own batch.
    pub(crate) fn has_batches(&self) -> bool {
        matches!(self.runtime, Runtime::Java(_)) && self.name.starts_with("real-cj-")
    }

    /// How it is started, and a key: the same for drivers that one process can serve.
    ///
    /// # Errors
    /// What is missing, and how to get it.
    pub(crate) fn command(&self) -> Result<(String, Command), String> {
        let (key, mut command) = match self.runtime {
            Runtime::Java(names) => {
                let jar = find_jar(names, std::env::var_os(JARS_VARIABLE))?;
                let mut command = Command::new("java");
                command.arg("-cp").arg(&jar).arg(put_source(&folder()?, "Shim.java", JAVA)?);
                (jar.display().to_string(), command)
            }
            Runtime::Go => ("go".to_owned(), Command::new(build_go()?)),
            Runtime::Python => {
                let mut command =
                    Command::new(std::env::var_os(PYTHON_VARIABLE).unwrap_or_else(|| "python3".into()));
                command.arg(put_source(&folder()?, "shim.py", PYTHON)?);
                ("python".to_owned(), command)
            }
            Runtime::Node => {
                let mut command = Command::new("node");
                command.arg(put_source(&folder()?, "shim.js", NODE)?);
                if let Some(modules) = std::env::var_os(NODE_VARIABLE) {
                    command.env("NODE_PATH", modules);
                }
                ("node".to_owned(), command)
            }
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Ok((key, command))
    }
}

/// Builds the Go shim where that was not done yet.
fn build_go() -> Result<PathBuf, String> {
    let folder = folder()?.join("go");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for (name, text) in [("shim.go", GO), ("go.mod", GO_MODULE), ("go.sum", GO_SUMS)] {
        put_source(&folder, name, text)?;
    }
    // Go itself sees that nothing changed.
    let built = Command::new("go").args(["build", "-o", "shim", "."]).current_dir(&folder).output();
    match built {
        Ok(output) if output.status.success() => Ok(folder.join("shim")),
        Ok(output) => Err(format!("go build: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err("go is not installed".to_owned()),
        Err(error) => Err(format!("go build: {error}")),
    }
}

fn find_jar(names: &[&str], folders: Option<OsString>) -> Result<PathBuf, String> {
    let Some(folders) = folders else {
        return Err(format!("set {JARS_VARIABLE} to the folder that {} lies in", names[0]));
    };
    let all: Vec<PathBuf> = std::env::split_paths(&folders).collect();
    all.iter()
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
        .find(|path| path.is_file())
        .ok_or_else(|| {
            format!("no {} in {JARS_VARIABLE}={}", names.join(" or "), Path::new(&folders).display())
        })
}

/// Where sources are written.
fn folder() -> Result<PathBuf, String> {
    let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = of(CACHE_VARIABLE)
        .or_else(|| of("XDG_CACHE_HOME").map(|path| path.join("invar/lab")))
        .or_else(|| of("HOME").map(|path| path.join(".cache/invar/lab")))
        .ok_or_else(|| format!("no place for the shims: set {CACHE_VARIABLE}"))?;
    let folder = base.join("shims");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

/// Writes a source where it is not there yet; a reader never sees a half of it.
fn put_source(folder: &Path, name: &str, text: &str) -> Result<PathBuf, String> {
    let path = folder.join(name);
    if std::fs::read_to_string(&path).is_ok_and(|found| found == text) {
        return Ok(path);
    }
    let new = path.with_file_name(format!("{}-{name}", std::process::id()));
    std::fs::write(&new, text)
        .and_then(|()| std::fs::rename(&new, &path))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_real_driver_has_a_name_of_its_own() {
        let mut names: Vec<&str> = Real::all().iter().map(|real| real.name).collect();
        assert!(names.iter().all(|name| name.starts_with("real-")), "{names:?}");
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn a_missing_jar_is_told_with_what_to_do() {
        let why = find_jar(&["8.3.0.jar"], None).unwrap_err();
        assert!(why.contains(JARS_VARIABLE) && why.contains("8.3.0.jar"), "{why}");
        let folder = tempfile::tempdir().unwrap();
        let folders = || Some(std::env::join_paths([Path::new("/nowhere"), folder.path()]).unwrap());
        assert!(find_jar(&["a.jar", "b.jar"], folders()).unwrap_err().contains("a.jar or b.jar"));
        std::fs::write(folder.path().join("b.jar"), "").unwrap();
        assert_eq!(find_jar(&["a.jar", "b.jar"], folders()).unwrap(), folder.path().join("b.jar"));
    }
}
