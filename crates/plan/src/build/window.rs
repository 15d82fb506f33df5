//! Windows: the order in which their rows come, and whether it has to be made.

use super::{Builder, Needed};
use crate::cost;
use crate::expr::{ColumnId, Expr};
use crate::logical::{Logical, SortKey, WindowCall};
use crate::physical::{Node, Op};

impl Builder<'_> {
    /// The rows of `input` with the values of window functions, in the order of the window.
    pub(super) fn window(
        &mut self,
        input: &Logical,
        partition: &[Expr],
        order: &[SortKey],
        calls: &[(ColumnId, WindowCall)],
        needed: &Needed,
    ) -> Node {
        let kept: Vec<&(ColumnId, WindowCall)> = calls.iter().filter(|(id, _)| needed.has(*id)).collect();
        let mut inner = needed.clone();
        calls.iter().for_each(|(id, _)| inner.remove(*id));
        if kept.is_empty() {
            return self.build(input, &inner);
        }
        partition.iter().for_each(|expr| inner.add_expr(expr));
        order.iter().for_each(|key| inner.add_expr(&key.expr));
        kept.iter().flat_map(|(_, call)| call.exprs()).for_each(|expr| inner.add_expr(expr));
        let keys = window_keys(partition, order);
        let node = if keys.is_empty() || gives_order(input, &keys, &inner) {
            self.build(input, &inner)
        } else {
            self.sort(input, &keys, None, &inner)
        };
        let columns = node.columns.clone();
        let mut translated = Vec::with_capacity(kept.len());
        for (_, call) in &kept {
            let mut call = call.clone();
            call.exprs_mut().for_each(|expr| *expr = self.translate_one(expr, &columns));
            translated.push(call);
        }
        let op_partition = self.translate(partition, &columns);
        let op_order = self.translate_keys(order, &columns);
        let (rows, cost) = (node.rows, node.cost + node.rows * cost::WINDOW * kept.len() as f64);
        let output = columns.into_iter().chain(kept.iter().map(|(id, _)| *id)).collect();
        let op =
            Op::Window { input: Box::new(node), partition: op_partition, order: op_order, calls: translated };
        self.node(op, output, rows, cost)
    }
}

/// What the rows of a window are sorted by.
fn window_keys(partition: &[Expr], order: &[SortKey]) -> Vec<SortKey> {
    let partition = partition.iter().map(|expr| SortKey { expr: expr.clone(), descending: false });
    let mut keys: Vec<SortKey> = Vec::new();
    for key in partition.chain(order.iter().cloned()) {
        // A key that came before cannot order again.
        if !keys.iter().any(|other| other.expr == key.expr) {
            keys.push(key);
        }
    }
    keys
}

/// Whether the rows of a tree come in this order because a window needs it.
pub(super) fn gives_order(tree: &Logical, keys: &[SortKey], needed: &Needed) -> bool {
    match tree {
        Logical::Window { input, partition, order, calls } => {
            let is_made = calls.iter().any(|(id, _)| needed.has(*id));
            is_made && window_keys(partition, order).starts_with(keys)
                || gives_order_below(tree, input, keys, needed)
        }
        _ => false,
    }
}

/// A window that sorts nothing keeps the order of the one below it.
fn gives_order_below(tree: &Logical, input: &Logical, keys: &[SortKey], needed: &Needed) -> bool {
    let Logical::Window { partition, order, .. } = tree else { return false };
    let own = window_keys(partition, order);
    (own.is_empty() || gives_order(input, &own, needed)) && gives_order(input, keys, needed)
}
