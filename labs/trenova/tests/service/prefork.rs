//! Several processes on one socket: started, supervised and stopped together, with divided or full-size pools.

use futures_util::future::join_all;

use crate::world::{LONG_TIMEOUT, OPTIONS, Service, Stores};
use testbed::{children, signal, wait};

const SESSIONS: &str = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'trenova'";
const WAITING: &str = "SELECT count(*) FROM pg_stat_activity \
                       WHERE application_name = 'trenova' AND wait_event_type = 'Lock'";

/// Status of a request over a new connection.
async fn status_of(url: &str, session: &str) -> u16 {
    let request = reqwest::Client::new().get(format!("{url}{OPTIONS}"));
    let request = request.header("cookie", format!("trenova_session={session}"));
    crate::world::send(request).await.status
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn prefork_sets_the_number_of_processes_and_replaces_one_that_dies() {
    let stores = Stores::seeded().await;
    for (value, threads, count) in [("1", "2", 0), ("3", "2", 3), ("2", "1", 2)] {
        let mut service = Service::open(&stores, &["--prefork", value, "--threads", threads]);
        let session = service.sign_in(1).await.session;
        let parent = service.process.id();
        let workers = children(parent);
        assert_eq!(workers.len(), count, "{value}");
        if let Some(worker) = workers.first() {
            signal(*worker, "KILL");
            wait("another one is started", async || {
                let now = children(parent);
                now.len() == count && !now.contains(worker)
            })
            .await;
        }
        for status in join_all((0..20).map(|_| status_of(&service.url, &session))).await {
            assert_eq!(status, 200, "{value}");
        }
        signal(parent, "TERM");
        let ended = tokio::task::spawn_blocking(move || service.process.0.wait().unwrap()).await.unwrap();
        assert!(ended.success(), "{value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn connections_spread_over_the_processes() {
    let stores = Stores::seeded().await;
    let service = Service::open(&stores, &["--prefork", "4"]);
    // Metrics are per process: each connection reports how many its process has.
    let all_are_there = &tokio::sync::Barrier::new(40);
    let callers = (0..40).map(|_| {
        let (client, url) = (reqwest::Client::new(), format!("{}/metrics", service.url));
        async move {
            client.get(&url).send().await.unwrap().text().await.unwrap();
            let again = async || {
                let text = client.get(&url).send().await.unwrap().text().await.unwrap();
                let line = text.lines().find_map(|line| line.strip_prefix("trenova_callers "));
                line.unwrap().parse::<u32>().unwrap()
            };
            all_are_there.wait().await;
            again().await
        }
    });
    let most = join_all(callers).await.into_iter().max();
    assert!(most <= Some(25), "40 callers, 4 processes, one with {most:?}");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn no_process_outlives_the_supervisor() {
    let stores = Stores::seeded().await;
    let mut service = Service::open(&stores, &["--prefork", "2"]);
    service.process.kill();
    let url = format!("{}/health", service.url);
    wait("nobody listens", async || reqwest::get(&url).await.is_err()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn prefork_pools_are_divided_among_the_processes_or_multiplied_by_them() {
    let stores = Stores::seeded().await;
    for (value, range) in [("divided", 2..=8), ("multiplied", 9..=32)] {
        let flags =
            ["--prefork", "4", "--prefork-pools", value, "--db-pool-max", "8", "--query-call", "each"];
        let service = Service::open(&stores, &[&LONG_TIMEOUT[..], &flags].concat());
        let session = service.sign_in(1).await.session;
        let mut holder = stores.cluster.connect().await;
        let held = holder.transaction().await.unwrap();
        held.batch_execute("LOCK TABLE workers").await.unwrap();
        let looking = async {
            wait("they wait", async || stores.cluster.number(WAITING).await >= *range.start()).await;
            held.rollback().await.unwrap();
        };
        let users = join_all((0..48).map(|_| status_of(&service.url, &session)));
        let (statuses, ()) = tokio::join!(users, looking);
        assert!(statuses.iter().all(|status| *status == 200), "{value}: {statuses:?}");
        // Idle connections are kept, so the count is the peak.
        let opened = stores.cluster.number(SESSIONS).await;
        assert!(range.contains(&opened), "{value}: {opened}");
        drop(service);
        wait("its sessions are gone", async || stores.cluster.number(SESSIONS).await == 0).await;
    }
}
