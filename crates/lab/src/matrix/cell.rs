//! The arms of a run: every combination of the levels of its axes.

use std::collections::BTreeMap;

use client::{Options, Tls};

use crate::drivers::Sender;
use crate::evidence::Arm;
use crate::matrix::design::{self, Fraction};
use crate::scenario::{Design, Protocol, Scenario, ScenarioError, VARIANT_DEFAULT, Work};

/// Most arms of one run.
const ARMS_MAX: usize = 4_096;
/// Most combinations that a fraction is taken of.
const COMBINATIONS_MAX: usize = 1 << 20;

/// What the user picked of a scenario's axes; an empty list is all of it.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Values of the scale.
    pub scale: Vec<u64>,
    /// Variants.
    pub variants: Vec<String>,
    /// Driver profiles, also ones the scenario does not name.
    pub drivers: Vec<String>,
    /// Protocols.
    pub protocols: Vec<Protocol>,
    /// Connections.
    pub connections: Vec<u32>,
}

/// An arm with what it does.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) arm: Arm,
    pub(crate) server: usize,
    pub(crate) work: Work,
    pub(crate) sender: Sender,
    has_tls: bool,
    is_compressed: bool,
    /// SQL for each of its sessions.
    pub(crate) session: Vec<String>,
    /// Global variables while it runs.
    pub(crate) global: Vec<(String, String)>,
}

impl Cell {
    /// Sets how its connections under load travel: as the arm says, else in the clear.
    pub(crate) fn wrap(&self, options: &mut Options) {
        options.compress = self.is_compressed;
        if self.has_tls {
            options.tls = Tls::Required(client::unverified_tls());
        }
    }
}

/// Levels of one axis: its name, and the texts.
type Levels = (String, Vec<String>);

/// All combinations, the first axis slowest; names say only what varies.
pub(crate) fn cells(
    scenario: &Scenario,
    servers: &[String],
    choice: &Choice,
    allow_global: bool,
) -> Result<Vec<Cell>, String> {
    let axes = axes(scenario, choice, allow_global)?;
    let part = Part::new(scenario, &axes)?;
    let combinations: usize = axes
        .iter()
        .try_fold(1, |all: usize, (_, levels)| all.checked_mul(levels.len()))
        .unwrap_or(usize::MAX);
    if combinations > COMBINATIONS_MAX {
        return Err(format!("{combinations} combinations are too many; at most {COMBINATIONS_MAX}"));
    }
    let running = (0..combinations).filter(|&combination| part.has(&axes, combination)).count();
    if running.saturating_mul(servers.len()) > ARMS_MAX {
        return Err(format!(
            "{running} combinations on {} servers are too many arms; at most {ARMS_MAX}",
            servers.len()
        ));
    }
    let mut cells = Vec::new();
    for (index, server) in servers.iter().enumerate() {
        for combination in (0..combinations).filter(|&combination| part.has(&axes, combination)) {
            let mut left = combination;
            let mut levels = BTreeMap::from([("server".to_owned(), server.clone())]);
            let mut name = vec![server.clone()];
            // From the last axis back, so that the last runs fastest.
            let mut picked: Vec<(&str, &str)> = Vec::new();
            for (axis, all) in axes.iter().rev() {
                picked.push((axis, &all[left % all.len()]));
                left /= all.len();
            }
            picked.reverse();
            for (axis, level) in &picked {
                levels.insert((*axis).to_owned(), (*level).to_owned());
                if axes.iter().any(|(other, all)| other == axis && all.len() > 1) {
                    name.push(match *axis {
                        "driver" | "protocol" | "variant" => (*level).to_owned(),
                        axis => format!("{}={level}", axis.rsplit('.').next().unwrap_or(axis)),
                    });
                }
            }
            cells.push(
                cell(scenario, index, name.join("/"), levels, &picked).map_err(|error| error.to_string())?,
            );
        }
    }
    Ok(cells)
}

