//! The operations, a module for each layer. A name is `layer.operation`; the work of each is what its name says and no more
//! than what it cannot do without.

mod exec;
mod plan;
mod session;
mod store;
mod syntax;
mod table;
mod types;
mod wire;

use crate::count::Counter;

/// A layer's name and what prepares and counts its operations.
type Layer = (&'static str, fn(&mut Counter));

/// The layers, by the first part of their operations' names.
pub(crate) const LAYERS: [Layer; 8] = [
    ("types", types::count),
    ("syntax", syntax::count),
    ("wire", wire::count),
    ("store", store::count),
    ("table", table::count),
    ("plan", plan::count),
    ("exec", exec::count),
    ("session", session::count),
];

/// Runs the operations of a layer; says first which features the processor has.
pub(crate) fn count(layer: &str, counter: &mut Counter) {
    println!("{}", crate::valgrind::features());
    if let Some((name, count)) = LAYERS.iter().find(|(name, _)| *name == layer)
        && counter.wants(name)
    {
        count(counter);
    }
}
