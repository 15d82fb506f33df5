//! Names against a catalog, and the way to the rows.

use catalog::Catalog;
use fixture::Binding;
use plan::bind::Session;
use plan::function::TypeContext;
use plan::{Options, PlanResult};
use syntax::ast::VarScope;
use types::collation::CollationId;
use types::{DataType, Value};

use crate::count::Counter;

const TABLES: [&str; 2] = [
    "CREATE TABLE customer (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL, region INT, boss INT)",
    "CREATE TABLE orders (id INT PRIMARY KEY, customer_id INT NOT NULL, total DECIMAL(12,2), day DATE, KEY k (customer_id))",
];

/// A session that prepares a statement: what stands beside a parameter fixes its type.
struct Preparing(Binding);

impl Session for Preparing {
    fn database(&self) -> Option<&str> {
        self.0.database()
    }

    fn connection_collation(&self) -> CollationId {
        self.0.connection_collation()
    }

    fn only_full_group_by(&self) -> bool {
        self.0.only_full_group_by()
    }

    fn type_context(&self) -> TypeContext {
        TypeContext { fixes_parameters: true, ..self.0.type_context() }
    }

    fn system_variable(&self, scope: VarScope, name: &str) -> PlanResult<Value> {
        self.0.system_variable(scope, name)
    }

    fn user_variable(&self, name: &str) -> Option<DataType> {
        self.0.user_variable(name)
    }
}

fn catalog() -> Catalog {
    fixture::shop(&TABLES, 1000, |_| {})
}

pub(crate) fn count(counter: &mut Counter) {
    let catalog = catalog();
    for (name, sql, times) in [
        ("point_select", "SELECT name FROM customer WHERE id = ?", 64),
        (
            "range_select",
            "SELECT total FROM orders WHERE customer_id = 7 AND id BETWEEN 5 AND 10 ORDER BY id LIMIT 3",
            32,
        ),
        ("insert", "INSERT INTO customer (id, name, region) VALUES (?, ?, ?)", 64),
        ("update", "UPDATE orders SET total = total + 1 WHERE id = ?", 64),
        (
            "join",
            "SELECT c.name, SUM(o.total) FROM orders o JOIN customer c ON c.id = o.customer_id WHERE c.region = 3 GROUP BY c.name",
            16,
        ),
    ] {
        let arena = bumpalo::Bump::new();
        let parsed = syntax::parse(sql.as_bytes(), &arena, syntax::SqlMode::default()).expect("it parses");
        let bind = || {
            plan::bind::bind(&parsed.statement, sql.as_bytes(), &catalog, &Preparing(Binding("shop")))
                .unwrap_or_else(|error| panic!("{sql}: {}", error.message))
        };
        counter.count(&format!("plan.bind_{name}"), times, |_| bind());
        counter.count(&format!("plan.bind_optimize_{name}"), times, |_| {
            plan::optimize(bind(), &Options::new(&catalog))
        });
    }
}