/// What a design that leaves combinations out cannot tell, a line each; nothing for a full one.
pub(crate) fn limits_of_design(
    scenario: &Scenario,
    choice: &Choice,
    allow_global: bool,
) -> Result<Vec<String>, String> {
    let axes = axes(scenario, choice, allow_global)?;
    let part = Part::new(scenario, &axes)?;
    let Some(resolution) = part.fraction.as_ref().and_then(Fraction::resolution) else {
        return Ok(Vec::new());
    };
    let names: Vec<&str> = part.places.iter().map(|&place| axes[place].0.as_str()).collect();
    let effect = |bits: u32| -> String {
        let of: Vec<&str> =
            names.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, name)| *name).collect();
        of.join(" x ")
    };
    let combinations = 1usize << names.len();
    let running = (0..combinations as u32).filter(|&levels| part.has_levels(levels)).count();
    let mut lines = vec![format!(
        "fractional design: {running} of {combinations} combinations of {} run, resolution {resolution}",
        names.join(", ")
    )];
    for group in part.fraction.iter().flat_map(Fraction::aliases) {
        let group: Vec<String> = group.into_iter().map(effect).collect();
        lines.push(format!("cannot be distinguished by this design: {}", group.join(" = ")));
    }
    Ok(lines)
}

/// Which combinations run.
struct Part {
    /// Of the axes with two levels.
    fraction: Option<Fraction>,
    /// Places of these axes among all.
    places: Vec<usize>,
}

impl Part {
    fn new(scenario: &Scenario, axes: &[Levels]) -> Result<Part, String> {
        let Design::Fractional { resolution } = scenario.axes.design else {
            return Ok(Part { fraction: None, places: Vec::new() });
        };
        let is_scale = |name: &str| scenario.scale.as_ref().is_some_and(|scale| scale.name == name);
        let places: Vec<usize> = axes
            .iter()
            .enumerate()
            .filter(|(_, (name, levels))| levels.len() == 2 && !is_scale(name))
            .map(|(place, _)| place)
            .collect();
        if places.len() > design::AXES_MAX {
            return Err(format!(
                "{} axes of two levels; a fractional design takes at most {}",
                places.len(),
                design::AXES_MAX
            ));
        }
        Ok(Part { fraction: Some(Fraction::new(places.len(), resolution)), places })
    }

    fn has_levels(&self, levels: u32) -> bool {
        self.fraction.as_ref().is_none_or(|fraction| fraction.has(levels))
    }

    /// Whether combination number `combination` runs; the last axis is fastest.
    fn has(&self, axes: &[Levels], combination: usize) -> bool {
        let mut left = combination;
        let mut levels = 0;
        for (place, (_, all)) in axes.iter().enumerate().rev() {
            if let Some(bit) = self.places.iter().position(|&other| other == place) {
                levels |= ((left % all.len()) as u32) << bit;
            }
            left /= all.len();
        }
        self.has_levels(levels)
    }
}

fn axes(scenario: &Scenario, choice: &Choice, allow_global: bool) -> Result<Vec<Levels>, String> {
    let mut axes: Vec<Levels> = Vec::new();
    let pick = |what: &str, chosen: &[String], all: &[String]| -> Result<Vec<String>, String> {
        match chosen.iter().find(|one| !all.contains(one)) {
            Some(unknown) => Err(format!("unknown {what} '{unknown}'; expected one of: {}", all.join(", "))),
            None if chosen.is_empty() => Ok(all.to_vec()),
            None => Ok(chosen.to_vec()),
        }
    };
    axes.push(("variant".to_owned(), pick("variant", &choice.variants, &scenario.variants)?));
    let drivers =
        if choice.drivers.is_empty() { scenario.axes.driver.clone() } else { choice.drivers.clone() };
    let names: Vec<String> = Sender::names().iter().map(|&name| name.to_owned()).collect();
    let drivers = if drivers.is_empty() { vec!["native".to_owned()] } else { drivers };
    axes.push(("driver".to_owned(), pick("driver", &drivers, &names)?));
    let protocols = if choice.protocols.is_empty() { &scenario.axes.protocol } else { &choice.protocols };
    if !protocols.is_empty() {
        axes.push(("protocol".to_owned(), protocols.iter().map(|&one| word(one).to_owned()).collect()));
    }
    if choice.protocols.is_empty() {
        let words = scenario.axes.use_server_prep.iter().map(ToString::to_string).collect();
        axes.push(("use_server_prep".to_owned(), words));
    }
    for (name, values) in [("tls", &scenario.axes.tls), ("compression", &scenario.axes.compression)] {
        axes.push((name.to_owned(), values.iter().map(|value| value.word().to_owned()).collect()));
    }
    for (name, values) in &scenario.axes.session {
        axes.push((format!("session.{name}"), values.clone()));
    }
    if allow_global {
        for (name, values) in &scenario.axes.global {
            axes.push((format!("global.{name}"), values.clone()));
        }
    }
    let connections =
        if choice.connections.is_empty() { &scenario.axes.connections } else { &choice.connections };
    if !connections.is_empty() {
        axes.push(("connections".to_owned(), connections.iter().map(ToString::to_string).collect()));
    }
    if let Some(scale) = &scenario.scale {
        let chosen = if choice.scale.is_empty() { &scale.values } else { &choice.scale };
        axes.push((scale.name.clone(), chosen.iter().map(ToString::to_string).collect()));
    } else if !choice.scale.is_empty() {
        return Err(format!("scenario {} has no scale", scenario.id));
    }
    axes.retain(|(_, levels)| !levels.is_empty());
    Ok(axes)
}

