//! Request handling independent of HTTP: turns a [`Call`] into a [`Reply`].
//!
//! Does not parse HTTP or choose threads. Every change of the board and every refusal is decided here.

use crate::engine::Db;
use crate::page::{self, Form, SignedInUser, Viewer};
use crate::store::Failure;
use crate::store::read::PostSelection;

mod account;
mod benchmark;
mod board;
mod view;

pub use benchmark::Benchmark;

/// The client, as described by the request alone.
#[derive(Debug, Clone, Default)]
pub struct Visitor {
    /// The session of a cookie with a valid signature.
    pub session: Option<i64>,
    /// The CSRF token of forms.
    pub token: String,
    /// User agent.
    pub user_agent: String,
    /// IP address.
    pub address: String,
}

/// The fields of a submitted post.
#[derive(Debug, Clone)]
pub struct PostForm {
    /// Its title.
    pub title: String,
    /// Its text.
    pub description: String,
}

/// The fields of a submitted account.
#[derive(Debug, Clone)]
pub struct AccountForm {
    /// The name.
    pub screen_name: String,
    /// The password.
    pub password: String,
    /// Self-description; not used to sign in.
    pub about: String,
}

/// The operation of a request.
#[derive(Debug, Clone)]
pub enum Action {
    /// The newest posts below an id.
    List {
        /// The id.
        before: i64,
    },
    /// A post.
    Show(i64),
    /// A user.
    User(i64),
    /// The form for a new post.
    NewPost,
    /// A new post.
    CreatePost(PostForm),
    /// The form to change a post.
    EditPost(i64),
    /// Change the title or text of a post.
    UpdatePost(i64, PostForm),
    /// Delete a post.
    DeletePost(i64),
    /// A new comment below a post.
    CreateComment(i64, String),
    /// The form to change a comment.
    EditComment(i64),
    /// Change the text of a comment.
    UpdateComment(i64, String),
    /// Delete a comment.
    DeleteComment(i64),
    /// The form to sign in.
    SignInForm,
    /// Sign in.
    SignIn(AccountForm),
    /// The form to sign up.
    SignUpForm,
    /// A new user.
    SignUp(AccountForm),
    /// Sign out.
    SignOut,
    /// One of the benchmark routes, with the headers of the request as text.
    Benchmark(Benchmark, String),
    /// Readiness: whether the database responds.
    Ready,
}

/// One request.
#[derive(Debug, Clone)]
pub struct Call {
    /// The operation.
    pub action: Action,
    /// The client.
    pub visitor: Visitor,
}

/// Change of the session cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionChange {
    /// Keep it.
    Keep,
    /// Set it to this session.
    Set(i64),
    /// Delete it.
    Clear,
}

/// The result of a call.
#[derive(Debug, Clone)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// HTML, or plain text for [`Action::Ready`].
    pub body: String,
    /// Target of a redirect.
    pub location: Option<String>,
    /// Change of the session cookie.
    pub session: SessionChange,
    /// Cause of a failure, for the log.
    pub failure: Option<String>,
}

impl Reply {
    fn page(status: u16, body: String) -> Self {
        Self { status, body, location: None, session: SessionChange::Keep, failure: None }
    }

    fn redirect(location: String) -> Self {
        Self { location: Some(location), ..Self::page(303, String::new()) }
    }

    fn message(status: u16, heading: &str, text: &str) -> Self {
        Self::page(status, page::error(heading, text))
    }

    fn missing() -> Self {
        Self::message(404, "Not found", "There is nothing here, or not any more.")
    }

    fn not_yours() -> Self {
        Self::message(403, "Not yours", "Only who wrote it can change it.")
    }

    fn sign_in_first() -> Self {
        Self::redirect("/sign_in".into())
    }

    /// The reply to a database failure.
    pub fn failure(failure: &Failure) -> Self {
        let text = match failure {
            Failure::Busy => "Another request is writing. Nothing was changed.",
            _ => "The request could not be carried out.",
        };
        Self { failure: Some(failure.to_string()), ..Self::message(500, "Something went wrong", text) }
    }
}

/// Executes a call.
pub async fn perform(call: Call, db: &mut Db<'_>) -> Reply {
    match dispatch(call, db).await {
        Ok(reply) => reply,
        Err(failure) => Reply::failure(&failure),
    }
}

async fn dispatch(call: Call, db: &mut Db<'_>) -> Result<Reply, Failure> {
    let Call { action, visitor } = call;
    match action {
        Action::Benchmark(which, headers) => return benchmark::run(db, which, headers, visitor).await,
        Action::Ready => return Ok(ready(db)),
        Action::SignIn(form) => return account::sign_in(db, form, visitor).await,
        Action::SignUp(form) => return account::sign_up(db, form, visitor).await,
        _ => {}
    }
    let viewer = viewer(db, &visitor)?;
    match action {
        Action::List { before } => db
            .read(|context| view::list(context, PostSelection::Before(before), &viewer))
            .map(|page| Reply::page(200, page)),
        Action::Show(id) => db.read(|context| view::show(context, id, &viewer)).map(found),
        Action::User(id) => db.read(|context| view::user(context, id, &viewer)).map(found),
        Action::NewPost => Ok(board::new_post(db, &viewer)),
        Action::CreatePost(form) => board::create_post(db, &viewer, form).await,
        Action::EditPost(id) => board::edit_post(db, &viewer, id),
        Action::UpdatePost(id, form) => board::update_post(db, &viewer, id, form).await,
        Action::DeletePost(id) => board::delete_post(db, &viewer, id).await,
        Action::CreateComment(post, body) => board::create_comment(db, &viewer, post, body).await,
        Action::EditComment(id) => board::edit_comment(db, &viewer, id),
        Action::UpdateComment(id, body) => board::update_comment(db, &viewer, id, body).await,
        Action::DeleteComment(id) => board::delete_comment(db, &viewer, id).await,
        Action::SignInForm => Ok(account::sign_in_form(db, &viewer, 200, "", &[])),
        Action::SignUpForm => Ok(account::sign_up_form(db, &viewer, 200, ("", ""), &[])),
        Action::SignOut => account::sign_out(db, &viewer).await,
        Action::Benchmark(..) | Action::Ready | Action::SignIn(_) | Action::SignUp(_) => Ok(Reply::missing()),
    }
}

fn found(page: Option<String>) -> Reply {
    page.map_or_else(Reply::missing, |page| Reply::page(200, page))
}

/// A form on a page of its own.
fn render_form(db: &mut Db<'_>, status: u16, form: &Form<'_>) -> Reply {
    Reply::page(status, db.renderer().form_page(form))
}

/// Checks that a read succeeds.
fn ready(db: &mut Db<'_>) -> Reply {
    let found = db.read(|context| context.store.id_range(crate::store::read::Table::Users));
    found.map_or_else(
        |failure| Reply { status: 503, ..Reply::failure(&failure) },
        |_| Reply::page(200, "ready\n".into()),
    )
}

/// Looks up the user of the visitor's session.
fn viewer(db: &mut Db<'_>, visitor: &Visitor) -> Result<Viewer, Failure> {
    let user = match visitor.session {
        Some(session) => db.read(|context| context.store.session_user(session))?,
        None => None,
    };
    Ok(Viewer {
        session: visitor.session,
        user: user.map(|(id, name)| SignedInUser { id, name }),
        token: visitor.token.clone(),
    })
}
