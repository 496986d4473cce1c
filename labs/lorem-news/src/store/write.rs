//! Every change the board knows, as data, and what it does to the tables.
//!
//! Opens no transaction: whether changes share one is decided by who applies them.

use rusqlite::{Connection, OptionalExtension, params};

/// A change. The owner of an update or a deletion is who asks for it; `None` may change what belongs to others.
#[derive(Debug, Clone)]
pub enum Write {
    /// A user signs in.
    InsertSession {
        /// Who.
        user: i64,
        /// The browser's name for itself.
        user_agent: Box<str>,
        /// Where from.
        ip_address: Box<str>,
    },
    /// A user was seen.
    TouchUser {
        /// Who.
        user: i64,
    },
    /// A user signs out.
    DeleteSession {
        /// Which session.
        id: i64,
    },
    /// A new user.
    CreateUser {
        /// Unique, whatever the case of its letters.
        screen_name: Box<str>,
        /// As a PHC string.
        password_digest: Box<str>,
        /// What users say of themselves.
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
    /// Another title or text.
    UpdatePost {
        /// Which post.
        id: i64,
        /// Who asks.
        owner: Option<i64>,
        /// Unique.
        title: Box<str>,
        /// The text.
        description: Box<str>,
    },
    /// A post goes, with its comments.
    DeletePost {
        /// Which post.
        id: i64,
        /// Who asks.
        owner: Option<i64>,
    },
    /// A new comment.
    CreateComment {
        /// Below which post.
        post: i64,
        /// Its author.
        user: i64,
        /// The text.
        body: Box<str>,
    },
    /// Another text.
    UpdateComment {
        /// Which comment.
        id: i64,
        /// Who asks.
        owner: Option<i64>,
        /// The text.
        body: Box<str>,
    },
    /// A comment goes.
    DeleteComment {
        /// Which comment.
        id: i64,
        /// Who asks.
        owner: Option<i64>,
    },
}

/// What came of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// A row was added: its id.
    New(i64),
    /// The row was changed or removed. For a comment: the id of its post; otherwise the row's own.
    Done(i64),
    /// The title or the name belongs to another row; nothing changed.
    Taken,
    /// There is no such row; nothing changed.
    Missing,
    /// The row belongs to somebody else; nothing changed.
    NotYours,
}

/// What a slower program does inside its transactions. Called in each change, between its checks and its first
/// write: there, a deferred transaction does not have the lock yet and an immediate one does.
pub type Work<'a> = &'a dyn Fn();

/// Makes one change. Everything that can be refused is checked before the first row is touched.
///
/// # Errors
/// Whatever SQLite says; the transaction has to be rolled back then.
pub fn apply(conn: &Connection, write: &Write, work: Work<'_>) -> rusqlite::Result<Written> {
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
) -> rusqlite::Result<Written> {
    work();
    conn.prepare_cached(
        "INSERT INTO sessions (user_id, user_agent, ip_address, created_at, updated_at) \
         VALUES (?1, ?2, ?3, unixepoch(), unixepoch())",
    )?
    .insert(params![user, agent, address])
    .map(Written::New)
}

fn touch_user(conn: &Connection, work: Work<'_>, user: i64) -> rusqlite::Result<Written> {
    work();
    let n = conn
        .prepare_cached("UPDATE users SET last_seen_at = unixepoch() WHERE id = ?1")?
        .execute(params![user])?;
    Ok(if n == 0 { Written::Missing } else { Written::Done(user) })
}

fn delete_session(conn: &Connection, work: Work<'_>, id: i64) -> rusqlite::Result<Written> {
    work();
    let n = conn.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute(params![id])?;
    Ok(if n == 0 { Written::Missing } else { Written::Done(id) })
}

fn create_user(
    conn: &Connection,
    work: Work<'_>,
    name: &str,
    digest: &str,
    about: &str,
) -> rusqlite::Result<Written> {
    if conn.prepare_cached("SELECT 1 FROM users WHERE screen_name = ?1")?.exists(params![name])? {
        return Ok(Written::Taken);
    }
    work();
    conn.prepare_cached(
        "INSERT INTO users (screen_name, password_digest, about, created_at, updated_at) \
         VALUES (?1, ?2, ?3, unixepoch(), unixepoch())",
    )?
    .insert(params![name, digest, about])
    .map(Written::New)
}

