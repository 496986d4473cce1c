//! The defects of arrivals and almanacs, and routes whose defects are tested elsewhere: in `src/vendors.rs`,
//! `src/almanacs.rs` and `src/streets.rs`.

use std::net::TcpStream;
use std::time::Duration;

use reqwest::Method;
use reqwest::header::{ETAG, IF_NONE_MATCH};

use crate::fixture::{Service, send};
use crate::stores::Stores;

/// Connections that are opened while none is accepted.
const CONNECTIONS: usize = 12;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn connections_of_a_crowd_wait_to_be_accepted_and_are_dropped_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, are_dropped) in [("none", false), ("small-backlog", true)] {
        let service = Service::with(&stores, defect).await;
        assert_eq!(service.get("/arrivals/7").await.json()["arrival"], 7, "{defect}");
        let address = service.address();
        service.signal("STOP");
        let connect = |_| TcpStream::connect_timeout(&address, Duration::from_millis(300)).ok();
        let waiting: Vec<TcpStream> = (0..CONNECTIONS).filter_map(connect).collect();
        service.signal("CONT");
        assert_eq!(waiting.len() < CONNECTIONS, are_dropped, "{defect}: {}", waiting.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn an_almanac_is_sent_once_whatever_its_validator_is_made_of() {
    let stores = Stores::seeded().await;
    let mut bodies = Vec::new();
    for (defect, is_late) in [("none", false), ("late-validator", true)] {
        let service = Service::with(&stores, defect).await;
        let almanac = service.get("/almanacs/2004").await;
        let validator = almanac.headers[ETAG].to_str().unwrap();
        assert_eq!(validator != "\"2004-1\"", is_late, "{defect}: {validator}");
        let request = service.request(Method::GET, "/almanacs/2004").header(IF_NONE_MATCH, validator);
        let again = send(request).await;
        assert_eq!((again.status, again.body.as_str()), (304, ""), "{defect}");
        assert_eq!(again.headers[ETAG], validator, "{defect}");
        bodies.push(almanac.body);
    }
    assert_eq!(bodies[0], bodies[1]);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_healthy_shop_has_vendors_samples_checks_enquiries_and_streets() {
    let stores = Stores::seeded().await;
    let service = Service::healthy(&stores).await;
    assert_eq!(service.get("/vendors/7").await.json()["says"], "fine");
    assert_eq!(service.post("/appraisals").await.status, 202);
    assert_eq!(service.get("/samples/7").await.json()["says"], "fine");
    assert_eq!(service.get("/checks/7").await.json()["says"], "fine");
    assert_eq!(service.post("/enquiries/7").await.json()["says"], "fine");
    assert!(!service.get("/streets/7").await.json().as_array().unwrap().is_empty());
}
