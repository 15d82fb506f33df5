//! Optimizer hints and flags of `optimizer_switch` at random. No row depends on them.
//!
//! [`scatter`] names some of a statement's query blocks and writes hints into some, about their own tables, indexes and subqueries, or
//! those of a block that another one names. Some of the names are wrong: those hints are warned of.

use std::fmt::Write as _;

use crate::ast::{Select, Source, Statement};
use crate::random::Random;
use crate::schema::{IndexKind, Table};
use crate::walk;

/// The flags that are switched. Not `hypergraph_optimizer`: another optimizer, with defects of its own.
const FLAGS: [&str; 26] = [
    "index_merge",
    "index_merge_union",
    "index_merge_sort_union",
    "index_merge_intersection",
    "engine_condition_pushdown",
    "index_condition_pushdown",
    "mrr",
    "mrr_cost_based",
    "block_nested_loop",
    "batched_key_access",
    "materialization",
    "semijoin",
    "loosescan",
    "firstmatch",
    "duplicateweedout",
    "subquery_materialization_cost_based",
    "use_index_extensions",
    "condition_fanout_filter",
    "derived_merge",
    "use_invisible_indexes",
    "skip_scan",
    "hash_join",
    "subquery_to_derived",
    "prefer_ordering_index",
    "derived_condition_pushdown",
    "hash_set_operations",
];

const OF_INDEXES: [&str; 18] = [
    "INDEX",
    "NO_INDEX",
    "JOIN_INDEX",
    "NO_JOIN_INDEX",
    "GROUP_INDEX",
    "NO_GROUP_INDEX",
    "ORDER_INDEX",
    "NO_ORDER_INDEX",
    "MRR",
    "NO_MRR",
    "NO_ICP",
    "NO_RANGE_OPTIMIZATION",
    "INDEX_MERGE",
    "NO_INDEX_MERGE",
    "SKIP_SCAN",
    "NO_SKIP_SCAN",
    "INDEX",
    "NO_INDEX",
];
const OF_TABLES: [&str; 12] = [
    "BNL",
    "NO_BNL",
    "HASH_JOIN",
    "NO_HASH_JOIN",
    "BKA",
    "NO_BKA",
    "MERGE",
    "NO_MERGE",
    "DERIVED_CONDITION_PUSHDOWN",
    "NO_DERIVED_CONDITION_PUSHDOWN",
    "NO_BNL",
    "NO_MERGE",
];
const OF_ORDERS: [&str; 4] = ["JOIN_ORDER", "JOIN_ORDER", "JOIN_PREFIX", "JOIN_SUFFIX"];
const STRATEGIES: [&str; 4] = ["DUPSWEEDOUT", "FIRSTMATCH", "LOOSESCAN", "MATERIALIZATION"];
const SETTINGS: [&str; 6] = [
    "sort_buffer_size=32768",
    "join_buffer_size=128",
    "optimizer_prune_level=0",
    "optimizer_search_depth=1",
    "eq_range_index_dive_limit=1",
    "tmp_table_size=1024",
];

/// A query block: its name, if it has one, and the tables of its FROM by alias, with their indexes.
struct Block {
    name: Option<String>,
    tables: Vec<(String, Vec<String>)>,
}

/// A statement that switches some flags, or all of them back.
pub fn switch(random: &mut Random) -> String {
    match random.chance(20) {
        true => "SET optimizer_switch = DEFAULT".to_owned(),
        false => format!("SET optimizer_switch = '{}'", flags(random)),
    }
}

fn flags(random: &mut Random) -> String {
    let mut chosen: Vec<&str> = Vec::new();
    for _ in 0..1 + random.below(5) {
        let flag = *random.pick(&FLAGS);
        if !chosen.contains(&flag) {
            chosen.push(flag);
        }
    }
    let values = chosen.iter().map(|flag| format!("{flag}={}", random.word(&["on", "off", "off"])));
    values.collect::<Vec<_>>().join(",")
}

/// Writes hints into the query blocks of a statement.
pub fn scatter(statement: &mut Statement, tables: &[Table], random: &mut Random) {
    let mut blocks: Vec<Block> = Vec::new();
    walk::statement_selects(statement, &mut |select| {
        let name = random.chance(35).then(|| format!("qb{}", blocks.len()));
        let mut found = Vec::new();
        select.from.iter().for_each(|from| aliases(from, tables, &mut found));
        blocks.push(Block { name, tables: found });
    });
    let mut at = 0;
    walk::statement_selects(statement, &mut |select| {
        write(select, &blocks, at, random);
        at += 1;
    });
}

/// The statement without optimizer hints.
pub fn remove(statement: &mut Statement) {
    walk::statement_selects(statement, &mut |select| {
        select.modifiers.retain(|modifier| !modifier.starts_with("/*+"));
    });
}

