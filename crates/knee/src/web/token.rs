//! The secret that the URL of a page contains.
//!
//! Does not know where a request carries it; `guard` does.

use std::io;

use rand_core::{OsRng, TryRngCore};

/// 128 random bits as 32 hexadecimal digits, new for each page.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// A new secret of the system's random numbers.
    ///
    /// # Errors
    ///
    /// When the system has none.
    pub fn new() -> io::Result<Self> {
        let mut bytes = [0; 16];
        OsRng.try_fill_bytes(&mut bytes).map_err(io::Error::other)?;
        Ok(Self(format!("{:032x}", u128::from_be_bytes(bytes))))
    }

    /// The digits.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether `guess` is the secret. Takes as long for a wrong guess as for the right one.
    pub fn is(&self, guess: &str) -> bool {
        let pairs = self.0.bytes().zip(guess.bytes());
        guess.len() == self.0.len() && pairs.fold(0, |wrong, (one, other)| wrong | (one ^ other)) == 0
    }
}

/// Never shows the secret.
impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_secret_opens_the_page_and_each_page_has_its_own() {
        let (one, other) = (Token::new().unwrap(), Token::new().unwrap());
        assert_eq!(one.text().len(), 32);
        assert!(one.is(one.text()) && !one.is(other.text()));
        for guess in ["", &one.text()[..31], &format!("{}0", one.text())] {
            assert!(!one.is(guess), "{guess}");
        }
    }
}
