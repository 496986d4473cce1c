//! Rescue of the executions of nodes that are dead, or seem to be.

use std::time::Duration;

use serde_json::json;

use crate::cluster;
use crate::receiver::Stub;
use crate::world::{Node, seed};
use testbed::{Cluster, signal, wait};

const LEASE: [&str; 4] = ["--beat-ms", "50", "--lease-ms", "1000"];

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn executions_of_a_killed_worker_are_done_by_another() {
    let cluster = cluster::empty();
    seed(&cluster, 0).await;
    let api_node = Node::open(&cluster, &["--role", "api"]).await;
    let stub = Stub::start(&["--delay", "3s"]);
    for query in ["batch", "single"] {
        let flags =
            [&["--role", "worker", "--claim-query", query, "--max-workers", "8"], &LEASE[..]].concat();
        let mut first = Node::open(&cluster, &flags).await;
        let before = stub.count("calls").await;
        for _ in 0..8 {
            api_node.call(&stub.url).await;
        }
        wait("it is at work", async || stub.count("calls").await > before).await;
        first.process.kill();
        let left = cluster.number("SELECT count(*) FROM executions WHERE status <> 'success'").await;
        let second = Node::open(&cluster, &flags).await;
        let open = "SELECT count(*) FROM executions WHERE status <> 'success'";
        wait("all are done", async || cluster.number(open).await == 0).await;
        let rescued = second.figure("runlater_executions_rescued_total").await;
        assert!(rescued >= 1 && rescued <= u64::try_from(left).unwrap(), "{query}: {rescued} of {left}");
    }
}

/// `RUNLATER_KILLS=20 cargo test --release -p runlater --test jobs restarted -- --nocapture` kills 20 nodes that have
/// default settings, and prints how long their executions waited.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn executions_of_killed_nodes_are_restarted_by_the_others() {
    let asked = std::env::var("RUNLATER_KILLS").ok().map(|kills| kills.parse::<usize>().expect("a number"));
    let kills = asked.unwrap_or(1);
    let lease: &[&str] = if asked.is_some() { &[] } else { &LEASE };
    let cluster = cluster::empty();
    seed(&cluster, 0).await;
    let api_node = Node::open(&cluster, &["--role", "api"]).await;
    let stub = Stub::start(&["--delay", if asked.is_some() { "5s" } else { "2s" }]);
    let flags = [&["--role", "worker", "--max-workers", "16"], lease].concat();
    let mut nodes = vec![Node::open(&cluster, &flags).await, Node::open(&cluster, &flags).await];
    let mut waited = Vec::new();
    for kill in 0..kills {
        let before = stub.count("calls").await;
        for _ in 0..32 {
            api_node.call(&stub.url).await;
        }
        wait("all are at work", async || stub.count("calls").await >= before + 32).await;
        if asked.is_some() {
            // The remaining nodes poll every 2 s: kills must fall between polls.
            tokio::time::sleep(
                Duration::from_secs(2) * u32::try_from(kill).unwrap() / u32::try_from(kills).unwrap(),
            )
            .await;
        }
        waited.extend(restart_waits_after_kill(&cluster, nodes.remove(0)).await);
        nodes.push(Node::open(&cluster, &flags).await);
    }
    assert!(!waited.is_empty(), "nobody was killed at work");
    waited.sort_unstable();
    let at = |percent: usize| waited[(waited.len() * percent).div_ceil(100) - 1] as f64 / 1e6;
    let (p50, p99, most) = (at(50), at(99), at(100));
    println!(
        "{} executions of {kills} killed nodes: begun again after {p50:.1} s (p50), {p99:.1} s (p99), {most:.1} s (most)",
        waited.len()
    );
}

