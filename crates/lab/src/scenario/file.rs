//! The file as it is written: what `serde` reads, before names are looked up and templates are spread.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use crate::drivers::Protocol;

/// A number, or the name of a size.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Number {
    Is(i64),
    Named(String),
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = Number;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number or the name of a size in quotes")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Number, E> {
                Ok(Number::Is(number))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Number, E> {
                i64::try_from(number).map(Number::Is).map_err(|_| E::custom("the number is too large"))
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<Number, E> {
                Ok(Number::Named(name.to_owned()))
            }
        }
        deserializer.deserialize_any(Read)
    }
}

/// How a cell or a parameter is made: exactly one of the kinds, and what goes with it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FileFill {
    pub(crate) serial: Option<i64>,
    pub(crate) uniform: Option<[Number; 2]>,
    pub(crate) decimals: Option<u32>,
    pub(crate) previous_plus: Option<i64>,
    pub(crate) digits: Option<Number>,
    pub(crate) text: Option<Number>,
    pub(crate) datetime_days: Option<Number>,
    pub(crate) pick: Option<Vec<String>>,
    pub(crate) constant: Option<String>,
    pub(crate) null_share: Option<f64>,
    pub(crate) repeat: Option<Number>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileColumn {
    pub(crate) name: Spanned<String>,
    #[serde(rename = "type")]
    pub(crate) sql_type: String,
    /// Absent: the server fills it (AUTO_INCREMENT, DEFAULT).
    pub(crate) fill: Option<Spanned<FileFill>>,
    pub(crate) repeat: Option<Number>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileTable {
    pub(crate) name: Spanned<String>,
    pub(crate) columns: Vec<FileColumn>,
    #[serde(default)]
    pub(crate) keys: Vec<String>,
    pub(crate) rows: Spanned<Number>,
    pub(crate) row_format: Option<String>,
    pub(crate) charset: Option<String>,
    pub(crate) engine: Option<String>,
}

/// Whether something of the connection is on.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum OnOff {
    /// It is.
    On,
    /// It is not.
    Off,
}

impl OnOff {
    /// As scenarios have it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            OnOff::On => "on",
            OnOff::Off => "off",
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileStatement {
    pub(crate) sql: Spanned<String>,
    #[serde(default)]
    pub(crate) params: Vec<Spanned<FileFill>>,
    pub(crate) repeat: Option<Spanned<Number>>,
    pub(crate) share: Option<Spanned<Number>>,
    pub(crate) batch: Option<Spanned<Number>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileOp {
    #[serde(default)]
    pub(crate) transaction: bool,
    #[serde(default)]
    pub(crate) protocol: Protocol,
    pub(crate) statement: Spanned<Vec<FileStatement>>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FileMode {
    Closed,
    Open,
}

/// How arrivals of an open loop are spaced.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// All the same distance.
    Constant,
    /// As independent users come.
    #[default]
    Poisson,
    /// From nothing to twice the rate, evenly.
    Ramp,
    /// Ten times the rate in the middle tenth of the block, the rest even; the mean is the rate.
    Spike,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileLoad {
    pub(crate) mode: Spanned<FileMode>,
    pub(crate) rate: Option<Spanned<f64>>,
    pub(crate) arrivals: Option<Arrivals>,
    pub(crate) max_in_flight: Option<Spanned<Number>>,
    pub(crate) connections: Option<Spanned<Number>>,
    pub(crate) threads: Option<Spanned<Number>>,
    pub(crate) idle_connections: Option<Spanned<Number>>,
    pub(crate) idle_statement: Option<Spanned<String>>,
    pub(crate) block_ms: Option<Spanned<Number>>,
    pub(crate) block_operations: Option<Spanned<Number>>,
    pub(crate) warmup_operations: Option<Spanned<Number>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FileAxes {
    pub(crate) design: Option<Spanned<String>>,
    pub(crate) resolution: Option<Spanned<i64>>,
    pub(crate) driver: Vec<Spanned<String>>,
    pub(crate) protocol: Vec<Protocol>,
    pub(crate) connections: Vec<u32>,
    pub(crate) use_server_prep: Option<Spanned<Vec<bool>>>,
    pub(crate) tls: Vec<OnOff>,
    pub(crate) compression: Vec<OnOff>,
    pub(crate) session: BTreeMap<String, Vec<String>>,
    pub(crate) global: BTreeMap<String, Vec<String>>,
}

/// What is probed in passes of their own.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Probes {
    /// Functions whose calls are counted, by demangled name.
    pub count: Vec<String>,
    /// Functions whose time is put into a histogram.
    pub hist: Vec<String>,
    /// `cpu-clock:499`: what is sampled, and how often a second.
    pub profile: Option<String>,
}

/// What the scenario is known to show, to test the lab with.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// Entry of the knowledge base.
    pub verdict: Option<String>,
    /// Layer.
    pub layer: Option<String>,
    /// Slow arm over fast arm, at least.
    pub min_ratio: Option<f64>,
}

/// Something to change on the slow arm, to see whether the slowness goes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileIntervention {
    pub(crate) what: String,
    pub(crate) op: Option<FileOp>,
    pub(crate) variant: Option<Spanned<String>>,
    pub(crate) protocol: Option<Protocol>,
    pub(crate) driver: Option<Spanned<String>>,
    pub(crate) connections: Option<u32>,
    pub(crate) idle_connections: Option<u32>,
    #[serde(default)]
    pub(crate) session: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) global: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) apply: Vec<Spanned<String>>,
    #[serde(default)]
    pub(crate) undo: Vec<Spanned<String>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    pub(crate) id: Spanned<String>,
    pub(crate) claim: String,
    pub(crate) about: Option<String>,
    #[serde(default)]
    pub(crate) seed: u64,
    #[serde(default)]
    pub(crate) compare_results: bool,
    #[serde(default)]
    pub(crate) setup: Vec<Spanned<String>>,
    #[serde(default)]
    pub(crate) session: Vec<Spanned<String>>,
    #[serde(default)]
    pub(crate) between: Vec<Spanned<String>>,
    #[serde(default)]
    pub(crate) hold: Vec<Spanned<String>>,
    #[serde(default)]
    pub(crate) sizes: BTreeMap<String, i64>,
    pub(crate) scale: Option<Spanned<BTreeMap<String, Vec<i64>>>>,
    #[serde(default)]
    pub(crate) table: Vec<FileTable>,
    pub(crate) op: FileOp,
    #[serde(default)]
    pub(crate) variants: BTreeMap<String, FileOp>,
    pub(crate) load: FileLoad,
    #[serde(default)]
    pub(crate) axes: FileAxes,
    #[serde(default)]
    pub(crate) intervention: Vec<FileIntervention>,
    #[serde(default)]
    pub(crate) probes: Probes,
    #[serde(default)]
    pub(crate) expect: Expect,
}