fn create_post(
    conn: &Connection,
    work: Work<'_>,
    user: i64,
    title: &str,
    description: &str,
) -> rusqlite::Result<Written> {
    if conn.prepare_cached("SELECT 1 FROM posts WHERE title = ?1")?.exists(params![title])? {
        return Ok(Written::Taken);
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
    Ok(Written::New(id))
}

fn update_post(
    conn: &Connection,
    work: Work<'_>,
    id: i64,
    owner: Option<i64>,
    title: &str,
    description: &str,
) -> rusqlite::Result<Written> {
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
        return Ok(Written::Taken);
    }
    work();
    conn.prepare_cached(
        "UPDATE posts SET title = ?2, description = ?3, updated_at = unixepoch() WHERE id = ?1",
    )?
    .execute(params![id, title, description])?;
    Ok(Written::Done(id))
}

fn delete_post(conn: &Connection, work: Work<'_>, id: i64, owner: Option<i64>) -> rusqlite::Result<Written> {
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
    Ok(Written::Done(id))
}

fn create_comment(
    conn: &Connection,
    work: Work<'_>,
    post: i64,
    user: i64,
    body: &str,
) -> rusqlite::Result<Written> {
    if !conn.prepare_cached("SELECT 1 FROM posts WHERE id = ?1")?.exists(params![post])? {
        return Ok(Written::Missing);
    }
    work();
    let id = conn
        .prepare_cached(
            "INSERT INTO comments (post_id, user_id, body, created_at, updated_at) \
             VALUES (?1, ?2, ?3, unixepoch(), unixepoch())",
        )?
        .insert(params![post, user, body])?;
    count_comments(conn, post, 1)?;
    Ok(Written::New(id))
}

fn update_comment(
    conn: &Connection,
    work: Work<'_>,
    id: i64,
    owner: Option<i64>,
    body: &str,
) -> rusqlite::Result<Written> {
    let (post, author) = comment_of(conn, id)?;
    if let Err(refusal) = allowed(author, owner) {
        return Ok(refusal);
    }
    work();
    conn.prepare_cached("UPDATE comments SET body = ?2, updated_at = unixepoch() WHERE id = ?1")?
        .execute(params![id, body])?;
    Ok(Written::Done(post))
}

fn delete_comment(
    conn: &Connection,
    work: Work<'_>,
    id: i64,
    owner: Option<i64>,
) -> rusqlite::Result<Written> {
    let (post, author) = comment_of(conn, id)?;
    if let Err(refusal) = allowed(author, owner) {
        return Ok(refusal);
    }
    work();
    conn.prepare_cached("DELETE FROM comments WHERE id = ?1")?.execute(params![id])?;
    count_comments(conn, post, -1)?;
    Ok(Written::Done(post))
}

fn count_comments(conn: &Connection, post: i64, change: i64) -> rusqlite::Result<usize> {
    conn.prepare_cached("UPDATE posts SET comments_count = comments_count + ?2 WHERE id = ?1")?
        .execute(params![post, change])
}

/// Post and author of a comment; post 0 and no author when there is none.
fn comment_of(conn: &Connection, id: i64) -> rusqlite::Result<(i64, Option<i64>)> {
    conn.prepare_cached("SELECT post_id, user_id FROM comments WHERE id = ?1")?
        .query_row(params![id], |row| Ok((row.get(0)?, Some(row.get(1)?))))
        .optional()
        .map(|found| found.unwrap_or((0, None)))
}

/// The author of a row, if it exists and `owner` may change it.
fn allowed(author: Option<i64>, owner: Option<i64>) -> Result<i64, Written> {
    match (author, owner) {
        (None, _) => Err(Written::Missing),
        (Some(author), Some(owner)) if author != owner => Err(Written::NotYours),
        (Some(author), _) => Ok(author),
    }
}
