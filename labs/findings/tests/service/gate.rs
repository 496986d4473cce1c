//! The defects of limits and authentication, which come before the routes. That of the redirects is tested in `src/gate.rs`.

use std::time::Duration;

use reqwest::Method;
use tokio::time::Instant;

use crate::fixture::{Service, send};
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn fifty_clients_behind_a_proxy_share_a_limit_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, is_shared) in [("none", false), ("shared-limit", true)] {
        let service = Service::with(&stores, defect).await;
        let requests = (0..400).map(|number| {
            let client = format!("10.0.0.{}", number % 50);
            send(service.request(Method::GET, "/offers").header("X-Forwarded-For", client))
        });
        let responses = futures_util::future::join_all(requests).await;
        let refused = responses.iter().filter(|response| response.status == 429).count();
        assert!(responses.iter().all(|response| matches!(response.status, 200 | 429)), "{defect}");
        assert_eq!(refused > 0, is_shared, "{defect}: {refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_password_is_hashed_again_only_with_the_defect() {
    let stores = Stores::seeded().await;
    let mut shortest = Vec::new();
    for defect in ["none", "hash-per-request"] {
        let service = Service::with(&stores, defect).await;
        let asked = async |credentials| {
            send(service.request(Method::GET, "/account").header("Authorization", credentials)).await.status
        };
        assert_eq!(asked("Basic member7:wrong").await, 401);
        assert_eq!(asked("Bearer member7").await, 401);
        let mut time = Duration::MAX;
        for _ in 0..6 {
            let start = Instant::now();
            assert_eq!(asked("Basic member7:secret").await, 200);
            time = time.min(start.elapsed());
        }
        shortest.push(time);
    }
    assert!(shortest[1] > shortest[0] * 2, "{shortest:?}");
}
