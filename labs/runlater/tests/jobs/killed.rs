//! Nodes, single workers and PostgreSQL are killed (-9) in turn while jobs are created and executed. Then the test
//! compares what the clients, the target and the tables recorded.
//!
//! `RUNLATER_JOBS=100000 cargo test --release -p runlater --test jobs killed` makes it long, with a kill every
//! 5 seconds until all jobs are done. The target gets a repeated call only if an execution was claimed again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Client;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::cluster;
use crate::receiver::Counter;
use crate::world::{KEY, Node, seed};
use testbed::Cluster;

const CALLERS: usize = 16;
const FLAGS: [&str; 8] = ["--beat-ms", "200", "--lease-ms", "2000", "--poll-ms", "100", "--grace", "5"];

/// The processes to kill, and the progress of the work.
struct Trial {
    desk: String,
    target: String,
    jobs: usize,
    next: AtomicUsize,
    /// Executions acknowledged to clients.
    told: Mutex<Vec<String>>,
}

impl Trial {
    fn created(&self) -> usize {
        self.next.load(Ordering::Relaxed).min(self.jobs)
    }

    /// Creates tasks in sequence, until all exist. One in seven is delayed, one in fifty is in a queue.
    async fn caller(self: Arc<Self>) {
        let client = Client::builder().timeout(Duration::from_secs(20)).build().unwrap();
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.jobs {
                return;
            }
            let mut task = json!({"url": self.target, "method": "GET", "retry_attempts": 1});
            if number.is_multiple_of(7) {
                task["delay"] = json!(1 + number % 3);
            }
            if number.is_multiple_of(50) {
                task["queue"] = json!("q");
            }
            self.create(&client, &task).await;
        }
    }

    /// Retries until there is a response; an unacknowledged task can exist all the same.
    async fn create(&self, client: &Client, task: &Value) {
        loop {
            let request = client.post(format!("{}/api/v1/tasks", self.desk)).bearer_auth(KEY).json(task);
            if let Ok(response) = request.send().await {
                let status = response.status().as_u16();
                assert!(status == 202 || status == 503, "{status}");
                if status == 202
                    && let Ok(answer) = response.json::<Value>().await
                {
                    let execution = answer["data"]["execution_id"].as_str().unwrap().to_owned();
                    return self.told.lock().unwrap().push(execution);
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// How often to kill.
enum Pace {
    /// This many times, by progress.
    Times(usize),
    /// At intervals, while there is work.
    Every(Duration),
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn after_any_kill_every_acknowledged_job_is_done_and_none_early() {
    let jobs: usize = std::env::var("RUNLATER_JOBS").map_or(1500, |jobs| jobs.parse().expect("a number"));
    let pace = if jobs < 20_000 { Pace::Times(6) } else { Pace::Every(Duration::from_secs(5)) };
    trial(jobs, &pace).await;
}

async fn trial(jobs: usize, pace: &Pace) {
    let mut cluster = cluster::quiet();
    seed(&cluster, 0).await;
    let target = Counter::start(Duration::from_millis(20)).await;
    let mut desk = Some(Node::open(&cluster, &FLAGS).await);
    let url = desk.as_ref().unwrap().url.clone();
    let listen = url.strip_prefix("http://").unwrap().to_owned();
    let worker = [&["--role", "worker", "--max-workers", "64"], &FLAGS[..]].concat();
    let mut workers = vec![Node::open(&cluster, &worker).await, Node::open(&cluster, &worker).await];
    let trial = Arc::new(Trial {
        desk: url,
        target: target.url.clone(),
        jobs,
        next: AtomicUsize::new(0),
        told: Mutex::default(),
    });
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        callers.spawn(Arc::clone(&trial).caller());
    }
    let mut kills = 0;
    while next_kill(&trial, &cluster, pace, kills).await {
        match kills % 3 {
            0 => {
                // Aborts without cleanup: its connections and calls just end.
                workers.remove(0).process.kill();
                workers.push(Node::open(&cluster, &worker).await);
            }
            1 => {
                cluster.kill();
                cluster.restart();
            }
            _ => {
                drop(desk.take());
                desk = Some(Node::open(&cluster, &[&FLAGS[..], &["--listen", &listen]].concat()).await);
            }
        }
        kills += 1;
    }
    callers.join_all().await;
    wait_long("all jobs are done", async || open(&cluster).await == 0).await;
    audit(&cluster, &target, &trial, kills).await;
    let refused = workers[0].figure("runlater_results_refused_total").await;
    println!("{refused} results of lost executions were refused by the last worker");
}

/// Waits for the next kill; false if none is left.
async fn next_kill(trial: &Trial, cluster: &Cluster, pace: &Pace, kills: usize) -> bool {
    match pace {
        Pace::Times(times) => {
            if kills == *times {
                return false;
            }
            let due = (kills + 1) * trial.jobs / (times + 1);
            wait_long("the work goes on", async || trial.created() >= due).await;
            true
        }
        Pace::Every(time) => {
            tokio::time::sleep(*time).await;
            trial.created() < trial.jobs || open(cluster).await > 0
        }
    }
}

async fn open(cluster: &Cluster) -> i64 {
    cluster.number("SELECT count(*) FROM executions WHERE status IN ('pending', 'running')").await
}

async fn wait_long(what: &str, condition: impl AsyncFn() -> bool) {
    let trying = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let patience = Duration::from_secs(3600);
    assert!(tokio::time::timeout(patience, trying).await.is_ok(), "{what}: waited for {patience:?}");
}

async fn audit(cluster: &Cluster, target: &Counter, trial: &Trial, kills: usize) {
    let told = trial.told.lock().unwrap().clone();
    assert_eq!(told.len(), trial.jobs);
    let client = cluster.connect().await;
    let rows = client
        .query("SELECT id::text, status, claim, started_at >= scheduled_for FROM executions", &[])
        .await
        .unwrap();
    let mut claims = HashMap::new();
    for row in &rows {
        let (id, status, claim): (String, String, i32) = (row.get(0), row.get(1), row.get(2));
        assert!(status == "success" || status == "failed", "{id} is {status}");
        assert!(row.get::<_, bool>(3), "{id} was begun before it was due");
        claims.insert(id, u64::try_from(claim).unwrap());
    }
    let seen = target.calls();
    let mut lost = Vec::new();
    for id in &told {
        if !claims.contains_key(id) || !seen.contains_key(id) {
            lost.push(id);
        }
    }
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    let mut repeated = 0;
    for (id, calls) in &seen {
        let claimed = claims.get(id).copied().unwrap_or_default();
        assert!(*calls <= claimed, "{id} was called {calls} times and claimed {claimed} times");
        repeated += calls - 1;
    }
    let again: u64 = claims.values().map(|claims| claims.saturating_sub(1)).sum();
    println!(
        "{} jobs acknowledged, {} written, {kills} kills: none lost, none early, {repeated} calls made again, \
         {again} claims made again",
        told.len(),
        rows.len()
    );
}
