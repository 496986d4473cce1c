//! Acknowledged posts survive a kill of the process.
//!
//! `LOREM_KILLS=50 cargo test -p lorem-news durability` is the long form.

use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;

use crate::fixture::{Board, Browser, database_path, wait};

/// Posts until the board is dead. Returns the acknowledged titles.
fn post_until_dead(url: &str, dead: &AtomicBool) -> Vec<String> {
    let mut titles = Vec::new();
    let mut browser = Browser::at(url);
    while !dead.load(Ordering::Relaxed) {
        let Ok(response) = browser.try_post("/benchmarking/post_create", &[]) else { continue };
        assert_eq!(response.status, 200, "{}", response.body);
        let title = response.body.split("<title>").nth(1).unwrap().split(" - Lorem News").next().unwrap();
        titles.push(title.to_owned());
    }
    titles
}

/// Stops the virtual users when dropped; otherwise a failed test would hang.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Kills the board under load. Returns the acknowledged titles.
fn kill_under_load(board: &mut Board, posts: u64) -> Vec<String> {
    let dead = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let end = StopOnDrop(&dead);
        let users: Vec<_> = (0..8).map(|_| scope.spawn(|| post_until_dead(&board.url, &dead))).collect();
        wait("posts are acknowledged", || acknowledged(&board.url) >= posts);
        board.child.kill().unwrap();
        board.child.wait().unwrap();
        drop(end);
        users.into_iter().flat_map(|user| user.join().unwrap()).collect()
    })
}

fn acknowledged(url: &str) -> u64 {
    let text = Browser::at(url).get("/metrics").body;
    let line = text.lines().find(|line| line.starts_with("lorem_answered_total{")).unwrap();
    line.rsplit_once(' ').unwrap().1.parse().unwrap()
}

#[test]
fn every_acknowledged_post_survives_a_kill_under_load() {
    let kills = std::env::var("LOREM_KILLS").map_or(3, |n| n.parse().expect("LOREM_KILLS is a number"));
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut folder = crate::fixture::seeded();
    let mut acknowledged = Vec::new();
    for kill in 0..kills {
        // Both writers alternate on the same file.
        let writer = if kill % 2 == 0 { "group" } else { "direct" };
        let mut board = Board::start_in(folder, &["--benchmarking", "on", "--writer", writer]);
        acknowledged.extend(kill_under_load(&mut board, random.u64(20..200)));
        folder = std::mem::replace(&mut board.folder, tempfile::tempdir().unwrap());
        check(&Connection::open(database_path(folder.path())).unwrap(), &acknowledged);
    }
}

fn check(database: &Connection, acknowledged: &[String]) {
    let sound: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
    let mut find = database.prepare("SELECT 1 FROM posts WHERE title = ?1").unwrap();
    for title in acknowledged {
        assert!(find.exists([title]).unwrap(), "{title} was acknowledged and is gone");
    }
    let wrong: i64 = database
        .query_row(
            "SELECT count(*) FROM users WHERE posts_count <> (SELECT count(*) FROM posts WHERE user_id = users.id)",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(wrong, 0, "a post and the count of its author are one change");
}
