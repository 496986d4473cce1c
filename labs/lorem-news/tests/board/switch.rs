//! Each switch has its documented effect, independent of the others.
//!
//! Does not depend on timing: where a request must wait, the test itself holds SQLite's write lock.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use rusqlite::Connection;

use crate::fixture::{Board, Browser, Response};

/// The published configuration without any tuning step.
const PUBLISHED: &[&str] = &[
    "--tx-mode",
    "immediate",
    "--dispatch",
    "threads",
    "--writer",
    "direct",
    "--reader-pool",
    "0",
    "--fragment-cache",
    "off",
    "--statement-cache",
    "off",
    "--runtime-lock",
    "process",
];

fn start(flags: &[&[&str]]) -> Board {
    Board::start(&flags.concat())
}

/// Takes SQLite's write lock until [`release`].
fn lock(board: &Board) -> Connection {
    let lock = board.database();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    lock
}

fn release(lock: &Connection) {
    lock.execute_batch("COMMIT").unwrap();
}

fn in_background(board: &Board, route: &str) -> JoinHandle<Response> {
    let (url, path) = (board.url.clone(), format!("/benchmarking/{route}"));
    std::thread::spawn(move || Browser::at(&url).post(&path, &[]))
}

/// Sends a request. It has reached the board when this returns, so only the board delays it from then on.
fn send_request(board: &Board, route: &str) -> JoinHandle<u16> {
    let mut stream = TcpStream::connect(board.url.strip_prefix("http://").unwrap()).unwrap();
    let headers = "host: board\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let request = format!("POST /benchmarking/{route} HTTP/1.1\r\n{headers}");
    stream.write_all(request.as_bytes()).unwrap();
    std::thread::spawn(move || {
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response.split(' ').nth(1).unwrap().parse().unwrap()
    })
}

/// Enough round trips for any unblocked request to finish meanwhile.
fn round_trips(board: &Board) {
    for _ in 0..50 {
        assert_eq!(Browser::new(board).get("/health").status, 200);
    }
}

#[test]
fn a_deferred_transaction_fails_at_once_during_a_write_and_an_immediate_one_waits() {
    let flags: &[&str] = &["--sign-in-writes", "off", "--writer", "direct", "--dispatch", "threads"];
    let deferred = start(&[flags, &["--tx-mode", "deferred", "--log-level", "error"]]);
    let write_lock = lock(&deferred);
    let response = deferred.benchmark("post_create");
    assert_eq!(response.status, 500, "{}", response.body);
    assert_eq!(deferred.counter("lorem_yields_total"), 0, "SQLite does not even ask whether to wait");
    assert_eq!(deferred.counter("lorem_busy_total"), 1);
    release(&write_lock);
    assert_eq!(deferred.benchmark("post_create").status, 200, "alone, a deferred one goes through");

    let immediate = start(&[flags, &["--tx-mode", "immediate"]]);
    let write_lock = lock(&immediate);
    let waiting = in_background(&immediate, "post_create");
    immediate.wait_for("lorem_yields_total", 3);
    release(&write_lock);
    assert_eq!(waiting.join().unwrap().status, 200);
    assert_eq!(immediate.counter("lorem_busy_total"), 0);
}

#[test]
fn a_blocking_wait_blocks_unrelated_reads_of_its_process_and_a_yielding_one_does_not() {
    let two: &[&str] = &["--threads", "2", "--sign-in-writes", "off"];
    let yielding = start(&[PUBLISHED, two, &["--busy-wait", "yielding_60us"]]);
    let write_lock = lock(&yielding);
    let writing = in_background(&yielding, "post_create");
    yielding.wait_for("lorem_yields_total", 1);
    assert_eq!(yielding.benchmark("post_show").status, 200, "a read goes on while the writer waits");
    release(&write_lock);
    assert_eq!(writing.join().unwrap().status, 200);

    let blocking = start(&[PUBLISHED, two, &["--busy-wait", "blocking_timeout_5000"]]);
    let write_lock = lock(&blocking);
    let writing = in_background(&blocking, "post_create");
    blocking.wait_for("lorem_begun_total", 1);
    let reading = send_request(&blocking, "post_show");
    round_trips(&blocking);
    assert!(!reading.is_finished(), "the read had to wait for a writer of another request");
    release(&write_lock);
    assert_eq!((writing.join().unwrap().status, reading.join().unwrap()), (200, 200));
}

