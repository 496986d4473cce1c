//! The defects of letters.

use findings::letters::{LETTERS, OWN};

use crate::fixture::Service;
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn an_index_finds_the_letters_of_a_member_only_without_the_defect() {
    let stores = Stores::seeded().await;
    let healthy = Service::healthy(&stores).await;
    let volatile = Service::with(&stores, "volatile-function").await;
    let plan = healthy.plan(OWN, "").await;
    assert!(plan.contains("letters_member"), "{plan}");
    let plan = volatile.plan(OWN, "").await;
    assert!(plan.contains("Seq Scan on letters"), "{plan}");
    let letters = healthy.get("/members/7/letters").await;
    assert_eq!(letters.json().as_array().unwrap().len(), 10);
    assert_eq!(letters.json()[0], serde_json::json!([6, "Letter 6"]));
    assert_eq!(volatile.get("/members/7/letters").await.body, letters.body);
    // Another request on the same connection reads for another member.
    assert_eq!(healthy.get("/members/8/letters").await.json()[0], serde_json::json!([7, "Letter 7"]));
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_page_is_cut_out_of_all_letters_only_with_the_defect() {
    let stores = Stores::seeded().await;
    let healthy = Service::healthy(&stores).await;
    let defect = Service::with(&stores, "page-in-memory").await;
    // The first page, the last one, and one behind it.
    for (page, first, count) in [(0, 1, 20), (999, 19_981, 20), (1000, 0, 0)] {
        let letters = healthy.get(&format!("/letters/{page}")).await;
        assert_eq!(letters.json().as_array().unwrap().len(), count);
        assert_eq!(letters.json()[0][0].as_i64().unwrap_or_default(), first);
        assert_eq!(defect.get(&format!("/letters/{page}")).await.body, letters.body);
    }
    let limited = "FROM letters WHERE id > $1 ORDER BY id LIMIT 20";
    assert_eq!((healthy.logged(limited), defect.logged(limited)), (3, 0));
    assert_eq!(defect.logged("SELECT id, title FROM letters ORDER BY id"), 3);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_letter_by_chance_sorts_all_letters_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, shuffled) in [("none", 0), ("random-row", 10)] {
        let service = Service::with(&stores, defect).await;
        for _ in 0..10 {
            let number = service.get("/draws").await.json()[0].as_i64().unwrap();
            assert!((1..=LETTERS).contains(&number), "{defect}: {number}");
        }
        assert_eq!(service.logged("ORDER BY random()"), shuffled, "{defect}");
    }
}
