//! What a URL consists of. Does not read or write it.

/// A part of a URL, or why it is none, in the words of Go.
pub type Parsed<T> = Result<T, String>;

/// A URL that was parsed. Texts are bytes, as in Go, because escapes can stand for any bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GoUrl {
    /// In lower case; empty for a relative URL.
    pub(super) scheme: String,
    /// What follows the scheme of a URL without a slash there.
    pub(super) opaque: Vec<u8>,
    pub(super) user: Option<User>,
    /// Host and port, without escapes.
    pub(super) host: Vec<u8>,
    /// With the escapes that Go sends.
    pub(super) path: String,
    /// As written.
    pub(super) query: Vec<u8>,
    /// Whether there is a question mark with nothing after it.
    pub(super) empty_query: bool,
    /// Whether a scheme is followed by a path at once.
    pub(super) without_host: bool,
    /// With escapes.
    pub(super) fragment: String,
}

/// The user of a URL, without escapes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// Name; can be empty.
    pub name: Vec<u8>,
    /// Password, if there is a colon.
    pub password: Option<Vec<u8>>,
}
