//! The ten benchmark routes: a random user signs in, then something happens, as the published load tests have it.
//!
//! No password, no ownership. `comment_create` does what its name says; the published service always failed there.

use super::account::sign_in_writes;
use super::{Reply, SessionChange, Visitor, view};
use crate::engine::Db;
use crate::page::{Known, Viewer};
use crate::store::Failure;
use crate::store::read::{Table, Which};
use crate::store::write::{Write, Written};

/// How often a row is drawn anew when another request was faster to delete it.
const DRAWS_MAX: u32 = 8;

/// The routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Benchmark {
    /// A new post, shown.
    PostCreate,
    /// A new comment below a random post, shown.
    CommentCreate,
    /// A random post goes; a list.
    PostDestroy,
    /// A random comment goes; its post.
    CommentDestroy,
    /// A random post.
    PostShow,
    /// Up to a hundred posts from a random one on.
    PostsIndex,
    /// A random user with all posts.
    UserShow,
    /// A random one of the seven, mostly reading.
    ReadHeavy,
    /// A random one of the seven, mostly writing.
    WriteHeavy,
    /// A random one of the seven.
    Balanced,
}

/// The seven, in the order of the shares below.
const SEVEN: [Benchmark; 7] = [
    Benchmark::PostCreate,
    Benchmark::CommentCreate,
    Benchmark::PostDestroy,
    Benchmark::CommentDestroy,
    Benchmark::PostShow,
    Benchmark::PostsIndex,
    Benchmark::UserShow,
];

impl Benchmark {
    /// The route of a name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "post_create" => Self::PostCreate,
            "comment_create" => Self::CommentCreate,
            "post_destroy" => Self::PostDestroy,
            "comment_destroy" => Self::CommentDestroy,
            "post_show" => Self::PostShow,
            "posts_index" => Self::PostsIndex,
            "user_show" => Self::UserShow,
            "read_heavy" => Self::ReadHeavy,
            "write_heavy" => Self::WriteHeavy,
            "balanced" => Self::Balanced,
            _ => return None,
        })
    }

    /// Shares of the seven in a mixed route, in per cent; they add up to 100.
    fn shares(self) -> Option<[u32; 7]> {
        match self {
            Self::ReadHeavy => Some([10, 10, 2, 3, 25, 25, 25]),
            Self::WriteHeavy => Some([25, 25, 5, 20, 5, 15, 5]),
            Self::Balanced => Some([17, 17, 5, 11, 17, 17, 16]),
            _ => None,
        }
    }

    /// What a mixed route does this time, for a number from 0 to 99; the others do what they are.
    fn at(self, mut drawn: u32) -> Self {
        let Some(shares) = self.shares() else { return self };
        for (which, share) in SEVEN.into_iter().zip(shares) {
            if drawn < share {
                return which;
            }
            drawn -= share;
        }
        self
    }
}

/// Carries out one of the routes.
pub async fn run(
    db: &mut Db<'_>,
    which: Benchmark,
    headers: String,
    visitor: Visitor,
) -> Result<Reply, Failure> {
    let which = which.at(fastrand::u32(0..100));
    let Some((user, name, target)) = draw(db, which)? else { return Ok(empty()) };
    let mut writes = Vec::with_capacity(3);
    if db.switches().sign_in_writes.is_on() {
        writes.extend(sign_in_writes(user, &visitor));
    }
    writes.extend(change(which, user, target, headers));
    let mut written = if writes.is_empty() { Vec::new() } else { db.write(writes).await? };
    let session = match written.first() {
        Some(Written::New(session)) if db.switches().sign_in_writes.is_on() => Some(*session),
        _ => None,
    };
    let (target, changed) = match written.pop() {
        Some(Written::Missing) if is_change(which) => again(db, which, user).await?,
        last => (target, last),
    };
    let viewer = Viewer { user: Some(Known { id: user, name }), session, token: visitor.token };
    let reply = show(db, which, (user, target), changed, &viewer)?;
    Ok(Reply { session: session.map_or(SessionChange::Keep, SessionChange::Set), ..reply })
}

