//! The secrets that scripts ask for: their sources, as `--secret-source` names them, and the masking of what was handed
//! out.
//!
//! Reads no files: its caller does. Fetches nothing from servers. No error shows an entry of a source, because it can be
//! a secret.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use url::form_urlencoded::byte_serialize;

use crate::go_quote::quoted;

/// What is shown instead of a secret, as in k6.
pub const MASK: &str = "***SECRET_REDACTED***";

/// The name of the source that scripts ask when they name none.
pub const DEFAULT: &str = "default";

/// Reads the file of a source.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> io::Result<Vec<u8>>;

/// Why a source cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Nothing was named.
    #[error("`--secret-source` names no source")]
    Blank,
    /// A source that k6 has and this program does not.
    #[error("the secret source `{0}` is not supported")]
    Unsupported(String),
    /// A source that k6 does not have either.
    #[error("there is no secret source of type `{0}`")]
    Unknown(String),
    /// A setting of `file` that does not exist.
    #[error("unknown configuration key for file secret source {0}")]
    Setting(String),
    /// An entry without a value.
    #[error("entry {place} of the secret source `{kind}` has no `=`")]
    Entry {
        /// The type of the source.
        kind: &'static str,
        /// Its place, from 1.
        place: usize,
    },
    /// A name that two sources have.
    #[error("two secret sources have the name `{0}`")]
    Name(String),
    /// Two sources for scripts that name none.
    #[error("two secret sources are the default one")]
    Defaults,
    /// A file that was not read.
    #[error("the secrets in `{0}` cannot be read: {1}")]
    File(String, io::Error),
}

/// Why a script gets no secret; in k6's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// There are no sources.
    #[error("no secret sources are configured")]
    NoSources,
    /// There is no source of this name.
    #[error("no secret source with name {} is configured", quoted(.0.as_bytes()))]
    UnknownSource(String),
    /// The source has no such secret.
    #[error("no value")]
    NoValue,
}

/// The secrets of one source, by name.
type Source = HashMap<String, String>;

/// All sources of a run, and the secrets that were handed out.
#[derive(Default)]
pub struct Secrets {
    /// By name; the default one has two.
    sources: HashMap<String, Arc<Source>>,
    /// What is masked, longest first.
    revealed: RwLock<Vec<String>>,
    /// Whether anything is; asked before each line and each new endpoint.
    masks: AtomicBool,
}

/// The settings of one source.
#[derive(Default)]
struct Settings {
    name: Option<String>,
    is_default: bool,
    /// Everything else, in order.
    rest: Vec<String>,
}

impl Settings {
    fn of(text: &str) -> Self {
        let mut settings = Self::default();
        for part in text.split(',') {
            match part.split_once('=') {
                None if part == DEFAULT => settings.is_default = true,
                Some(("name", name)) => settings.name = Some(name.to_owned()).filter(|name| !name.is_empty()),
                _ => settings.rest.push(part.to_owned()),
            }
        }
        settings
    }
}

impl Secrets {
    /// The sources that these texts describe, each as in `file=secrets.txt` or `mock=name=site,default,user=ann`.
    pub fn configured(texts: &[String], read: ReadFile<'_>) -> Result<Self, SourceError> {
        let mut sources: HashMap<String, Arc<Source>> = HashMap::new();
        for text in texts {
            let (kind, settings) = text.split_once('=').unwrap_or((text, ""));
            let settings = Settings::of(settings);
            let source = Arc::new(match kind {
                "file" => of_file(&settings.rest, read)?,
                "mock" => entries("mock", settings.rest.iter().map(String::as_str))?,
                "cloud" | "url" => return Err(SourceError::Unsupported(kind.to_owned())),
                blank if blank.trim().is_empty() => return Err(SourceError::Blank),
                unknown => return Err(SourceError::Unknown(unknown.to_owned())),
            });
            let name = settings.name.unwrap_or_else(|| kind.to_owned());
            if sources.contains_key(&name) {
                return Err(SourceError::Name(name));
            }
            sources.insert(name, source.clone());
            if settings.is_default && sources.insert(DEFAULT.to_owned(), source).is_some() {
                return Err(SourceError::Defaults);
            }
        }
        if let [only] = &sources.values().cloned().collect::<Vec<_>>()[..] {
            sources.insert(DEFAULT.to_owned(), only.clone());
        }
        Ok(Self { sources, ..Self::default() })
    }

    /// A secret, which is masked from now on.
    pub fn get(&self, source: &str, key: &str) -> Result<&str, SecretError> {
        if self.sources.is_empty() {
            return Err(SecretError::NoSources);
        }
        let source = self.sources.get(source).ok_or_else(|| SecretError::UnknownSource(source.to_owned()))?;
        let secret = source.get(key).ok_or(SecretError::NoValue)?;
        self.reveal(secret);
        Ok(secret)
    }

    fn reveal(&self, secret: &str) {
        if secret.trim().is_empty() {
            return;
        }
        if self.revealed.read().unwrap_or_else(PoisonError::into_inner).iter().any(|known| known == secret) {
            return;
        }
        // As it is, and as it is written in a query and in a path.
        let in_query: String = byte_serialize(secret.as_bytes()).collect();
        let in_path = in_query.replace('+', "%20");
        let mut revealed = self.revealed.write().unwrap_or_else(PoisonError::into_inner);
        for form in [secret.to_owned(), in_query, in_path] {
            if !revealed.contains(&form) {
                revealed.push(form);
            }
        }
        revealed.sort_by_key(|form| std::cmp::Reverse(form.len()));
        self.masks.store(true, Ordering::Release);
    }