#[test]
fn without_the_runtime_lock_a_blocking_wait_blocks_only_its_own_request() {
    let flags: &[&str] =
        &["--threads", "2", "--sign-in-writes", "off", "--busy-wait", "blocking_timeout_5000"];
    let board = start(&[PUBLISHED, flags, &["--runtime-lock", "none"]]);
    let write_lock = lock(&board);
    let writing = in_background(&board, "post_create");
    board.wait_for("lorem_begun_total", 1);
    assert_eq!(board.benchmark("post_show").status, 200);
    release(&write_lock);
    assert_eq!(writing.join().unwrap().status, 200);
}

#[test]
fn a_writer_that_loses_the_runtime_lock_and_a_blocking_wait_stall_until_the_wait_times_out() {
    // Two virtual users of one process. A time slice ends inside nearly every transaction, so a writer must yield to the other
    // user, which writes too and waits while holding the runtime lock that the first writer needs for its commit.
    let two: &[&str] = &["--threads", "2", "--sign-in-writes", "off", "--log-level", "error"];
    let often: &[&str] = &["--transaction-cost", "5000", "--runtime-slice", "1"];
    let refused = |wait: &str| {
        let board = start(&[PUBLISHED, two, often, &["--busy-wait", wait]]);
        let refused = AtomicBool::new(false);
        let posts = || {
            for _ in 0..10 {
                // One is enough: each takes as long as a full wait.
                if board.benchmark("post_create").status == 500 || refused.load(Ordering::Relaxed) {
                    return refused.store(true, Ordering::Relaxed);
                }
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(posts);
            posts();
        });
        refused.into_inner()
    };
    assert!(!refused("yielding_60us"));
    assert!(refused("blocking_timeout_5000"), "20 posts of 2 users, and no writer lost its turn");
}

#[test]
fn with_one_thread_a_waiting_request_blocks_others_and_with_two_it_does_not() {
    let flags: &[&str] = &["--sign-in-writes", "off", "--runtime-lock", "none"];
    for threads in ["1", "2"] {
        let board = start(&[PUBLISHED, flags, &["--threads", threads]]);
        let write_lock = lock(&board);
        let writing = in_background(&board, "post_create");
        board.wait_for("lorem_yields_total", 1);
        let reading = send_request(&board, "post_show");
        if threads == "1" {
            round_trips(&board);
            assert!(!reading.is_finished());
            release(&write_lock);
            assert_eq!(reading.join().unwrap(), 200);
        } else {
            assert_eq!(reading.join().unwrap(), 200, "answered while the other one waits");
            release(&write_lock);
        }
        assert_eq!(writing.join().unwrap().status, 200);
    }
}

#[test]
fn an_inline_request_needs_no_thread_while_its_write_waits_for_the_group() {
    let flags: &[&str] = &["--threads", "1", "--writer", "group", "--sign-in-writes", "off"];
    for dispatch in ["inline", "threads"] {
        let board = start(&[flags, &["--dispatch", dispatch]]);
        let write_lock = lock(&board);
        let writing = in_background(&board, "post_create");
        board.wait_for("lorem_yields_total", 1);
        let reading = send_request(&board, "post_show");
        if dispatch == "inline" {
            assert_eq!(reading.join().unwrap(), 200, "answered on the only thread there is");
            release(&write_lock);
        } else {
            round_trips(&board);
            assert!(!reading.is_finished());
            release(&write_lock);
            assert_eq!(reading.join().unwrap(), 200);
        }
        assert_eq!(writing.join().unwrap().status, 200);
    }
}