pub(crate) fn word(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Auto => "auto",
        Protocol::Text => "text",
        Protocol::Prepared => "prepared",
    }
}

fn cell(
    scenario: &Scenario,
    server: usize,
    name: String,
    levels: BTreeMap<String, String>,
    picked: &[(&str, &str)],
) -> Result<Cell, ScenarioError> {
    let level = |axis: &str| picked.iter().find(|(name, _)| *name == axis).map(|(_, level)| *level);
    let scale: Option<u64> =
        scenario.scale.as_ref().and_then(|scale| level(&scale.name)).and_then(|level| level.parse().ok());
    let mut work = scenario.work(scale, level("variant").unwrap_or(VARIANT_DEFAULT))?;
    if let Some(protocol) = level("protocol") {
        work.op.protocol = match protocol {
            "text" => Protocol::Text,
            "prepared" => Protocol::Prepared,
            _ => Protocol::Auto,
        };
    }
    match level("use_server_prep") {
        Some("true") => work.op.protocol = Protocol::Prepared,
        Some(_) => work.op.protocol = Protocol::Text,
        None => {}
    }
    // An axis of this name is the scale where the scenario scales by connections.
    if scenario.scale.as_ref().is_none_or(|scale| scale.name != "connections")
        && let Some(connections) = level("connections").and_then(|level| level.parse().ok())
    {
        work.load.connections = connections;
    }
    let sender = level("driver").and_then(Sender::named).unwrap_or(Sender::native());
    let values = |prefix: &str| -> Vec<(String, String)> {
        let of =
            |(axis, level): &(&str, &str)| Some((axis.strip_prefix(prefix)?.to_owned(), (*level).to_owned()));
        picked.iter().filter_map(of).collect()
    };
    let session =
        values("session.").into_iter().map(|(name, value)| format!("SET SESSION {name} = {value}")).collect();
    let arm = Arm {
        name,
        server: levels["server"].clone(),
        driver: sender.name().to_owned(),
        levels,
        scale,
        connections: work.load.connections,
        idle_connections: work.load.idle_connections,
        same_as: None,
    };
    let is_on = |axis| level(axis) == Some("on");
    Ok(Cell {
        arm,
        server,
        work,
        sender,
        has_tls: is_on("tls"),
        is_compressed: is_on("compression"),
        session,
        global: values("global."),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario() -> Scenario {
        Scenario::parse(crate::scenario::shipped::named("incident-1-prepared-bulk-insert").unwrap()).unwrap()
    }

    #[test]
    fn every_combination_is_an_arm_and_names_say_what_varies() {
        let servers = ["old".to_owned(), "new".to_owned()];
        let choice = Choice { scale: vec![125, 500], ..Choice::default() };
        let found = cells(&scenario(), &servers, &choice, false).unwrap();
        let names: Vec<&str> = found.iter().map(|cell| cell.arm.name.as_str()).collect();
        assert_eq!(names[..3], ["old/prepared/rows=125", "old/prepared/rows=500", "old/text/rows=125"]);
        assert_eq!(names.len(), 8);
        assert_eq!(found[1].work.op.statements[0].placeholders.len(), 500 * 23);
        assert_eq!(found[2].work.op.protocol, Protocol::Text);
        assert_eq!((found[7].arm.scale, found[7].server), (Some(500), 1));
        let with_global = cells(&scenario(), &servers, &choice, true).unwrap();
        assert_eq!(with_global.len(), 16);
        assert_eq!(with_global[0].global, [("slow_query_log".to_owned(), "ON".to_owned())]);
        assert_eq!(with_global[0].arm.name, "old/prepared/slow_query_log=ON/rows=125");
    }

    #[test]
    fn a_fraction_runs_the_same_part_on_every_server_and_says_what_it_mixes() {
        let mut scenario = scenario();
        scenario.axes.session = [
            ("sort_buffer_size".to_owned(), vec!["32768".to_owned(), "262144".to_owned()]),
            ("sql_select_limit".to_owned(), vec!["1".to_owned(), "10".to_owned()]),
        ]
        .into();
        let servers = ["old".to_owned(), "new".to_owned()];
        let full = cells(&scenario, &servers, &Choice::default(), true).unwrap().len();
        scenario.axes.design = Design::Fractional { resolution: 4 };
        // Protocol, two session variables and a global one: half of 16, at four sizes, on two servers.
        let some = cells(&scenario, &servers, &Choice::default(), true).unwrap();
        assert_eq!((full, some.len()), (128, 64));
        let levels = |server: &str| -> Vec<BTreeMap<String, String>> {
            let mut found: Vec<_> = some
                .iter()
                .filter(|cell| cell.arm.server == server)
                .map(|cell| cell.arm.levels.clone())
                .collect();
            found.iter_mut().for_each(|levels| drop(levels.remove("server")));
            found
        };
        assert_eq!(levels("old"), levels("new"), "each arm has its counterpart");
        let lines = limits_of_design(&scenario, &Choice::default(), true).unwrap();
        assert!(lines[0].contains("8 of 16 combinations") && lines[0].ends_with("resolution 4"), "{lines:?}");
        assert!(
            lines[1].contains(
                "protocol x session.sort_buffer_size = session.sql_select_limit x global.slow_query_log"
            ),
            "{lines:?}"
        );
        // Too few axes for a fraction of this resolution: all run, and nothing is mixed.
        assert!(limits_of_design(&scenario, &Choice::default(), false).unwrap().is_empty());
    }

    #[test]
    fn connections_are_prepared_and_wrapped_as_the_arm_says() {
        let text = scenario().text.replace(
            r#"protocol = ["prepared", "text"]"#,
            "use_server_prep = [true, false]\ntls = [\"off\", \"on\"]\ncompression = [\"on\"]\n\
             driver = [\"real-cj-8.3.0\"]",
        );
        let scenario = Scenario::parse(&text).unwrap();
        let choice = Choice { scale: vec![125], ..Choice::default() };
        let found = cells(&scenario, &["a".to_owned()], &choice, false).unwrap();
        let names: Vec<&str> = found.iter().map(|cell| cell.arm.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "a/use_server_prep=true/tls=off",
                "a/use_server_prep=true/tls=on",
                "a/use_server_prep=false/tls=off",
                "a/use_server_prep=false/tls=on"
            ]
        );
        assert_eq!(found[0].work.op.protocol, Protocol::Prepared);
        assert_eq!(found[3].work.op.protocol, Protocol::Text);
        assert_eq!(found[3].arm.driver, "real-cj-8.3.0");
        let mut options = Options::from_url("mysql://u@h").unwrap();
        found[2].wrap(&mut options);
        assert!(options.compress && matches!(options.tls, Tls::Off));
        found[3].wrap(&mut options);
        assert!(matches!(options.tls, Tls::Required(_)));
        let both = text.replace("use_server_prep", "protocol = [\"text\"]\nuse_server_prep");
        assert!(Scenario::parse(&both).unwrap_err().to_string().contains("say the same"));
    }

    #[test]
    fn a_choice_that_is_none_says_what_there_is() {
        let servers = ["a".to_owned()];
        let of = |choice| cells(&scenario(), &servers, &choice, false).map(|_| ()).unwrap_err();
        assert!(of(Choice { variants: vec!["x".into()], ..Choice::default() }).contains("one of: op"));
        assert!(of(Choice { drivers: vec!["odbc".into()], ..Choice::default() }).contains("one of: native"));
    }
}
