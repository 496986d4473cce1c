//! The ten benchmark routes: a random user signs in, then acts, as in the published load tests.
//!
//! Does not check passwords or ownership. `comment_create` creates a comment; in the published service it always failed.

use super::account::sign_in_writes;
use super::{Reply, SessionChange, Visitor, view};
use crate::engine::Db;
use crate::page::{SignedInUser, Viewer};
use crate::store::Failure;
use crate::store::read::{PostSelection, Table};
use crate::store::write::{Write, WriteOutcome};

/// Maximum number of retries if another request deleted the drawn row.
const DRAWS_MAX: u32 = 8;

/// The routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Benchmark {
    /// A new post, shown.
    PostCreate,
    /// A new comment below a random post, shown.
    CommentCreate,
    /// Deletes a random post; shows a list.
    PostDestroy,
    /// Deletes a random comment; shows its post.
    CommentDestroy,
    /// A random post.
    PostShow,
    /// Up to 100 posts, from a random one on.
    PostsIndex,
    /// A random user with all its posts.
    UserShow,
    /// One of the seven plain routes at random, mostly reads.
    ReadHeavy,
    /// One of the seven plain routes at random, mostly writes.
    WriteHeavy,
    /// One of the seven plain routes at random.
    Balanced,
}

/// The seven plain routes, in the order of [`Benchmark::shares`].
const PLAIN_ROUTES: [Benchmark; 7] = [
    Benchmark::PostCreate,
    Benchmark::CommentCreate,
    Benchmark::PostDestroy,
    Benchmark::CommentDestroy,
    Benchmark::PostShow,
    Benchmark::PostsIndex,
    Benchmark::UserShow,
];

impl Benchmark {
    /// The route with a name.
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

    /// Shares of the plain routes in a mixed route, in percent; their sum is 100.
    fn shares(self) -> Option<[u32; 7]> {
        match self {
            Self::ReadHeavy => Some([10, 10, 2, 3, 25, 25, 25]),
            Self::WriteHeavy => Some([25, 25, 5, 20, 5, 15, 5]),
            Self::Balanced => Some([17, 17, 5, 11, 17, 17, 16]),
            _ => None,
        }
    }

    /// The plain route that a mixed route runs for a random number from 0 to 99; a plain route returns itself.
    fn resolve(self, mut drawn: u32) -> Self {
        let Some(shares) = self.shares() else { return self };
        for (which, share) in PLAIN_ROUTES.into_iter().zip(shares) {
            if drawn < share {
                return which;
            }
            drawn -= share;
        }
        self
    }
}

/// Executes a route.
pub async fn run(
    db: &mut Db<'_>,
    which: Benchmark,
    headers: String,
    visitor: Visitor,
) -> Result<Reply, Failure> {
    let which = which.resolve(fastrand::u32(0..100));
    let Some((user, name, target)) = draw(db, which)? else { return Ok(empty()) };
    let mut writes = Vec::with_capacity(3);
    if db.switches().sign_in_writes.is_on() {
        writes.extend(sign_in_writes(user, &visitor));
    }
    writes.extend(change(which, user, target, headers));
    let mut written = if writes.is_empty() { Vec::new() } else { db.write(writes).await? };
    let session = match written.first() {
        Some(WriteOutcome::New(session)) if db.switches().sign_in_writes.is_on() => Some(*session),
        _ => None,
    };
    let (target, changed) = match written.pop() {
        Some(WriteOutcome::Missing) if is_change(which) => retry_with_new_rows(db, which, user).await?,
        last => (target, last),
    };
    let viewer = Viewer { user: Some(SignedInUser { id: user, name }), session, token: visitor.token };
    let reply = show(db, which, (user, target), changed, &viewer)?;
    Ok(Reply { session: session.map_or(SessionChange::Keep, SessionChange::Set), ..reply })
}

/// Draws a random user and the target row of a route: a post, a comment or none.
fn draw(db: &mut Db<'_>, which: Benchmark) -> Result<Option<(i64, String, i64)>, Failure> {
    db.read(|context| {
        let Some((user, name)) = context.store.random_user()? else { return Ok(None) };
        let target = match which {
            Benchmark::CommentCreate
            | Benchmark::PostDestroy
            | Benchmark::PostShow
            | Benchmark::PostsIndex => context.store.random_id(Table::Posts)?,
            Benchmark::CommentDestroy => context.store.random_id(Table::Comments)?,
            Benchmark::UserShow => context.store.random_id(Table::Users)?,
            _ => Some(0),
        };
        Ok(target.map(|target| (user, name, target)))
    })
}

fn is_change(which: Benchmark) -> bool {
    matches!(which, Benchmark::CommentCreate | Benchmark::PostDestroy | Benchmark::CommentDestroy)
}

/// The change of a route, if any.
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

/// Draws other rows until one still exists. Returns it with the outcome of the change.
async fn retry_with_new_rows(
    db: &mut Db<'_>,
    which: Benchmark,
    user: i64,
) -> Result<(i64, Option<WriteOutcome>), Failure> {
    for _ in 0..DRAWS_MAX {
        let Some((_, _, target)) = draw(db, which)? else { break };
        let Some(write) = change(which, user, target, String::new()) else { break };
        let written = db.write(vec![write]).await?.pop();
        if written != Some(WriteOutcome::Missing) {
            return Ok((target, written));
        }
    }
    Ok((0, None))
}

/// The page that a route returns.
fn show(
    db: &mut Db<'_>,
    which: Benchmark,
    (user, target): (i64, i64),
    changed: Option<WriteOutcome>,
    viewer: &Viewer,
) -> Result<Reply, Failure> {
    let page = db.read(|context| match (which, changed) {
        (Benchmark::PostCreate, Some(WriteOutcome::New(post)))
        | (Benchmark::CommentDestroy, Some(WriteOutcome::Done(post))) => view::show(context, post, viewer),
        (Benchmark::CommentCreate, Some(WriteOutcome::New(_))) | (Benchmark::PostShow, _) => {
            view::show(context, target, viewer)
        }
        (Benchmark::PostDestroy, Some(WriteOutcome::Done(_))) => {
            let from = context.store.random_id(Table::Posts)?.unwrap_or(0);
            view::list(context, PostSelection::From(from), viewer).map(Some)
        }
        (Benchmark::PostsIndex, _) => view::list(context, PostSelection::From(target), viewer).map(Some),
        (Benchmark::UserShow, _) => view::user(context, if target == 0 { user } else { target }, viewer),
        _ => Ok(None),
    })?;
    Ok(page.map_or_else(Reply::missing, |page| Reply::page(200, page)))
}

/// A unique id. It need not be unpredictable, so a fast random generator suffices.
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
    fn mixed_routes_run_each_plain_route_with_its_published_share() {
        for (mixed, shares) in [
            (Benchmark::ReadHeavy, [10, 10, 2, 3, 25, 25, 25]),
            (Benchmark::WriteHeavy, [25, 25, 5, 20, 5, 15, 5]),
            (Benchmark::Balanced, [17, 17, 5, 11, 17, 17, 16]),
        ] {
            let drawn: Vec<_> = (0..100).map(|n| mixed.resolve(n)).collect();
            let counted = PLAIN_ROUTES.map(|which| drawn.iter().filter(|drawn| **drawn == which).count());
            assert_eq!(counted, shares, "{mixed:?}");
        }
    }

    #[test]
    fn a_plain_route_resolves_to_itself() {
        assert!((0..100).all(|n| Benchmark::PostShow.resolve(n) == Benchmark::PostShow));
    }
}