#[test]
fn a_group_commits_fewer_times_than_it_has_posts_and_a_direct_writer_once_per_change() {
    let group = start(&[&["--writer", "group"]]);
    let write_lock = lock(&group);
    let waiting: Vec<_> = (0..10).map(|_| in_background(&group, "post_create")).collect();
    // Session, last seen and post of ten requests.
    group.wait_for("lorem_writes_total", 30);
    release(&write_lock);
    for request in waiting {
        assert_eq!(request.join().unwrap().status, 200);
    }
    let commits = group.counter("lorem_commits_total");
    assert!(commits <= 2, "the first one began alone, nine waited; {commits} commits");
    assert_eq!(group.number("SELECT count(*) FROM posts"), 210);

    let direct = start(&[&["--writer", "direct"]]);
    for _ in 0..10 {
        assert_eq!(direct.benchmark("post_create").status, 200);
    }
    assert_eq!(direct.counter("lorem_commits_total"), 30);
}

#[test]
fn sign_in_writes_can_be_left_out() {
    for (value, sessions) in [("on", 3), ("off", 0)] {
        let board = start(&[&["--sign-in-writes", value]]);
        let cookies: usize = (0..3).map(|_| board.benchmark("posts_index").cookies.len()).sum();
        assert_eq!(board.number("SELECT count(*) FROM sessions"), sessions);
        assert_eq!(
            board.number("SELECT EXISTS (SELECT 1 FROM users WHERE last_seen_at > 0)"),
            i64::from(sessions > 0)
        );
        assert_eq!(cookies, usize::try_from(sessions).unwrap());
    }
}

#[test]
fn the_cookie_of_a_benchmark_is_a_valid_session() {
    let board = start(&[]);
    let mut browser = Browser::new(&board);
    browser.post("/benchmarking/posts_index", &[]);
    assert!(browser.get("/").body.contains("Sign out"));
}

#[test]
fn a_render_cost_of_five_renders_five_times_and_returns_the_same_page() {
    let page = |cost: &str| {
        let board = start(&[&["--render-cost", cost, "--fragment-cache", "off"]]);
        let body = Browser::new(&board).get("/posts").body;
        (board.counter("lorem_renders_total"), body)
    };
    let ((once, plain), (five, slow)) = (page("1"), page("5"));
    assert_eq!(five, once * 5);
    assert_eq!(plain, slow);
}

#[test]
fn transaction_cost_applies_per_change_inside_its_transaction() {
    for (cost, toil) in [("0", 0), ("7", 21)] {
        for writer in ["direct", "group"] {
            let board = start(&[&["--transaction-cost", cost, "--writer", writer]]);
            assert_eq!(board.benchmark("post_create").status, 200);
            assert_eq!(board.counter("lorem_toil_total"), toil, "session, last seen and post");
        }
    }
    // A longer transaction makes a deferred one of another process fail more often; here it must fail.
    let flags: &[&str] = &["--tx-mode", "deferred", "--writer", "direct", "--processes", "2"];
    let board = start(&[
        flags,
        &["--transaction-cost", "400", "--log-level", "error", "--busy-wait", "yielding_60us"],
    ]);
    let failed = std::thread::scope(|scope| {
        let users: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| (0..25).filter(|_| board.benchmark("post_create").status == 500).count()))
            .collect();
        users.into_iter().map(|user| user.join().unwrap()).sum::<usize>()
    });
    assert!(failed > 0, "200 deferred posts of 8 users, and none met another writer");
}

#[test]
fn the_log_is_checkpointed_by_a_background_thread_or_by_the_requests() {
    let background = start(&[&["--checkpoint", "background", "--writer", "direct"]]);
    let mut posts = 0;
    while background.counter("lorem_checkpoints_total") == 0 {
        assert_eq!(background.benchmark("post_create").status, 200);
        posts += 1;
    }
    let inline = start(&[&["--checkpoint", "inline", "--writer", "direct"]]);
    for _ in 0..posts * 2 {
        assert_eq!(inline.benchmark("post_create").status, 200);
    }
    assert_eq!(inline.counter("lorem_checkpoints_total"), 0);
    // With inline checkpoints the log has restarted: its file does not shrink, but is reused.
    let mut log = crate::fixture::database_path(inline.folder.path()).into_os_string();
    log.push("-wal");
    let bytes = std::fs::metadata(log).unwrap().len();
    assert!(bytes < 2 * 1_000 * 4_200, "{bytes} bytes of log after {} posts", posts * 2);
}