/// A random user, and the row that the route is about: a post, a comment, or none.
fn draw(db: &mut Db<'_>, which: Benchmark) -> Result<Option<(i64, String, i64)>, Failure> {
    db.read(|reading| {
        let Some((user, name)) = reading.store.random_user()? else { return Ok(None) };
        let target = match which {
            Benchmark::CommentCreate
            | Benchmark::PostDestroy
            | Benchmark::PostShow
            | Benchmark::PostsIndex => reading.store.random_id(Table::Posts)?,
            Benchmark::CommentDestroy => reading.store.random_id(Table::Comments)?,
            Benchmark::UserShow => reading.store.random_id(Table::Users)?,
            _ => Some(0),
        };
        Ok(target.map(|target| (user, name, target)))
    })
}

fn is_change(which: Benchmark) -> bool {
    matches!(which, Benchmark::CommentCreate | Benchmark::PostDestroy | Benchmark::CommentDestroy)
}

/// The change that a route makes, if it makes one.
fn change(which: Benchmark, user: i64, target: i64, headers: String) -> Option<Write> {
    match which {
        Benchmark::PostCreate => Some(Write::CreatePost {
            user,
            title: format!("Post {}", uuid()).into(),
            description: headers.into(),
        }),
        Benchmark::CommentCreate => {
            Some(Write::CreateComment { post: target, user, body: format!("Comment {}", uuid()).into() })
        }
        Benchmark::PostDestroy => Some(Write::DeletePost { id: target, owner: None }),
        Benchmark::CommentDestroy => Some(Write::DeleteComment { id: target, owner: None }),
        _ => None,
    }
}

/// Draws other rows until one is still there; returns it with what came of the change.
async fn again(db: &mut Db<'_>, which: Benchmark, user: i64) -> Result<(i64, Option<Written>), Failure> {
    for _ in 0..DRAWS_MAX {
        let Some((_, _, target)) = draw(db, which)? else { break };
        let Some(write) = change(which, user, target, String::new()) else { break };
        let written = db.write(vec![write]).await?.pop();
        if written != Some(Written::Missing) {
            return Ok((target, written));
        }
    }
    Ok((0, None))
}

/// The page that the route ends with.
fn show(
    db: &mut Db<'_>,
    which: Benchmark,
    (user, target): (i64, i64),
    changed: Option<Written>,
    viewer: &Viewer,
) -> Result<Reply, Failure> {
    let page = db.read(|reading| match (which, changed) {
        (Benchmark::PostCreate, Some(Written::New(post)))
        | (Benchmark::CommentDestroy, Some(Written::Done(post))) => view::show(reading, post, viewer),
        (Benchmark::CommentCreate, Some(Written::New(_))) | (Benchmark::PostShow, _) => {
            view::show(reading, target, viewer)
        }
        (Benchmark::PostDestroy, Some(Written::Done(_))) => {
            let from = reading.store.random_id(Table::Posts)?.unwrap_or(0);
            view::list(reading, Which::From(from), viewer).map(Some)
        }
        (Benchmark::PostsIndex, _) => view::list(reading, Which::From(target), viewer).map(Some),
        (Benchmark::UserShow, _) => view::user(reading, if target == 0 { user } else { target }, viewer),
        _ => Ok(None),
    })?;
    Ok(page.map_or_else(Reply::missing, |page| Reply::page(200, page)))
}

/// Only has to differ from the others, so it need not come from the system's source of randomness.
fn uuid() -> uuid::Uuid {
    uuid::Builder::from_random_bytes(fastrand::u128(..).to_ne_bytes()).into_uuid()
}

fn empty() -> Reply {
    let text = "No row to work on. Fill the board with: lorem-news seed --replace";
    Reply::message(409, "Nothing there", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mixed_routes_do_each_of_the_seven_by_its_published_share() {
        for (mixed, shares) in [
            (Benchmark::ReadHeavy, [10, 10, 2, 3, 25, 25, 25]),
            (Benchmark::WriteHeavy, [25, 25, 5, 20, 5, 15, 5]),
            (Benchmark::Balanced, [17, 17, 5, 11, 17, 17, 16]),
        ] {
            let drawn: Vec<_> = (0..100).map(|n| mixed.at(n)).collect();
            let counted = SEVEN.map(|which| drawn.iter().filter(|drawn| **drawn == which).count());
            assert_eq!(counted, shares, "{mixed:?}");
        }
    }

    #[test]
    fn a_plain_route_is_always_itself() {
        assert!((0..100).all(|n| Benchmark::PostShow.at(n) == Benchmark::PostShow));
    }
}