    /// A text without the secrets that were handed out.
    pub fn masked<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if !self.masks.load(Ordering::Acquire) {
            return text.into();
        }
        let revealed = self.revealed.read().unwrap_or_else(PoisonError::into_inner);
        let mut out = String::new();
        let (mut copied, mut at) = (0, 0);
        while let Some(letter) = text[at..].chars().next() {
            let Some(secret) = revealed.iter().find(|secret| text[at..].starts_with(secret.as_str())) else {
                at += letter.len_utf8();
                continue;
            };
            out.push_str(&text[copied..at]);
            out.push_str(MASK);
            at += secret.len();
            copied = at;
        }
        if copied == 0 {
            return text.into();
        }
        out.push_str(&text[copied..]);
        out.into()
    }
}

/// The secrets of a file: one `NAME=VALUE` per line.
fn of_file(settings: &[String], read: ReadFile<'_>) -> Result<Source, SourceError> {
    let mut name = "";
    for setting in settings {
        match setting.split_once('=') {
            None => name = setting,
            Some(("filename", value)) => name = value,
            Some((key, _)) => return Err(SourceError::Setting(quoted(key.as_bytes()))),
        }
    }
    let bytes = read(name).map_err(|error| SourceError::File(name.to_owned(), error))?;
    entries("file", String::from_utf8_lossy(&bytes).lines())
}

fn entries<'a>(kind: &'static str, texts: impl Iterator<Item = &'a str>) -> Result<Source, SourceError> {
    let pair = |(place, text): (usize, &str)| match text.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err(SourceError::Entry { kind, place: place + 1 }),
    };
    texts.enumerate().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(texts: &[&str]) -> Result<Secrets, SourceError> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let read = |name: &str| match name {
            "f" => Ok(b"a=1=2\r\nb= x \n".to_vec()),
            "broken" => Ok(b"a=1\npassword\n".to_vec()),
            _ => Err(io::Error::from(io::ErrorKind::NotFound)),
        };
        Secrets::configured(&texts, &read)
    }

    fn refused(texts: &[&str]) -> String {
        made(texts).err().unwrap().to_string()
    }

    #[test]
    fn the_only_source_is_the_default_one_whatever_its_name() {
        for texts in [&["file=f"][..], &["file=filename=f"], &["file=f,name=site"]] {
            let secrets = made(texts).unwrap();
            assert_eq!((secrets.get(DEFAULT, "a"), secrets.get(DEFAULT, "b")), (Ok("1=2"), Ok(" x ")));
        }
        assert_eq!(made(&["file=f,name=site"]).unwrap().get("site", "a"), Ok("1=2"));
        assert_eq!(made(&["mock=a=1"]).unwrap().get("mock", "a"), Ok("1"));
    }

    #[test]
    fn of_several_sources_that_which_says_so_is_the_default_one() {
        let none = made(&["mock=name=one,a=1", "mock=name=two,a=2"]).unwrap();
        assert_eq!(none.get(DEFAULT, "a"), Err(SecretError::UnknownSource("default".to_owned())));
        let second = made(&["mock=name=one,a=1", "mock=name=two,default,a=2"]).unwrap();
        assert_eq!((second.get(DEFAULT, "a"), second.get("one", "a")), (Ok("2"), Ok("1")));
    }

    #[test]
    fn what_a_script_cannot_have_is_said_in_the_words_of_k6() {
        let words = |secrets: &Secrets, source, key| secrets.get(source, key).unwrap_err().to_string();
        assert_eq!(words(&Secrets::default(), DEFAULT, "a"), "no secret sources are configured");
        let secrets = made(&["mock=a=1"]).unwrap();
        assert_eq!(words(&secrets, "q", "a"), "no secret source with name \"q\" is configured");
        assert_eq!(words(&secrets, DEFAULT, "b"), "no value");
    }

    #[test]
    fn a_source_that_cannot_be_used_is_refused_without_showing_what_can_be_a_secret() {
        for (texts, words) in [
            (&[""][..], "`--secret-source` names no source"),
            (&["vault=a"], "there is no secret source of type `vault`"),
            (&["url"], "the secret source `url` is not supported"),
            (&["mock=a=1,hidden"], "entry 2 of the secret source `mock` has no `=`"),
            (&["mock"], "entry 1 of the secret source `mock` has no `=`"),
            (&["file=broken"], "entry 2 of the secret source `file` has no `=`"),
            (&["file=f,x=y"], "unknown configuration key for file secret source \"x\""),
            (&["mock=a=1", "mock=b=2"], "two secret sources have the name `mock`"),
            (&["mock=a=1,default", "file=f,default"], "two secret sources are the default one"),
        ] {
            assert_eq!(refused(texts), words);
        }
        assert!(refused(&["file=none"]).starts_with("the secrets in `none` cannot be read: "));
    }

    #[test]
    fn only_secrets_that_were_handed_out_are_masked_and_the_longest_first() {
        let secrets = made(&["mock=a=tok,b=token 1/2,c=SECRET,blank= "]).unwrap();
        assert_eq!(secrets.masked("tok token 1/2"), "tok token 1/2");
        for key in ["a", "b", "c", "blank"] {
            secrets.get(DEFAULT, key).unwrap();
        }
        for (text, masked) in [
            ("a tok and token 1/2.", "a *** and ***."),
            ("/x?q=token+1%2F2#token%201%2F2", "/x?q=***#***"),
            ("SECRETtok", "******"),
            ("toktok ü tok", "****** ü ***"),
            ("none at all", "none at all"),
        ] {
            assert_eq!(secrets.masked(text).replace(MASK, "***"), masked);
        }
    }
}