#[test]
fn a_cached_fragment_is_reused_and_never_after_a_change() {
    let board = start(&[]);
    let mut ada = Browser::new(&board);
    ada.sign_up("ada");
    let mut reader = Browser::new(&board);
    let post = ada.write_post("The first title", "Text");
    for path in ["/", &post] {
        let first = reader.get(path).body;
        let (hits, renders) =
            (board.counter("lorem_fragment_hits_total"), board.counter("lorem_renders_total"));
        assert_eq!(reader.get(path).body, first);
        assert!(board.counter("lorem_fragment_hits_total") > hits, "{path} came from the cache");
        let again = board.counter("lorem_renders_total") - renders;
        assert!(again <= 3, "{path}: only what is around the fragments is rendered, not {again} pieces");
    }
    ada.submit(&format!("{post}/edit"), &post, &[("title", "The second title"), ("description", "Text")]);
    for path in ["/", &post] {
        let page = reader.get(path).body;
        assert!(page.contains("The second title") && !page.contains("The first title"), "{path}");
    }
    ada.submit(&post, &format!("{post}/comments"), &[("body", "A comment of mine")]);
    assert!(reader.get("/").body.contains("1 comments"));
    assert!(reader.get(&post).body.contains("A comment of mine"));
    // A change by another program shows at once too.
    board
        .database()
        .execute("UPDATE users SET screen_name = 'countess' WHERE screen_name = 'ada'", [])
        .unwrap();
    for path in ["/", &post] {
        let page = reader.get(path).body;
        assert!(page.contains(">countess<") && !page.contains(">ada<"), "{path}");
    }
}

#[test]
fn a_change_in_one_process_shows_in_the_fragments_of_another() {
    let board = start(&[&["--processes", "2"]]);
    let mut ada = Browser::new(&board);
    ada.sign_up("ada");
    let post = ada.write_post("The first title", "Text");
    // A browser keeps its connection, and so its process: eight browsers reach both.
    let mut readers: Vec<_> = (0..8).map(|_| Browser::new(&board)).collect();
    for reader in &mut readers {
        assert!(reader.get("/").body.contains("The first title"));
    }
    ada.submit(&format!("{post}/edit"), &post, &[("title", "The second title"), ("description", "Text")]);
    for reader in &mut readers {
        assert!(reader.get("/").body.contains("The second title"));
    }
}

#[test]
fn without_the_fragment_cache_nothing_is_cached() {
    let board = start(&[&["--fragment-cache", "off"]]);
    let mut reader = Browser::new(&board);
    let first = reader.get("/").body;
    let renders = board.counter("lorem_renders_total");
    assert_eq!(reader.get("/").body, first);
    assert_eq!(board.counter("lorem_renders_total"), renders * 2);
    assert_eq!(board.counter("lorem_fragment_hits_total"), 0);
}

#[test]
fn cached_and_rendered_pages_are_the_same_to_the_byte() {
    let pages = |value: &str| {
        let board = start(&[&["--fragment-cache", value]]);
        let mut reader = Browser::new(&board);
        let mut all = Vec::new();
        for path in ["/", "/posts/7", "/posts/199", "/users/3", "/", "/posts/7"] {
            all.push(reader.get(path).body);
        }
        all
    };
    assert_eq!(pages("on"), pages("off"));
}

#[test]
fn every_switch_can_be_set_by_its_environment_variable() {
    let help = std::process::Command::new(env!("CARGO_BIN_EXE_lorem-news"))
        .args(["serve", "--help"])
        .output()
        .unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    for name in [
        "TX_MODE",
        "BUSY_WAIT",
        "RUNTIME_LOCK",
        "PROCESSES",
        "THREADS",
        "DISPATCH",
        "RENDER_COST",
        "SIGN_IN_WRITES",
        "WRITER",
        "CHECKPOINT",
        "TRANSACTION_COST",
        "STATEMENT_CACHE",
        "FRAGMENT_CACHE",
        "READER_POOL",
        "SYNCHRONOUS",
    ] {
        assert!(help.contains(&format!("[env: LOREM_{name}=")), "{name}");
    }
    let wrong = std::process::Command::new(env!("CARGO_BIN_EXE_lorem-news"))
        .arg("serve")
        .env("LOREM_TX_MODE", "eventually")
        .output()
        .unwrap();
    assert!(!wrong.status.success(), "a value that does not exist is refused, not ignored");
}
