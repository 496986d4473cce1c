//! Creates, changes and deletes posts and comments of the signed-in user.
//!
//! Does not rely on its own ownership check: the store repeats it in the transaction that changes the row.

use super::{PostForm, Reply};
use crate::engine::Db;
use crate::page::{Field, Form, SignedInUser, Viewer};
use crate::store::Failure;
use crate::store::read::Post;
use crate::store::write::{Write, WriteOutcome};

/// Length of a title, in characters.
const TITLE: std::ops::RangeInclusive<usize> = 5..=200;
/// Maximum length of a post, in characters.
const DESCRIPTION_MAX: usize = 50_000;
/// Length of a comment, in characters.
const BODY: std::ops::RangeInclusive<usize> = 5..=10_000;

/// Heading, target and button of a form.
struct Target {
    heading: &'static str,
    action: String,
    button: &'static str,
}

impl Target {
    fn new_post() -> Self {
        Self { heading: "A new post", action: "/posts".into(), button: "Publish" }
    }

    fn post(id: i64) -> Self {
        Self { heading: "Edit the post", action: format!("/posts/{id}"), button: "Save" }
    }

    fn comment(id: i64) -> Self {
        Self { heading: "Edit the comment", action: format!("/comments/{id}"), button: "Save" }
    }
}

/// The form for a new post.
pub fn new_post(db: &mut Db<'_>, viewer: &Viewer) -> Reply {
    if viewer.user.is_none() {
        return Reply::sign_in_first();
    }
    let empty = PostForm { title: String::new(), description: String::new() };
    post_form(db, viewer, 200, &Target::new_post(), empty, &[])
}

/// Creates a post.
pub async fn create_post(db: &mut Db<'_>, viewer: &Viewer, form: PostForm) -> Result<Reply, Failure> {
    let Some(SignedInUser { id: user, .. }) = viewer.user else { return Ok(Reply::sign_in_first()) };
    let form = trimmed(&form);
    let errors = check_post(&form);
    if !errors.is_empty() {
        return Ok(post_form(db, viewer, 422, &Target::new_post(), form, &errors));
    }
    let write = Write::CreatePost {
        user,
        title: form.title.as_str().into(),
        description: form.description.as_str().into(),
    };
    match write_one(db, write).await? {
        WriteOutcome::New(id) => Ok(Reply::redirect(format!("/posts/{id}"))),
        WriteOutcome::Taken => Ok(title_taken(db, viewer, &Target::new_post(), form)),
        other => Ok(refused(other)),
    }
}

/// The form to change a post.
pub fn edit_post(db: &mut Db<'_>, viewer: &Viewer, id: i64) -> Result<Reply, Failure> {
    if viewer.user.is_none() {
        return Ok(Reply::sign_in_first());
    }
    match db.read(|context| context.store.post(id))? {
        None => Ok(Reply::missing()),
        Some(post) if !viewer.is(&post.user) => Ok(Reply::not_yours()),
        Some(Post { title, description, .. }) => {
            Ok(post_form(db, viewer, 200, &Target::post(id), PostForm { title, description }, &[]))
        }
    }
}

/// Changes the title or text of a post.
pub async fn update_post(
    db: &mut Db<'_>,
    viewer: &Viewer,
    id: i64,
    form: PostForm,
) -> Result<Reply, Failure> {
    let Some(SignedInUser { id: user, .. }) = viewer.user else { return Ok(Reply::sign_in_first()) };
    let form = trimmed(&form);
    let errors = check_post(&form);
    if !errors.is_empty() {
        return Ok(post_form(db, viewer, 422, &Target::post(id), form, &errors));
    }
    let write = Write::UpdatePost {
        id,
        owner: Some(user),
        title: form.title.as_str().into(),
        description: form.description.as_str().into(),
    };
    match write_one(db, write).await? {
        WriteOutcome::Done(_) => Ok(Reply::redirect(format!("/posts/{id}"))),
        WriteOutcome::Taken => Ok(title_taken(db, viewer, &Target::post(id), form)),
        other => Ok(refused(other)),
    }
}

/// Deletes a post.
pub async fn delete_post(db: &mut Db<'_>, viewer: &Viewer, id: i64) -> Result<Reply, Failure> {
    let Some(SignedInUser { id: user, .. }) = viewer.user else { return Ok(Reply::sign_in_first()) };
    match write_one(db, Write::DeletePost { id, owner: Some(user) }).await? {
        WriteOutcome::Done(_) => Ok(Reply::redirect("/".into())),
        other => Ok(refused(other)),
    }
}

/// Creates a comment.
pub async fn create_comment(
    db: &mut Db<'_>,
    viewer: &Viewer,
    post: i64,
    body: String,
) -> Result<Reply, Failure> {
    let Some(SignedInUser { id: user, .. }) = viewer.user else { return Ok(Reply::sign_in_first()) };
    let body = body.trim();
    if let Some(error) = check_length("The comment", body, &BODY) {
        return Ok(Reply::message(422, "Not a comment yet", &error));
    }
    match write_one(db, Write::CreateComment { post, user, body: body.into() }).await? {
        WriteOutcome::New(id) => Ok(Reply::redirect(format!("/posts/{post}#comment-{id}"))),
        other => Ok(refused(other)),
    }
}

