//! All changes of the board as data, and their effect on the tables.
//!
//! Does not open transactions: the caller decides whether changes share one.

use rusqlite::{Connection, OptionalExtension, params};

/// A change. `owner` of an update or deletion is the requesting user; `None` can change rows of any user.
#[derive(Debug, Clone)]
pub enum Write {
    /// A user signs in.
    InsertSession {
        /// The user.
        user: i64,
        /// User agent.
        user_agent: Box<str>,
        /// IP address.
        ip_address: Box<str>,
    },
    /// Update the time a user was last seen.
    TouchUser {
        /// The user.
        user: i64,
    },
    /// A user signs out.
    DeleteSession {
        /// The session.
        id: i64,
    },
    /// A new user.
    CreateUser {
        /// Unique, case-insensitive.
        screen_name: Box<str>,
        /// As a PHC string.
        password_digest: Box<str>,
        /// Self-description.
        about: Box<str>,
    },
    /// A new post.
    CreatePost {
        /// Its author.
        user: i64,
        /// Unique.
        title: Box<str>,
        /// The text.
        description: Box<str>,
    },
    /// Change the title or text of a post.
    UpdatePost {
        /// The post.
        id: i64,
        /// The requesting user.
        owner: Option<i64>,
        /// Unique.
        title: Box<str>,
        /// The text.
        description: Box<str>,
    },
    /// Delete a post with its comments.
    DeletePost {
        /// The post.
        id: i64,
        /// The requesting user.
        owner: Option<i64>,
    },
    /// A new comment.
    CreateComment {
        /// The post.
        post: i64,
        /// Its author.
        user: i64,
        /// The text.
        body: Box<str>,
    },
    /// Change the text of a comment.
    UpdateComment {
        /// The comment.
        id: i64,
        /// The requesting user.
        owner: Option<i64>,
        /// The text.
        body: Box<str>,
    },
    /// Delete a comment.
    DeleteComment {
        /// The comment.
        id: i64,
        /// The requesting user.
        owner: Option<i64>,
    },
}

/// Outcome of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteOutcome {
    /// A row was added: its id.
    New(i64),
    /// The row was changed or deleted. The id of the row, or of the post for a comment.
    Done(i64),
    /// Another row has this title or name; nothing changed.
    Taken,
    /// No such row; nothing changed.
    Missing,
    /// The row belongs to another user; nothing changed.
    NotYours,
}

/// Simulated work of a slower program. Called in each change between its checks and its first write: there, a deferred
/// transaction does not have the write lock yet and an immediate one does.
pub type Work<'a> = &'a dyn Fn();

/// Applies one change. All checks precede the first write.
///
/// # Errors
/// An SQLite error; the caller must roll the transaction back.
pub fn apply(conn: &Connection, write: &Write, work: Work<'_>) -> rusqlite::Result<WriteOutcome> {
    match write {
        Write::InsertSession { user, user_agent, ip_address } => {
            insert_session(conn, work, *user, user_agent, ip_address)
        }
        Write::TouchUser { user } => touch_user(conn, work, *user),
        Write::DeleteSession { id } => delete_session(conn, work, *id),
        Write::CreateUser { screen_name, password_digest, about } => {
            create_user(conn, work, screen_name, password_digest, about)
        }
        Write::CreatePost { user, title, description } => create_post(conn, work, *user, title, description),
        Write::UpdatePost { id, owner, title, description } => {
            update_post(conn, work, *id, *owner, title, description)
        }
        Write::DeletePost { id, owner } => delete_post(conn, work, *id, *owner),
        Write::CreateComment { post, user, body } => create_comment(conn, work, *post, *user, body),
        Write::UpdateComment { id, owner, body } => update_comment(conn, work, *id, *owner, body),
        Write::DeleteComment { id, owner } => delete_comment(conn, work, *id, *owner),
    }
}

fn insert_session(
    conn: &Connection,
    work: Work<'_>,
    user: i64,
    agent: &str,
    address: &str,
) -> rusqlite::Result<WriteOutcome> {
    work();
    conn.prepare_cached(
        "INSERT INTO sessions (user_id, user_agent, ip_address, created_at, updated_at) \
         VALUES (?1, ?2, ?3, unixepoch(), unixepoch())",
    )?
    .insert(params![user, agent, address])
    .map(WriteOutcome::New)
}

fn touch_user(conn: &Connection, work: Work<'_>, user: i64) -> rusqlite::Result<WriteOutcome> {
    work();
    let n = conn
        .prepare_cached("UPDATE users SET last_seen_at = unixepoch() WHERE id = ?1")?
        .execute(params![user])?;
    Ok(if n == 0 { WriteOutcome::Missing } else { WriteOutcome::Done(user) })
}

fn delete_session(conn: &Connection, work: Work<'_>, id: i64) -> rusqlite::Result<WriteOutcome> {
    work();
    let n = conn.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute(params![id])?;
    Ok(if n == 0 { WriteOutcome::Missing } else { WriteOutcome::Done(id) })
}

fn create_user(
    conn: &Connection,
    work: Work<'_>,
    name: &str,
    digest: &str,
    about: &str,
) -> rusqlite::Result<WriteOutcome> {
    if conn.prepare_cached("SELECT 1 FROM users WHERE screen_name = ?1")?.exists(params![name])? {
        return Ok(WriteOutcome::Taken);
    }
    work();
    conn.prepare_cached(
        "INSERT INTO users (screen_name, password_digest, about, created_at, updated_at) \
         VALUES (?1, ?2, ?3, unixepoch(), unixepoch())",
    )?
    .insert(params![name, digest, about])
    .map(WriteOutcome::New)
}