/// How long each of `node`'s executions waited for another node, in microseconds by PostgreSQL's clock.
async fn restart_waits_after_kill(cluster: &Cluster, mut node: Node) -> Vec<i64> {
    node.process.kill();
    let at = cluster.number("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint").await;
    let open = "SELECT count(*) FROM executions WHERE status <> 'success'";
    wait("all are done", async || cluster.number(open).await == 0).await;
    let begun = "SELECT (extract(epoch FROM started_at) * 1000000)::bigint FROM executions \
                 WHERE claim > 1 ORDER BY started_at DESC";
    let rows = cluster.connect().await.query(begun, &[]).await.unwrap();
    rows.iter().map(|row| row.get::<_, i64>(0) - at).take_while(|waited| *waited > 0).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn the_result_of_a_worker_presumed_dead_is_refused() {
    let cluster = cluster::empty();
    seed(&cluster, 0).await;
    let api_node = Node::open(&cluster, &["--role", "api"]).await;
    let stub = Stub::start(&["--delay", "3s"]);
    let zombie = Node::open(&cluster, &[&["--role", "worker"], &LEASE[..]].concat()).await;
    let task = api_node.create(&json!({"url": stub.url})).await;
    wait("it calls", async || stub.count("calls").await == 1).await;
    signal(zombie.process.id(), "STOP");
    let heir = Node::open(&cluster, &[&["--role", "worker"], &LEASE[..]].concat()).await;
    wait("another one does it", async || stub.count("answered").await == 2).await;
    let done = "SELECT count(*) FROM executions WHERE status = 'success'";
    wait("its result is written", async || cluster.number(done).await == 1).await;
    let written = "SELECT (extract(epoch FROM finished_at) * 1000000)::bigint FROM executions";
    let at = cluster.number(written).await;
    signal(zombie.process.id(), "CONT");
    wait("the late result is refused", async || zombie.figure("runlater_results_refused_total").await == 1)
        .await;
    assert_eq!(cluster.number(written).await, at, "the result of the heir stays");
    assert_eq!(cluster.number("SELECT claim::bigint FROM executions").await, 2);
    let executions = api_node.executions(task["task_id"].as_str().unwrap()).await;
    assert_eq!(
        (executions.len(), executions[0]["attempt"].as_i64()),
        (1, Some(1)),
        "it is still the first try"
    );
    drop(heir);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn rescue_reassigns_after_a_lease_or_fails_executions_older_than_five_minutes() {
    let cluster = cluster::empty();
    for (value, status) in [("age_5min", "failed"), ("lease", "running")] {
        let flags = ["--rescue", value, "--cleaner-ms", "20", "--beat-ms", "20", "--lease-ms", "5000"];
        let node = Node::seeded(&cluster, &flags).await;
        let stub = Stub::start(&["--delay", "60s"]);
        node.call(&stub.url).await;
        wait("it is called", async || stub.count("calls").await == 1).await;
        cluster.execute("UPDATE executions SET started_at = now() - interval '240 seconds'").await;
        let one = |status: &str| format!("SELECT count(*) FROM executions WHERE status = '{status}'");
        assert_eq!(cluster.number(&one("running")).await, 1, "not yet");
        cluster.execute("UPDATE executions SET started_at = now() - interval '301 seconds'").await;
        if status == "failed" {
            wait("it fails", async || cluster.number(&one("failed")).await == 1).await;
        } else {
            // The rescue of dead nodes leaves it alone.
            cluster
                .execute(
                    "INSERT INTO nodes (id, beat_at) VALUES (-1, now() - interval '2 minutes'); \
                     INSERT INTO executions (id, task_id, scheduled_for, status, node, claim, started_at) \
                     SELECT gen_random_uuid(), id, now(), 'running', -1, 1, now() FROM tasks",
                )
                .await;
            let rescued = "runlater_executions_rescued_total";
            wait("the other one is freed", async || node.figure(rescued).await == 1).await;
            let old = one("running") + " AND started_at < now() - interval '300 seconds'";
            assert_eq!(cluster.number(&old).await, 1, "its node lives");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn an_execution_that_a_node_holds_without_knowing_is_freed_when_a_claim_fails() {
    let mut cluster = cluster::empty();
    let node = Node::seeded(&cluster, &[&LEASE[..], &["--poll-ms", "10"]].concat()).await;
    let stub = Stub::start(&[]);
    node.call(&stub.url).await;
    wait("it works", async || stub.count("calls").await == 1).await;
    // Simulates a lost claim response: the row names this node, which does not hold it.
    cluster
        .execute(
            "INSERT INTO executions (id, task_id, scheduled_for, status, node, claim, started_at) \
             SELECT gen_random_uuid(), t.id, now(), 'running', n.id, 1, now() FROM tasks t, nodes n",
        )
        .await;
    cluster.stop_immediately();
    wait("it is noticed", async || node.get("/ready").await.status == 503).await;
    cluster.restart();
    wait("it is executed", async || stub.count("calls").await == 2).await;
}
