//! Pages, assembled from HTML fragments.
//!
//! Does not query the database. The templates escape all user text.

use askama::Template;

use crate::counter::Counters;
use crate::runtime_lock;
use crate::store::read::{Comment, Post, User};

const STYLE: &str = include_str!("../templates/style.css");
/// Maximum length of an excerpt in a list, in characters.
const EXCERPT: usize = 340;

/// The viewer of a page.
#[derive(Debug, Clone, Default)]
pub struct Viewer {
    /// The signed-in user.
    pub user: Option<SignedInUser>,
    /// The session of the user.
    pub session: Option<i64>,
    /// The CSRF token of forms.
    pub token: String,
}

/// A signed-in user.
#[derive(Debug, Clone)]
pub struct SignedInUser {
    /// Row id.
    pub id: i64,
    /// Screen name.
    pub name: String,
}

impl Viewer {
    /// Whether it is this user. By reference, because templates pass references.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "templates pass references")]
    pub fn is(&self, user: &i64) -> bool {
        self.user.as_ref().is_some_and(|known| known.id == *user)
    }
}

/// A field of a form.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its name in the request.
    pub name: &'static str,
    /// Label.
    pub label: &'static str,
    /// `text`, `password` or `textarea`.
    pub kind: &'static str,
    /// Initial value.
    pub value: String,
    /// Hint on allowed values.
    pub hint: &'static str,
}

#[derive(Template)]
#[template(path = "head.html")]
struct Head<'a> {
    title: &'a str,
    style: &'a str,
    viewer: &'a Viewer,
}

#[derive(Template)]
#[template(path = "foot.html")]
struct Foot;

#[derive(Template)]
#[template(path = "listed.html")]
struct Listed<'a> {
    post: &'a Post,
    author: &'a str,
    excerpt: &'a str,
}

#[derive(Template)]
#[template(path = "whole.html")]
struct Whole<'a> {
    post: &'a Post,
    author: &'a str,
    comments: &'a [(Comment, String)],
    viewer: &'a Viewer,
}

#[derive(Template)]
#[template(path = "below.html")]
struct Below<'a> {
    post: i64,
    author: i64,
    viewer: &'a Viewer,
}

#[derive(Template)]
#[template(path = "user.html")]
struct About<'a> {
    user: &'a User,
}

/// A form on a page of its own.
#[derive(Template)]
#[template(path = "form.html")]
pub struct Form<'a> {
    /// Heading of the form.
    pub heading: &'a str,
    /// Errors of the last attempt.
    pub errors: &'a [String],
    /// Target path.
    pub action: &'a str,
    /// Input fields.
    pub fields: &'a [Field],
    /// Label of the button.
    pub button: &'a str,
    /// The viewer.
    pub viewer: &'a Viewer,
}

/// Renders fragments, each as often as the switch `render_cost` says.
#[derive(Debug, Clone, Copy)]
pub struct Renderer<'a> {
    cost: u32,
    counters: &'a Counters,
}

impl<'a> Renderer<'a> {
    /// A renderer that renders each fragment `cost` times.
    pub fn new(cost: u32, counters: &'a Counters) -> Self {
        Self { cost, counters }
    }

    /// Appends a fragment to a page.
    ///
    /// The cost of a slower runtime is real work: the fragment is rendered, discarded and rendered again.
    fn append(self, page: &mut String, fragment: &impl Template) {
        let start = page.len();
        for _ in 0..self.cost {
            page.truncate(start);
            // Neither the templates nor writing to a String can fail.
            let written = fragment.render_into(page);
            debug_assert!(written.is_ok(), "a template failed: {written:?}");
            std::hint::black_box(page.as_ptr());
            runtime_lock::yield_if_due();
        }
        self.counters.renders.add(self.cost.into());
    }

    /// Start of every page.
    pub fn head(self, page: &mut String, title: &str, viewer: &Viewer) {
        self.append(page, &Head { title, style: STYLE, viewer });
    }

    /// End of every page.
    pub fn foot(self, page: &mut String) {
        self.append(page, &Foot);
    }

    /// A post in a list.
    pub fn listed(self, page: &mut String, post: &Post, author: &str) {
        self.append(page, &Listed { post, author, excerpt: excerpt(&post.description) });
    }

    /// A post with its comments and their authors' names; the viewer's own comments can be edited.
    pub fn whole(
        self,
        page: &mut String,
        post: &Post,
        author: &str,
        comments: &[(Comment, String)],
        viewer: &Viewer,
    ) {
        self.append(page, &Whole { post, author, comments, viewer });
    }

    /// Actions of the viewer on a post.
    pub fn below(self, page: &mut String, post: i64, author: i64, viewer: &Viewer) {
        self.append(page, &Below { post, author, viewer });
    }

    /// The upper part of a user's page.
    pub fn about(self, page: &mut String, user: &User) {
        self.append(page, &About { user });
    }

    /// A page that is a form.
    pub fn form_page(self, form: &Form<'_>) -> String {
        let mut page = String::with_capacity(8 * 1024);
        self.head(&mut page, form.heading, form.viewer);
        self.append(&mut page, form);
        self.foot(&mut page);
        page
    }
}

/// An error page: short, and the same for all viewers.
pub fn error(heading: &str, text: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>{heading} - Lorem News</title></head>\n\
         <body>\n<h1>{heading}</h1>\n<p>{text}</p>\n<p><a href=\"/\">The newest posts</a></p>\n</body>\n</html>\n"
    )
}

/// The beginning of a text, cut between characters.
fn excerpt(text: &str) -> &str {
    let end = text.char_indices().nth(EXCERPT).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(title: &str, description: &str) -> Post {
        Post {
            id: 7,
            user: 3,
            title: title.into(),
            description: description.into(),
            published: "2026-01-02 03:04".into(),
            comments_count: 2,
            revision: 1,
        }
    }

    #[test]
    fn user_text_cannot_become_markup() {
        let counters = Counters::default();
        let mut page = String::new();
        let hostile = post("<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>");
        Renderer::new(1, &counters).whole(&mut page, &hostile, "<b>name", &[], &Viewer::default());
        Renderer::new(1, &counters).listed(&mut page, &hostile, "<b>name");
        for tag in ["<script", "<img", "<b>"] {
            assert!(!page.contains(tag), "{tag} in {page}");
        }
    }

    #[test]
    fn a_higher_render_cost_repeats_the_work_and_changes_nothing_else() {
        let counters = Counters::default();
        let render = |cost| {
            let mut page = String::from("before");
            Renderer::new(cost, &counters).listed(&mut page, &post("A title", "text"), "name");
            page
        };
        let once = render(1);
        assert_eq!(counters.renders.get(), 1);
        assert_eq!(render(25), once);
        assert_eq!(counters.renders.get(), 26);
    }

    #[test]
    fn an_excerpt_ends_between_characters() {
        let text = "ü".repeat(EXCERPT + 10);
        assert_eq!(excerpt(&text).chars().count(), EXCERPT);
        assert_eq!(excerpt("short"), "short");
    }
}
