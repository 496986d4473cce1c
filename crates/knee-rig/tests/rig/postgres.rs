//! PostgreSQL: private clusters, their settings, replicas and resets.

use knee_rig::{Overrides, Rig};
use tokio_postgres::{NoTls, SimpleQueryMessage};

use crate::world::World;

/// A cluster and a service that lives in it; the seed is SQL by the rig's own address.
const CLUSTER: &str = r#"
[postgres.db]
settings = { max_connections = 33, shared_buffers = "16MB", log_line_prefix = "it's %p " }
extensions = ["pg_trgm"]

[service.main]
command = ["HOST", "serve", "{port}", "{data}", "{postgres.db.url}"]
seed = ["sh", "-c", "PGPASSWORD={postgres.db.password} psql -qX -h 127.0.0.1 -p {postgres.db.port} -U knee knee -c 'create table t as select generate_series(1,10) n'"]
reset = "stores"
"#;

/// The first column of the first row of an answer, over the loopback with the password.
pub fn sql(url: &str, statement: &str) -> Result<String, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) =
            tokio_postgres::connect(url, NoTls).await.map_err(|error| error.to_string())?;
        let connection = tokio::spawn(connection);
        let rows = client.simple_query(statement).await.map_err(|error| format!("{error:?}"));
        drop(client);
        let _ = connection.await;
        let first = |message: &SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        };
        Ok(rows?.iter().find_map(first).unwrap_or_default())
    })
}

