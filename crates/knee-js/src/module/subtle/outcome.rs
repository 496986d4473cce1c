//! The result of an operation of `crypto.subtle`, or why it has none.

use knee_k6::web_crypto::refused::Refused;

/// Why an operation has no result.
pub enum Failure {
    /// It was refused: the promise is rejected.
    Refused(Refused),
    /// The script failed while its arguments were read, or must end.
    Script(rquickjs::Error),
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<rquickjs::Error> for Failure {
    fn from(error: rquickjs::Error) -> Self {
        Self::Script(error)
    }
}

/// The result of an operation, or why there is none.
pub type Outcome<T> = Result<T, Failure>;
