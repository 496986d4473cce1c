//! What pages need to know, as queries.
//!
//! Changes nothing, so each of them runs on a read-only connection as well.

use rusqlite::{OptionalExtension, Row, params};

use super::{Failure, Store};

/// Who is signed in, or whose page it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Its row.
    pub id: i64,
    /// How it is shown.
    pub screen_name: String,
    /// What it says of itself.
    pub about: String,
    /// Posts it has.
    pub posts_count: i64,
    /// Day of the first sign-up, in UTC.
    pub since: String,
}

/// A post, whole or for a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    /// Its row.
    pub id: i64,
    /// Its author.
    pub user: i64,
    /// Its title.
    pub title: String,
    /// The text; the beginning of it in a list.
    pub description: String,
    /// When, in UTC, to the minute.
    pub published: String,
    /// Comments below it.
    pub comments_count: i64,
    /// Grows with each change of what is shown.
    pub revision: i64,
}

/// A comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Its row.
    pub id: i64,
    /// The post it belongs to.
    pub post: i64,
    /// Its author.
    pub user: i64,
    /// The text.
    pub body: String,
    /// When, in UTC, to the minute.
    pub created: String,
}

/// A post as it was at one time: enough to find what was rendered of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version {
    /// The post.
    pub id: i64,
    /// Its revision.
    pub revision: i64,
}

/// A table that a random row is drawn from.
#[derive(Debug, Clone, Copy)]
pub enum Table {
    /// The users.
    Users,
    /// The posts.
    Posts,
    /// The comments.
    Comments,
}

/// Which posts a list shows, and in which order.
#[derive(Debug, Clone, Copy)]
pub enum Which {
    /// The newest below an id.
    Before(i64),
    /// The first of at least an id.
    From(i64),
    /// All of a user, newest first.
    Of(i64),
}

/// What a list shows of a post, as the beginning of a query.
macro_rules! listed_columns {
    () => {
        "SELECT id, user_id, title, substr(description, 1, 360), \
         strftime('%Y-%m-%d %H:%M', published_at, 'unixepoch'), comments_count, revision FROM posts "
    };
}

impl Which {
    fn key(self) -> i64 {
        match self {
            Self::Before(id) | Self::From(id) | Self::Of(id) => id,
        }
    }
}

