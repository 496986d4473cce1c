//! The page of the connections to SQLite, which counts in the same way whatever defect is on.

use crate::fixture::Service;
use crate::stores::Stores;

/// Requests that are sent at the same time, and how often if they do not meet.
const REQUESTS: usize = 40;
const ROUNDS: usize = 5;

/// A figure of the page; 0 if it is not there.
async fn figure(service: &Service<'_>, series: &str) -> f64 {
    let page = service.get("/metrics").await;
    assert_eq!(page.status, 200, "{page:?}");
    let mut values = page.body.lines().filter_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    values.next().map_or(0.0, |value| value.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn the_page_counts_writes_and_shows_what_sqlite_refuses_only_with_the_defect() {
    let stores = Stores::seeded().await;
    let refused = "knee_sqlite_upgrades_refused_total";
    let gave_up = "knee_sqlite_busy_timeouts_total";
    for (defect, path, series, is_there) in [
        ("none", "/bookings/7", refused, false),
        ("deferred-begin", "/bookings/7", refused, true),
        ("none", "/ranks/7", gave_up, false),
        ("no-busy-timeout", "/ranks/7", gave_up, true),
    ] {
        let service = Service::with(&stores, defect).await;
        let mut answered = 0;
        for _ in 0..ROUNDS {
            let posts = (0..REQUESTS).map(|_| service.post(path));
            let responses = futures_util::future::join_all(posts).await;
            answered += responses.iter().filter(|response| response.status < 300).count();
            if figure(&service, series).await > 0.0 {
                break;
            }
        }
        assert_eq!(figure(&service, series).await > 0.0, is_there, "{defect} {path}");
        let writes = figure(&service, "knee_sqlite_write_transactions_total").await;
        assert!(answered > 0 && writes >= answered as f64, "{defect}: {writes} writes, {answered} answers");
        assert!(figure(&service, "knee_sqlite_connections").await > 1.0, "{defect}");
    }
}
