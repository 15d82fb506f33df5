//! JSON_TABLE in FROM.

use super::{Generator, Info, Relation, Visible};
use crate::ast::{Expr, Source};
use crate::schema::Family;

/// Row path and columns, with the families of the columns.
const ROWS: [(&str, &[(&str, Family)]); 7] = [
    (
        "'$[*]' COLUMNS (j1 FOR ORDINALITY, j2 INT PATH '$', j3 VARCHAR(10) PATH '$.a')",
        &[("j1", Family::Integer), ("j2", Family::Integer), ("j3", Family::Text)],
    ),
    (
        "'$[*]' COLUMNS (j1 INT PATH '$.b' DEFAULT '7' ON EMPTY DEFAULT '8' ON ERROR, j2 TINYINT EXISTS PATH '$.b')",
        &[("j1", Family::Integer), ("j2", Family::Integer)],
    ),
    (
        "'$' COLUMNS (j1 JSON PATH '$', NESTED PATH '$[*]' COLUMNS (j2 DECIMAL(10,3) PATH '$'), NESTED PATH '$.*' COLUMNS (j3 FOR ORDINALITY, j4 CHAR(4) PATH '$'))",
        &[("j1", Family::Json), ("j2", Family::Decimal), ("j3", Family::Integer), ("j4", Family::Text)],
    ),
    ("'$[*]' COLUMNS (j1 BIGINT UNSIGNED PATH '$' ERROR ON ERROR)", &[("j1", Family::Integer)]),
    (
        "'$.*' COLUMNS (j1 VARCHAR(20) PATH '$[0]' NULL ON EMPTY, j2 JSON PATH '$.a')",
        &[("j1", Family::Text), ("j2", Family::Json)],
    ),
    (
        "'$**.a' COLUMNS (j1 SMALLINT PATH '$', j2 VARCHAR(3) PATH '$' DEFAULT '\"x\"' ON ERROR)",
        &[("j1", Family::Integer), ("j2", Family::Text)],
    ),
    ("'$[last]' COLUMNS (j1 DATE PATH '$', j2 TIME PATH '$')", &[("j1", Family::Date), ("j2", Family::Time)]),
];

impl Generator {
    /// JSON_TABLE of a document that may read these tables before it.
    pub(super) fn json_table(&mut self, before: &[Relation]) -> (Source, Relation) {
        let documents: Vec<Expr> = before
            .iter()
            .flat_map(|relation| {
                let json = relation.columns.iter().filter(|column| column.info.family == Family::Json);
                json.map(|column| Expr::Column {
                    relation: relation.alias.clone(),
                    name: column.name.clone(),
                })
            })
            .collect();
        let document = if documents.is_empty() || self.random.chance(30) {
            // It may hold no subquery.
            let budget = std::mem::take(&mut self.budget);
            self.scopes.push(before.to_vec());
            let document = self.expr(Family::Json, 1).0;
            self.scopes.pop();
            self.budget = budget;
            document
        } else {
            self.random.pick(&documents).clone()
        };
        let (rows, columns) = *self.random.pick(&ROWS);
        let alias = self.fresh("j");
        let info = |family| Info { family, is_stable: true, is_small: false, is_unsigned: false };
        let columns =
            columns.iter().map(|(name, family)| Visible { name: (*name).into(), info: info(*family) });
        let relation = Relation { alias: alias.clone(), columns: columns.collect() };
        (Source::JsonTable { document, rows, alias }, relation)
    }
}
