//! What PostgreSQL does for a list: the plans that the document publishes.
//!
//! A plan is no figure of a study; a test can read it.

use crate::cluster;
use crate::fixture::{Service, succeed};
use testbed::Cluster;

/// Plan of the statement that the service executes for a list.
async fn plan(cluster: &Cluster, service: &Service) -> String {
    let before = cluster.statements("todos").len();
    assert_eq!(service.get("/todos/").await.status, 200);
    let statements = cluster.statements("todos");
    let list = statements[before..].iter().find_map(|line| Some(&line[line.find("SELECT id")?..]));
    let explain = format!("EXPLAIN {}", list.expect("a list is read"));
    let rows = cluster.connect().await.query(&explain, &[]).await.unwrap();
    rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n")
}

/// A service on so many todos, which PostgreSQL has counted.
async fn service(cluster: &Cluster, rows: &str, flags: &[&str]) -> Service {
    // Waits until PostgreSQL answers.
    drop(cluster.connect().await);
    succeed(&["seed", "--postgres", &cluster.url(), "--rows", rows, "--replace"]);
    let service = Service::open(cluster, &[&["--list-cache", "off"], flags].concat()).await;
    cluster.execute("VACUUM ANALYZE todos").await;
    service
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_list_of_all_todos_is_sorted_after_a_scan_of_the_table() {
    let cluster = cluster::empty();
    for index in ["off", "on"] {
        let service = service(&cluster, "1075", &["--list-limit", "none", "--created-index", index]).await;
        let plan = plan(&cluster, &service).await;
        assert!(plan.contains("Sort") && plan.contains("Seq Scan on todos"), "index {index}: {plan}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_list_with_a_limit_is_read_from_the_index_if_there_is_one() {
    let cluster = cluster::empty();
    for (index, is_read) in [("off", false), ("on", true)] {
        let service = service(&cluster, "11249", &["--list-limit", "200", "--created-index", index]).await;
        let plan = plan(&cluster, &service).await;
        assert_eq!(plan.contains("Index Scan using idx_todomodel_created_at"), is_read, "{plan}");
        assert_eq!(plan.contains("Seq Scan on todos"), !is_read, "{plan}");
    }
}
