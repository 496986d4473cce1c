//! Stores that go away under load: requests are refused with a reason, or let through if that was asked for, and come back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use reqwest::Method;
use serde_json::json;

use crate::cluster::{PATIENCE, wait};
use crate::world::{Answer, OPTIONS, Stores, Yard, send};

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn redis_stopped_under_load_closes_the_way_with_a_reason_and_it_opens_again() {
    for flags in [
        &["--redis-call", "batch"][..],
        &["--redis-call", "script", "--redis-link", "pool", "--redis-pool", "8"],
        &["--redis-call", "each", "--redis-link", "pool", "--redis-pool", "8", "--session-refresh", "full"],
        &["--redis-call", "each", "--redis-link", "shared"],
    ] {
        let mut stores = Stores::seeded().await;
        let yard = Yard::open(
            &stores,
            &[&["--rate-limit", "1000000", "--redis-timeout-ms", "5000"], flags].concat(),
        );
        let session = yard.sign_in(1).await.session;
        let saved: String = stores.redis.ask(&["GET", &format!("session:{session}")]).await;
        let load = Load::start(&yard, &session);
        load.until("good answers", |answer| answer.status == 200).await;
        stores.redis.kill();
        load.until("refusals", |answer| answer.status == 503).await;
        assert_eq!(
            (yard.get("/ready").await.status, yard.get("/health").await.status),
            (503, 200),
            "{flags:?}"
        );
        stores.redis.restart().await;
        stores.redis.ask::<()>(&["SET", &format!("session:{session}"), &saved]).await;
        load.clear();
        load.until("good answers again", |answer| answer.status == 200).await;
        let answers = load.stop().await;
        for answer in &answers {
            match answer.status {
                200 => assert_eq!(answer.ids().len(), 10, "{flags:?}: {answer:?}"),
                // Redis was there again, the session not yet.
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
async fn failing_open_shows_an_empty_list_with_a_good_status_as_published() {
    for call in ["each", "batch"] {
        let mut stores = Stores::seeded().await;
        let flags = ["--session-failure", "open", "--rate-limit-failure", "open", "--redis-call", call];
        let yard = Yard::open(&stores, &flags);
        let person = yard.sign_in(1).await;
        assert_eq!(person.page().await["count"], 30);
        stores.redis.kill();
        let answer = person.options().await;
        assert_eq!((answer.status, answer.ids().len()), (200, 0), "{call}: {answer:?}");
        let nobody = yard.person(&"0".repeat(64)).options().await;
        assert_eq!((nobody.status, nobody.ids().len()), (200, 0), "{call}: whoever asks, with whatever");
        assert!(yard.figure("trenova_sessions_made_up_total").await >= 2, "{call}");
        assert_eq!(yard.get("/ready").await.status, 200, "{call}: it serves");
        let path = "/api/v1/workers";
        let body = json!({"firstName": "a", "lastName": "b"});
        assert_eq!(person.post(path, &body).await.status, 503, "{call}: nobody's worker cannot be kept");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn the_rate_limit_fails_open_or_closed_by_a_switch_of_its_own() {
    for call in ["each", "script", "batch"] {
        for (value, status, uncounted) in [("open", 200, 1), ("closed", 503, 0)] {
            let mut stores = Stores::seeded().await;
            // The session is in memory: only the limit needs Redis.
            let flags = ["--rate-limit-failure", value, "--session-cache-ms", "60000", "--redis-call", call];
            let yard = Yard::open(&stores, &flags);
            let person = yard.sign_in(1).await;
            person.page().await;
            stores.redis.kill();
            let answer = person.options().await;
            assert_eq!(answer.status, status, "{value} {call}: {answer:?}");
            assert_eq!(yard.figure("trenova_uncounted_total").await, uncounted, "{value} {call}");
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
async fn without_postgres_it_is_alive_and_not_ready_and_refuses_with_503() {
    for call in ["each", "batch"] {
        let mut stores = Stores::seeded().await;
        let yard = Yard::open(&stores, &["--query-call", call]);
        let person = yard.sign_in(1).await;
        person.page().await;
        stores.cluster.die();
        wait("not ready", async || yard.get("/ready").await.status == 503).await;
        assert_eq!(yard.get("/health").await.status, 200);
        let answer = person.options().await;
        assert_eq!((answer.status, answer.code().as_str()), (503, "store_unavailable"), "{call}");
        assert!(!answer.body.contains("127.0.0.1"), "where the store is, is nobody's business: {answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_postgres_that_says_nothing_is_given_up_and_asked_again_when_it_goes_on() {
    let stores = Stores::seeded().await;
    let elsewhere = Yard::open(&stores, &[]);
    let session = elsewhere.sign_in(1).await.session;
    let body = json!({"emailAddress": "user1@org1.example", "password": "password"});
    for call in ["each", "batch"] {
        let yard = Yard::open(&stores, &["--store-timeout-ms", "1000", "--query-call", call]);
        let person = yard.person(&session);
        for (method, path) in [
            (Method::GET, OPTIONS),
            (Method::GET, "/api/v1/workers/wrk_none"),
            (Method::GET, "/ready"),
            (Method::POST, "/api/v1/auth/login"),
        ] {
            // There is a connection that PostgreSQL has taken.
            wait("ready", async || yard.get("/ready").await.status == 200).await;
            let frozen = stores.cluster.freeze();
            let asking = send(person.request(method, path).json(&body));
            let answer = tokio::time::timeout(PATIENCE, asking).await.expect("there is no answer");
            assert_eq!((answer.status, answer.code().as_str()), (503, "store_unavailable"), "{call} {path}");
            drop(frozen);
        }
        wait("a page", async || person.options().await.status == 200).await;
    }
}

/// Eight users who ask without a pause.
struct Load {
    answers: Arc<Mutex<Vec<Answer>>>,
    is_over: Arc<AtomicBool>,
    users: Vec<tokio::task::JoinHandle<()>>,
}

impl Load {
    fn start(yard: &Yard, session: &str) -> Self {
        let (answers, is_over) = (Arc::<Mutex<Vec<Answer>>>::default(), Arc::<AtomicBool>::default());
        let (url, cookie) = (format!("{}{OPTIONS}", yard.url), format!("trenova_session={session}"));
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

    async fn until(&self, what: &str, so: impl Fn(&Answer) -> bool) {
        wait(what, async || self.answers.lock().iter().filter(|answer| so(answer)).count() > 20).await;
    }

    /// Forgets good answers so far.
    fn clear(&self) {
        self.answers.lock().retain(|answer| answer.status != 200);
    }

    async fn stop(self) -> Vec<Answer> {
        self.is_over.store(true, Ordering::Release);
        for user in self.users {
            user.await.unwrap();
        }
        std::mem::take(&mut *self.answers.lock())
    }
}
