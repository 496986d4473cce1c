//! The pages that people read: lists, posts, users.
//!
//! With the fragment cache on, the database is asked for versions first and for the rest only when a piece is missing.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use crate::engine::Reading;
use crate::fragment::Piece;
use crate::page::Viewer;
use crate::store::read::{Comment, Post, Version, Which};
use crate::store::{Failure, Store};

/// Room for a list of a hundred posts.
const LIST_BYTES: usize = 72 * 1024;
/// Room for a post with its comments.
const SHOW_BYTES: usize = 16 * 1024;

/// Names of authors, each asked for once a request.
struct Names<'a> {
    store: &'a Store,
    known: HashMap<i64, String>,
}

impl<'a> Names<'a> {
    fn new(store: &'a Store) -> Self {
        Self { store, known: HashMap::new() }
    }

    fn of(&mut self, user: i64) -> Result<&str, Failure> {
        // Two look-ups, because the entry cannot be borrowed while the database is asked.
        if !self.known.contains_key(&user) {
            let name = self.store.screen_name(user)?.unwrap_or_default();
            self.known.insert(user, name);
        }
        Ok(self.known.get(&user).map_or("", String::as_str))
    }
}

/// A page with a list of posts.
pub fn list(reading: Reading<'_>, which: Which, viewer: &Viewer) -> Result<String, Failure> {
    let mut page = String::with_capacity(LIST_BYTES);
    reading.renderer.head(&mut page, "The newest posts", viewer);
    page.push_str("<h1>The newest posts</h1>\n");
    let last = posts(reading, which, &mut page)?;
    match last {
        None => page.push_str("<p class=\"empty\">Nothing has been written yet.</p>\n"),
        Some(last) if matches!(which, Which::Before(_)) => {
            // Writing to a String cannot fail.
            let _ = writeln!(page, "<p class=\"older\"><a href=\"/posts?before={last}\">Older posts</a></p>");
        }
        Some(_) => {}
    }
    reading.renderer.foot(&mut page);
    Ok(page)
}

/// A user and all of its posts; `None` when there is no such user.
pub fn user(reading: Reading<'_>, id: i64, viewer: &Viewer) -> Result<Option<String>, Failure> {
    let Some(user) = reading.store.user(id)? else { return Ok(None) };
    let mut page = String::with_capacity(SHOW_BYTES);
    reading.renderer.head(&mut page, &user.screen_name, viewer);
    reading.renderer.about(&mut page, &user);
    posts(reading, Which::Of(id), &mut page)?;
    reading.renderer.foot(&mut page);
    Ok(Some(page))
}

/// A post with its comments; `None` when there is no such post.
pub fn show(reading: Reading<'_>, id: i64, viewer: &Viewer) -> Result<Option<String>, Failure> {
    let mut page = String::with_capacity(SHOW_BYTES);
    let author = if reading.fragments.is_on() {
        show_kept(reading, id, viewer, &mut page)?
    } else {
        show_fresh(reading, id, viewer, &mut page)?.map(|post| post.user)
    };
    let Some(author) = author else { return Ok(None) };
    reading.renderer.below(&mut page, id, author, viewer);
    reading.renderer.foot(&mut page);
    Ok(Some(page))
}

/// Appends the posts of a list; returns the id of the last one.
fn posts(reading: Reading<'_>, which: Which, page: &mut String) -> Result<Option<i64>, Failure> {
    if reading.fragments.is_on() {
        return posts_kept(reading, which, page);
    }
    let mut names = Names::new(reading.store);
    let posts = reading.store.posts(which)?;
    for post in &posts {
        reading.renderer.listed(page, post, names.of(post.user)?);
    }
    Ok(posts.last().map(|post| post.id))
}

fn posts_kept(reading: Reading<'_>, which: Which, page: &mut String) -> Result<Option<i64>, Failure> {
    let (mut hits, mut misses) = (0, 0);
    let versions = reading.store.versions(which)?;
    for version in &versions {
        if let Some(text) = reading.fragments.get(Piece::Listed, *version) {
            hits += 1;
            page.push_str(&text);
            continue;
        }
        misses += 1;
        // Gone since its version was read: then it is not in the list either.
        let Some(post) = reading.store.listed_post(version.id)? else { continue };
        let start = page.len();
        let author = reading.store.screen_name(post.user)?.unwrap_or_default();
        reading.renderer.listed(page, &post, &author);
        keep(reading, Piece::Listed, &post, page.get(start..));
    }
    reading.fragments.count(hits, misses);
    Ok(versions.last().map(|version| version.id))
}

/// Appends a post as everybody sees it, from the cache if it is there; a viewer with comments of its own sees more.
fn show_kept(
    reading: Reading<'_>,
    id: i64,
    viewer: &Viewer,
    page: &mut String,
) -> Result<Option<i64>, Failure> {
    let Some((version, author, title)) = reading.store.version(id)? else { return Ok(None) };
    if let Some(user) = &viewer.user
        && reading.store.has_commented(id, user.id)?
    {
        return Ok(show_fresh(reading, id, viewer, page)?.map(|post| post.user));
    }
    if let Some(text) = reading.fragments.get(Piece::Whole, version) {
        reading.fragments.count(1, 0);
        reading.renderer.head(page, &title, viewer);
        page.push_str(&text);
        return Ok(Some(author));
    }
    reading.fragments.count(0, 1);
    reading.renderer.head(page, &title, viewer);
    let start = page.len();
    let Some((post, name, comments)) = load(reading.store, id)? else { return Ok(None) };
    reading.renderer.whole(page, &post, &name, &comments, &Viewer::default());
    keep(reading, Piece::Whole, &post, page.get(start..));
    Ok(Some(author))
}

fn show_fresh(
    reading: Reading<'_>,
    id: i64,
    viewer: &Viewer,
    page: &mut String,
) -> Result<Option<Post>, Failure> {
    let Some((post, name, comments)) = load(reading.store, id)? else { return Ok(None) };
    reading.renderer.head(page, &post.title, viewer);
    reading.renderer.whole(page, &post, &name, &comments, viewer);
    Ok(Some(post))
}

type Loaded = (Post, String, Vec<(Comment, String)>);

/// A post, its author's name, its comments with their authors' names.
///
/// The post is read first: what is read after it is at least as new as its revision, so a piece that is kept under
/// that revision never shows less than the revision promises.
fn load(store: &Store, id: i64) -> Result<Option<Loaded>, Failure> {
    let Some(post) = store.post(id)? else { return Ok(None) };
    let mut names = Names::new(store);
    let author = names.of(post.user)?.to_owned();
    let mut comments = Vec::new();
    for comment in store.comments(id)? {
        let name = names.of(comment.user)?.to_owned();
        comments.push((comment, name));
    }
    Ok(Some((post, author, comments)))
}

fn keep(reading: Reading<'_>, piece: Piece, post: &Post, text: Option<&str>) {
    if let Some(text) = text {
        reading.fragments.put(piece, Version { id: post.id, revision: post.revision }, Arc::from(text));
    }
}
