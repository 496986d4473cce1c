//! Signing up, in and out.
//!
//! Does not serve the benchmark routes, which sign in without a password. Passwords are digested only here.

use std::sync::LazyLock;

use super::{AccountForm, Reply, SessionChange, Visitor};
use crate::engine::Db;
use crate::page::{Field, Form, Viewer};
use crate::password;
use crate::store::Failure;
use crate::store::write::{Write, WriteOutcome};

/// Length of a name, in characters.
const NAME: std::ops::RangeInclusive<usize> = 3..=30;
/// Length of a password, in characters. The maximum bounds the work per request.
const PASSWORD: std::ops::RangeInclusive<usize> = 8..=200;
/// Maximum length of a self-description, in characters.
const ABOUT_MAX: usize = 2_000;

/// Verified for unknown names, so that the response takes as long as for a known name.
static NOBODY: LazyLock<String> = LazyLock::new(|| password::digest("nobody's").unwrap_or_default());

/// The form to sign in.
pub fn sign_in_form(db: &mut Db<'_>, viewer: &Viewer, status: u16, name: &str, errors: &[String]) -> Reply {
    let fields = [name_field(name, ""), password_field("")];
    account_form(db, viewer, status, ("Sign in", "/sign_in"), &fields, errors)
}

/// The form to sign up, with name and self-description of the last attempt.
pub fn sign_up_form(
    db: &mut Db<'_>,
    viewer: &Viewer,
    status: u16,
    (name, about): (&str, &str),
    errors: &[String],
) -> Reply {
    let fields = [
        name_field(name, "3 to 30 letters, digits, dots, hyphens and underscores"),
        password_field("8 characters or more"),
        Field {
            name: "about",
            label: "About you",
            kind: "textarea",
            value: about.into(),
            hint: "May stay empty",
        },
    ];
    account_form(db, viewer, status, ("Sign up", "/sign_up"), &fields, errors)
}

/// Signs a user in.
pub async fn sign_in(db: &mut Db<'_>, form: AccountForm, visitor: Visitor) -> Result<Reply, Failure> {
    let AccountForm { screen_name, password, .. } = form;
    let name = screen_name.trim().to_owned();
    let known = db.read(|context| context.store.credentials(&name))?;
    let fits = PASSWORD.contains(&password.chars().count());
    let user = db
        .compute(move || {
            let Some((user, digest)) = known else {
                password::matches("somebody's", &NOBODY);
                return None;
            };
            (fits && password::matches(&password, &digest)).then_some(user)
        })
        .await?;
    if let Some(user) = user {
        return open_session(db, user, visitor).await;
    }
    let errors = ["Name and password do not belong together".to_owned()];
    Ok(sign_in_form(db, &anonymous(visitor), 422, &name, &errors))
}

/// Creates a user and signs it in.
pub async fn sign_up(db: &mut Db<'_>, form: AccountForm, visitor: Visitor) -> Result<Reply, Failure> {
    let AccountForm { screen_name, password, about } = form;
    let (name, about) = (screen_name.trim().to_owned(), about.trim().to_owned());
    let errors = check(&name, &password, &about);
    if !errors.is_empty() {
        return Ok(sign_up_form(db, &anonymous(visitor), 422, (&name, &about), &errors));
    }
    let Ok(digest) = db.compute(move || password::digest(&password)).await? else {
        return Err(Failure::Stopped);
    };
    let write = Write::CreateUser {
        screen_name: name.as_str().into(),
        password_digest: digest.into(),
        about: about.as_str().into(),
    };
    if let Some(WriteOutcome::New(user)) = db.write(vec![write]).await?.pop() {
        return open_session(db, user, visitor).await;
    }
    let errors = ["The name belongs to somebody else".to_owned()];
    Ok(sign_up_form(db, &anonymous(visitor), 422, (&name, &about), &errors))
}

/// Signs a user out; deletes the session on the server too.
pub async fn sign_out(db: &mut Db<'_>, viewer: &Viewer) -> Result<Reply, Failure> {
    if let Some(id) = viewer.session {
        db.write(vec![Write::DeleteSession { id }]).await?;
    }
    Ok(Reply { session: SessionChange::Clear, ..Reply::redirect("/".into()) })
}

/// The two changes of a sign-in.
pub fn sign_in_writes(user: i64, visitor: &Visitor) -> [Write; 2] {
    let session = Write::InsertSession {
        user,
        user_agent: visitor.user_agent.as_str().into(),
        ip_address: visitor.address.as_str().into(),
    };
    [session, Write::TouchUser { user }]
}

async fn open_session(db: &mut Db<'_>, user: i64, visitor: Visitor) -> Result<Reply, Failure> {
    let written = db.write(sign_in_writes(user, &visitor).into()).await?;
    match written.first() {
        Some(WriteOutcome::New(session)) => {
            Ok(Reply { session: SessionChange::Set(*session), ..Reply::redirect("/".into()) })
        }
        _ => Err(Failure::Stopped),
    }
}

fn anonymous(visitor: Visitor) -> Viewer {
    Viewer { user: None, session: None, token: visitor.token }
}

fn check(name: &str, password: &str, about: &str) -> Vec<String> {
    let odd = name.chars().any(|c| !c.is_ascii_alphanumeric() && !"._-".contains(c));
    [
        super::board::check_length("The name", name, &NAME),
        odd.then(|| "The name takes letters, digits, dots, hyphens and underscores".to_owned()),
        super::board::check_length("The password", password, &PASSWORD),
        super::board::check_length("The text about you", about, &(0..=ABOUT_MAX)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn name_field(name: &str, hint: &'static str) -> Field {
    Field { name: "screen_name", label: "Name", kind: "text", value: name.into(), hint }
}

fn password_field(hint: &'static str) -> Field {
    Field { name: "password", label: "Password", kind: "password", value: String::new(), hint }
}

fn account_form(
    db: &mut Db<'_>,
    viewer: &Viewer,
    status: u16,
    (heading, action): (&str, &str),
    fields: &[Field],
    errors: &[String],
) -> Reply {
    super::render_form(db, status, &Form { heading, errors, action, fields, button: heading, viewer })
}
