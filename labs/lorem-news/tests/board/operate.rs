//! The board as seen by operators and load generators.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Barrier;

use crate::fixture::{Board, Browser, database_path, fill, signal, wait};

#[test]
fn every_benchmark_route_returns_a_page() {
    let board = Board::start(&[]);
    let posts = || board.number("SELECT count(*) FROM posts");
    let comments = || board.number("SELECT count(*) FROM comments");
    let call = |route: &str| {
        let response = board.benchmark(route);
        assert_eq!(response.status, 200, "{route}: {}", response.body);
        assert!(response.body.trim_end().ends_with("</html>"), "{route}");
    };
    for (route, more_posts, more_comments) in [
        ("posts_index", 0, Some(0)),
        ("post_create", 1, Some(0)),
        ("post_show", 0, Some(0)),
        ("user_show", 0, Some(0)),
        ("comment_create", 0, Some(1)),
        // A deleted post takes its comments with it; a new post has none.
        ("post_destroy", -1, None),
        ("comment_destroy", 0, Some(-1)),
    ] {
        let before = (posts(), comments());
        call(route);
        assert_eq!(posts() - before.0, more_posts, "posts after {route}");
        match more_comments {
            Some(more) => assert_eq!(comments() - before.1, more, "comments after {route}"),
            None => assert!(comments() <= before.1, "comments after {route}"),
        }
    }
    ["read_heavy", "write_heavy", "balanced"].into_iter().for_each(call);
    assert_eq!(board.number("SELECT count(*) FROM sessions"), 10, "each of them signs in");
    let wrong = "SELECT count(*) FROM posts WHERE comments_count <> \
                 (SELECT count(*) FROM comments WHERE post_id = posts.id)";
    assert_eq!(board.number(wrong), 0, "the counters of posts agree with the rows");
    let wrong = "SELECT count(*) FROM users WHERE posts_count <> \
                 (SELECT count(*) FROM posts WHERE user_id = users.id)";
    assert_eq!(board.number(wrong), 0, "the counters of users agree with the rows");
}

#[test]
fn every_hundredth_page_is_an_error_if_that_is_asked_for_and_no_probe_is() {
    let board = Board::start(&["--fail-every", "100"]);
    let mut browser = Browser::new(&board);
    let failed = (0..300).filter(|_| browser.get("/posts").status == 500).count();
    assert_eq!(failed, 3);
    let failed = (0..150).filter(|_| browser.get("/ready").status != 200).count();
    assert_eq!(failed, 0);
}

#[test]
fn pages_have_the_published_size() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), &[]);
    let board = Board::start_in(folder, &["--benchmarking", "on"]);
    let lists: Vec<_> = (0..60).map(|_| board.benchmark("posts_index").body.len()).collect();
    let mean = lists.iter().sum::<usize>() / lists.len();
    assert!((55_000..68_000).contains(&mean), "lists of {mean} bytes; published: 62,500");
    let show = board.benchmark("post_create").body.len();
    assert!((6_000..7_200).contains(&show), "a new post of {show} bytes; published: 6,600");
}

#[test]
fn the_benchmark_routes_are_off_by_default() {
    let board = Board::start_in(crate::fixture::seeded(), &[]);
    let response = board.benchmark("post_destroy");
    assert_eq!(response.status, 404);
    assert!(response.body.contains("--benchmarking on"));
    assert_eq!(board.number("SELECT count(*) FROM posts"), 200);
}

#[test]
fn an_empty_folder_becomes_an_empty_board_with_a_hint() {
    let board = Board::start_in(tempfile::tempdir().unwrap(), &["--benchmarking", "on"]);
    assert_eq!(Browser::new(&board).get("/").status, 200);
    let response = board.benchmark("post_create");
    assert_eq!(response.status, 409);
    assert!(response.body.contains("lorem-news seed"));
}

#[test]
fn the_same_seed_writes_the_same_board_and_another_one_does_not() {
    let rows = |seed: &str| {
        let folder = tempfile::tempdir().unwrap();
        fill(folder.path(), &["--posts", "50", "--seed", seed]);
        let database = rusqlite::Connection::open(database_path(folder.path())).unwrap();
        let mut all = Vec::new();
        for sql in [
            "SELECT screen_name || about || password_digest || posts_count FROM users ORDER BY id",
            "SELECT user_id || title || description || published_at || comments_count FROM posts ORDER BY id",
            "SELECT post_id || user_id || body || created_at FROM comments ORDER BY id",
        ] {
            let mut statement = database.prepare(sql).unwrap();
            let texts = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
            all.extend(texts.map(Result::unwrap));
        }
        all
    };
    let (first, again, other) = (rows("7"), rows("7"), rows("8"));
    assert_eq!(first, again);
    assert_ne!(first, other);
}

#[test]
fn a_board_is_not_overwritten_by_accident() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), &["--posts", "5"]);
    let again = |more: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_lorem-news"))
            .args(["seed", "--posts", "6", "--data"])
            .arg(folder.path())
            .args(more)
            .output()
            .unwrap()
    };
    let refused = again(&[]);
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("hint: --replace"));
    assert!(again(&["--replace"]).status.success());
}

#[test]
fn a_port_in_use_is_reported() {
    let board = Board::start(&[]);
    let address = board.url.strip_prefix("http://").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let second = Command::new(env!("CARGO_BIN_EXE_lorem-news"))
        .args(["serve", "--listen", address, "--data"])
        .arg(folder.path())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success() && error.contains(address) && error.contains("hint:"), "{error}");
}

