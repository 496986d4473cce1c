//! PostgreSQL: statements, waits, tables; roles that must not see much; servers that refuse, freeze and die.

use knee_core::observation::{Observations, SourceState};
use rustix::process::Signal;
use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::world::{Beside, World, is_lost, is_read, last, signal, words};

pub const CLUSTER: &str = r#"
[postgres.db]
settings = { max_connections = 20, shared_buffers = "16MB" }
extensions = ["pg_stat_statements"]
"#;

/// A client of the database, such as a service has.
pub struct Sql {
    client: Client,
    runtime: Runtime,
}

impl Sql {
    pub fn connect(url: &str) -> Self {
        Self::try_connect(url).unwrap()
    }

    pub fn try_connect(url: &str) -> Result<Self, tokio_postgres::Error> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let client = runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
            tokio::spawn(async move { drop(connection.await) });
            Ok::<Client, tokio_postgres::Error>(client)
        })?;
        Ok(Self { client, runtime })
    }

    /// The first column of the first row.
    pub fn ask(&self, sql: &str) -> String {
        let messages = self.runtime.block_on(self.client.simple_query(sql)).unwrap();
        let first = |message: &SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        };
        messages.iter().find_map(first).unwrap_or_default()
    }

    /// Begins a statement that does not return soon.
    fn begin(&self, sql: &'static str) {
        let answer = self.client.simple_query(sql);
        let mut answer = Box::pin(answer);
        // Polled once, the statement is sent.
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                _ = &mut answer => {}
                () = tokio::task::yield_now() => {}
            }
        });
    }
}