fn create_post(
    conn: &Connection,
    work: Work<'_>,
    user: i64,
    title: &str,
    description: &str,
) -> rusqlite::Result<WriteOutcome> {
    if conn.prepare_cached("SELECT 1 FROM posts WHERE title = ?1")?.exists(params![title])? {
        return Ok(WriteOutcome::Taken);
    }
    work();
    let id = conn
        .prepare_cached(
            "INSERT INTO posts (user_id, title, description, published_at, created_at, updated_at) \
             VALUES (?1, ?2, ?3, unixepoch(), unixepoch(), unixepoch())",
        )?
        .insert(params![user, title, description])?;
    conn.prepare_cached("UPDATE users SET posts_count = posts_count + 1 WHERE id = ?1")?
        .execute(params![user])?;
    Ok(WriteOutcome::New(id))
}

fn update_post(
    conn: &Connection,
    work: Work<'_>,
    id: i64,
    owner: Option<i64>,
    title: &str,
    description: &str,
) -> rusqlite::Result<WriteOutcome> {
    let author = conn
        .prepare_cached("SELECT user_id FROM posts WHERE id = ?1")?
        .query_row(params![id], |row| row.get(0))
        .optional()?;
    if let Err(refusal) = allowed(author, owner) {
        return Ok(refusal);
    }
    let taken = conn
        .prepare_cached("SELECT 1 FROM posts WHERE title = ?1 AND id <> ?2")?
        .exists(params![title, id])?;
    if taken {
        return Ok(WriteOutcome::Taken);
    }
    work();
    conn.prepare_cached(
        "UPDATE posts SET title = ?2, description = ?3, updated_at = unixepoch() WHERE id = ?1",
    )?
    .execute(params![id, title, description])?;
    Ok(WriteOutcome::Done(id))
}

fn delete_post(
    conn: &Connection,
    work: Work<'_>,
    id: i64,
    owner: Option<i64>,
) -> rusqlite::Result<WriteOutcome> {
    let author = conn
        .prepare_cached("SELECT user_id FROM posts WHERE id = ?1")?
        .query_row(params![id], |row| row.get(0))
        .optional()?;
    let author = match allowed(author, owner) {
        Ok(author) => author,
        Err(refusal) => return Ok(refusal),
    };
    work();
    conn.prepare_cached("DELETE FROM posts WHERE id = ?1")?.execute(params![id])?;
    conn.prepare_cached("UPDATE users SET posts_count = posts_count - 1 WHERE id = ?1")?
        .execute(params![author])?;
    Ok(WriteOutcome::Done(id))
}

fn create_comment(
    conn: &Connection,
    work: Work<'_>,
    post: i64,
    user: i64,
    body: &str,
) -> rusqlite::Result<WriteOutcome> {
    if !conn.prepare_cached("SELECT 1 FROM posts WHERE id = ?1")?.exists(params![post])? {
        return Ok(WriteOutcome::Missing);
    }
    work();
    let id = conn
        .prepare_cached(
            "INSERT INTO comments (post_id, user_id, body, created_at, updated_at) \
             VALUES (?1, ?2, ?3, unixepoch(), unixepoch())",
        )?
        .insert(params![post, user, body])?;
    count_comments(conn, post, 1)?;
    Ok(WriteOutcome::New(id))
}

fn update_comment(
    conn: &Connection,
    work: Work<'_>,
    id: i64,
    owner: Option<i64>,
    body: &str,
) -> rusqlite::Result<WriteOutcome> {
    let (post, author) = comment_of(conn, id)?;
    if let Err(refusal) = allowed(author, owner) {
        return Ok(refusal);
    }
    work();
    conn.prepare_cached("UPDATE comments SET body = ?2, updated_at = unixepoch() WHERE id = ?1")?
        .execute(params![id, body])?;
    Ok(WriteOutcome::Done(post))
}

fn delete_comment(
    conn: &Connection,
    work: Work<'_>,
    id: i64,
    owner: Option<i64>,
) -> rusqlite::Result<WriteOutcome> {
    let (post, author) = comment_of(conn, id)?;
    if let Err(refusal) = allowed(author, owner) {
        return Ok(refusal);
    }
    work();
    conn.prepare_cached("DELETE FROM comments WHERE id = ?1")?.execute(params![id])?;
    count_comments(conn, post, -1)?;
    Ok(WriteOutcome::Done(post))
}

fn count_comments(conn: &Connection, post: i64, change: i64) -> rusqlite::Result<usize> {
    conn.prepare_cached("UPDATE posts SET comments_count = comments_count + ?2 WHERE id = ?1")?
        .execute(params![post, change])
}

/// Post and author of a comment; post 0 and no author if it does not exist.
fn comment_of(conn: &Connection, id: i64) -> rusqlite::Result<(i64, Option<i64>)> {
    conn.prepare_cached("SELECT post_id, user_id FROM comments WHERE id = ?1")?
        .query_row(params![id], |row| Ok((row.get(0)?, Some(row.get(1)?))))
        .optional()
        .map(|found| found.unwrap_or((0, None)))
}

/// The author of a row, if it exists and `owner` can change it.
fn allowed(author: Option<i64>, owner: Option<i64>) -> Result<i64, WriteOutcome> {
    match (author, owner) {
        (None, _) => Err(WriteOutcome::Missing),
        (Some(author), Some(owner)) if author != owner => Err(WriteOutcome::NotYours),
        (Some(author), _) => Ok(author),
    }
}