fn aliases(source: &Source, tables: &[Table], found: &mut Vec<(String, Vec<String>)>) {
    match source {
        Source::Table { name, alias, .. } => {
            let indexes = tables.iter().find(|table| table.name == *name).map_or(Vec::new(), |table| {
                let name = |index: &crate::schema::Index| match index.kind {
                    IndexKind::Primary => "PRIMARY".to_owned(),
                    _ => index.name.clone(),
                };
                table.indexes.iter().map(name).collect()
            });
            found.push((alias.clone(), indexes));
        }
        Source::Derived { alias, .. } | Source::JsonTable { alias, .. } => {
            found.push((alias.clone(), Vec::new()));
        }
        Source::Join { left, right, .. } => {
            aliases(left, tables, found);
            aliases(right, tables, found);
        }
    }
}

fn write(select: &mut Select, blocks: &[Block], own: usize, random: &mut Random) {
    let mut hints = String::new();
    if let Some(name) = &blocks[own].name {
        let _ = write!(hints, " QB_NAME({name})");
    }
    if random.chance(60) {
        for _ in 0..1 + random.below(3) {
            // Mostly about the block itself.
            let named: Vec<usize> = (0..blocks.len()).filter(|&at| blocks[at].name.is_some()).collect();
            let of = if !named.is_empty() && random.chance(25) { *random.pick(&named) } else { own };
            let block = blocks[of].name.as_ref().filter(|_| of != own || random.chance(20));
            hints.push(' ');
            hints.push_str(&hint(&blocks[of], block.map(String::as_str), random));
        }
    }
    select.modifiers.retain(|modifier| !modifier.starts_with("/*+"));
    if !hints.is_empty() {
        select.modifiers.insert(0, format!("/*+{hints} */"));
    }
}

/// One hint about a block, which is named so if it is not the one that the hint stands in.
fn hint(block: &Block, name: Option<&str>, random: &mut Random) -> String {
    let of_block = name.map_or(String::new(), |name| format!("@{name} "));
    let of_table = name.map_or(String::new(), |name| format!("@{name}"));
    match random.below(16) {
        0..=3 if !block.tables.is_empty() => {
            let (table, indexes) = random.pick(&block.tables);
            let word = *random.pick(&OF_INDEXES);
            let mut named = Vec::new();
            while named.len() < indexes.len() && named.len() < 2 && random.chance(70) {
                let index = random.pick(indexes);
                if !named.contains(index) {
                    named.push(index.clone());
                }
            }
            if random.chance(2) {
                named.push("no_index".to_owned());
            }
            match random.chance(50) {
                true => format!("{word}({of_block}{table} {})", named.join(", ")),
                false => format!("{word}({table}{of_table} {})", named.join(", ")),
            }
        }
        4..=6 if !block.tables.is_empty() => {
            let word = *random.pick(&OF_TABLES);
            match random.chance(30) {
                true => format!("{word}({of_block})"),
                false => format!("{word}({of_block}{})", some_tables(block, "", random)),
            }
        }
        7..=9 if !block.tables.is_empty() => {
            let word = *random.pick(&OF_ORDERS);
            match random.chance(50) {
                true => format!("{word}({of_block}{})", some_tables(block, "", random)),
                false => format!("{word}({})", some_tables(block, &of_table, random)),
            }
        }
        10 => format!("JOIN_FIXED_ORDER({})", of_block.trim_end()),
        11 | 12 => {
            let word = *random.pick(&["SEMIJOIN", "NO_SEMIJOIN", "NO_SEMIJOIN"]);
            let mut chosen = STRATEGIES.to_vec();
            chosen.retain(|_| random.chance(30));
            format!("{word}({of_block}{})", chosen.join(", "))
        }
        13 => format!("SUBQUERY({of_block}{})", random.word(&["INTOEXISTS", "MATERIALIZATION"])),
        14 => format!("SET_VAR({})", random.pick(&SETTINGS)),
        _ => format!("SET_VAR(optimizer_switch = '{}')", flags(random)),
    }
}

/// Some tables of a block, in any order, and once in a while one that it has not.
fn some_tables(block: &Block, of_table: &str, random: &mut Random) -> String {
    let mut left: Vec<&String> = block.tables.iter().map(|(alias, _)| alias).collect();
    let mut chosen = Vec::new();
    let most = 1 + random.below(left.len());
    while chosen.len() < most {
        let alias = left.swap_remove(random.below(left.len()));
        chosen.push(format!("{alias}{of_table}"));
    }
    if random.chance(2) {
        chosen.push("no_table".to_owned());
    }
    chosen.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Generator, Settings};

    #[test]
    fn hints_stand_behind_select_and_can_be_removed() {
        let mut hinted = 0;
        for seed in 0..20 {
            let mut generator = Generator::new(seed, Settings::default());
            let mut random = Random::new(seed);
            for _ in 0..20 {
                let mut statement = generator.statement();
                remove(&mut statement);
                let plain = statement.sql();
                scatter(&mut statement, &generator.tables, &mut random);
                let text = statement.sql();
                hinted += usize::from(text != plain);
                assert!(text.matches("/*+").count() <= text.matches("SELECT /*+").count());
                remove(&mut statement);
                assert_eq!(statement.sql(), plain);
            }
        }
        assert!(hinted > 100, "{hinted}");
    }
}
