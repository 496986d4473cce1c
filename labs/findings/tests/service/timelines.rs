//! The defect of timelines.

use findings::timelines::PAGE;

use crate::fixture::Service;
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn redis_unites_all_posts_only_with_the_defect() {
    let stores = Stores::seeded().await;
    let mut timelines = Vec::new();
    for (defect, united) in [("none", 0), ("union-per-read", 2)] {
        let service = Service::with(&stores, defect).await;
        stores.redis.command::<()>(&["CONFIG", "RESETSTAT"]).await;
        for member in [0, 4] {
            let timeline = service.get(&format!("/timelines/{member}")).await;
            assert_eq!(timeline.json().as_array().unwrap().len(), PAGE, "{defect}");
            timelines.push(timeline.body);
        }
        assert_eq!(stores.redis_calls("zunionstore").await, united, "{defect}");
    }
    // The same pages, whatever makes them.
    assert_eq!(timelines[..2], timelines[2..]);
    assert_ne!(timelines[0], timelines[1]);
}
