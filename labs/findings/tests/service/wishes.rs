//! The defects of wish lists, logins and brochures.

use findings::logins::COOKIES_MAX;
use findings::wishes::{PICTURE, WISHES};
use reqwest::Method;

use crate::fixture::{Service, send};
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn each_wish_has_the_picture_in_it_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, least, most) in [("none", 0, 4096), ("repeated-picture", WISHES * PICTURE, usize::MAX)] {
        let service = Service::with(&stores, defect).await;
        let list = service.get("/wishes/7").await;
        assert!((least..most).contains(&list.body.len()), "{defect}: {} bytes", list.body.len());
        assert_eq!(list.json()["wishes"].as_array().unwrap().len(), WISHES, "{defect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn cookies_of_logins_pile_up_until_requests_are_refused_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, is_refused) in [("none", false), ("piled-cookies", true)] {
        let service = Service::with(&stores, defect).await;
        // As a browser keeps them: a cookie replaces one of the same name.
        let mut jar = std::collections::BTreeMap::new();
        let mut statuses = Vec::new();
        for _ in 0..20 {
            let cookies: Vec<String> = jar.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let cookies = cookies.join("; ");
            let request = service.request(Method::GET, "/login").header("Cookie", &cookies);
            let response = send(request).await;
            assert_eq!(response.status == 431, cookies.len() > COOKIES_MAX, "{defect}: {response:?}");
            statuses.push(response.status);
            if let Some(set) = response.headers.get("set-cookie") {
                let (cookie, _) = set.to_str().unwrap().split_once(';').unwrap();
                let (name, value) = cookie.split_once('=').unwrap();
                jar.insert(name.to_owned(), value.to_owned());
            }
        }
        assert_eq!(statuses[0], 200, "{defect}");
        assert_eq!(statuses[19], if is_refused { 431 } else { 200 }, "{defect}: {statuses:?}");
        assert_eq!(jar.len() > 10, is_refused, "{defect}: {}", jar.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn brochures_are_compressed_for_clients_that_accept_it() {
    let stores = Stores::seeded().await;
    let mut lengths: Vec<usize> = Vec::new();
    for defect in ["none", "brotli-eleven"] {
        let service = Service::with(&stores, defect).await;
        let plain = service.get("/brochures/7").await;
        assert_eq!(plain.json().as_array().unwrap().len(), 120, "{defect}");
        assert!(plain.headers.get("content-encoding").is_none(), "{defect}");
        let request = service.request(Method::GET, "/brochures/7").header("Accept-Encoding", "br");
        let headers = send(request).await.headers;
        assert_eq!(headers["content-encoding"], "br", "{defect}");
        lengths.push(headers["content-length"].to_str().unwrap().parse().unwrap());
        assert!(lengths.iter().all(|length| *length < plain.body.len() / 2), "{defect}: {lengths:?}");
    }
    // The default quality makes the smaller body.
    assert!(lengths[1] < lengths[0], "{lengths:?}");
}
