//! The defects of members, mailboxes and invoices.

use findings::members::{NEWEST, SIGN_IN};

use crate::fixture::Service;
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn an_index_finds_a_member_and_the_newest_messages_only_without_the_defects() {
    let stores = Stores::seeded().await;
    let healthy = Service::healthy(&stores).await;
    let lower = Service::with(&stores, "lower-email").await;
    let newest = Service::with(&stores, "newest-by-id").await;
    let plan = healthy.plan(SIGN_IN, "'member7@shop.test'").await;
    assert!(plan.contains("members_small_email"), "{plan}");
    let plan = lower.plan(SIGN_IN, "'member7@shop.test'").await;
    assert!(plan.contains("Seq Scan on members"), "{plan}");
    let plan = healthy.plan(NEWEST, "0").await;
    assert!(plan.contains("messages_newest"), "{plan}");
    let plan = newest.plan(NEWEST, "0").await;
    assert!(plan.contains("Scan Backward using messages_pkey") && plan.contains("Filter"), "{plan}");

    let member = healthy.get("/signin?text=MEMBER7@shop.test").await;
    assert_eq!(member.json(), serde_json::json!({"id": 7, "name": "Member 7"}));
    assert_eq!(lower.get("/signin?text=MEMBER7@shop.test").await.body, member.body);
    let messages = healthy.get("/mailboxes/0").await;
    assert_eq!(messages.json()[0], serde_json::json!([5000, "Message 5000"]));
    assert_eq!(newest.get("/mailboxes/0").await.body, messages.body);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_request_writes_to_the_rows_of_its_member_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, written) in [("none", 0), ("seen-per-request", 1)] {
        let service = Service::with(&stores, defect).await;
        assert_eq!(service.get("/members/7").await.json()["name"], "Member 7");
        for rows in ["members WHERE seen_at IS NOT NULL", "tokens WHERE used_at IS NOT NULL"] {
            let count = service.number(&format!("SELECT count(*) FROM {rows}")).await;
            assert_eq!(count, written, "{defect}: {rows}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn lines_and_payments_of_an_invoice_are_read_in_pairs_only_with_the_defect() {
    let stores = Stores::seeded().await;
    let healthy = Service::healthy(&stores).await;
    let defect = Service::with(&stores, "double-join").await;
    let invoice = healthy.get("/invoices/7").await;
    for list in ["lines", "payments"] {
        assert_eq!(invoice.json()[list].as_array().unwrap().len(), 80, "{list}");
    }
    assert_eq!(defect.get("/invoices/7").await.body, invoice.body);
    assert_eq!((healthy.logged("JOIN payments"), defect.logged("JOIN payments")), (0, 1));
}
