//! The defects of requests to partners. A partner takes a constant time, so the tests measure no speed of the machine.

use std::time::Duration;

use tokio::time::Instant;

use crate::fixture::Service;
use crate::stores::Stores;

/// Shortest of several times, which a busy machine lengthens least.
async fn shortest(service: &Service<'_>, path: &str) -> Duration {
    let mut shortest = Duration::MAX;
    for _ in 0..10 {
        let start = Instant::now();
        assert_eq!(service.get(path).await.status, 200);
        shortest = shortest.min(start.elapsed());
    }
    shortest
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn partners_are_asked_at_the_same_time_and_one_after_another_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, is_serial) in [("none", false), ("serial-calls", true)] {
        let service = Service::with(&stores, defect).await;
        assert_eq!(service.get("/overview").await.json().as_array().unwrap().len(), 5);
        let time = shortest(&service, "/overview").await;
        assert_eq!(time >= Duration::from_millis(40), is_serial, "{defect}: {time:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn two_requests_for_rates_or_tariffs_are_answered_at_a_time_only_with_the_defects() {
    let stores = Stores::seeded().await;
    for (defect, path, is_blocked) in [
        ("none", "/rates", false),
        ("blocked-thread", "/rates", true),
        ("none", "/tariffs", false),
        ("two-per-host", "/tariffs", true),
    ] {
        let service = Service::with(&stores, defect).await;
        let mut shortest = Duration::MAX;
        for _ in 0..5 {
            let start = Instant::now();
            let rates = futures_util::future::join_all((0..16).map(|_| service.get(path))).await;
            assert!(rates.iter().all(|rate| rate.status == 200), "{rates:?}");
            shortest = shortest.min(start.elapsed());
        }
        // 16 times 20 ms on two threads or connections.
        assert_eq!(shortest >= Duration::from_millis(160), is_blocked, "{defect}: {shortest:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn all_requests_pause_again_and_again_only_with_the_defect() {
    let stores = Stores::seeded().await;
    let service = Service::with(&stores, "none").await;
    // A busy machine makes requests slow too, now and then: one quiet round of several is enough.
    let mut fewest = usize::MAX;
    for _ in 0..4 {
        fewest = fewest.min(slow_requests(&service, usize::MAX, Duration::from_millis(6500)).await);
        if fewest < 3 {
            break;
        }
    }
    assert!(fewest < 3, "none: {fewest} slow requests");
    let service = Service::with(&stores, "timed-pause").await;
    // On a busy machine some requests miss a pause: the third slow one is late, but comes.
    let slow = slow_requests(&service, 3, Duration::from_secs(60)).await;
    assert!(slow >= 3, "timed-pause: {slow} slow requests");
}

/// How many requests are slow, of those sent one after another until `enough` were or the time is over.
async fn slow_requests(service: &Service<'_>, enough: usize, longest: Duration) -> usize {
    let (begin, mut slow) = (Instant::now(), 0);
    while slow < enough && begin.elapsed() < longest {
        let start = Instant::now();
        assert_eq!(service.get("/notes/7").await.status, 200);
        slow += usize::from(start.elapsed() >= Duration::from_millis(100));
    }
    slow
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_dead_replica_is_asked_again_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, is_asked) in [("none", false), ("dead-replica", true)] {
        let service = Service::with(&stores, defect).await;
        // A busy machine makes requests slow too, now and then; the defect does it every fourth time.
        let mut slow = usize::MAX;
        for _ in 0..4 {
            let mut times = Vec::new();
            for _ in 0..12 {
                let start = Instant::now();
                assert_eq!(service.get("/ratings").await.json()["stars"], 4);
                times.push(start.elapsed());
            }
            slow = slow.min(times.iter().filter(|time| **time >= Duration::from_millis(120)).count());
        }
        assert_eq!(slow >= 3, is_asked, "{defect}: {slow} slow requests");
    }
}