#[test]
fn a_shutdown_finishes_open_requests() {
    for flags in [&[][..], &["--processes", "2"], &["--dispatch", "threads"]] {
        let mut board = Board::start(flags);
        let lock = board.database();
        lock.execute_batch("BEGIN IMMEDIATE").unwrap();
        let url = board.url.clone();
        let before = board.number("SELECT count(*) FROM posts");
        let open =
            std::thread::spawn(move || Browser::at(&url).post("/benchmarking/post_create", &[]).status);
        if flags.contains(&"--processes") {
            // Which process has it cannot be asked; that one waits for the lock is not what is tried here.
            lock.execute_batch("COMMIT").unwrap();
            assert_eq!(open.join().unwrap(), 200);
            board.signal("TERM");
        } else {
            board.wait_for("lorem_begun_total", 1);
            board.signal("TERM");
            lock.execute_batch("COMMIT").unwrap();
            assert_eq!(open.join().unwrap(), 200, "{flags:?}");
        }
        assert!(board.child.wait().unwrap().success(), "{flags:?}");
        assert_eq!(board.number("SELECT count(*) FROM posts"), before + 1);
        drop(lock);
        let mut log = database_path(board.folder.path()).into_os_string();
        log.push("-wal");
        // The last connection to close checkpoints the log and removes it.
        assert!(!std::path::Path::new(&log).exists(), "{flags:?}");
    }
}

/// The process id of metrics.
fn process_of(text: &str) -> u32 {
    text.split("process=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
}

/// The ids of the processes that responded.
fn answering(board: &Board, at_least: usize) -> HashSet<u32> {
    let mut seen = HashSet::new();
    wait("processes answer", || {
        // One connection per request, because a connection stays with its process.
        let text = Browser::new(board).get("/metrics").body;
        seen.insert(process_of(&text));
        seen.len() >= at_least
    });
    seen
}

#[test]
fn several_processes_share_the_port_and_one_that_is_killed_is_replaced() {
    let mut board = Board::start(&["--processes", "3", "--log-level", "error"]);
    let first = answering(&board, 3);
    assert!(!first.contains(&board.child.id()), "the first process only watches");
    let killed = *first.iter().next().unwrap();
    signal(killed, "KILL");
    let mut later = HashSet::new();
    wait("another one is there", || {
        later = answering(&board, 3);
        !later.contains(&killed) && !later.is_subset(&first)
    });
    assert_eq!(later.difference(&first).count(), 1);
    assert_eq!(board.benchmark("post_create").status, 200);
    // A killed process cannot notify the supervisor, which must notice.
    board.child.kill().unwrap();
    board.child.wait().unwrap();
    let agent = ureq::Agent::config_builder().build().new_agent();
    wait("nobody answers", || agent.get(format!("{}/health", board.url)).call().is_err());
}

#[test]
fn concurrent_connections_spread_over_the_processes() {
    let board = Board::start(&["--processes", "5", "--log-level", "error"]);
    let together = Barrier::new(20);
    let served: Vec<u32> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..20)
            .map(|_| {
                scope.spawn(|| {
                    let mut browser = Browser::new(&board);
                    together.wait();
                    let text = browser.get("/metrics").body;
                    // No client disconnects before all have a response.
                    together.wait();
                    process_of(&text)
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let mut write_lock = HashMap::new();
    for process in served {
        *write_lock.entry(process).or_insert(0) += 1;
    }
    // Four each would be even. Scheduling varies the numbers, but must not let one process take nearly all.
    assert!(write_lock.len() >= 3 && write_lock.values().all(|n| *n <= 12), "{write_lock:?}");
}

#[test]
fn health_checks_the_process_and_ready_the_database() {
    let board = Board::start(&["--log-level", "error"]);
    let mut probe = Browser::new(&board);
    assert_eq!((probe.get("/health").status, probe.get("/ready").status), (200, 200));
    board.database().execute_batch("ALTER TABLE users RENAME TO gone").unwrap();
    assert_eq!((probe.get("/health").status, probe.get("/ready").status), (200, 503));
}

#[test]
fn log_lines_can_be_json_and_name_every_request_on_debug() {
    for (level, expected) in [
        ("info", vec!["serving", "stopping", "stopped"]),
        ("debug", vec!["serving", "answered /posts/1 200", "stopping", "stopped"]),
    ] {
        let folder = crate::fixture::seeded();
        let mut child = Command::new(env!("CARGO_BIN_EXE_lorem-news"))
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--log-level",
                level,
                "--log-format",
                "json",
                "--data",
            ])
            .arg(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").unwrap();
        assert_eq!(Browser::at(url).get("/posts/1").status, 200);
        signal(child.id(), "TERM");
        let log = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
        let message_of: Vec<_> = log.lines().filter_map(message_of).collect();
        assert_eq!(message_of, expected);
    }
}

/// The message in a log line of the program itself.
fn message_of(line: &str) -> Option<String> {
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    let fields = &line["fields"];
    let ours = line["target"].as_str().unwrap().starts_with("lorem_news");
    let message = fields["message"].as_str().unwrap();
    let request = fields["path"].as_str().map(|path| format!("{message} {path} {}", fields["status"]));
    ours.then(|| request.unwrap_or_else(|| message.to_owned()))
}
