//! Why a request is not answered.
//!
//! Does not decide that; `request` and `guard` do.

/// Why a request is not answered, and what its sender can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The connection ended before the request did.
    #[error("the connection ended")]
    Closed,
    /// It is not HTTP/1.1, or its target is a whole URL.
    #[error("this is not a request that the page understands")]
    Malformed,
    /// It did not arrive in time.
    #[error("the request took too long")]
    Late,
    /// It is too long, or has too many headers.
    #[error("the request is too large")]
    TooLarge,
    /// It has a body that nothing here takes.
    #[error("a request to the page has no body, unless it is one of its own forms")]
    Body,
    /// Its body is too long.
    #[error("the form is too large")]
    LongBody,
    /// It wants to control something without the token for that.
    #[error("open the URL with `control` that knee printed: only that one controls anything")]
    Control,
    /// Its `Host` names another machine: another site's name can lead here.
    #[error("the page is not served under this host name")]
    Host,
    /// It comes from another site.
    #[error("the page answers only itself")]
    Origin,
    /// It wants to change something.
    #[error("the page is read-only")]
    Method,
    /// It has no token, or a wrong one.
    #[error("open the URL that knee printed: it contains the token of this page")]
    Token,
    /// Too many wrong tokens.
    #[error("too many requests without the right token")]
    Guessing,
    /// There is nothing at this path.
    #[error("there is nothing here")]
    Path,
    /// There is no room for another watcher.
    #[error("too many watchers: close another tab")]
    Full,
}

impl Refusal {
    /// All of them.
    #[cfg(test)]
    pub const ALL: [Self; 14] = [
        Self::Closed,
        Self::Malformed,
        Self::Late,
        Self::TooLarge,
        Self::Body,
        Self::LongBody,
        Self::Control,
        Self::Host,
        Self::Origin,
        Self::Method,
        Self::Token,
        Self::Guessing,
        Self::Path,
        Self::Full,
    ];

    /// Status code and reason.
    pub const fn status(self) -> &'static str {
        match self {
            Self::Closed | Self::Malformed | Self::Body => "400 Bad Request",
            Self::Host => "421 Misdirected Request",
            Self::Origin | Self::Token | Self::Control => "403 Forbidden",
            Self::Path => "404 Not Found",
            Self::Method => "405 Method Not Allowed",
            Self::Late => "408 Request Timeout",
            Self::LongBody => "413 Content Too Large",
            Self::Guessing => "429 Too Many Requests",
            Self::TooLarge => "431 Request Header Fields Too Large",
            Self::Full => "503 Service Unavailable",
        }
    }
}
