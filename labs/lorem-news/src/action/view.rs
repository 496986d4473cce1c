//! Read-only pages: lists, posts, users.
//!
//! Does not change anything. With the fragment cache, queries versions first, and the rest only for missing fragments.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use crate::engine::ReadContext;
use crate::fragment::FragmentKind;
use crate::page::Viewer;
use crate::store::read::{Comment, Post, PostSelection, Version};
use crate::store::{Failure, Store};

/// Initial capacity for a list of 100 posts, in bytes.
const LIST_BYTES: usize = 72 * 1024;
/// Initial capacity for a post with its comments, in bytes.
const SHOW_BYTES: usize = 16 * 1024;

/// Names of authors, each queried once per request.
struct Names<'a> {
    store: &'a Store,
    known: HashMap<i64, String>,
}

impl<'a> Names<'a> {
    fn new(store: &'a Store) -> Self {
        Self { store, known: HashMap::new() }
    }

    fn of(&mut self, user: i64) -> Result<&str, Failure> {
        // Two look-ups, because the entry cannot be borrowed during the query.
        if !self.known.contains_key(&user) {
            let name = self.store.screen_name(user)?.unwrap_or_default();
            self.known.insert(user, name);
        }
        Ok(self.known.get(&user).map_or("", String::as_str))
    }
}

/// A page with a list of posts.
pub fn list(context: ReadContext<'_>, which: PostSelection, viewer: &Viewer) -> Result<String, Failure> {
    let mut page = String::with_capacity(LIST_BYTES);
    context.renderer.head(&mut page, "The newest posts", viewer);
    page.push_str("<h1>The newest posts</h1>\n");
    let last = posts(context, which, &mut page)?;
    match last {
        None => page.push_str("<p class=\"empty\">Nothing has been written yet.</p>\n"),
        Some(last) if matches!(which, PostSelection::Before(_)) => {
            // Writing to a String cannot fail.
            let _ = writeln!(page, "<p class=\"older\"><a href=\"/posts?before={last}\">Older posts</a></p>");
        }
        Some(_) => {}
    }
    context.renderer.foot(&mut page);
    Ok(page)
}

/// A user and all its posts; `None` if there is no such user.
pub fn user(context: ReadContext<'_>, id: i64, viewer: &Viewer) -> Result<Option<String>, Failure> {
    let Some(user) = context.store.user(id)? else { return Ok(None) };
    let mut page = String::with_capacity(SHOW_BYTES);
    context.renderer.head(&mut page, &user.screen_name, viewer);
    context.renderer.about(&mut page, &user);
    posts(context, PostSelection::Of(id), &mut page)?;
    context.renderer.foot(&mut page);
    Ok(Some(page))
}

/// A post with its comments; `None` if there is no such post.
pub fn show(context: ReadContext<'_>, id: i64, viewer: &Viewer) -> Result<Option<String>, Failure> {
    let mut page = String::with_capacity(SHOW_BYTES);
    let author = if context.fragments.is_on() {
        show_cached(context, id, viewer, &mut page)?
    } else {
        show_uncached(context, id, viewer, &mut page)?.map(|post| post.user)
    };
    let Some(author) = author else { return Ok(None) };
    context.renderer.below(&mut page, id, author, viewer);
    context.renderer.foot(&mut page);
    Ok(Some(page))
}

/// Appends the posts of a list; returns the id of the last one.
fn posts(context: ReadContext<'_>, which: PostSelection, page: &mut String) -> Result<Option<i64>, Failure> {
    if context.fragments.is_on() {
        return cached_posts(context, which, page);
    }
    let mut names = Names::new(context.store);
    let posts = context.store.posts(which)?;
    for post in &posts {
        context.renderer.listed(page, post, names.of(post.user)?);
    }
    Ok(posts.last().map(|post| post.id))
}

fn cached_posts(
    context: ReadContext<'_>,
    which: PostSelection,
    page: &mut String,
) -> Result<Option<i64>, Failure> {
    let (mut hits, mut misses) = (0, 0);
    let versions = context.store.versions(which)?;
    for version in &versions {
        if let Some(text) = context.fragments.get(FragmentKind::Listed, *version) {
            hits += 1;
            page.push_str(&text);
            continue;
        }
        misses += 1;
        // Deleted since its version was read: omitted from the list.
        let Some(post) = context.store.listed_post(version.id)? else { continue };
        let start = page.len();
        let author = context.store.screen_name(post.user)?.unwrap_or_default();
        context.renderer.listed(page, &post, &author);
        store_fragment(context, FragmentKind::Listed, &post, page.get(start..));
    }
    context.fragments.count(hits, misses);
    Ok(versions.last().map(|version| version.id))
}

/// Appends a post from the cache or renders it. A viewer with comments below it gets an uncached version with edit links.
fn show_cached(
    context: ReadContext<'_>,
    id: i64,
    viewer: &Viewer,
    page: &mut String,
) -> Result<Option<i64>, Failure> {
    let Some((version, author, title)) = context.store.version(id)? else { return Ok(None) };
    if let Some(user) = &viewer.user
        && context.store.has_commented(id, user.id)?
    {
        return Ok(show_uncached(context, id, viewer, page)?.map(|post| post.user));
    }
    if let Some(text) = context.fragments.get(FragmentKind::Whole, version) {
        context.fragments.count(1, 0);
        context.renderer.head(page, &title, viewer);
        page.push_str(&text);
        return Ok(Some(author));
    }
    context.fragments.count(0, 1);
    context.renderer.head(page, &title, viewer);
    let start = page.len();
    let Some((post, name, comments)) = load(context.store, id)? else { return Ok(None) };
    context.renderer.whole(page, &post, &name, &comments, &Viewer::default());
    store_fragment(context, FragmentKind::Whole, &post, page.get(start..));
    Ok(Some(author))
}

fn show_uncached(
    context: ReadContext<'_>,
    id: i64,
    viewer: &Viewer,
    page: &mut String,
) -> Result<Option<Post>, Failure> {
    let Some((post, name, comments)) = load(context.store, id)? else { return Ok(None) };
    context.renderer.head(page, &post.title, viewer);
    context.renderer.whole(page, &post, &name, &comments, viewer);
    Ok(Some(post))
}

type Loaded = (Post, String, Vec<(Comment, String)>);

/// A post, its author's name, its comments with their authors' names.
///
/// The post is read first: everything read later is at least as new as its revision, so a fragment cached under that revision is
/// never older than it.
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

fn store_fragment(context: ReadContext<'_>, kind: FragmentKind, post: &Post, text: Option<&str>) {
    if let Some(text) = text {
        context.fragments.put(kind, Version { id: post.id, revision: post.revision }, Arc::from(text));
    }
}
