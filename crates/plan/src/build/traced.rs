//! Access paths and join methods in a trace of the optimizer.

use crate::cost;
use crate::document::{Document, Members};
use crate::logical::TableIndex;
use crate::trace;

use super::Builder;
use super::access::Candidate;
use super::join::{Way, Ways};

impl Builder<'_> {
    /// The ways to read a table, with what each costs where the required order is made up for.
    #[cold]
    pub(super) fn trace_access(
        &self,
        table: TableIndex,
        candidates: &[Candidate],
        costs: &[f64],
        best: usize,
    ) {
        let bound = &self.bound.tables[table.0 as usize];
        let path = |(at, candidate): (usize, &Candidate)| {
            let access = &candidate.access;
            let ranges = access.ranges.as_ref();
            let is_equal = ranges.is_some_and(|ranges| {
                ranges.len() == 1 && ranges.iter().all(|range| range.lower.is_none() && range.upper.is_none())
            });
            let access_type = match (access.index, ranges) {
                (_, Some(_)) if is_equal => "ref",
                (_, Some(_)) => "range",
                (Some(_), None) => "index",
                (None, None) => "scan",
            };
            let mut members: Members = vec![("access_type", access_type.into())];
            if let Some(index) = access.index {
                members.push(("index", bound.entry.definition.indexes[index].name.to_string().into()));
            }
            if let Some(ranges) = ranges {
                members.push(("ranges", Document::Count(ranges.len() as u64)));
                members.push(("index_dives", candidate.dived.into()));
            }
            members.extend([
                ("index_only", access.covering.into()),
                ("provides_order", candidate.ordered.into()),
                ("rows", Document::number(candidate.rows)),
                ("cost", Document::number(cost::shown(candidate.cost))),
                ("cost_in_order", Document::number(cost::shown(costs[at]))),
                ("chosen", (at == best).into()),
            ]);
            Document::Object(members)
        };
        trace::add(|| {
            let paths = candidates.iter().enumerate().map(path).collect();
            let paths = Document::Object(vec![("considered_access_paths", Document::List(paths))]);
            let name = format!("`{}`", bound.alias);
            if self.bound.tables.len() == 1 {
                let plan = vec![
                    ("plan_prefix", Document::List(Vec::new())),
                    ("table", name.into()),
                    ("best_access_path", paths),
                    ("rows_for_plan", Document::number(candidates[best].rows)),
                    ("cost_for_plan", Document::number(cost::shown(costs[best]))),
                    ("chosen", true.into()),
                ];
                return vec![("considered_execution_plans", Document::List(vec![Document::Object(plan)]))];
            }
            let table = vec![
                ("table", name.into()),
                ("table_rows", Document::number(self.table_rows(table))),
                ("best_access_path", paths),
            ];
            vec![("rows_estimation", Document::List(vec![Document::Object(table)]))]
        });
    }

    /// The ways to join a table.
    #[cold]
    pub(super) fn trace_join(&self, table: TableIndex, ways: &Ways, chosen: Way) {
        trace::add(|| {
            let way = |name: &'static str, way: Way, cost: Option<f64>| {
                let cost = cost.map(|cost| Document::number(cost::shown(cost)))?;
                let members = vec![("join", name.into()), ("cost", cost), ("chosen", (way == chosen).into())];
                Some(Document::Object(members))
            };
            let considered = [
                way("lookup", Way::Lookup, ways.lookups_cost()),
                way("hash join", Way::Hash, ways.hash_cost()),
                way("nested loop", Way::Loop, Some(ways.loop_cost())),
            ];
            let join = vec![
                ("table", format!("`{}`", self.bound.tables[table.0 as usize].alias).into()),
                ("rows_for_plan", Document::number(ways.left_rows)),
                ("considered_joins", Document::List(considered.into_iter().flatten().collect())),
            ];
            vec![("join_algorithm", Document::Object(join))]
        });
    }
}