/// The id of the statement whose text contains this.
pub fn statement(seen: &Observations, part: &str) -> Option<String> {
    let texts = seen.texts.iter().filter(|text| text.name == "statement.text");
    texts.into_iter().find(|text| text.text.contains(part)).map(|text| text.label.clone())
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn a_database_is_read_with_its_statements_waits_and_tables_and_without_the_observer() {
    let world = World::up(CLUSTER);
    let url = world.store().url;
    let service = Sql::connect(&format!("{url}?application_name=shop"));
    service.ask("CREATE TABLE items (id int PRIMARY KEY, name text); CREATE INDEX by_name ON items (name)");
    service.ask("CREATE TABLE parts (item int REFERENCES items(id), name text)");
    service.ask("CREATE TABLE days (at date) PARTITION BY RANGE (at)");
    service.ask("CREATE TABLE days_rest PARTITION OF days DEFAULT");
    service.ask("INSERT INTO items SELECT n, 'item ' || n FROM generate_series(1, 5000) n; ANALYZE items");
    let mut beside = Beside::start(&[&url]);
    for number in 0..50 {
        service.ask(&format!("SELECT count(*) FROM items WHERE name LIKE '%hunter{number}%'"));
    }
    service.ask("BEGIN; UPDATE items SET name = 'a' WHERE id = 1");
    let other = Sql::connect(&format!("{url}?application_name=shop"));
    other.begin("UPDATE items SET name = 'b' WHERE id = 1");
    let seen = beside.until("a statement, a wait and who blocks it", |seen| {
        statement(seen, "count(*)").is_some_and(|id| last(seen, "statement.calls", &id) == Some(50.0))
            && last(seen, "activity.wait", "Lock:transactionid").is_some()
            && last(seen, "activity.blocked_by_state", "idle in transaction").is_some()
            && last(seen, "activity.backends.busy", "shop") == Some(2.0)
    });
    assert_eq!(seen.sources[0].without, Vec::<String>::new());
    assert!(seen.sources[0].version.as_deref().unwrap().starts_with("PostgreSQL "));
    let id = statement(&seen, "count(*)").unwrap();
    let points = &seen.series(0, "statement.calls", &id).unwrap().points;
    assert_eq!((points[0].1, points.last().unwrap().1), (0.0, 50.0), "what it had done before is there too");
    assert_eq!(seen.text(0, "statement.text", &id), Some("SELECT count(*) FROM items WHERE name LIKE $1"));
    assert!(last(&seen, "statement.exec_time", &id).unwrap() > 0.0);
    let plan = seen.text(0, "statement.plan", &id).expect("servers of all versions plan without values");
    assert!(plan.contains("\"Seq Scan\"") && plan.contains("(name ~~ $1)"), "{plan}");
    assert!(last(&seen, "table.seq_rows", "public.items").is_some());
    assert_eq!(last(&seen, "table.rows_estimate", "public.items"), Some(5000.0));
    assert_eq!(last(&seen, "connections.max", ""), Some(20.0));
    assert_eq!(last(&seen, "replica", ""), Some(0.0));
    assert_eq!(last(&seen, "activity.backends", "shop"), Some(2.0));
    let youngest = last(&seen, "activity.transaction_age.youngest", "shop").unwrap();
    assert!(youngest <= last(&seen, "activity.transaction_age", "").unwrap(), "{youngest}");
    assert!(seen.text(0, "index.definition", "public.by_name").unwrap().contains("(name)"));
    assert!(
        seen.text(0, "table.columns", "public.items")
            .unwrap()
            .starts_with("id\tinteger\t-1\t0\nname\ttext\t")
    );
    assert_eq!(seen.text(0, "table.foreign_keys", "public.parts"), Some("item\tpublic.items\tid"));
    assert_eq!(seen.text(0, "table.partition_of", "public.days_rest"), Some("public.days"));
    assert_eq!(seen.text(0, "table.partition_of", "public.items"), None);
    assert_eq!(seen.text(0, "setting", "shared_buffers"), Some("16MB"));
    let all = words(&seen);
    assert!(!all.contains("knee-observe"), "own statements and sessions do not count: {all}");
    assert!(!all.contains("hunter"), "literals are masked: {all}");
    service.ask("COMMIT");
    let seen = beside.stop();
    assert!(is_read(&seen), "{:?}", seen.sources);
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn the_observers_own_transactions_do_not_count() {
    let world = World::up(CLUSTER);
    let url = world.store().url;
    let mut beside = Beside::start(&[&url]);
    let looks = |seen: &Observations| last(seen, "activity.samples", "").unwrap_or(0.0);
    let seen = beside.until("many looks", |seen| looks(seen) > 60.0);
    let commits = seen.series(0, "database.commits", "knee").unwrap();
    let rise = commits.points.last().unwrap().1 - commits.points[0].1;
    // Autovacuum and the fixture's own statements are all that is left.
    assert!(rise < looks(&seen) / 2.0, "{rise} of {} looks", looks(&seen));
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn a_role_that_must_not_see_much_and_a_database_without_pg_stat_statements_are_read_as_far_as_they_go() {
    let world = World::up("[postgres.db]\n");
    let url = world.store().url;
    let service = Sql::connect(&url);
    service.ask("CREATE ROLE reader LOGIN PASSWORD 'hunter2'; CREATE TABLE secrets (id int)");
    let (_, place) = url.split_once('@').unwrap();
    let mut beside = Beside::start(&[&format!("postgres://reader:hunter2@{place}")]);
    let seen = beside.until("the database", |seen| last(seen, "database.commits", "knee").is_some());
    assert_eq!(
        seen.sources[0].without,
        [
            "statements and activity of other users: the role is no member of pg_read_all_stats",
            "pg_stat_statements is not installed in this database"
        ]
    );
    let seen = beside.stop();
    assert!(is_read(&seen) && !words(&seen).contains("hunter2"));
    let wrong = Beside::start(&[&format!("postgres://reader:wrong-word@{place}")]).stop();
    let SourceState::Refused { reason } = &wrong.sources[0].state else { panic!("{:?}", wrong.sources) };
    assert!(reason.contains("password") && !reason.contains("wrong-word"), "{reason}");
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn a_superuser_is_noted_on_a_server_that_knee_did_not_start_and_only_there() {
    let world = World::up(CLUSTER);
    let url = world.store().url;
    let watched = |url: &str| {
        let seen = Beside::start(&[url])
            .until("settings", |seen| seen.text(0, "setting", "shared_buffers").is_some() && is_read(seen));
        seen.text(0, "role", "").map(str::to_owned)
    };
    assert_eq!(watched(&url), None);
    let service = Sql::connect(&url);
    service.ask("ALTER DATABASE knee SET knee.started = 'off'");
    service.ask("CREATE ROLE reader LOGIN PASSWORD 'hunter2' IN ROLE pg_monitor");
    assert_eq!(watched(&url).as_deref(), Some("superuser"));
    let (_, place) = url.split_once('@').unwrap();
    assert_eq!(watched(&format!("postgres://reader:hunter2@{place}")), None);
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn a_view_that_is_refused_is_named_and_the_views_that_are_asked_for_with_it_are_read() {
    let world = World::up("[postgres.db]\n");
    let url = world.store().url;
    let service = Sql::connect(&url);
    service.ask("CREATE ROLE reader LOGIN PASSWORD 'hunter2' IN ROLE pg_read_all_stats");
    service.ask("REVOKE SELECT ON pg_stat_database FROM PUBLIC");
    let (_, place) = url.split_once('@').unwrap();
    let mut beside = Beside::start(&[&format!("postgres://reader:hunter2@{place}")]);
    let seen = beside.until("the refusal", |seen| {
        seen.sources.first().is_some_and(|source| source.without.len() == 2)
            && last(seen, "connections.max", "").is_some()
            && last(seen, "checkpoint.buffers", "").is_some()
    });
    assert_eq!(
        seen.sources[0].without,
        [
            "pg_stat_database: permission denied for view pg_stat_database",
            "pg_stat_statements is not installed in this database"
        ]
    );
    assert!(last(&seen, "database.commits", "knee").is_none());
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn of_many_that_wait_for_locks_some_have_a_known_blocker_at_each_look() {
    let world = World::up(CLUSTER);
    let url = world.store().url;
    let service = Sql::connect(&url);
    service.ask("CREATE TABLE items (id int PRIMARY KEY); INSERT INTO items VALUES (1)");
    let waiting: Vec<Sql> = (0..7).map(|_| Sql::connect(&url)).collect();
    let mut beside = Beside::start(&[&url]);
    service.ask("BEGIN; UPDATE items SET id = 1");
    for client in &waiting {
        client.begin("UPDATE items SET id = 1");
    }
    let of_locks = |seen: &Observations, name: &str| -> f64 {
        let series = seen.series.iter().filter(|series| series.name == name);
        let locks = series.filter(|series| name != "activity.wait" || series.label.starts_with("Lock:"));
        locks.filter_map(|series| Some(series.points.last()?.1)).sum()
    };
    let seen = beside.until("many waits", |seen| of_locks(seen, "activity.wait") > 200.0);
    let (waits, blocked) = (of_locks(&seen, "activity.wait"), of_locks(&seen, "activity.blocked"));
    // Four of seven, and all seven at the first look.
    assert!(blocked > 0.4 * waits && blocked < 0.8 * waits, "{blocked} of {waits}");
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn the_locks_that_statements_wait_for_have_their_mode_and_their_table() {
    const LABELS: [&str; 3] = [
        "ShareLock on transactionid of public.items",
        "AccessExclusiveLock on public.notes",
        "ExclusiveLock on advisory",
    ];
    let world = World::up(CLUSTER);
    let url = world.store().url;
    let service = Sql::connect(&url);
    service.ask("CREATE TABLE items (id int PRIMARY KEY); INSERT INTO items VALUES (1)");
    service.ask("CREATE TABLE notes (id int)");
    let waiting: Vec<Sql> = (0..3).map(|_| Sql::connect(&url)).collect();
    let mut beside = Beside::start(&[&url]);
    let locks = |seen: &Observations| seen.series.iter().any(|one| one.name == "activity.blocked.lock");
    let seen = beside.until("looks", |seen| last(seen, "activity.samples", "").is_some_and(|all| all > 5.0));
    assert!(!locks(&seen), "no statement waits for a lock");
    service.ask("BEGIN; UPDATE items SET id = 1; LOCK TABLE notes IN SHARE MODE");
    service.ask("SELECT pg_advisory_xact_lock(7)");
    waiting[0].begin("UPDATE items SET id = 1");
    waiting[1].begin("ALTER TABLE notes ADD name text");
    waiting[2].begin("SELECT pg_advisory_lock(7)");
    let seen = beside.until("three locks", |seen| {
        LABELS.iter().all(|label| last(seen, "activity.blocked.lock", label).is_some())
    });
    let all = words(&seen);
    assert!(!all.contains("pg_locks"), "own statements do not count: {all}");
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn a_server_without_a_free_connection_is_refused_and_read_when_there_is_one() {
    let world = World::up("[postgres.db]\nsettings = { max_connections = 8 }\n");
    let url = world.store().url;
    let mut held = Vec::new();
    while let Ok(client) = Sql::try_connect(&url) {
        held.push(client);
    }
    let mut beside = Beside::start(&[&url]);
    let seen = beside.until("the refusal", |seen| !seen.sources.is_empty());
    let SourceState::Refused { reason } = &seen.sources[0].state else { panic!("{:?}", seen.sources) };
    assert!(reason.contains("too many clients"), "{reason}");
    drop(held);
    let seen = beside.until("a reading", is_read);
    let without = seen.sources[0].without.join(", ");
    assert!(without.contains("not read from ") && without.contains("too many clients"), "{without}");
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn a_server_that_freezes_or_dies_is_lost_and_its_figures_stay() {
    let world = World::up(CLUSTER);
    let url = world.store().url;
    let service = Sql::connect(&url);
    let mut beside = Beside::start(&[&url]);
    beside.until("a reading", |seen| last(seen, "activity.samples", "").is_some());
    let own = || {
        let pid = "SELECT pid FROM pg_stat_activity WHERE application_name = 'knee-observe'";
        service.ask(pid).parse::<u32>().unwrap()
    };
    let frozen = own();
    signal(frozen, Signal::STOP);
    let seen = beside.until("the loss", is_lost);
    let SourceState::Lost { reason, .. } = &seen.sources[0].state else { panic!("{:?}", seen.sources) };
    assert_eq!(reason, "it did not answer within 1.5 s");
    beside.until("a new session", is_read);
    signal(frozen, Signal::CONT);
    service.ask(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'knee-observe'",
    );
    beside.until("the next gap", |seen| seen.sources[0].without.len() == 2 && is_read(seen));
    drop(service);
    signal(world.store().pids[0], Signal::QUIT);
    let seen = beside.until("the end of the server", is_lost);
    assert!(last(&seen, "activity.samples", "").is_some());
    let seen = beside.stop();
    assert!(is_lost(&seen), "{:?}", seen.sources);
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn a_statement_of_the_observer_that_is_slow_is_ended_by_the_server_and_the_others_are_read() {
    let world = World::up(CLUSTER);
    let url = world.store().url;
    let service = Sql::connect(&url);
    service.ask("CREATE SCHEMA slow");
    service.ask(
        "CREATE VIEW slow.pg_stat_database AS SELECT d.* FROM pg_catalog.pg_stat_database d, pg_sleep(60)",
    );
    service.ask("ALTER DATABASE knee SET search_path = slow, pg_catalog, public");
    let mut beside = Beside::start(&[&url]);
    let age = "SELECT coalesce(max(extract(epoch FROM clock_timestamp() - query_start)), 0) FROM pg_stat_activity \
               WHERE application_name = 'knee-observe' AND wait_event = 'PgSleep'";
    let mut longest: f64 = 0.0;
    for _ in 0..150 {
        longest = longest.max(service.ask(age).parse().unwrap());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(longest > 0.2, "the slow view is read: {longest}");
    let seen = beside.until("the other views", |seen| last(seen, "connections.max", "").is_some());
    assert!(is_read(&seen) && last(&seen, "database.commits", "knee").is_none());
    let seen = beside.stop();
    assert!(is_read(&seen), "{:?}", seen.sources);
    assert!(!words(&seen).contains("not read from"), "its session goes on: {:?}", seen.sources);
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn a_replica_that_is_promoted_is_read_on_as_a_primary_and_that_is_said() {
    let world = World::up(&CLUSTER.replace("[postgres.db]", "[postgres.db]\nreplica = \"async\""));
    let url = world.store().replica_url.unwrap();
    let mut beside = Beside::start(&[&url]);
    let before = beside.until("a replica", |seen| last(seen, "replica.behind", "").is_some());
    assert_eq!(last(&before, "replica", ""), Some(1.0));
    let service = Sql::connect(&url);
    assert_eq!(service.ask("SELECT pg_promote()"), "t");
    service.ask("CREATE TABLE items (id int); INSERT INTO items SELECT generate_series(1, 1000)");
    let inserted = |seen: &Observations| last(seen, "database.rows.inserted", "knee").unwrap_or(0.0);
    let seen = beside.until("what only a primary can do", |seen| {
        last(seen, "replica", "") == Some(0.0) && inserted(seen) >= 1_000.0
    });
    let ended = |name: &str| seen.series(0, name, "").unwrap().points.last().unwrap().0;
    assert!(ended("replica.behind") < ended("replica"), "it is behind no other server any more");
    let without = seen.sources[0].without.join("; ");
    assert!(without.contains("figures of a replica: it was promoted while it was observed"), "{without}");
    assert!(!without.contains("not read from"), "its session goes on: {without}");
    assert!(is_read(&beside.stop()));
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn statistics_that_are_reset_and_thousands_of_statements_do_no_harm() {
    let world = World::up(CLUSTER);
    let url = world.store().url;
    let service = Sql::connect(&url);
    let mut beside = Beside::start(&[&url]);
    beside.until("a reading", |seen| last(seen, "statements.calls", "").is_some());
    service.ask("SET pg_stat_statements.track = 'all'");
    let columns: Vec<String> = (0..100).map(|number| format!("c{number} int")).collect();
    service.ask(&format!("CREATE TABLE wide ({})", columns.join(", ")));
    service.ask(
        "DO $$ BEGIN FOR n IN 0..9999 LOOP \
         EXECUTE format('SELECT c%s, c%s FROM wide', n % 100, n / 100); END LOOP; END $$",
    );
    let seen = beside.until("some of many statements", |seen| {
        seen.named("statement.calls").count() >= 200 && seen.sources[0].left_out > 1_000
    });
    assert!(last(&seen, "statements.tracked", "").unwrap() > 4_000.0);
    let before = last(&seen, "statements.calls", "").unwrap();
    service.ask("SELECT pg_stat_reset(), pg_stat_statements_reset()");
    service.ask("SELECT 42 AS answer");
    let tracked = |seen: &Observations| last(seen, "statements.tracked", "").unwrap_or(f64::MAX);
    let seen = beside.until("the reset", |seen| tracked(seen) < 100.0);
    assert!(last(&seen, "statements.calls", "").unwrap() >= before, "the total does not fall");
    assert!(is_read(&beside.stop()));
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn hostile_names_and_statements_cannot_steer_a_terminal_or_tell_a_secret() {
    let world = World::up(CLUSTER);
    let url = world.store().url;
    let service = Sql::connect(&url);
    service.ask("CREATE TABLE \"a\u{1b}]0;x\u{7}'; DROP TABLE b --\" (\"c\u{202e}\t\n\" int DEFAULT 7)");
    service.ask(
        "CREATE INDEX \"i\u{1b}[2J<script>\" ON \"a\u{1b}]0;x\u{7}'; DROP TABLE b --\" (\"c\u{202e}\t\n\")",
    );
    let mut beside = Beside::start(&[&url]);
    service.ask("SET application_name = 'evil\"; <b>'; ALTER ROLE knee PASSWORD 'hunter2'");
    service.ask("SELECT 1 AS \"\u{1b}[31m\"");
    let seen = beside.until("the names", |seen| {
        seen.named("table.seq_scans").next().is_some() && statement(seen, "\\u{1b}[31m").is_some()
    });
    let all = words(&seen);
    assert!(!all.contains("hunter2"), "{all}");
    let hostile = |c: char| (c.is_control() && !matches!(c, '\n' | '\t' | '\0')) || c == '\u{202e}';
    assert!(!all.contains(hostile), "{all:?}");
    assert!(seen.named("table.seq_scans").any(|one| one.label.contains("DROP TABLE b --")));
}
