//! NTLM over HTTP: what is sent after each answer, as the Go package that k6 uses does it.
//!
//! A request goes out without credentials first, because its connection can be known already. The messages are those of
//! [`super::ntlm`]. Does not send, and does not see to it that the connection stays the same: one that the server keeps
//! open is the next one that is used.

use knee_core::clock;

use super::answer::Answer;
use super::hop::Hop;
use super::ntlm::{self, Challenge, Fresh};
use super::request::Request;
use crate::encoding::Alphabet;

/// The handshake of one hop.
#[derive(Debug)]
pub struct Handshake {
    user: String,
    password: String,
    stage: Stage,
}

/// How far it is.
#[derive(Debug)]
enum Stage {
    /// The request went out without credentials.
    Anonymous,
    /// The first message went out, after this answer.
    Negotiated(Box<Answer>),
    /// The last one did.
    Proven(Box<Answer>),
}

/// What follows an answer.
pub enum Step {
    /// The request is sent again with this value of `Authorization`.
    Again(Handshake, String),
    /// This is the answer.
    Done(Box<Answer>),
}

impl Handshake {
    /// The handshake that a hop can need; `None` without NTLM or without credentials: those of the script's header, or
    /// those of the URL.
    pub fn of(request: &Request, hop: &Hop) -> Option<Self> {
        if !request.is_ntlm {
            return None;
        }
        let is_own = |name: &str| name.eq_ignore_ascii_case("authorization") && hop.takes(name);
        let own = request.headers.iter().find(|(name, _)| is_own(name));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (user, password) = match (own, hop.target.url.user()) {
            (Some((_, value)), _) => basic(value)?,
            (None, Some(user)) => (text(&user.name), user.password.as_deref().map(text).unwrap_or_default()),
            (None, None) => return None,
        };
        Some(Self { user, password, stage: Stage::Anonymous })
    }

    /// What follows `answer`. If the handshake cannot go on, its first answer stands.
    pub fn after(self, mut answer: Box<Answer>) -> Step {
        let Self { user, password, stage } = self;
        let again = |message: &[u8], scheme: &str, stage| {
            let value = format!("{scheme} {}", Alphabet::Standard.encode(message));
            Step::Again(Self { user: user.clone(), password: password.clone(), stage }, value)
        };
        let offer = offer(&answer);
        match (stage, offer) {
            (Stage::Negotiated(mut first) | Stage::Proven(mut first), _) if answer.status == 0 => {
                first.error = answer.error.take();
                Step::Done(first)
            }
            (Stage::Anonymous, Some((scheme, _))) if answer.status == 401 => {
                again(&ntlm::negotiate(), &scheme, Stage::Negotiated(answer))
            }
            (Stage::Negotiated(first), offer) if answer.status == 401 => {
                let proof = offer.and_then(|(scheme, token)| {
                    let challenge = Challenge::read(&Alphabet::Standard.decode(token.as_bytes()).ok()?)?;
                    Some((scheme, ntlm::authenticate(&challenge, &user, &password, fresh())?))
                });
                match proof {
                    Some((scheme, message)) => again(&message, &scheme, Stage::Proven(first)),
                    None => Step::Done(first),
                }
            }
            _ => Step::Done(answer),
        }
    }
}

/// The scheme of NTLM that a server offers, and its token; `None` if it offers none.
fn offer(answer: &Answer) -> Option<(String, String)> {
    let offered = |scheme: &str| {
        let mut values =
            answer.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"www-authenticate"));
        values.find_map(|(_, value)| {
            let value = String::from_utf8_lossy(value);
            let (name, token) = value.split_once(' ').unwrap_or((&value, ""));
            (name == scheme).then(|| (scheme.to_owned(), token.to_owned()))
        })
    };
    offered("NTLM").or_else(|| offered("Negotiate"))
}

/// What the client makes up.
fn fresh() -> Fresh {
    Fresh { nonce: rand::random(), time: clock::wall().as_nanos() / 100 }
}

/// The user and the password of a basic `Authorization`.
fn basic(value: &[u8]) -> Option<(String, String)> {
    let value = std::str::from_utf8(value).ok()?;
    let (scheme, pair) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = String::from_utf8_lossy(&Alphabet::Standard.decode(pair.as_bytes()).ok()?).into_owned();
    pair.split_once(':').map(|(user, password)| (user.to_owned(), password.to_owned()))
}
