//! Queries for pages.
//!
//! Does not change anything: every query works on a read-only connection.

use rusqlite::{OptionalExtension, Row, params};

use super::{Failure, Store};

/// A user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Row id.
    pub id: i64,
    /// Screen name.
    pub screen_name: String,
    /// Self-description.
    pub about: String,
    /// Number of posts.
    pub posts_count: i64,
    /// Day of the first sign-up, in UTC.
    pub since: String,
}

/// A post, complete or as shown in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    /// Row id.
    pub id: i64,
    /// Its author.
    pub user: i64,
    /// Its title.
    pub title: String,
    /// The text; only its beginning in a list.
    pub description: String,
    /// When, in UTC, to the minute.
    pub published: String,
    /// Comments below it.
    pub comments_count: i64,
    /// Revision: grows with each change of the rendered content.
    pub revision: i64,
}

/// A comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Row id.
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

/// A version of a post: the key of its rendered fragments.
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

/// Selection and order of the posts of a list.
#[derive(Debug, Clone, Copy)]
pub enum PostSelection {
    /// The newest below an id.
    Before(i64),
    /// The first of at least an id.
    From(i64),
    /// All of a user, newest first.
    Of(i64),
}

/// Start of a query for the columns that a list shows.
macro_rules! listed_columns {
    () => {
        "SELECT id, user_id, title, substr(description, 1, 360), \
         strftime('%Y-%m-%d %H:%M', published_at, 'unixepoch'), comments_count, revision FROM posts "
    };
}

impl PostSelection {
    fn key(self) -> i64 {
        match self {
            Self::Before(id) | Self::From(id) | Self::Of(id) => id,
        }
    }
}

impl Store {
    /// The posts of a list, with the beginning of each text.
    ///
    /// # Errors
    /// The database fails.
    pub fn posts(&self, which: PostSelection) -> Result<Vec<Post>, Failure> {
        let sql = match which {
            PostSelection::Before(_) => concat!(listed_columns!(), "WHERE id < ?1 ORDER BY id DESC LIMIT 50"),
            PostSelection::From(_) => concat!(listed_columns!(), "WHERE id >= ?1 ORDER BY id LIMIT 100"),
            PostSelection::Of(_) => concat!(listed_columns!(), "WHERE user_id = ?1 ORDER BY id DESC"),
        };
        let mut statement = self.conn().prepare_cached(sql)?;
        let rows = statement.query_map(params![which.key()], post)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The versions of the posts of a list.
    ///
    /// # Errors
    /// The database fails.
    pub fn versions(&self, which: PostSelection) -> Result<Vec<Version>, Failure> {
        // The index covers the query; by default SQLite would read the posts with their text.
        let sql = match which {
            PostSelection::Before(_) => {
                "SELECT id, revision FROM posts INDEXED BY posts_versions WHERE id < ?1 ORDER BY id DESC LIMIT 50"
            }
            PostSelection::From(_) => {
                "SELECT id, revision FROM posts INDEXED BY posts_versions WHERE id >= ?1 ORDER BY id LIMIT 100"
            }
            PostSelection::Of(_) => {
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
    /// The database fails.
    pub fn listed_post(&self, id: i64) -> Result<Option<Post>, Failure> {
        self.post_by(concat!(listed_columns!(), "WHERE id = ?1"), id)
    }

    /// One complete post.
    ///
    /// # Errors
    /// The database fails.
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
    /// The database fails.
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
    /// The database fails.
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
    /// The database fails.
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
    /// The database fails.
    pub fn has_commented(&self, post: i64, user: i64) -> Result<bool, Failure> {
        Ok(self
            .conn()
            .prepare_cached("SELECT 1 FROM comments WHERE post_id = ?1 AND +user_id = ?2")?
            .exists(params![post, user])?)
    }

    /// A user by its id.
    ///
    /// # Errors
    /// The database fails.
    pub fn user(&self, id: i64) -> Result<Option<User>, Failure> {
        Ok(self
            .conn()
            .prepare_cached(
                "SELECT id, screen_name, about, posts_count, date(created_at, 'unixepoch') FROM users WHERE id = ?1",
            )?
            .query_row(params![id], user)
            .optional()?)
    }

    /// The screen name of a user.
    ///
    /// # Errors
    /// The database fails.
    pub fn screen_name(&self, id: i64) -> Result<Option<String>, Failure> {
        Ok(self
            .conn()
            .prepare_cached("SELECT screen_name FROM users WHERE id = ?1")?
            .query_row(params![id], |row| row.get(0))
            .optional()?)
    }

    /// Id and password digest of the user with a name.
    ///
    /// # Errors
    /// The database fails.
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
    /// The database fails.
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
    /// The database fails.
    pub fn id_range(&self, table: Table) -> Result<Option<(i64, i64)>, Failure> {
        // Two subqueries: with min and max in one query, SQLite would read the whole table.
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
    /// The database fails.
    pub fn random_user(&self) -> Result<Option<(i64, String)>, Failure> {
        let Some((min, max)) = self.id_range(Table::Users)? else { return Ok(None) };
        Ok(self
            .conn()
            .prepare_cached("SELECT id, screen_name FROM users WHERE id >= ?1 ORDER BY id LIMIT 1")?
            .query_row(params![fastrand::i64(min..=max)], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?)
    }

    /// The id of a random row: the first one from a random id on.
    ///
    /// # Errors
    /// The database fails.
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