pub fn url(rig: &Rig, name: &str) -> String {
    rig.stores().into_iter().find(|store| store.name == name).unwrap().url
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn a_cluster_has_its_settings_and_extensions_and_wants_a_password() {
    let world = World::new();
    let (rig, _) = world.running(CLUSTER);
    let url = url(&rig, "postgres.db");
    assert_eq!(sql(&url, "show max_connections").unwrap(), "33");
    assert_eq!(sql(&url, "show shared_buffers").unwrap(), "16MB");
    assert_eq!(sql(&url, "show log_line_prefix").unwrap(), "it's %p ");
    assert_eq!(sql(&url, "select similarity('a', 'a')").unwrap(), "1");
    let (before, after) = url.split_once('@').unwrap();
    let wrong = format!("{}:wrong@{after}", before.rsplit_once(':').unwrap().0);
    assert!(sql(&wrong, "select 1").is_err());
    rig.down().unwrap();
    assert!(sql(&url, "select 1").is_err());
    world.assert_nothing_left();
}

#[cfg(target_os = "linux")]
#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn all_connections_of_a_cluster_compete_for_cpus_as_one_or_it_is_told_why_not() {
    let world = World::new();
    let rig = world.up("[postgres.db]\n").unwrap();
    let store = rig.stores().remove(0);
    let backend = sql(&store.url, "select pg_read_file('/proc/self/cgroup')").unwrap();
    let prefix = format!("{}-postgres-db", rig.folder().file_name().unwrap().to_str().unwrap());
    if let [not_here] = store.not_here.as_slice() {
        assert!(!not_here.reason.is_empty() && !backend.contains(&prefix), "{not_here:?}, {backend}");
    } else {
        assert!(backend.contains(&prefix), "{backend}");
        rig.down().unwrap();
        assert_eq!(crate::world::groups(&prefix), Vec::<std::path::PathBuf>::new());
    }
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn a_reset_waits_for_backends_that_do_not_know_yet_that_their_clients_are_gone() {
    let world = World::new();
    let (mut rig, _) = world.running(&CLUSTER.replace("max_connections = 33", "max_connections = 8"));
    let url = url(&rig, "postgres.db");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut places = 0;
        while let Ok((client, connection)) = tokio_postgres::connect(&url, NoTls).await {
            tokio::spawn(connection);
            tokio::spawn(async move { client.simple_query("select pg_sleep(1)").await.map(drop) });
            tokio::task::yield_now().await;
            places += 1;
        }
        assert!(places > 0);
    });
    // Nobody listens any more, and every place is taken.
    drop(runtime);
    rig.reset("main").unwrap();
    rig.start("main", &Overrides::default()).unwrap();
    assert_eq!(sql(&url, "select count(*) from t").unwrap(), "10");
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn a_template_brings_the_database_back() {
    let world = World::new();
    let (mut rig, _) = world.running(CLUSTER);
    let url = url(&rig, "postgres.db");
    for _ in 0..2 {
        assert_eq!(sql(&url, "select count(*) from t").unwrap(), "10");
        sql(&url, "delete from t where n > 3; create table later (a int)").unwrap();
        rig.reset("main").unwrap();
        rig.start("main", &Overrides::default()).unwrap();
    }
    assert_eq!(sql(&url, "select coalesce(to_regclass('later')::text, 'none')").unwrap(), "none");
    assert_eq!(sql(&url, "select similarity('a', 'a')").unwrap(), "1");
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn an_arm_changes_settings_and_the_next_one_has_the_declared_ones_again() {
    let world = World::new();
    let (mut rig, _) = world.running(CLUSTER);
    let more = [("max_connections".to_owned(), knee_core::rig::Setting::Int(44))].into();
    let overrides = Overrides { postgres: [("db".to_owned(), more)].into(), ..Overrides::default() };
    rig.start("main", &overrides).unwrap();
    assert_eq!(sql(&url(&rig, "postgres.db"), "show max_connections").unwrap(), "44");
    assert_eq!(sql(&url(&rig, "postgres.db"), "select count(*) from t").unwrap(), "10");
    rig.start("main", &Overrides::default()).unwrap();
    assert_eq!(sql(&url(&rig, "postgres.db"), "show max_connections").unwrap(), "33");
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn a_replica_sees_what_was_written_and_a_synchronous_one_before_the_commit_returns() {
    for (kind, state) in [("sync", "sync"), ("async", "async")] {
        let world = World::new();
        let declaration = CLUSTER.replace("[postgres.db]", &format!("[postgres.db]\nreplica = \"{kind}\""));
        let declaration = declaration.replace("{postgres.db.url}", "{postgres.db.replica_url}");
        let (mut rig, service) = world.running(&declaration);
        let replica = crate::world::get(&service, "/args");
        let primary = url(&rig, "postgres.db");
        assert_eq!(sql(&primary, "select sync_state from pg_stat_replication").unwrap(), state);
        assert_eq!(sql(&replica, "select pg_is_in_recovery()").unwrap(), "t");
        // A commit that is to be applied by the replica returns only when it was.
        let written = "set synchronous_commit = remote_apply; insert into t values (11)";
        sql(&primary, written).unwrap();
        if kind == "sync" {
            assert_eq!(sql(&replica, "select count(*) from t").unwrap(), "11");
        }
        rig.reset("main").unwrap();
        assert_eq!(sql(&replica, "select count(*) from t").unwrap(), "10", "a reset waits for the replica");
        assert_eq!(rig.stores()[0].pids.len(), 2);
        rig.down().unwrap();
        world.assert_nothing_left();
    }
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn a_version_that_is_not_installed_is_named_with_the_line_that_installs_it() {
    let world = World::new();
    let error = world.up("[postgres.db]\nleast_version = 99\n").err().unwrap();
    assert!(error.to_string().contains("is too old: at least 99 is asked for"), "{error}");
    assert!(error.hint().contains("99"), "{}", error.hint());
    world.assert_nothing_left();
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn a_setting_or_extension_that_does_not_exist_is_told_in_the_words_of_the_server() {
    let world = World::new();
    let error = world.up("[postgres.db]\nsettings = { max_conections = 1 }\n").err().unwrap().to_string();
    assert!(error.starts_with("PostgreSQL `db` ended before it was up (exit code 1)"), "{error}");
    assert!(error.contains("unrecognized configuration parameter \"max_conections\""), "{error}");
    let error = world.up("[postgres.db]\nextensions = [\"no_such\"]\n").err().unwrap().to_string();
    assert!(error.starts_with("PostgreSQL `db`: cannot create the extension `no_such`: "), "{error}");
    let error = world.up("[postgres.db]\nsettings = { port = 1 }\n").err().unwrap().to_string();
    assert_eq!(error, "`postgres.db.settings.port` is decided by the rig");
    world.assert_nothing_left();
}