impl Store {
    /// The posts of a list, each with the beginning of its text.
    ///
    /// # Errors
    /// Of the database.
    pub fn posts(&self, which: Which) -> Result<Vec<Post>, Failure> {
        let sql = match which {
            Which::Before(_) => concat!(listed_columns!(), "WHERE id < ?1 ORDER BY id DESC LIMIT 50"),
            Which::From(_) => concat!(listed_columns!(), "WHERE id >= ?1 ORDER BY id LIMIT 100"),
            Which::Of(_) => concat!(listed_columns!(), "WHERE user_id = ?1 ORDER BY id DESC"),
        };
        let mut statement = self.conn().prepare_cached(sql)?;
        let rows = statement.query_map(params![which.key()], post)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The same list, of versions alone.
    ///
    /// # Errors
    /// Of the database.
    pub fn versions(&self, which: Which) -> Result<Vec<Version>, Failure> {
        // The index has all of it; of itself SQLite would go through the posts, text and all.
        let sql = match which {
            Which::Before(_) => {
                "SELECT id, revision FROM posts INDEXED BY posts_versions WHERE id < ?1 ORDER BY id DESC LIMIT 50"
            }
            Which::From(_) => {
                "SELECT id, revision FROM posts INDEXED BY posts_versions WHERE id >= ?1 ORDER BY id LIMIT 100"
            }
            Which::Of(_) => {
                "SELECT id, revision FROM posts INDEXED BY posts_user_id WHERE user_id = ?1 ORDER BY id DESC"
            }
        };
        let mut statement = self.conn().prepare_cached(sql)?;
        let rows = statement.query_map(params![which.key()], version)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// One post as a list shows it.
    ///
    /// # Errors
    /// Of the database.
    pub fn listed_post(&self, id: i64) -> Result<Option<Post>, Failure> {
        self.post_by(concat!(listed_columns!(), "WHERE id = ?1"), id)
    }

    /// One whole post.
    ///
    /// # Errors
    /// Of the database.
    pub fn post(&self, id: i64) -> Result<Option<Post>, Failure> {
        self.post_by(
            "SELECT id, user_id, title, description, \
             strftime('%Y-%m-%d %H:%M', published_at, 'unixepoch'), comments_count, revision \
             FROM posts WHERE id = ?1",
            id,
        )
    }

    fn post_by(&self, sql: &str, id: i64) -> Result<Option<Post>, Failure> {
        Ok(self.conn().prepare_cached(sql)?.query_row(params![id], post).optional()?)
    }

    /// The version of a post, its author and its title.
    ///
    /// # Errors
    /// Of the database.
    pub fn version(&self, id: i64) -> Result<Option<(Version, i64, String)>, Failure> {
        Ok(self
            .conn()
            .prepare_cached("SELECT id, revision, user_id, title FROM posts WHERE id = ?1")?
            .query_row(params![id], |row| Ok((version(row)?, row.get(2)?, row.get(3)?)))
            .optional()?)
    }

    /// The comments of a post, oldest first.
    ///
    /// # Errors
    /// Of the database.
    pub fn comments(&self, post: i64) -> Result<Vec<Comment>, Failure> {
        let mut statement = self.conn().prepare_cached(
            "SELECT id, post_id, user_id, body, strftime('%Y-%m-%d %H:%M', created_at, 'unixepoch') \
             FROM comments WHERE post_id = ?1 ORDER BY id",
        )?;
        let rows = statement.query_map(params![post], comment)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// One comment.
    ///
    /// # Errors
    /// Of the database.
    pub fn comment(&self, id: i64) -> Result<Option<Comment>, Failure> {
        Ok(self
            .conn()
            .prepare_cached(
                "SELECT id, post_id, user_id, body, strftime('%Y-%m-%d %H:%M', created_at, 'unixepoch') \
                 FROM comments WHERE id = ?1",
            )?
            .query_row(params![id], comment)
            .optional()?)
    }

    /// Whether a user has comments below a post.
    ///
    /// # Errors
    /// Of the database.
    pub fn has_commented(&self, post: i64, user: i64) -> Result<bool, Failure> {
        Ok(self
            .conn()
            .prepare_cached("SELECT 1 FROM comments WHERE post_id = ?1 AND +user_id = ?2")?
            .exists(params![post, user])?)
    }

    /// A user by its id.
    ///
    /// # Errors
    /// Of the database.
    pub fn user(&self, id: i64) -> Result<Option<User>, Failure> {
        Ok(self
            .conn()
            .prepare_cached(
                "SELECT id, screen_name, about, posts_count, date(created_at, 'unixepoch') FROM users WHERE id = ?1",
            )?
            .query_row(params![id], user)
            .optional()?)
    }

    /// The name of a user, for a page that shows what it wrote.
    ///
    /// # Errors
    /// Of the database.
    pub fn screen_name(&self, id: i64) -> Result<Option<String>, Failure> {
        Ok(self
            .conn()
            .prepare_cached("SELECT screen_name FROM users WHERE id = ?1")?
            .query_row(params![id], |row| row.get(0))
            .optional()?)
    }

    /// Id and password digest of the user of a name.
    ///
    /// # Errors
    /// Of the database.
    pub fn credentials(&self, screen_name: &str) -> Result<Option<(i64, String)>, Failure> {
        Ok(self
            .conn()
            .prepare_cached("SELECT id, password_digest FROM users WHERE screen_name = ?1")?
            .query_row(params![screen_name], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?)
    }

    /// Id and name of the user of a session.
    ///
    /// # Errors
    /// Of the database.
    pub fn session_user(&self, session: i64) -> Result<Option<(i64, String)>, Failure> {
        Ok(self
            .conn()
            .prepare_cached(
                "SELECT users.id, screen_name FROM sessions JOIN users ON users.id = user_id WHERE sessions.id = ?1",
            )?
            .query_row(params![session], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?)
    }

    /// Smallest and largest id of a table; `None` when it is empty.
    ///
    /// # Errors
    /// Of the database.
    pub fn id_range(&self, table: Table) -> Result<Option<(i64, i64)>, Failure> {
        // Two subqueries: asked for both at once, SQLite would read the whole table.
        let sql = match table {
            Table::Users => "SELECT (SELECT min(id) FROM users), (SELECT max(id) FROM users)",
            Table::Posts => "SELECT (SELECT min(id) FROM posts), (SELECT max(id) FROM posts)",
            Table::Comments => "SELECT (SELECT min(id) FROM comments), (SELECT max(id) FROM comments)",
        };
        let range: (Option<i64>, Option<i64>) =
            self.conn().prepare_cached(sql)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(range.0.zip(range.1))
    }

    /// A random user: id and name.
    ///
    /// # Errors
    /// Of the database.
    pub fn random_user(&self) -> Result<Option<(i64, String)>, Failure> {
        let Some((min, max)) = self.id_range(Table::Users)? else { return Ok(None) };
        Ok(self
            .conn()
            .prepare_cached("SELECT id, screen_name FROM users WHERE id >= ?1 ORDER BY id LIMIT 1")?
            .query_row(params![fastrand::i64(min..=max)], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?)
    }

    /// A random id of a table's range, and the first row from there on.
    ///
    /// # Errors
    /// Of the database.
    pub fn random_id(&self, table: Table) -> Result<Option<i64>, Failure> {
        let Some((min, max)) = self.id_range(table)? else { return Ok(None) };
        let sql = match table {
            Table::Users => "SELECT id FROM users WHERE id >= ?1 ORDER BY id LIMIT 1",
            Table::Posts => "SELECT id FROM posts WHERE id >= ?1 ORDER BY id LIMIT 1",
            Table::Comments => "SELECT id FROM comments WHERE id >= ?1 ORDER BY id LIMIT 1",
        };
        let drawn = fastrand::i64(min..=max);
        Ok(self.conn().prepare_cached(sql)?.query_row(params![drawn], |row| row.get(0)).optional()?)
    }
}

fn post(row: &Row<'_>) -> rusqlite::Result<Post> {
    Ok(Post {
        id: row.get(0)?,
        user: row.get(1)?,
        title: row.get(2)?,
        description: row.get(3)?,
        published: row.get(4)?,
        comments_count: row.get(5)?,
        revision: row.get(6)?,
    })
}

fn version(row: &Row<'_>) -> rusqlite::Result<Version> {
    Ok(Version { id: row.get(0)?, revision: row.get(1)? })
}

fn comment(row: &Row<'_>) -> rusqlite::Result<Comment> {
    Ok(Comment {
        id: row.get(0)?,
        post: row.get(1)?,
        user: row.get(2)?,
        body: row.get(3)?,
        created: row.get(4)?,
    })
}

fn user(row: &Row<'_>) -> rusqlite::Result<User> {
    Ok(User {
        id: row.get(0)?,
        screen_name: row.get(1)?,
        about: row.get(2)?,
        posts_count: row.get(3)?,
        since: row.get(4)?,
    })
}
