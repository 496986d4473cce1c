//! The defects of playlists and complaints.

use findings::playlists::{NOT_IN, OPEN, SONGS, WITHOUT};
use reqwest::Method;

use crate::fixture::Service;
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_new_order_is_one_statement_and_one_per_song_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, single, all) in [("none", 0, 1), ("update-per-song", usize::try_from(SONGS).unwrap(), 0)] {
        let service = Service::with(&stores, defect).await;
        assert_eq!(service.send(Method::PUT, "/playlists/7").await.status, 201, "{defect}");
        assert_eq!(service.logged("UPDATE songs SET place = $2"), single, "{defect}");
        assert_eq!(service.logged("UPDATE songs SET place = n.place"), all, "{defect}");
        let places = "SELECT count(DISTINCT place) FROM songs WHERE playlist = 7";
        assert_eq!(service.number(places).await, i64::from(SONGS), "{defect}");
        assert_eq!(service.send(Method::PUT, "/playlists/1500").await.status, 404, "{defect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn an_index_finds_the_answers_of_complaints_only_without_the_defect() {
    let stores = Stores::seeded().await;
    let (healthy, defect) = (Service::healthy(&stores).await, Service::with(&stores, "not-in").await);
    for (sql, is_found) in [(WITHOUT, true), (NOT_IN, false)] {
        let plan = healthy.plan(sql, "7").await;
        assert_eq!(plan.contains("answers_complaint"), is_found, "{plan}");
    }
    for branch in [0, 7, 999] {
        let path = format!("/branches/{branch}/complaints");
        let complaints = healthy.get(&path).await;
        assert_eq!(complaints.json().as_array().unwrap().len(), OPEN, "{branch}");
        assert_eq!(defect.get(&path).await.body, complaints.body, "{branch}");
    }
    assert_eq!((healthy.logged("NOT IN"), defect.logged("NOT IN")), (0, 3));
}
