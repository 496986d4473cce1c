//! Store failures under load: requests are refused with a reason or let through, by the switches, and recover.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use reqwest::Method;
use serde_json::json;

use crate::world::{OPTIONS, Response, Service, Stores, send};
use testbed::{TIMEOUT, wait};

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn requests_are_refused_with_a_reason_while_redis_is_down_and_served_again_after() {
    for flags in [
        &["--redis-call", "batch"][..],
        &["--redis-call", "script", "--redis-link", "pool", "--redis-pool", "8"],
        &["--redis-call", "each", "--redis-link", "pool", "--redis-pool", "8", "--session-refresh", "full"],
        &["--redis-call", "each", "--redis-link", "shared"],
    ] {
        let mut stores = Stores::seeded().await;
        let service = Service::open(
            &stores,
            &[&["--rate-limit", "1000000", "--redis-timeout-ms", "5000"], flags].concat(),
        );
        let session = service.sign_in(1).await.session;
        let saved: String = stores.redis.command(&["GET", &format!("session:{session}")]).await;
        let load = Load::start(&service, &session);
        load.until("good answers", |answer| answer.status == 200).await;
        stores.redis.kill();
        load.until("refusals", |answer| answer.status == 503).await;
        assert_eq!(
            (service.get("/ready").await.status, service.get("/health").await.status),
            (503, 200),
            "{flags:?}"
        );
        stores.redis.restart().await;
        stores.redis.command::<()>(&["SET", &format!("session:{session}"), &saved]).await;
        load.clear();
        load.until("good answers again", |answer| answer.status == 200).await;
        let answers = load.stop().await;
        for answer in &answers {
            match answer.status {
                200 => assert_eq!(answer.ids().len(), 10, "{flags:?}: {answer:?}"),
                // Redis was back, the session not yet.
                401 => {}
                503 => {
                    let code = answer.code();
                    assert!(
                        code == "sessions_unavailable" || code == "rate_limit_unavailable",
                        "{flags:?}: {code}"
                    );
                    assert!(answer.headers.contains_key("retry-after") && !answer.body.contains("127.0.0.1"));
                }
                _ => panic!("{flags:?}: {answer:?}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn failing_open_serves_an_empty_list_with_status_200_as_published() {
    for call in ["each", "batch"] {
        let mut stores = Stores::seeded().await;
        let flags = ["--session-failure", "open", "--rate-limit-failure", "open", "--redis-call", call];
        let service = Service::open(&stores, &flags);
        let person = service.sign_in(1).await;
        assert_eq!(person.page().await["count"], 30);
        stores.redis.kill();
        let answer = person.options().await;
        assert_eq!((answer.status, answer.ids().len()), (200, 0), "{call}: {answer:?}");
        let nobody = service.person(&"0".repeat(64)).options().await;
        assert_eq!((nobody.status, nobody.ids().len()), (200, 0), "{call}: whoever asks, with whatever");
        assert!(service.figure("trenova_sessions_made_up_total").await >= 2, "{call}");
        assert_eq!(service.get("/ready").await.status, 200, "{call}: it serves");
        let path = "/api/v1/workers";
        let body = json!({"firstName": "a", "lastName": "b"});
        assert_eq!(person.post(path, &body).await.status, 503, "{call}: nobody's worker cannot be kept");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn the_rate_limit_fails_open_or_closed_by_its_own_switch() {
    for call in ["each", "script", "batch"] {
        for (value, status, uncounted) in [("open", 200, 1), ("closed", 503, 0)] {
            let mut stores = Stores::seeded().await;
            // The session is cached: only the limit needs Redis.
            let flags = ["--rate-limit-failure", value, "--session-cache-ms", "60000", "--redis-call", call];
            let service = Service::open(&stores, &flags);
            let person = service.sign_in(1).await;
            person.page().await;
            stores.redis.kill();
            let answer = person.options().await;
            assert_eq!(answer.status, status, "{value} {call}: {answer:?}");
            assert_eq!(service.figure("trenova_uncounted_total").await, uncounted, "{value} {call}");
            if status == 503 {
                assert_eq!(answer.code(), "rate_limit_unavailable", "{call}");
            } else {
                assert_eq!(answer.ids().len(), 10, "{call}: of the tenant of the session");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn without_postgres_it_is_alive_but_not_ready_and_refuses_with_503() {
    for call in ["each", "batch"] {
        let mut stores = Stores::seeded().await;
        let service = Service::open(&stores, &["--query-call", call]);
        let person = service.sign_in(1).await;
        person.page().await;
        stores.cluster.stop_immediately();
        wait("not ready", async || service.get("/ready").await.status == 503).await;
        assert_eq!(service.get("/health").await.status, 200);
        let answer = person.options().await;
        assert_eq!((answer.status, answer.code().as_str()), (503, "store_unavailable"), "{call}");
        assert!(!answer.body.contains("127.0.0.1"), "where the store is, is nobody's business: {answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn an_unresponsive_postgres_times_out_and_is_used_again_when_it_recovers() {
    let stores = Stores::seeded().await;
    let elsewhere = Service::open(&stores, &[]);
    let session = elsewhere.sign_in(1).await.session;
    let body = json!({"emailAddress": "user1@org1.example", "password": "password"});
    for call in ["each", "batch"] {
        let service = Service::open(&stores, &["--store-timeout-ms", "1000", "--query-call", call]);
        let person = service.person(&session);
        for (method, path) in [
            (Method::GET, OPTIONS),
            (Method::GET, "/api/v1/workers/wrk_none"),
            (Method::GET, "/ready"),
            (Method::POST, "/api/v1/auth/login"),
        ] {
            // Ensures an open connection to PostgreSQL.
            wait("ready", async || service.get("/ready").await.status == 200).await;
            let frozen = stores.cluster.freeze();
            let asking = send(person.request(method, path).json(&body));
            let answer = tokio::time::timeout(TIMEOUT, asking).await.expect("there is no answer");
            assert_eq!((answer.status, answer.code().as_str()), (503, "store_unavailable"), "{call} {path}");
            drop(frozen);
        }
        wait("a page", async || person.options().await.status == 200).await;
    }
}

/// Eight users that send requests without a pause.
struct Load {
    answers: Arc<Mutex<Vec<Response>>>,
    is_over: Arc<AtomicBool>,
    users: Vec<tokio::task::JoinHandle<()>>,
}

impl Load {
    fn start(service: &Service, session: &str) -> Self {
        let (answers, is_over) = (Arc::<Mutex<Vec<Response>>>::default(), Arc::<AtomicBool>::default());
        let (url, cookie) = (format!("{}{OPTIONS}", service.url), format!("trenova_session={session}"));
        let user = |_| {
            let (answers, is_over) = (Arc::clone(&answers), Arc::clone(&is_over));
            let (url, cookie, client) = (url.clone(), cookie.clone(), reqwest::Client::new());
            tokio::spawn(async move {
                while !is_over.load(Ordering::Acquire) {
                    let answer = send(client.get(&url).header("cookie", &cookie)).await;
                    answers.lock().push(answer);
                }
            })
        };
        let users = (0..8).map(user).collect();
        Self { answers, is_over, users }
    }

    async fn until(&self, what: &str, condition: impl Fn(&Response) -> bool) {
        wait(what, async || self.answers.lock().iter().filter(|answer| condition(answer)).count() > 20).await;
    }

    /// Drops the responses collected so far.
    fn clear(&self) {
        self.answers.lock().retain(|answer| answer.status != 200);
    }

    async fn stop(self) -> Vec<Response> {
        self.is_over.store(true, Ordering::Release);
        for user in self.users {
            user.await.unwrap();
        }
        std::mem::take(&mut *self.answers.lock())
    }
}
