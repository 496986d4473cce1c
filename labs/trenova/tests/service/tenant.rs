//! Tenant isolation: a user sees the data of their own tenant only, and only with their own session.

use reqwest::Method;
use serde_json::json;

use crate::world::{OPTIONS, Service, Stores, send};

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn users_see_the_newest_workers_of_their_own_tenant_with_every_switch() {
    let stores = Stores::seeded().await;
    for flags in [
        &[][..],
        &["--query-call", "each", "--redis-call", "each", "--redis-link", "pool"],
        &["--count-query", "parallel", "--columns", "all", "--statement-cache", "off", "--json", "standard"],
        &["--count-query", "window", "--redis-call", "script"],
        &["--answer-cache-ms", "60000", "--session-cache-ms", "60000"],
        &["--prefork", "2"],
    ] {
        let service = Service::open(&stores, flags);
        let (one, other) = (service.sign_in(1).await, service.sign_in(2).await);
        // In parallel, so that requests of both tenants share batches.
        let (ones, others) = tokio::join!(one.many(20), other.many(20));
        for (tenant, answers) in [(1_u64, ones), (2, others)] {
            for answer in answers {
                assert_eq!(answer.status, 200, "{flags:?}: {answer:?}");
                let expected: Vec<String> = (21..=30_u64).rev().map(|number| id(tenant, number)).collect();
                assert_eq!(answer.ids(), expected, "{flags:?}");
                assert_eq!(answer.json()["count"], 30, "{flags:?}");
            }
        }
    }
}

/// Id of a seeded worker.
fn id(tenant: u64, number: u64) -> String {
    format!("wrk_01J{:023X}", tenant * 100_000_000 + number)
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn pages_link_to_each_other_and_searches_match_prefixes() {
    let stores = Stores::seeded().await;
    for count in ["kept", "window", "parallel"] {
        let service = Service::open(&stores, &["--count-query", count]);
        let person = service.sign_in(1).await;
        let (mut path, mut seen) = (format!("{OPTIONS}?limit=7"), Vec::new());
        while !path.is_empty() {
            let answer = person.get(&path).await;
            assert_eq!(answer.json()["count"], 30, "{count}");
            seen.extend(answer.ids());
            path = answer.json()["next"].as_str().unwrap().to_owned();
        }
        let expected: Vec<String> = (1..=30_u64).rev().map(|number| id(1, number)).collect();
        assert_eq!(seen, expected, "{count}");
        let beyond = person.get(&format!("{OPTIONS}?offset=1000")).await.json();
        assert_eq!(
            (beyond["count"].as_i64(), beyond["results"].as_array().unwrap().len()),
            (Some(30), 0),
            "{count}"
        );
        // Worker 16 is called Ann, 1 and 17 are called Ben.
        for (query, found) in
            [("ann", 1), ("ANN", 1), ("be", 2), ("be 17", 1), ("an ba", 0), ("zz", 0), ("'%3B--", 0)]
        {
            let page = person.get(&format!("{OPTIONS}?query={query}")).await;
            let page = page.json();
            let results = page["results"].as_array().unwrap();
            assert_eq!(
                (results.len(), page["count"].as_u64()),
                (found, Some(found as u64)),
                "{count} {query}: {page}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_worker_of_another_tenant_cannot_be_read_changed_or_guessed() {
    let stores = Stores::seeded().await;
    let service = Service::open(&stores, &[]);
    let (one, other) = (service.sign_in(1).await, service.sign_in(2).await);
    let path = format!("/api/v1/workers/{}", one.make("Zoe", "Quist").await);
    assert_eq!(one.get(&path).await.json()["lastName"], "Quist");
    for answer in [other.get(&path).await, other.delete(&path).await] {
        assert_eq!((answer.status, answer.code().as_str()), (404, "unknown_worker"), "as one that never was");
    }
    assert!(other.get(&format!("{OPTIONS}?query=zoe")).await.ids().is_empty());
    let theirs =
        json!({"firstName": "a", "lastName": "b", "organizationId": "org_01J00000000000000000000001"});
    assert_eq!(other.post("/api/v1/workers", &theirs).await.status, 400, "nobody says whose a worker is");
    assert_eq!(one.get(&format!("{OPTIONS}?query=zoe")).await.ids().len(), 1);
    assert_eq!(one.delete(&path).await.status, 204);
    assert_eq!(one.page().await["count"], 30);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_session_cannot_be_forged_guessed_or_used_from_another_address() {
    let stores = Stores::seeded().await;
    for call in ["each", "script", "batch"] {
        let service = Service::open(&stores, &["--redis-call", call]);
        let one = service.sign_in(1).await;
        assert_eq!(one.options().await.status, 200);
        // Other keys of Redis are not sessions, even if a cookie names them.
        stores.redis.command::<()>(&["SET", "session:mine", "{}"]).await;
        let upper = one.session.to_uppercase();
        let cut = &one.session[..63];
        let zero = "0".repeat(64);
        for forged in ["", "mine", "../mine", &upper, cut, &zero, "*", &format!("{}0", one.session)] {
            let answer = service.person(forged).options().await;
            assert_eq!((answer.status, answer.code().as_str()), (401, "not_signed_in"), "{call} {forged}");
        }
        // Malformed content under a valid key is not a session, and does not affect other requests.
        for broken in ["", "null", "[]", "{}", "{\"userId\":\"usr\"}", "{\"userId\":1}", "\u{1}"] {
            stores.redis.command::<()>(&["SET", &format!("session:{zero}"), broken]).await;
            let broken_one = service.person(&zero);
            let (bad, good) = tokio::join!(broken_one.options(), one.options());
            assert_eq!((bad.status, good.status), (401, 200), "{call} {broken}");
        }
        // A session of another address.
        let key = format!("session:{}", one.session);
        let text: String = stores.redis.command(&["GET", &key]).await;
        stores.redis.command::<()>(&["SET", &key, &text.replace("127.0.0.1", "127.0.0.2")]).await;
        let answer = send(one.request(Method::GET, OPTIONS).header("x-forwarded-for", "127.0.0.2")).await;
        assert_eq!(answer.status, 401, "{call}: {answer:?}");
    }
}
