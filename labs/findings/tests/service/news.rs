//! The defects of the news. Those of views in SQLite are tested beside `findings::views`.

use findings::news::{LIKE, SECTION, WORDS};
use reqwest::Method;

use crate::fixture::{Service, send};
use crate::stores::Stores;

const PAGE: &str = "?page=1000&before=40001";

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn sections_and_words_are_found_by_an_index_only_without_the_defects() {
    let stores = Stores::seeded().await;
    let healthy = Service::healthy(&stores).await;
    let section = Service::with(&stores, "no-section-index").await;
    let words = Service::with(&stores, "like-search").await;
    let plan = healthy.plan(SECTION, "7").await;
    assert!(plan.contains("articles_section"), "{plan}");
    let plan = section.plan(SECTION, "7").await;
    assert!(plan.contains("Seq Scan on articles"), "{plan}");
    let plan = healthy.plan(WORDS, "'word7'").await;
    assert!(plan.contains("articles_words"), "{plan}");
    let plan = words.plan(LIKE, "'word7'").await;
    assert!(plan.contains("Seq Scan on articles"), "{plan}");
    for path in ["/sections/7", "/articles/search?text=word11999"] {
        let response = healthy.get(path).await;
        assert!(!response.json().as_array().unwrap().is_empty(), "{path}: {response:?}");
    }
    assert_eq!(words.get("/articles/search?text=word11999").await.status, 200);
    assert_eq!(section.get("/sections/7").await.body, healthy.get("/sections/7").await.body);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_page_counts_skips_and_asks_for_each_author_only_with_the_defects() {
    let stores = Stores::seeded().await;
    let healthy = Service::healthy(&stores).await;
    let [count, offset, authors] = ["count-per-page", "deep-offset", "author-per-article"];
    let (count, offset) = (Service::with(&stores, count).await, Service::with(&stores, offset).await);
    let authors = Service::with(&stores, authors).await;

    let page = healthy.get(&format!("/articles{PAGE}")).await.json();
    assert!(page["total"].is_null() && page["articles"].as_array().unwrap().len() == 20, "{page}");
    let counted = count.get(&format!("/articles{PAGE}")).await.json();
    assert_eq!((&counted["total"], &counted["articles"]), (&60_000.into(), &page["articles"]));
    let skipped = offset.get(&format!("/articles{PAGE}")).await.json();
    assert_eq!(skipped["articles"], page["articles"]);
    assert_eq!((healthy.logged("OFFSET"), offset.logged("OFFSET")), (0, 1));

    let path = format!("/articles/authors{PAGE}");
    assert_eq!(authors.get(&path).await.body, healthy.get(&path).await.body);
    assert_eq!((healthy.logged("FROM authors"), authors.logged("FROM authors")), (0, 20));
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_client_that_has_the_front_page_gets_it_again_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, status) in [("none", 304), ("no-validators", 200)] {
        let service = Service::with(&stores, defect).await;
        assert!(service.get("/front").await.body.len() > 40_000);
        let again = send(service.request(Method::GET, "/front").header("if-none-match", "\"1\"")).await;
        assert_eq!(again.status, status, "{defect}");
    }
}
