//! Operations: health, graceful stop, errors, metrics, migrations, the page.

use crate::world::{LONG_TIMEOUT, OPTIONS, Service, Stores, command, fail, succeed};
use testbed::{TIMEOUT, signal, wait};

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_stop_finishes_open_requests_and_accepts_no_new_connections() {
    let stores = Stores::seeded().await;
    for flags in [&["--query-call", "batch"][..], &["--query-call", "each"], &["--prefork", "2"]] {
        let mut service = Service::open(&stores, &[&LONG_TIMEOUT[..], &["--grace", "60"], flags].concat());
        let mut holder = stores.cluster.connect().await;
        let held = holder.transaction().await.unwrap();
        let (process, url) = (service.process.id(), service.url.clone());
        {
            let person = service.sign_in(1).await;
            held.batch_execute("LOCK TABLE workers").await.unwrap();
            let stopping = async {
                let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
                wait("the read waits", async || stores.cluster.number(waits).await == 1).await;
                signal(process, "TERM");
                wait("no new callers", async || reqwest::get(format!("{url}/health")).await.is_err()).await;
                held.rollback().await.unwrap();
            };
            let (answer, ()) = tokio::join!(person.options(), stopping);
            assert_eq!((answer.status, answer.ids().len()), (200, 10), "{flags:?}");
        }
        let ended = tokio::task::spawn_blocking(move || service.process.0.wait().unwrap());
        let ended = tokio::time::timeout(TIMEOUT, ended).await.unwrap().unwrap();
        assert!(ended.success(), "{flags:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn startup_errors_come_with_a_hint_and_without_the_password() {
    let stores = Stores::empty().await;
    let (url, serve) = (stores.cluster.url(), ["serve", "--listen", "127.0.0.1:0", "--postgres"]);
    let secret = url.replace("postgres@", "postgres:geheim@").replace("/postgres", "/missing");
    let error = fail(&[&serve[..], &[&secret]].concat());
    assert!(error.contains("error: ") && error.contains("hint: start PostgreSQL"), "{error}");
    assert!(!error.contains("geheim"), "{error}");
    let error = fail(&[&serve[..], &[&url, "--redis", "http://me:geheim@nowhere"]].concat());
    assert!(error.contains("Redis at http://nowhere") && error.contains("hint: name it"), "{error}");
    assert!(!error.contains("geheim"), "{error}");
    let error = fail(&[&serve[..], &[&url, "--redis", "http://nowhere", "--prefork", "2"]].concat());
    assert!(error.contains("keeps ending") && error.contains("hint: its own error is above"), "{error}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let error = fail(&["serve", "--listen", &taken.local_addr().unwrap().to_string(), "--postgres", &url]);
    assert!(error.contains("cannot listen on"), "{error}");
    let seed = ["seed", "--postgres", &url, "--tenants", "1", "--workers", "5"];
    succeed(&seed);
    let error = fail(&seed);
    assert!(error.contains("holds tenants already") && error.contains("hint: --replace"), "{error}");
    succeed(&[&seed[..], &["--replace"]].concat());
    assert_eq!(stores.cluster.number("SELECT sum(workers)::bigint FROM worker_counts").await, 5);
}

#[test]
fn the_help_shows_no_address_from_the_environment() {
    for words in
        [&["serve", "--help"][..], &["worker", "--help"], &["seed", "--help"], &["migrate", "--help"]]
    {
        let mut program = command(words);
        for name in ["TRENOVA_POSTGRES", "TRENOVA_REDIS"] {
            program.env(name, "scheme://me:geheim@host/0?password=geheim");
        }
        let output = program.output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        assert!(help.contains("TRENOVA_POSTGRES") && !help.contains("geheim"), "{words:?}: {help}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn it_recovers_when_redis_accepts_its_password() {
    let stores = Stores::seeded().await;
    let url = stores.redis.url().replace("redis://", "redis://:geheim@");
    let open = |link: &str| Service::open(&stores, &["--redis", &url, "--redis-link", link]);
    let yards = ["shared", "pool"].map(open);
    for service in &yards {
        assert_eq!(service.get("/ready").await.status, 503);
    }
    stores.redis.command::<()>(&["CONFIG", "SET", "requirepass", "geheim"]).await;
    for service in &yards {
        wait("ready", async || service.get("/ready").await.status == 200).await;
        service.sign_in(1).await.page().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn it_starts_without_redis_and_is_ready_once_redis_is() {
    let mut stores = Stores::seeded().await;
    stores.redis.kill();
    for flags in [&[][..], &["--redis-link", "pool", "--redis-pool-idle", "5"]] {
        let service = Service::open(&stores, flags);
        assert_eq!(
            (service.get("/health").await.status, service.get("/ready").await.status),
            (200, 503),
            "{flags:?}"
        );
        stores.redis.restart().await;
        wait("ready", async || service.get("/ready").await.status == 200).await;
        service.sign_in(1).await.page().await;
        stores.redis.kill();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn serve_changes_no_schema_and_names_the_command_which_does_it_once_however_many_run() {
    let stores = Stores::bare().await;
    let url = stores.cluster.url();
    let serve = ["serve", "--listen", "127.0.0.1:0", "--postgres", &url];
    let error = fail(&serve);
    assert!(
        error.contains("lacks 2 of the migrations") && error.contains("hint: run `trenova migrate"),
        "{error}"
    );
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(stores.cluster.number(tables).await, 0);
    let migrate = || {
        let url = url.clone();
        tokio::task::spawn_blocking(move || succeed(&["migrate", "--postgres", &url]))
    };
    let applied = futures_util::future::join_all((0..4).map(|_| migrate())).await;
    let mut applied: Vec<String> = applied.into_iter().map(|one| one.unwrap().trim().to_owned()).collect();
    applied.sort();
    assert_eq!(applied[2..], ["0 steps applied", "2 steps applied"]);
    assert_eq!(stores.cluster.number("SELECT count(*) FROM schema_migrations").await, 2);
    assert_eq!(Service::open(&stores, &[]).get("/ready").await.status, 200);
    stores.cluster.execute("DELETE FROM schema_migrations WHERE version = 2").await;
    let error = fail(&serve);
    assert!(error.contains("lacks 1 of the migrations"), "an earlier version: {error}");
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn threads_sets_the_number_of_request_threads() {
    let stores = Stores::empty().await;
    // With several threads, the main thread only waits for the others.
    for (value, count) in [("1", 1), ("3", 4)] {
        let service = Service::open(&stores, &["--threads", value]);
        assert_eq!(service.get("/ready").await.status, 200);
        let status = std::fs::read_to_string(format!("/proc/{}/status", service.process.id())).unwrap();
        let threads = status.lines().find_map(|line| line.strip_prefix("Threads:")).unwrap();
        assert_eq!(threads.trim().parse::<usize>().unwrap(), count, "{value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn metrics_count_responses_by_route_and_not_by_path() {
    let stores = Stores::seeded().await;
    let service = Service::open(&stores, &[]);
    let person = service.sign_in(1).await;
    for number in 1..=20 {
        person.get(&format!("/api/v1/workers/{number}")).await;
        person.get(&format!("/nothing/{number}")).await;
        person.get(&format!("{OPTIONS}?offset={number}")).await;
    }
    let name = |route: &str, status: u16| {
        format!("trenova_requests_total{{route=\"{route}\",method=\"GET\",status=\"{status}\"}}")
    };
    assert_eq!(service.figure(&name("/api/v1/workers/{id}", 404)).await, 20);
    assert_eq!(service.figure(&name("none", 404)).await, 20);
    assert_eq!(service.figure(&name(OPTIONS, 200)).await, 20);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_browser_gets_the_page_and_it_loads_nothing_from_elsewhere() {
    let stores = Stores::empty().await;
    let page = Service::open(&stores, &[]).get("/").await;
    assert!(page.status == 200 && page.body.starts_with("<!doctype html>"), "{page:?}");
    assert!(!page.body.contains("http://") && !page.body.contains("https://"));
    assert!(page.headers.contains_key("content-security-policy"));
    assert_eq!(page.headers["x-content-type-options"], "nosniff");
}
