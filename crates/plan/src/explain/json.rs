//! FORMAT=JSON, version 2: the steps as a document.

use super::step::Step;
use crate::document::{Document, Members};
use crate::physical::{PhysicalPlan, PlanKind};

/// The steps as a document. `query`: the statement.
pub(super) fn print(plan: &PhysicalPlan, root: Step, query: &str) -> String {
    let query_type = match &plan.kind {
        PlanKind::Query(_) | PlanKind::Do(_) => "select",
        PlanKind::Insert(insert) => {
            if insert.replace {
                "replace"
            } else {
                "insert"
            }
        }
        PlanKind::Update(_) => "update",
        PlanKind::Delete(_) => "delete",
    };
    let mut whole = Document::Object(vec![
        ("query", query.into()),
        ("query_plan", document(root)),
        ("query_type", query_type.into()),
        ("json_schema_version", "2.0".into()),
    ]);
    whole.sort();
    whole.pretty()
}

fn document(node: Step) -> Document {
    let mut members: Members = node.details;
    members.push(("operation", node.operation.into()));
    if let Some(heading) = node.heading {
        members.push(("heading", heading.into()));
    }
    if let Some(measure) = node.measure {
        members.push(("estimated_rows", Document::Double(measure.rows)));
        members.push(("estimated_total_cost", Document::Double(measure.cost)));
        if let Some(actual) = measure.actual {
            members.push(("actual_loops", Document::Count(actual.loops)));
            members.push(("actual_rows", Document::Double(actual.each(actual.rows))));
            members
                .push(("actual_first_row_ms", Document::Double(actual.each(actual.first_micros) / 1000.0)));
            members.push(("actual_last_row_ms", Document::Double(actual.each(actual.micros) / 1000.0)));
            if actual.spilled {
                members.push(("spilled_to_disk", true.into()));
            }
        }
    }
    let list = |steps: Vec<Step>| Document::List(steps.into_iter().map(document).collect());
    if !node.inputs.is_empty() {
        members.push(("inputs", list(node.inputs)));
    }
    if !node.subqueries.is_empty() {
        members.push(("inputs_from_select_list", list(node.subqueries)));
    }
    Document::Object(members)
}
