//! Sessions: creation, refresh and expiry.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::world::{Person, Service, Stores};
use testbed::wait;

/// The session as stored in Redis.
async fn kept(stores: &Stores, person: &Person<'_>) -> Value {
    let text: String = stores.redis.command(&["GET", &format!("session:{}", person.session)]).await;
    serde_json::from_str(&text).unwrap()
}

/// Moves the time of last use back.
async fn age(stores: &Stores, person: &Person<'_>, seconds: i64) {
    let mut session = kept(stores, person).await;
    session["lastAccessedAt"] = (session["lastAccessedAt"].as_i64().unwrap() - seconds).into();
    let key = format!("session:{}", person.session);
    stores.redis.command::<()>(&["SET", &key, &session.to_string(), "EX", "1000"]).await;
}

/// Waits for deferred writes: returns once a later deferred write of another session is done. Leaves no session.
async fn deferred_writes_are_done(stores: &Stores) {
    let service = Service::open(stores, &["--session-refresh", "deferred"]);
    let person = service.sign_in(2).await;
    age(stores, &person, 100).await;
    let used = kept(stores, &person).await["lastAccessedAt"].as_i64().unwrap();
    person.page().await;
    wait("it is written", async || {
        kept(stores, &person).await["lastAccessedAt"].as_i64().unwrap() >= used + 100
    })
    .await;
    assert_eq!(person.post("/api/v1/auth/logout", &Value::Null).await.status, 204);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn sign_in_needs_the_password_and_does_not_reveal_which_users_exist() {
    let stores = Stores::seeded().await;
    let service = Service::open(&stores, &[]);
    let right = service.try_sign_in("User1@Org1.Example", "password").await;
    assert_eq!(right.status, 200, "{right:?}");
    let cookie = right.headers["set-cookie"].to_str().unwrap();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax") && !cookie.contains("Secure"),
        "{cookie}"
    );
    let (wrong, nobody) = (
        service.try_sign_in("user1@org1.example", "Password").await,
        service.try_sign_in("nobody@org1.example", "password").await,
    );
    assert_eq!((wrong.status, wrong.code().as_str()), (401, "bad_password"));
    assert_eq!((nobody.status, &nobody.body), (401, &wrong.body), "the same answer");
    let keys: Vec<String> = stores.redis.command(&["KEYS", "session:*"]).await;
    assert_eq!(keys.len(), 1, "a session for who signed in alone");
    let secure = Service::open(&stores, &["--secure-cookie", "on"]);
    let cookie = secure.try_sign_in("user1@org1.example", "password").await.headers["set-cookie"].clone();
    assert!(cookie.to_str().unwrap().ends_with("; Secure"));
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn signing_out_ends_the_session_everywhere_and_a_late_refresh_does_not_bring_it_back() {
    let stores = Stores::seeded().await;
    for flags in [
        &["--session-refresh", "full"][..],
        &["--session-refresh", "write"],
        &["--session-refresh", "deferred"],
        &["--session-cache-ms", "60000"],
    ] {
        let (service, elsewhere) = (Service::open(&stores, flags), Service::open(&stores, &[]));
        let person = service.sign_in(1).await;
        let guest = elsewhere.person(&person.session);
        assert_eq!(guest.options().await.status, 200, "a session holds in all processes");
        age(&stores, &person, 100).await;
        person.many(10).await;
        assert_eq!(person.post("/api/v1/auth/logout", &Value::Null).await.status, 204, "{flags:?}");
        assert_eq!((person.options().await.status, guest.options().await.status), (401, 401), "{flags:?}");
        deferred_writes_are_done(&stores).await;
        let keys: Vec<String> = stores.redis.command(&["KEYS", "session:*"]).await;
        assert!(keys.is_empty(), "{flags:?}: {keys:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn session_refresh_extends_a_session_at_once_soon_or_never() {
    let stores = Stores::seeded().await;
    for (value, at_once, commands) in
        [("full", true, 3), ("write", true, 2), ("deferred", false, 1), ("off", false, 1)]
    {
        let flags = ["--session-refresh", value, "--redis-call", "each", "--rate-limit", "off"];
        let service = Service::open(&stores, &flags);
        let person = service.sign_in(1).await;
        age(&stores, &person, 100).await;
        let used = kept(&stores, &person).await["lastAccessedAt"].as_i64().unwrap();
        let before = service.figure("trenova_redis_round_trips_total").await;
        person.page().await;
        let slid = async || kept(&stores, &person).await["lastAccessedAt"].as_i64().unwrap() >= used + 100;
        if at_once {
            assert!(slid().await, "{value}");
        }
        let now = service.figure("trenova_redis_round_trips_total").await;
        // A deferred write can happen meanwhile.
        let more = now - before - commands;
        assert!(more == 0 || (value == "deferred" && more == 1), "{value}: {commands} and {more}");
        if value == "off" {
            deferred_writes_are_done(&stores).await;
            assert!(!slid().await, "{value}");
        } else {
            wait("it is slid on", slid).await;
            let left: i64 = stores.redis.command(&["TTL", &format!("session:{}", person.session)]).await;
            assert!(left > 1000, "{value}: it lives as long as it may be idle again, {left}");
        }
    }
}

/// Sets a field of a session in Redis.
async fn give(stores: &Stores, person: &Person<'_>, name: &str, value: Value) {
    let mut session = kept(stores, person).await;
    session[name] = value;
    let key = format!("session:{}", person.session);
    stores.redis.command::<()>(&["SET", &key, &session.to_string(), "KEEPTTL"]).await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_session_revoked_under_load_stays_revoked() {
    let stores = Stores::seeded().await;
    for (refresh, call, name, value) in [
        ("full", "each", "revokedAt", json!(1_700_000_000)),
        ("write", "script", "status", json!("revoked")),
        ("deferred", "each", "status", json!("revoked")),
        ("deferred", "batch", "revokedAt", json!(1_700_000_000)),
    ] {
        let flags = ["--session-refresh", refresh, "--redis-call", call, "--rate-limit", "off"];
        let service = Service::open(&stores, &flags);
        let person = service.sign_in(1).await;
        // Not used for long: the next requests must write.
        age(&stores, &person, 100).await;
        person.many(8).await;
        tokio::join!(person.many(8), give(&stores, &person, name, value.clone()));
        // The load runs for longer than writes are deferred.
        let end = Instant::now() + Duration::from_millis(1200);
        while Instant::now() < end {
            for answer in person.many(4).await {
                assert_eq!(answer.status, 401, "{flags:?}: {answer:?}");
            }
        }
        let left = kept(&stores, &person).await;
        assert_eq!(left[name], value, "{flags:?}: {left}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_refresh_changes_the_times_of_a_session_and_nothing_else() {
    let stores = Stores::seeded().await;
    for refresh in ["full", "write", "deferred"] {
        let service = Service::open(&stores, &["--session-refresh", refresh]);
        let person = service.sign_in(1).await;
        age(&stores, &person, 100).await;
        // A number too large for Lua, a string that looks like a field, and an unknown field.
        give(&stores, &person, "expiresAt", i64::MAX.into()).await;
        give(&stores, &person, "userAgent", "\"lastAccessedAt\":1/%1\u{1f69a}".into()).await;
        give(&stores, &person, "note", json!({"by": [], "of": 1e-7})).await;
        let mut before = kept(&stores, &person).await;
        let used = before["lastAccessedAt"].as_i64().unwrap();
        person.page().await;
        let slid = async || kept(&stores, &person).await["lastAccessedAt"].as_i64().unwrap() >= used + 100;
        wait("it is slid on", slid).await;
        let after = kept(&stores, &person).await;
        assert_eq!(after["lastAccessedAt"], after["updatedAt"], "{refresh}");
        for name in ["lastAccessedAt", "updatedAt"] {
            before[name] = after[name].clone();
        }
        assert_eq!(before, after, "{refresh}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_session_written_with_spaces_is_extended_as_well() {
    let stores = Stores::seeded().await;
    let service = Service::open(&stores, &["--session-refresh", "write"]);
    let person = service.sign_in(1).await;
    age(&stores, &person, 100).await;
    let session = kept(&stores, &person).await;
    let key = format!("session:{}", person.session);
    let text = serde_json::to_string_pretty(&session).unwrap();
    stores.redis.command::<()>(&["SET", &key, &text, "EX", "1000"]).await;
    person.page().await;
    let slid = kept(&stores, &person).await["lastAccessedAt"].as_i64().unwrap();
    assert!(slid >= session["lastAccessedAt"].as_i64().unwrap() + 100);
    let left: i64 = stores.redis.command(&["TTL", &key]).await;
    assert!(left > 1000, "{left}");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn deferred_writes_are_done_when_the_service_stops() {
    let stores = Stores::seeded().await;
    let mut service = Service::open(&stores, &["--session-refresh", "deferred"]);
    let session = {
        let person = service.sign_in(1).await;
        age(&stores, &person, 100).await;
        person.page().await;
        person.session
    };
    testbed::signal(service.process.id(), "TERM");
    assert!(tokio::task::spawn_blocking(move || service.process.0.wait().unwrap()).await.unwrap().success());
    let left: i64 = stores.redis.command(&["TTL", &format!("session:{session}")]).await;
    assert!(left > 1000, "{left}");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_session_expires_when_idle_for_too_long_or_too_old() {
    let stores = Stores::seeded().await;
    let service = Service::open(&stores, &["--session-idle", "600", "--session-age", "3600"]);
    let person = service.sign_in(1).await;
    age(&stores, &person, 590).await;
    person.page().await;
    wait("it is slid on", async || {
        let left: i64 = stores.redis.command(&["TTL", &format!("session:{}", person.session)]).await;
        left <= 600
    })
    .await;
    age(&stores, &person, 650).await;
    let answer = person.options().await;
    assert!(answer.status == 401 && answer.body.contains("over"), "{answer:?}");
    let person = service.sign_in(1).await;
    let key = format!("session:{}", person.session);
    let mut session = kept(&stores, &person).await;
    session["expiresAt"] = (session["createdAt"].as_i64().unwrap() - 1).into();
    stores.redis.command::<()>(&["SET", &key, &session.to_string()]).await;
    assert_eq!(person.options().await.status, 401);
    session["expiresAt"] = i64::MAX.into();
    session["revokedAt"] = session["createdAt"].clone();
    stores.redis.command::<()>(&["SET", &key, &session.to_string()]).await;
    let answer = person.options().await;
    assert!(answer.status == 401 && answer.body.contains("ended"), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn session_events_are_off_capped_or_growing() {
    let stores = Stores::seeded().await;
    for call in ["each", "script"] {
        for (value, events, trips) in [("off", 0, 0), ("capped", 16, 3), ("growing", 40, 3)] {
            let flags = [
                "--session-events",
                value,
                "--session-refresh",
                "full",
                "--redis-call",
                call,
                "--rate-limit",
                "off",
            ];
            let service = Service::open(&stores, &flags);
            let person = service.sign_in(1).await;
            let before = service.figure("trenova_redis_round_trips_total").await;
            for _ in 0..40 {
                person.page().await;
            }
            let set: i64 =
                stores.redis.command(&["SCARD", &format!("session-events:{}", person.session)]).await;
            assert_eq!(set, events, "{value} {call}");
            let trips = trips - u64::from(call == "script" && value != "off");
            let spent = service.figure("trenova_redis_round_trips_total").await - before;
            assert_eq!(spent, 40 * (3 + trips), "{value} {call}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn session_cache_saves_reads_and_learns_late_of_sessions_ended_elsewhere() {
    let stores = Stores::seeded().await;
    for call in ["each", "script", "batch"] {
        for (value, hits, status) in [("0", 0, 401), ("60000", 5, 200)] {
            let flags = ["--session-cache-ms", value, "--redis-call", call];
            let (service, elsewhere) = (Service::open(&stores, &flags), Service::open(&stores, &[]));
            let person = service.sign_in(1).await;
            for _ in 0..6 {
                person.page().await;
            }
            assert_eq!(service.figure("trenova_session_hits_total").await, hits, "{value} {call}");
            elsewhere.person(&person.session).post("/api/v1/auth/logout", &Value::Null).await;
            assert_eq!(person.options().await.status, status, "{value} {call}");
        }
    }
    let service = Service::open(&stores, &["--session-cache-ms", "50"]);
    let person = service.sign_in(1).await;
    person.page().await;
    stores.redis.command::<()>(&["DEL", &format!("session:{}", person.session)]).await;
    wait("it is noticed", async || person.options().await.status == 401).await;
}
