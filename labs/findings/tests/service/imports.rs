//! The defects of imports and of the audit.

use findings::imports::{ENTRIES, LINES};

use crate::fixture::Service;
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_price_list_is_one_statement_and_one_per_line_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, statements) in [("none", 1), ("insert-per-line", usize::try_from(LINES).unwrap())] {
        let service = Service::with(&stores, defect).await;
        assert_eq!(service.post("/imports").await.status, 201);
        assert_eq!(service.logged("INSERT INTO price_lines"), statements, "{defect}");
        assert_eq!(service.number("SELECT count(*) FROM price_lines").await, i64::from(LINES), "{defect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn the_audit_has_indexes_that_no_statement_uses_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, indexes) in [("none", 1), ("unused-indexes", 17)] {
        let service = Service::with(&stores, defect).await;
        let before = service.number("SELECT count(*) FROM audit").await;
        assert_eq!(service.post("/audit").await.status, 201);
        assert_eq!(service.number("SELECT count(*) FROM audit").await - before, ENTRIES, "{defect}");
        let count = service.number("SELECT count(*) FROM pg_indexes WHERE tablename = 'audit'").await;
        assert_eq!(count, indexes, "{defect}");
    }
}
