//! Names of agents, runs and incarnations: words that can be a part of a subject of NATS.
//!
//! Does not choose names for people; it makes random ones.

use std::fmt;
use std::str::FromStr;

use rand::RngExt;
use serde::{Deserialize, Serialize};

/// Longest name.
const LENGTH_MAX: usize = 64;

/// Why a text is no name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a name: use 1 to {LENGTH_MAX} of the letters a to z, digits, `-` and `_`")]
pub struct NameError(String);

fn check(text: &str) -> Result<String, NameError> {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    if text.is_empty() || text.len() > LENGTH_MAX || !text.bytes().all(fits) {
        return Err(NameError(text.chars().take(LENGTH_MAX).collect()));
    }
    Ok(text.to_owned())
}

macro_rules! name {
    ($(#[$docs:meta])* $name:ident) => {
        $(#[$docs])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                check(text).map(Self)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                check(&text).map(Self)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str(&self.0)
            }
        }
    };
}

name! {
    /// Name of an agent: one per machine, the same after each start.
    AgentId
}

name! {
    /// Name of a run of a fleet.
    RunId
}

name! {
    /// One process of an agent: 128 random bits, so that two processes with the name of one agent differ.
    Incarnation
}

impl Incarnation {
    /// A new one.
    pub fn random() -> Self {
        Self(random_hex(16))
    }
}

impl RunId {
    /// A new one that begins with `prefix`.
    pub fn random(prefix: &str) -> Self {
        let kept: String =
            prefix.chars().filter(|letter| check(&letter.to_string()).is_ok()).take(40).collect();
        Self(format!("{kept}-{}", random_hex(4)))
    }
}

/// `bytes` random bytes as hexadecimal digits.
pub(crate) fn random_hex(bytes: usize) -> String {
    let mut random = rand::rng();
    (0..bytes).fold(String::new(), |text, _| format!("{text}{:02x}", random.random::<u8>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_word_of_a_subject() {
        for text in ["load-03", "a", "x_1", &"a".repeat(64)] {
            assert_eq!(text.parse::<AgentId>().unwrap().as_str(), text);
        }
        for text in ["", "a.b", "a*", ">", "Load", "a b", &"a".repeat(65), "ä"] {
            assert!(text.parse::<AgentId>().is_err(), "{text}");
            assert!(serde_json::from_value::<AgentId>(text.into()).is_err(), "{text}");
        }
    }

    #[test]
    fn random_names_are_names_and_differ() {
        assert_ne!(Incarnation::random(), Incarnation::random());
        let run = RunId::random("http://A service:8080/");
        assert!(run.as_str().parse::<RunId>().is_ok(), "{run}");
        assert!(run.as_str().starts_with("httpservice8080-"), "{run}");
    }
}
