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

/// Leaves free blocks in the data file: an operation that makes a page counts the page, not how the simulated disk makes its file longer.
fn leave_free_blocks(store: &::store::Store) {
    // Two in a page.
    const RECORDS: u32 = 2_000;
    let mut txn = store.begin();
    let tree = txn.create_tree().expect("create");
    txn.commit().expect("commit");
    let handle = store.tree(tree).expect("a tree");
    for number in 0..RECORDS {
        let mut txn = store.begin();
        txn.insert(&handle, &number.to_be_bytes(), &[0; 4_000], ::store::LockWait::Nowait).expect("insert");
        txn.commit().expect("commit");
    }
    let mut txn = store.begin();
    txn.drop_tree(tree, ::store::LockWait::Nowait).expect("drop");
    txn.commit().expect("commit");
    store.checkpoint_now().expect("checkpoint");
    while store.purge_tick().expect("purge") {}
    store.checkpoint_now().expect("checkpoint");
}

/// Runs the operations of a layer; says first which features the processor has.
pub(crate) fn count(layer: &str, counter: &mut Counter) {
    println!("{}", crate::processor::features());
    if let Some((name, count)) = LAYERS.iter().find(|(name, _)| *name == layer)
        && counter.wants(name)
    {
        count(counter);
    }
}