/// The form to change a comment.
pub fn edit_comment(db: &mut Db<'_>, viewer: &Viewer, id: i64) -> Result<Reply, Failure> {
    if viewer.user.is_none() {
        return Ok(Reply::sign_in_first());
    }
    match db.read(|context| context.store.comment(id))? {
        None => Ok(Reply::missing()),
        Some(comment) if !viewer.is(&comment.user) => Ok(Reply::not_yours()),
        Some(comment) => Ok(comment_form(db, viewer, 200, id, comment.body, &[])),
    }
}

/// Changes the text of a comment.
pub async fn update_comment(
    db: &mut Db<'_>,
    viewer: &Viewer,
    id: i64,
    body: String,
) -> Result<Reply, Failure> {
    let Some(SignedInUser { id: user, .. }) = viewer.user else { return Ok(Reply::sign_in_first()) };
    let body = body.trim();
    if let Some(error) = check_length("The comment", body, &BODY) {
        return Ok(comment_form(db, viewer, 422, id, body.to_owned(), &[error]));
    }
    match write_one(db, Write::UpdateComment { id, owner: Some(user), body: body.into() }).await? {
        WriteOutcome::Done(post) => Ok(Reply::redirect(format!("/posts/{post}#comment-{id}"))),
        other => Ok(refused(other)),
    }
}

/// Deletes a comment.
pub async fn delete_comment(db: &mut Db<'_>, viewer: &Viewer, id: i64) -> Result<Reply, Failure> {
    let Some(SignedInUser { id: user, .. }) = viewer.user else { return Ok(Reply::sign_in_first()) };
    match write_one(db, Write::DeleteComment { id, owner: Some(user) }).await? {
        WriteOutcome::Done(post) => Ok(Reply::redirect(format!("/posts/{post}#comments"))),
        other => Ok(refused(other)),
    }
}

/// Applies a single change.
async fn write_one(db: &mut Db<'_>, write: Write) -> Result<WriteOutcome, Failure> {
    db.write(vec![write]).await?.pop().ok_or(Failure::Stopped)
}

fn refused(written: WriteOutcome) -> Reply {
    match written {
        WriteOutcome::NotYours => Reply::not_yours(),
        _ => Reply::missing(),
    }
}

fn title_taken(db: &mut Db<'_>, viewer: &Viewer, target: &Target, form: PostForm) -> Reply {
    let errors = ["There is a post of this title already".to_owned()];
    post_form(db, viewer, 422, target, form, &errors)
}

fn trimmed(form: &PostForm) -> PostForm {
    // Browsers send CRLF line ends.
    let description = form.description.trim().replace("\r\n", "\n");
    PostForm { title: form.title.trim().to_owned(), description }
}

fn check_post(form: &PostForm) -> Vec<String> {
    [
        check_length("The title", &form.title, &TITLE),
        check_length("The text", &form.description, &(1..=DESCRIPTION_MAX)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The error if the length of a text, in characters, is not allowed.
pub fn check_length(what: &str, text: &str, allowed: &std::ops::RangeInclusive<usize>) -> Option<String> {
    let n = text.chars().count();
    (!allowed.contains(&n))
        .then(|| format!("{what} has {n} characters; it takes {} to {}", allowed.start(), allowed.end()))
}

fn post_form(
    db: &mut Db<'_>,
    viewer: &Viewer,
    status: u16,
    target: &Target,
    form: PostForm,
    errors: &[String],
) -> Reply {
    let fields = [
        Field {
            name: "title",
            label: "Title",
            kind: "text",
            value: form.title,
            hint: "5 to 200 characters, not used before",
        },
        Field {
            name: "description",
            label: "Text",
            kind: "textarea",
            value: form.description,
            hint: "An empty line begins a paragraph",
        },
    ];
    form_page(db, viewer, status, target, &fields, errors)
}

fn comment_form(
    db: &mut Db<'_>,
    viewer: &Viewer,
    status: u16,
    id: i64,
    body: String,
    errors: &[String],
) -> Reply {
    let fields = [Field {
        name: "body",
        label: "Comment",
        kind: "textarea",
        value: body,
        hint: "At least 5 characters",
    }];
    form_page(db, viewer, status, &Target::comment(id), &fields, errors)
}

fn form_page(
    db: &mut Db<'_>,
    viewer: &Viewer,
    status: u16,
    target: &Target,
    fields: &[Field],
    errors: &[String],
) -> Reply {
    let form = Form {
        heading: target.heading,
        errors,
        action: &target.action,
        fields,
        button: target.button,
        viewer,
    };
    super::render_form(db, status, &form)
}
