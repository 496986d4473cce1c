//! The defect of recordings, and routes whose defects are tested elsewhere: in `src/albums.rs`, `src/quotas.rs`,
//! `src/phrases.rs`, `src/timetables.rs` and `src/hints.rs`.

use findings::recordings::LENGTH;
use reqwest::Method;
use reqwest::header::{CONTENT_RANGE, ETAG, RANGE};

use crate::fixture::Service;
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_part_of_a_recording_is_sent_and_all_of_it_with_the_defect() {
    let stores = Stores::seeded().await;
    let mut bodies = Vec::new();
    for (defect, status, length) in [("none", 206, 16_384), ("ignored-range", 200, LENGTH)] {
        let service = Service::with(&stores, defect).await;
        let request = service.request(Method::GET, "/recordings/7").header(RANGE, "bytes=16384-32767");
        let response = request.send().await.unwrap();
        assert_eq!(response.status().as_u16(), status, "{defect}");
        assert!(response.headers().contains_key(ETAG), "{defect}");
        let is_part =
            response.headers().get(CONTENT_RANGE).is_some_and(|range| range == "bytes 16384-32767/6291456");
        assert_eq!(is_part, status == 206, "{defect}");
        let body = response.bytes().await.unwrap();
        assert_eq!(body.len(), length, "{defect}");
        bodies.push(body);
    }
    assert_eq!(bodies[0], bodies[1].slice(16_384..32_768));
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_healthy_shop_has_albums_quotas_contacts_phrases_timetables_and_hints() {
    let stores = Stores::seeded().await;
    let service = Service::healthy(&stores).await;
    for status in [204, 404] {
        assert_eq!(service.send(Method::DELETE, "/albums/7").await.status, status);
    }
    assert_eq!(service.post("/stocktakings/7").await.status, 201);
    assert_eq!(service.get("/quotas/7").await.json()["says"], "fine");
    assert_eq!(service.get("/contacts/6").await.json()["known"], 90);
    assert_eq!(service.get("/phrases/7").await.json()["phrase"], 7);
    assert_eq!(service.get("/phrases/25000").await.status, 404);
    assert_eq!(service.post("/timetables").await.status, 202);
    assert_eq!(service.send(Method::PUT, "/timetables/7").await.status, 201);
    assert_eq!(service.get("/timetables/8").await.json()["minute"], 8 * 7919 % 1440);
    assert_eq!(service.get("/timetables/1000").await.status, 404);
    assert_eq!(service.get("/hints/7").await.json()["batch"], 1);
}
