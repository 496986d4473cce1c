//! The defects of sessions, tokens and comments. Another server takes a constant time, so only the test of the comments
//! compares times of the machine.

use std::time::Duration;

use reqwest::Method;
use tokio::time::Instant;

use crate::fixture::{Response, Service, send};
use crate::stores::Stores;

/// Shortest of several times, which a busy machine lengthens least.
async fn shortest(ask: impl AsyncFn()) -> Duration {
    let mut shortest = Duration::MAX;
    for _ in 0..10 {
        let start = Instant::now();
        ask().await;
        shortest = shortest.min(start.elapsed());
    }
    shortest
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn requests_of_one_session_wait_for_each_other_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, waits) in [("none", false), ("session-lock", true)] {
        let service = Service::with(&stores, defect).await;
        let part = async |session: &str| {
            let part = send(service.request(Method::GET, "/start").header("X-Session", session)).await;
            assert_eq!(part.json()["session"], session);
        };
        let all = async || drop(futures_util::future::join_all((0..16).map(|_| part("1"))).await);
        let time = shortest(all).await;
        // 16 times 10 ms.
        assert_eq!(time >= Duration::from_millis(160), waits, "{defect}: {time:?}");
        assert_eq!(service.get("/start").await.status, 401);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn the_keys_of_tokens_are_read_again_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, is_read) in [("none", false), ("signing-keys", true)] {
        let service = Service::with(&stores, defect).await;
        let mine = async |token: &str| -> Response {
            send(service.request(Method::GET, "/tickets/mine").header("Authorization", token)).await
        };
        assert_eq!(mine("Bearer 8").await.status, 401);
        let time = shortest(async || assert_eq!(mine("Bearer 7").await.json()["tickets"], 2)).await;
        assert_eq!(time >= Duration::from_millis(25), is_read, "{defect}: {time:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_comment_with_many_blanks_takes_long_only_with_the_defect() {
    let stores = Stores::seeded().await;
    let (mut times, mut bodies) = (Vec::new(), Vec::new());
    for defect in ["none", "quadratic-trim"] {
        let service = Service::with(&stores, defect).await;
        bodies.push(service.get("/comments").await.body);
        times.push(shortest(async || assert_eq!(service.get("/comments").await.status, 200)).await);
    }
    assert_eq!(bodies[0], bodies[1]);
    assert!(times[1] > times[0] * 2, "{times:?}");
}
