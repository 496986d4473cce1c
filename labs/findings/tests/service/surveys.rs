//! The defects of surveys and boards.

use findings::surveys::FIGURES;
use reqwest::Method;

use crate::fixture::Service;
use crate::stores::Stores;

/// Connections that six boards open.
async fn opened(service: &Service<'_>) -> usize {
    let before = service.logged("connection authorized");
    for _ in 0..6 {
        let board = service.get("/boards/7").await;
        assert_eq!(board.json()["cents"].as_array().unwrap().len() as i64, FIGURES);
        assert_eq!(board.json()["cents"][0], 800);
    }
    service.logged("connection authorized") - before
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn an_answer_writes_the_whole_survey_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, written) in [("none", 0), ("whole-row-save", 3)] {
        let service = Service::with(&stores, defect).await;
        for _ in 0..3 {
            assert_eq!(service.send(Method::PUT, "/surveys/7").await.status, 201, "{defect}");
        }
        assert_eq!(service.send(Method::PUT, "/surveys/101").await.status, 404, "{defect}");
        assert_eq!(service.logged("SET answers = $2, data = $3"), written, "{defect}");
        assert_eq!(service.number("SELECT answers FROM surveys WHERE id = 7").await, 3, "{defect}");
        // What was written is what was there.
        let whole = "SELECT count(*) FROM surveys WHERE data->>'title' = 'Survey ' || id \
                     AND jsonb_array_length(data->'questions') = 2000";
        assert_eq!(service.number(whole).await, 100, "{defect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn boards_open_connections_again_and_again_only_with_the_defect() {
    let stores = Stores::seeded().await;
    let (healthy, defect) = (Service::healthy(&stores).await, Service::with(&stores, "two-idle").await);
    let (few, many) = (opened(&healthy).await, opened(&defect).await);
    // A pool that keeps its connections opens one per figure, and one for what the shop does beside.
    assert!(few <= 9, "{few}");
    assert!(many >= 20, "{many}");
}
