//! The defects of notices and takings.

use findings::notices::DAYS;

use crate::fixture::Service;
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn notices_are_counted_and_takings_added_up_only_with_the_defects() {
    let stores = Stores::seeded().await;
    let healthy = Service::healthy(&stores).await;
    for (defect, path, statement) in [
        ("existence-count", "/tenants/3/notices", "SELECT count(*) FROM notices"),
        ("sums-per-request", "/branches/3/takings", "sum(cents)"),
    ] {
        let service = Service::with(&stores, defect).await;
        let said = healthy.get(path).await;
        assert_eq!(said.status, 200, "{said:?}");
        // The same response, whatever it is computed from.
        assert_eq!(service.get(path).await.body, said.body, "{defect}");
        assert_eq!((healthy.logged(statement), service.logged(statement)), (0, 1), "{defect}");
    }
    assert_eq!(healthy.get("/tenants/3/notices").await.json()["has_unseen"], true);
    assert_eq!(healthy.get("/tenants/4/notices").await.json()["has_unseen"], false);
    assert_eq!(healthy.get("/branches/3/takings").await.json().as_array().unwrap().len(), DAYS);
}
