//! Fills a board: the same seed writes the same rows.
//!
//! Does not use the current date: dates lie in the week before a fixed day, so that boards are reproducible.

use std::collections::HashSet;
use std::io;
use std::ops::RangeInclusive;
use std::path::Path;

use fastrand::Rng;
use rusqlite::{Connection, params};

use crate::config::SeedArgs;
use crate::store::{self, Access, Failure, Store};

mod word;

/// End of the week of the data: 2024-05-09, 00:00 UTC.
const END: i64 = 1_715_212_800;
const WEEK: i64 = 7 * 24 * 3600;
const PASSWORD: &str = "password";

/// Reason why seeding failed.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// A board exists.
    #[error("{0} exists")]
    Exists(String),
    /// The folder cannot be created or written.
    #[error("{path}: {source}")]
    Folder {
        /// Path.
        path: String,
        /// Cause.
        source: io::Error,
    },
    /// SQLite failed.
    #[error(transparent)]
    Store(#[from] Failure),
    /// The password could not be digested.
    #[error("the password could not be digested")]
    Password,
}

impl From<rusqlite::Error> for Problem {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Rows that were written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rows {
    /// Users.
    pub users: u32,
    /// Posts.
    pub posts: u32,
    /// Comments.
    pub comments: u32,
}

/// Creates a new board.
///
/// # Errors
/// A board exists and `--replace` is not given, or it cannot be written.
pub fn fill(args: &SeedArgs, options: &store::StoreOptions) -> Result<Rows, Problem> {
    clear(&args.data, &options.path, args.replace)?;
    store::prepare(options)?;
    let store = Store::open(options, Access::Write)?;
    let digest =
        crate::password::digest_salted(PASSWORD, b"lorem-news seeds").map_err(|_| Problem::Password)?;
    let conn = store.conn();
    conn.execute_batch("BEGIN IMMEDIATE")?;
    let rows =
        Seeder { conn, random: Rng::with_seed(args.seed), rows: Rows::default() }.fill(args, &digest)?;
    conn.execute_batch("COMMIT")?;
    store.checkpoint()?;
    Ok(rows)
}

fn clear(folder: &Path, file: &Path, replace: bool) -> Result<(), Problem> {
    let problem = |path: &Path| {
        let path = path.display().to_string();
        move |source| Problem::Folder { path, source }
    };
    std::fs::create_dir_all(folder).map_err(problem(folder))?;
    if file.exists() && !replace {
        return Err(Problem::Exists(file.display().to_string()));
    }
    for suffix in ["", "-wal", "-shm"] {
        let mut name = file.as_os_str().to_owned();
        name.push(suffix);
        match std::fs::remove_file(&name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(problem(Path::new(&name))(error));
            }
            _ => {}
        }
    }
    Ok(())
}

struct Seeder<'a> {
    conn: &'a Connection,
    random: Rng,
    rows: Rows,
}

impl Seeder<'_> {
    fn fill(mut self, args: &SeedArgs, digest: &str) -> rusqlite::Result<Rows> {
        for n in 1..=args.users {
            self.user(n, digest)?;
        }
        let mut titles = HashSet::new();
        for n in 0..args.posts {
            let title = self.new_title(&mut titles);
            // Later posts have higher ids, so that the newest are the last.
            let at = END - WEEK + WEEK * i64::from(n) / i64::from(args.posts);
            self.post(&title, at, args.users)?;
        }
        self.conn.execute(
            "UPDATE users SET posts_count = (SELECT count(*) FROM posts WHERE user_id = users.id)",
            [],
        )?;
        Ok(self.rows)
    }

    fn user(&mut self, n: u32, digest: &str) -> rusqlite::Result<()> {
        let name = format!("{}{n}", self.word());
        let about = self.sentence();
        self.conn
            .prepare_cached(
                "INSERT INTO users (screen_name, password_digest, about, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?4)",
            )?
            .execute(params![name, digest, about, END - WEEK])?;
        self.rows.users += 1;
        Ok(())
    }

    fn post(&mut self, title: &str, at: i64, users: u32) -> rusqlite::Result<()> {
        let description = self.text();
        let author = self.random.u32(1..=users);
        let comments = self.random.u32(5..=15);
        let id = self
            .conn
            .prepare_cached(
                "INSERT INTO posts (user_id, title, description, published_at, comments_count, created_at, updated_at) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?4, ?4)",
            )?
            .insert(params![author, title, description, at, comments])?;
        self.rows.posts += 1;
        for _ in 0..comments {
            let (body, author) = (self.sentence(), self.random.u32(1..=users));
            let at = at + self.random.i64(0..=END - at);
            self.conn
                .prepare_cached(
                    "INSERT INTO comments (post_id, user_id, body, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?4)",
                )?
                .execute(params![id, author, body, at])?;
            self.rows.comments += 1;
        }
        Ok(())
    }

    /// A unique title of two to five words; appends a number after 20 collisions.
    fn new_title(&mut self, used: &mut HashSet<String>) -> String {
        let mut tries = 0;
        loop {
            let mut title = self.words(2..=5);
            tries += 1;
            if tries > 20 {
                title = format!("{title} {}", used.len());
            }
            if title.len() >= 5 && used.insert(title.clone()) {
                return title;
            }
        }
    }

    /// Five to ten paragraphs of five to ten sentences.
    fn text(&mut self) -> String {
        let paragraphs: Vec<_> = (0..self.random.u32(5..=10))
            .map(|_| {
                let sentences: Vec<_> = (0..self.random.u32(5..=10)).map(|_| self.sentence()).collect();
                sentences.join(" ")
            })
            .collect();
        paragraphs.join("\n\n")
    }

    /// Five to ten words.
    fn sentence(&mut self) -> String {
        self.words(5..=10) + "."
    }

    fn words(&mut self, n: RangeInclusive<u32>) -> String {
        let n = self.random.u32(n);
        let words: Vec<_> = (0..n).map(|_| self.word()).collect();
        let text = words.join(" ");
        let mut letters = text.chars();
        letters
            .next()
            .map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + letters.as_str())
    }

    fn word(&mut self) -> &'static str {
        self.random.choice(word::WORDS).copied().unwrap_or("lorem")
    }
}
