//! Indexes that do not exist: what a PostgreSQL server with HypoPG says about them, and that one without it is not asked.

use knee_core::observation::{Observations, PLANNED_INDEXES, PlannedIndex, Proposal};
use knee_core::record::Run;

use crate::postgres::{CLUSTER, Sql, statement};
use crate::world::{Beside, World, is_read};

const OWNER: &str = r#"CREATE INDEX ON "public"."items" ("owner")"#;
const IS_OPEN: &str = r#"CREATE INDEX ON "public"."items" ("is_open")"#;

/// An index for each of the statements, and one that cannot be made.
fn proposals(run: &Run) -> Vec<Proposal> {
    let indexes = [
        ("owner = ", OWNER),
        ("is_open = ", IS_OPEN),
        ("owner = ", r#"CREATE INDEX ON "public"."items" ("gone")"#),
    ];
    let proposal = |(part, index): (&str, &str)| {
        let statement = statement(&run.observations, part).unwrap();
        Proposal { source: 0, statement, index: index.to_owned() }
    };
    indexes.into_iter().map(proposal).collect()
}

/// What was said about the index of a statement; `None` if nothing was.
fn planned(seen: &Observations, part: &str, index: &str) -> Option<PlannedIndex> {
    let text = seen.text(0, PLANNED_INDEXES, &statement(seen, part)?)?;
    PlannedIndex::read(text).into_iter().find(|planned| planned.index == index)
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn a_planner_is_asked_after_the_run_which_of_two_indexes_it_would_use_and_nothing_is_written() {
    let world = World::up(CLUSTER);
    let url = world.store().url;
    let service = Sql::connect(&url);
    service.ask(
        "CREATE TABLE items AS SELECT n AS id, n % 1000 AS owner, true AS is_open, repeat('x', 50) AS name \
         FROM generate_series(1, 100000) n; ANALYZE items",
    );
    let has_hypopg = service.ask("SELECT 1 FROM pg_available_extensions WHERE name = 'hypopg'") == "1";
    if has_hypopg {
        service.ask("CREATE EXTENSION hypopg");
    }
    let mut beside = Beside::start(&[&url]);
    for number in 0..5 {
        service.ask(&format!("SELECT name FROM items WHERE owner = {number}"));
        service.ask("SELECT name FROM items WHERE is_open = false");
    }
    beside.until("both statements", |seen| {
        statement(seen, "owner = ").is_some() && statement(seen, "is_open = ").is_some()
    });
    let seen = beside.ask(proposals);
    assert!(is_read(&seen), "{:?}", seen.sources);
    assert_eq!(service.ask("SELECT count(*) FROM pg_indexes WHERE tablename = 'items'"), "0");
    if !has_hypopg {
        println!("HypoPG is not installed here (Debian: postgresql-15-hypopg): tested that nothing is asked");
        assert!(seen.texts.iter().all(|text| text.name != PLANNED_INDEXES));
        assert_eq!(seen.sources[0].without, Vec::<String>::new());
        return;
    }
    let owner = planned(&seen, "owner = ", OWNER).unwrap();
    assert!(owner.used && owner.cost_with < 0.5 * owner.cost, "{owner:?}");
    assert!((50.0..200.0).contains(&owner.rows), "{owner:?}");
    let is_open = planned(&seen, "is_open = ", IS_OPEN).unwrap();
    assert!(!is_open.used && is_open.cost.to_bits() == is_open.cost_with.to_bits(), "{is_open:?}");
    let without = &seen.sources[0].without;
    assert!(without.len() == 1 && without[0].contains("(\"gone\"): "), "{without:?}");
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn a_database_without_the_extension_is_not_asked_and_that_is_no_complaint() {
    let world = World::up(CLUSTER);
    let url = world.store().url;
    let service = Sql::connect(&url);
    service.ask("CREATE TABLE items (owner int, is_open bool)");
    let mut beside = Beside::start(&[&url]);
    service.ask("SELECT FROM items WHERE owner = 1");
    service.ask("SELECT FROM items WHERE is_open = true");
    beside.until("both statements", |seen| {
        statement(seen, "owner = ").is_some() && statement(seen, "is_open = ").is_some()
    });
    let seen = beside.ask(proposals);
    assert!(seen.texts.iter().all(|text| text.name != PLANNED_INDEXES));
    assert_eq!(seen.sources[0].without, Vec::<String>::new());
}
