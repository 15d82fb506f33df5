//! `optimizer_switch`: MySQL's flags by bit, and which of them steer the planner here.
//!
//! | flag | what it does when it is off |
//! | --- | --- |
//! | `semijoin` | EXISTS and IN stay subqueries that run for each row |
//! | `block_nested_loop` | no hash joins: joins look rows up by an index or compare all pairs |
//! | `materialization` | what IN and NOT IN look for is compared with each row of a subquery, not looked up in a hash table |
//! | `subquery_to_derived` | an aggregate of a subquery is computed for each row where that costs less; on: it is always joined as a group |
//! | `derived_condition_pushdown` | conditions stay above the rows they are about, and an OR as it is written |
//! | `prefer_ordering_index` | GROUP BY and DISTINCT use hash tables, whatever order an index gives |
//! | `engine_condition_pushdown` | conditions are evaluated on columns that were read, not on rows as they are stored |
//! | `use_invisible_indexes` | indexes that are not visible are not chosen |
//!
//! The other flags are checked, kept and shown. Assigning a list changes the flags it names and keeps the others.

use super::flag_list;
use super::values::Setting;

/// A set of flags as MySQL numbers them (`SET optimizer_switch = 1` leaves only `index_merge` on).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct OptimizerSwitch(u32);

/// The flags by bit, and whether each is on by default.
const FLAGS: [(&str, bool); 27] = [
    ("index_merge", true),
    ("index_merge_union", true),
    ("index_merge_sort_union", true),
    ("index_merge_intersection", true),
    ("engine_condition_pushdown", true),
    ("index_condition_pushdown", true),
    ("mrr", true),
    ("mrr_cost_based", true),
    ("block_nested_loop", true),
    ("batched_key_access", false),
    ("materialization", true),
    ("semijoin", true),
    ("loosescan", true),
    ("firstmatch", true),
    ("duplicateweedout", true),
    ("subquery_materialization_cost_based", true),
    ("use_index_extensions", true),
    ("condition_fanout_filter", true),
    ("derived_merge", true),
    ("use_invisible_indexes", false),
    ("skip_scan", true),
    ("hash_join", true),
    ("subquery_to_derived", false),
    ("prefer_ordering_index", true),
    ("hypergraph_optimizer", false),
    ("derived_condition_pushdown", true),
    ("hash_set_operations", true),
];

const fn bit_of(name: &str) -> u32 {
    let mut at = 0;
    while at < FLAGS.len() {
        let (candidate, name) = (FLAGS[at].0.as_bytes(), name.as_bytes());
        if candidate.len() == name.len() {
            let mut same = 0;
            while same < name.len() && candidate[same] == name[same] {
                same += 1;
            }
            if same == name.len() {
                return 1 << at;
            }
        }
        at += 1;
    }
    panic!("no such flag");
}

const SEMIJOIN: u32 = bit_of("semijoin");
const BLOCK_NESTED_LOOP: u32 = bit_of("block_nested_loop");
const MATERIALIZATION: u32 = bit_of("materialization");
const SUBQUERY_TO_DERIVED: u32 = bit_of("subquery_to_derived");
const PREFER_ORDERING_INDEX: u32 = bit_of("prefer_ordering_index");
const ENGINE_CONDITION_PUSHDOWN: u32 = bit_of("engine_condition_pushdown");
const USE_INVISIBLE_INDEXES: u32 = bit_of("use_invisible_indexes");
const DERIVED_CONDITION_PUSHDOWN: u32 = bit_of("derived_condition_pushdown");

impl Default for OptimizerSwitch {
    fn default() -> Self {
        Self(flag_list::defaults(&FLAGS))
    }
}

impl OptimizerSwitch {
    /// These flags with the changes of a list such as `semijoin=off,mrr=default`.
    ///
    /// # Errors
    /// The first entry that is wrong, for 1231: an unknown flag or value, or a flag that an earlier entry names.
    pub fn with(self, text: &str) -> Result<Self, &str> {
        flag_list::assign(&FLAGS, self.0, text).map(Self)
    }

    /// The flags that a variable holds.
    #[must_use]
    pub fn of(setting: &Setting) -> Self {
        match setting {
            Setting::Text(text) => Self(flag_list::stored(text)),
            _ => Self::default(),
        }
    }

    /// Reads the numeric form; `None` if a bit means nothing.
    #[must_use]
    pub fn from_bits(bits: u64) -> Option<Self> {
        flag_list::from_number(&FLAGS, bits).map(Self)
    }

    /// All flags, as `@@optimizer_switch` shows them.
    #[must_use]
    pub fn shown(self) -> String {
        flag_list::shown(&FLAGS, self.0)
    }

    /// What the planner may do.
    #[must_use]
    pub(crate) fn plan_switches(self) -> plan::passes::Switches {
        let pushdown = self.0 & DERIVED_CONDITION_PUSHDOWN != 0;
        plan::passes::Switches {
            member_sets: self.0 & MATERIALIZATION != 0,
            always_groups: self.0 & SUBQUERY_TO_DERIVED != 0,
            group_order: self.0 & PREFER_ORDERING_INDEX != 0,
            early_conditions: self.0 & ENGINE_CONDITION_PUSHDOWN != 0,
            semijoin: self.0 & SEMIJOIN != 0,
            invisible_indexes: self.0 & USE_INVISIBLE_INDEXES != 0,
            or_factors: pushdown,
            pushdown,
            hash_join: self.0 & BLOCK_NESTED_LOOP != 0,
            ..plan::passes::Switches::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_changes_what_it_names() {
        let start = OptimizerSwitch::default();
        let off = start.with("semijoin=off").unwrap();
        assert!(!off.plan_switches().semijoin && off.plan_switches().hash_join);
        assert_eq!(off.with("mrr=default").unwrap(), off);
        assert_eq!(off.with("default"), Ok(start));
        assert!(!off.with("block_nested_loop=off,default").unwrap().plan_switches().hash_join);
        assert!(start.with("block_nested_loop=off,default").unwrap().plan_switches().semijoin);
        assert_eq!(off.with(""), Ok(off));
        for wrong in ["semijoin=1", "semi=off", " mrr=off", "", "semijoin", "default"] {
            let text = format!("default,{wrong}");
            assert_eq!(start.with(&text), Err(wrong));
        }
        assert_eq!(start.with("mrr=off,mrr=on"), Err("mrr=on"));
    }

    #[test]
    fn the_table_of_variables_has_the_same_default() {
        let definition = crate::variables::by_name(b"optimizer_switch").unwrap().definition();
        assert_eq!(definition.default.shown(), OptimizerSwitch::default().shown());
    }

    #[test]
    fn numbers_are_bits() {
        let one = OptimizerSwitch::from_bits(1).unwrap();
        assert!(one.shown().starts_with("index_merge=on,index_merge_union=off"));
        assert_eq!(OptimizerSwitch::from_bits(1 | 1 << FLAGS.len()), Some(one));
        assert_eq!(OptimizerSwitch::from_bits(2 << FLAGS.len()), None);
    }
}
