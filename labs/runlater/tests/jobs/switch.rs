//! Each switch has its documented effect.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::cluster;
use crate::receiver::Stub;
use crate::world::{Node, seed};
use testbed::{Cluster, wait};

const SESSIONS: &str = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'runlater' \
                        AND wait_event_type = 'Lock'";
/// Nothing is executed, so the log has only requests.
const API: [&str; 2] = ["--role", "api"];

/// Logged statements that contain all of these words.
fn having(cluster: &Cluster, words: &[&str]) -> usize {
    cluster.statements("runlater").iter().filter(|line| words.iter().all(|word| line.contains(word))).count()
}

/// Runs tasks in parallel to their end.
async fn run(node: &Node, task: &Value, count: usize) {
    join_all((0..count).map(|_| node.create(task))).await;
    let ended = "runlater_executions_ended_total{status=\"success\"}";
    wait("all have ended", async || node.figure(ended).await == count as u64).await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn list_query_finds_the_same_order_with_every_value() {
    let cluster = cluster::empty();
    seed(&cluster, 30).await;
    let mut lists = Vec::new();
    for (value, words, not) in [
        ("global_group", &["GROUP BY task_id"][..], "task_id IN"),
        ("scoped_group", &["GROUP BY task_id", "task_id IN"], "LATERAL"),
        ("lateral", &["LATERAL"], "GROUP BY"),
        ("denorm", &["last_execution_at DESC NULLS LAST"], "JOIN"),
    ] {
        let node = Node::open(&cluster, &[&API[..], &["--list-query", value]].concat()).await;
        let before = having(&cluster, words);
        lists.push(node.get("/api/v1/tasks?limit=20").await.data());
        let sql = cluster.statements("runlater");
        // The scheduler of this node reads tasks as well.
        let list = sql.iter().rfind(|line| words.iter().all(|word| line.contains(word))).unwrap();
        assert_eq!(having(&cluster, words), before + 1, "{value}");
        assert!(!list.contains(not), "{value}: {list}");
    }
    assert!(lists.iter().all(|list| *list == lists[0]) && lists[0].as_array().unwrap().len() == 20);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn list_index_serves_the_order_of_the_list_only_if_it_matches() {
    let cluster = cluster::empty();
    seed(&cluster, 3000).await;
    for (value, indexes, serves) in
        [("none", 0, false), ("org_last_asc", 1, false), ("org_last_desc", 1, true)]
    {
        let _node = Node::open(&cluster, &[&API[..], &["--list-index", value]].concat()).await;
        let sql = "SELECT count(*) FROM pg_indexes WHERE indexname LIKE 'tasks_org_last_execution_idx%'";
        assert_eq!(cluster.number(sql).await, indexes, "{value}");
        let client = cluster.connect().await;
        client.batch_execute("ANALYZE tasks").await.unwrap();
        let plan = "EXPLAIN SELECT id FROM tasks t WHERE organization_id = (SELECT id FROM organizations LIMIT 1) \
                    ORDER BY last_execution_at DESC NULLS LAST, inserted_at DESC LIMIT 51";
        let rows = client.query(plan, &[]).await.unwrap();
        let sorts = rows.iter().any(|row| row.get::<_, String>(0).contains("Sort"));
        assert_eq!(!sorts, serves, "{value}: {rows:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn list_total_counts_all_tasks_or_reads_one_more() {
    let cluster = cluster::empty();
    seed(&cluster, 7).await;
    for (value, total, counts) in [("count", json!(7), 1), ("has_more", Value::Null, 0)] {
        let node = Node::open(&cluster, &[&API[..], &["--list-total", value]].concat()).await;
        let before = having(&cluster, &["SELECT count(*) FROM tasks"]);
        let list = node.get("/api/v1/tasks?limit=5").await.json();
        assert_eq!((&list["total"], &list["has_more"]), (&total, &json!(true)), "{value}");
        assert_eq!(having(&cluster, &["SELECT count(*) FROM tasks"]) - before, counts, "{value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn apikey_touch_records_every_use_or_one_per_five_minutes() {
    let cluster = cluster::empty();
    for cache in ["off", "on"] {
        for (value, touches) in [("always", 5), ("debounce_300s", 1)] {
            let flags = ["--apikey-touch", value, "--key-cache", cache];
            let node = Node::seeded(&cluster, &[&API[..], &flags].concat()).await;
            for _ in 0..5 {
                node.get("/api/v1/tasks").await;
            }
            assert_eq!(node.figure("runlater_key_touches_total").await, touches, "{value} {cache}");
            let is_written = "SELECT count(last_used_at) FROM api_keys";
            assert_eq!(cluster.number(is_written).await, 1);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn key_cache_looks_a_key_up_once_and_drops_it_soon_after_its_deletion() {
    let cluster = cluster::empty();
    for (value, lookups) in [("off", 5), ("on", 1)] {
        let node = Node::seeded(&cluster, &[&API[..], &["--key-cache", value]].concat()).await;
        for _ in 0..5 {
            assert_eq!(node.get("/api/v1/tasks").await.status, 200);
        }
        // A slow machine can take longer than a key is cached.
        let seen = node.figure("runlater_key_lookups_total").await;
        assert!(seen == lookups || (value == "on" && seen < 5), "{value}: {seen}");
        cluster.execute("DELETE FROM api_keys").await;
        wait("the key opens nothing", async || node.get("/api/v1/tasks").await.status == 401).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn month_counter_and_last_exec_write_update_rows_at_once_or_buffered_without_loss() {
    let cluster = cluster::empty();
    let stub = Stub::start(&[]);
    let task = json!({"url": stub.url});
    let rows =
        [("row_update", "row_update", 8), ("buffer_5s", "buffer_5s", 8), ("buffer_5s", "with_result", 0)];
    for (month, last, last_writes) in rows {
        let mut node = Node::seeded(&cluster, &["--month-counter", month, "--last-exec-write", last]).await;
        run(&node, &task, 8).await;
        let marked = "SELECT count(*) FROM tasks WHERE last_execution_at IS NOT NULL";
        if last == "with_result" {
            assert_eq!(cluster.number(marked).await, 8, "they come with the results");
        }
        if month == "row_update" {
            wait("each is counted", async || node.figure("runlater_month_counter_writes_total").await == 8)
                .await;
        } else {
            let counted =
                async || cluster.number("SELECT monthly_execution_count::bigint FROM organizations").await;
            wait("all are counted", async || counted().await == 8).await;
            assert!(node.figure("runlater_month_counter_writes_total").await < 8, "together");
        }
        wait("all are marked", async || cluster.number(marked).await == 8).await;
        assert_eq!(node.figure("runlater_last_execution_writes_total").await, last_writes, "{last}");
        assert_eq!(cluster.number("SELECT monthly_execution_count::bigint FROM organizations").await, 8);
        node.process.kill();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn worker_refetch_and_claim_preload_set_how_often_a_job_is_loaded() {
    let cluster = cluster::empty();
    let stub = Stub::start(&[]);
    for query in ["single", "batch"] {
        for (refetch, preload, loads) in
            [("refetch", "off", 4), ("refetch", "on", 4), ("reuse", "off", 1), ("reuse", "on", 0)]
        {
            let flags = ["--claim-query", query, "--worker-refetch", refetch, "--claim-preload", preload];
            let node = Node::seeded(&cluster, &[&flags[..], &["--max-workers", "4"]].concat()).await;
            run(&node, &json!({"url": stub.url}), 6).await;
            let loaded = async || node.figure("runlater_job_loads_total").await;
            wait("the loads", async || loaded().await >= 6 * loads).await;
            assert_eq!(loaded().await, 6 * loads, "{query} {refetch} {preload}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn claim_query_claims_one_from_three_tables_one_from_one_table_or_a_batch() {
    let cluster = cluster::empty();
    let stub = Stub::start(&[]);
    for (value, joins) in [("join_sort", true), ("single", false), ("batch", false)] {
        seed(&cluster, 0).await;
        // All tasks exist before any worker polls.
        let api_node = Node::open(&cluster, &API).await;
        join_all((0..40).map(|_| api_node.call(&stub.url))).await;
        let before = having(&cluster, &["WITH due AS", "e.tier"]) + having(&cluster, &["o.tier DESC"]);
        let node = Node::open(&cluster, &["--claim-query", value, "--max-workers", "40"]).await;
        let claimed = async || node.figure("runlater_executions_claimed_total").await;
        wait("all are claimed", async || claimed().await == 40).await;
        let after = having(&cluster, &["WITH due AS", "e.tier"]) + having(&cluster, &["o.tier DESC"]);
        assert_eq!(after > before, joins, "{value}");
        let claims = node.figure("runlater_claims_total").await;
        assert_eq!(claims < 20, value == "batch", "{value}: {claims} claims for 40");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn create_path_writes_a_task_in_four_statements_in_two_or_in_a_batch() {
    let cluster = cluster::empty();
    for (value, statements, lookups) in [("dns_update", 12, 12), ("two_inserts", 12, 0), ("group", 11, 0)] {
        let flags = ["--create-path", value, "--batch-gap-ms", "200"];
        let node = Node::seeded(&cluster, &[&API[..], &flags].concat()).await;
        let updates = || having(&cluster, &["UPDATE tasks SET next_run_at = NULL"]);
        let before = updates();
        let task = json!({"url": "http://localhost:9/", "delay": "1h"});
        join_all((0..12).map(|_| node.create(&task))).await;
        let written = node.figure("runlater_create_statements_total").await;
        assert!(
            if value == "group" { written <= statements } else { written == statements },
            "{value}: {written}"
        );
        assert_eq!(node.figure("runlater_name_lookups_total").await, lookups, "{value}");
        assert_eq!(updates() - before, usize::try_from(lookups).unwrap(), "{value}");
        assert_eq!(cluster.number("SELECT count(*) FROM executions").await, 12, "{value}");
        let unknown = node.post("/api/v1/tasks", &json!({"url": "http://no-such-host.invalid/"})).await;
        assert_eq!(unknown.status, if value == "dns_update" { 422 } else { 202 }, "{value}");
        let recurring =
            node.post("/api/v1/tasks", &json!({"url": "http://127.0.0.1:9/", "cron": "0 0 1 1 *"})).await;
        assert_eq!(recurring.status, 201, "{value}");
        let to_come = "SELECT count(*) FROM tasks WHERE next_run_at IS NOT NULL";
        assert_eq!(cluster.number(to_come).await, 1, "{value}: it will be executed");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn due_is_the_next_whole_second_or_now() {
    let cluster = cluster::empty();
    for (value, is_whole) in [("next_second", true), ("now", false)] {
        let node = Node::seeded(&cluster, &[&API[..], &["--due", value]].concat()).await;
        let mut whole = 0;
        for _ in 0..5 {
            let task = node.create(&json!({"url": "http://127.0.0.1:9/"})).await;
            whole += usize::from(task["scheduled_for"].as_str().unwrap().contains(".000"));
        }
        assert_eq!(whole == 5, is_whole, "{value}: {whole} of 5");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn db_pool_bounds_connections_and_pool_error_sets_the_status_of_the_rest() {
    let cluster = cluster::empty();
    for (size, error, status, code) in
        [("2", "503", 503, "service_unavailable"), ("5", "500", 500, "internal_error")]
    {
        let flags =
            ["--db-pool", size, "--pool-error", error, "--db-pool-wait-ms", "300", "--key-cache", "on"];
        let node = Node::seeded(&cluster, &[&API[..], &flags].concat()).await;
        node.get("/api/v1/tasks").await;
        let mut holder = cluster.connect().await;
        let held = holder.transaction().await.unwrap();
        held.batch_execute("LOCK TABLE tasks").await.unwrap();
        let asking = join_all((0..9).map(|_| node.get("/api/v1/tasks")));
        let seats: i64 = size.parse().unwrap();
        let freeing = async {
            // The scheduler can wait as well, with its own connection.
            wait("all connections wait", async || cluster.number(SESSIONS).await >= seats).await;
            let refused = format!(
                "runlater_requests_total{{route=\"/api/v1/tasks\",method=\"GET\",status=\"{status}\"}}"
            );
            let all = 9 - u64::try_from(seats).unwrap();
            wait("the others are refused", async || node.figure(&refused).await == all).await;
            held.rollback().await.unwrap();
        };
        let (answers, ()) = tokio::join!(asking, freeing);
        let served = answers.iter().filter(|answer| answer.status == 200).count();
        assert_eq!(served, usize::try_from(seats).unwrap(), "{answers:?}");
        let refused = answers.iter().find(|answer| answer.status != 200).unwrap();
        assert_eq!((refused.status, refused.code().as_str()), (status, code));
        assert_eq!(refused.headers.contains_key("retry-after"), status == 503);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn tasks_pk_index_and_spare_indexes_create_and_drop_indexes() {
    let cluster = cluster::empty();
    let stub = Stub::start(&[]);
    let primary = "SELECT count(*) FROM pg_indexes WHERE indexname = 'tasks_default_pkey'";
    let all = "SELECT count(*) FROM pg_indexes WHERE tablename IN ('tasks_default', 'executions_default')";
    let mut counts = Vec::new();
    for (value, there) in [("present", 1), ("absent", 0), ("present", 1)] {
        let node = Node::seeded(&cluster, &["--tasks-pk-index", value, "--spare-indexes", value]).await;
        assert_eq!(cluster.number(primary).await, there, "{value}");
        counts.push(cluster.number(all).await);
        // Everything works without it as well.
        run(&node, &json!({"url": stub.url}), 3).await;
    }
    assert_eq!((counts[0] - counts[1], counts[2]), (8, counts[0]), "{counts:?}");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn http_client_opens_a_connection_for_each_call_25_or_as_many_as_there_are_calls() {
    let cluster = cluster::empty();
    for (value, at_most, open_max) in [("per_call", 90, 45), ("pool_25", 25, 25), ("pool", 45, 45)] {
        let stub = Stub::start(&["--delay", "300ms"]);
        let node = Node::seeded(&cluster, &["--http-client", value, "--max-workers", "45"]).await;
        run(&node, &json!({"url": stub.url}), 45).await;
        run_more(&node, &stub.url, 90).await;
        let counts = stub.counts().await;
        let of = |name: &str| counts[name].as_u64().unwrap();
        // The test's own query uses a connection, too.
        let connections = of("connections") - 1;
        assert!(connections <= at_most && of("open_max") <= open_max, "{value}: {counts}");
        assert_eq!(connections == 90, value == "per_call", "{value}: {counts}");
    }
}

async fn run_more(node: &Node, url: &str, all: u64) {
    join_all((0..45).map(|_| node.call(url))).await;
    let ended = "runlater_executions_ended_total{status=\"success\"}";
    wait("all have ended", async || node.figure(ended).await == all).await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn max_workers_bounds_calls_and_workers_sets_how_their_number_is_chosen() {
    let cluster = cluster::empty();
    for query in ["single", "batch"] {
        for (value, workers) in [("managed", 1), ("fixed", 3)] {
            let stub = Stub::start(&["--delay", "20ms"]);
            let flags = ["--claim-query", query, "--workers", value, "--max-workers", "3"];
            let node = Node::seeded(&cluster, &flags).await;
            wait("they are there", async || node.figure("runlater_workers").await == workers).await;
            run(&node, &json!({"url": stub.url}), 12).await;
            let open_max = stub.count("open_max").await;
            assert!(open_max <= 3, "{query} {value}: {open_max}");
            assert!(value == "managed" || open_max > 1, "{query} {value}: {open_max}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn worker_pause_delays_a_workers_next_job() {
    let cluster = cluster::empty();
    let stub = Stub::start(&[]);
    for query in ["single", "batch"] {
        let flags = ["--claim-query", query, "--max-workers", "1", "--worker-pause-ms", "300"];
        let node = Node::seeded(&cluster, &flags).await;
        run(&node, &json!({"url": stub.url}), 3).await;
        let shortest = "SELECT min(extract(epoch FROM rest) * 1000)::bigint FROM \
                        (SELECT started_at - lag(finished_at) OVER (ORDER BY started_at) AS rest FROM executions) r";
        assert!(cluster.number(shortest).await >= 300, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn store_result_writes_results_one_by_one_or_in_batches() {
    let cluster = cluster::empty();
    let stub = Stub::start(&["--delay", "200ms"]);
    for value in ["each", "group"] {
        let node = Node::seeded(&cluster, &["--store-result", value, "--batch-gap-ms", "300"]).await;
        run(&node, &json!({"url": stub.url}), 20).await;
        let statements = node.figure("runlater_result_statements_total").await;
        assert_eq!(statements == 20, value == "each", "{value}: {statements}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn wake_wakes_the_workers_of_the_node_of_all_nodes_or_none() {
    let cluster = cluster::empty();
    let stub = Stub::start(&[]);
    // Workers that poll only once a minute.
    let slow = ["--poll-ms", "60000", "--beat-ms", "60000", "--lease-ms", "600000"];
    for (value, notifies) in [("process", false), ("notify", true)] {
        seed(&cluster, 0).await;
        let flags = [&slow[..], &["--wake", value]].concat();
        let api_node = Node::open(&cluster, &[&API[..], &flags].concat()).await;
        let node = Node::open(
            &cluster,
            &[&["--role", if notifies { "worker" } else { "all" }], &flags[..]].concat(),
        )
        .await;
        // The first poll is over.
        wait("it has looked", async || node.figure("runlater_claims_total").await >= 1).await;
        wait("it listens", async || {
            let listening = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'";
            !notifies || cluster.number(listening).await == 1
        })
        .await;
        let before = having(&cluster, &["pg_notify"]);
        let maker = if notifies { &api_node } else { &node };
        maker.call(&stub.url).await;
        let ended = "runlater_executions_ended_total{status=\"success\"}";
        wait("it is executed", async || node.figure(ended).await == 1).await;
        assert_eq!(having(&cluster, &["pg_notify"]) > before, notifies, "{value}");
    }
    let node = Node::seeded(&cluster, &[&slow[..], &["--wake", "poll"]].concat()).await;
    wait("it has looked", async || node.figure("runlater_claims_total").await >= 1).await;
    for _ in 0..20 {
        node.call(&stub.url).await;
    }
    assert_eq!(node.figure("runlater_executions_claimed_total").await, 0, "nobody told it");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn rate_limit_refuses_excess_requests_and_reports_when_to_retry() {
    let cluster = cluster::empty();
    let node = Node::seeded(&cluster, &["--rate-limit-hour", "3"]).await;
    for _ in 0..3 {
        assert_eq!(node.get("/api/v1/tasks").await.status, 200);
    }
    for path in ["/api/v1/tasks", "/health"] {
        let refused = node.get(path).await;
        assert_eq!((refused.status, refused.code().as_str()), (429, "rate_limited"));
        let seconds: u64 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=3600).contains(&seconds));
    }
    assert_eq!(node.get("/ready").await.status, 200, "the house is not limited");
    let node = Node::open(&cluster, &["--rate-limit-minute", "1"]).await;
    // A minute can end between two requests.
    let mut answers = Vec::new();
    for _ in 0..3 {
        answers.push(node.get("/api/v1/tasks").await.status);
    }
    assert!(answers[0] == 200 && answers.contains(&429), "{answers:?}");
}
