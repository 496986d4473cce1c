//! A script with everything that it read while it was loaded, for machines that have none of its files.
//!
//! Does not read files and does not send anything.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use url::Url;

use crate::loader::remote::Fetch;

/// Endings of scripts: files that can be imported from anywhere.
pub const SCRIPTS: &[&str] = &["js", "mjs", "cjs", "ts", "mts", "cts"];

/// A script with everything that it read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bundle {
    /// Path of the script.
    pub script: PathBuf,
    /// Its address, if it is a module from the network.
    pub address: Option<String>,
    /// The folder of the script.
    pub folder: PathBuf,
    /// Files by the paths that the script has for them.
    pub files: BTreeMap<PathBuf, Content>,
    /// Modules from the network, by their addresses.
    pub modules: BTreeMap<String, Content>,
    /// JSON of options that replace those that the script exports.
    #[serde(default)]
    pub options: Option<String>,
    /// Names of variables that belong to the script, as if they were typed with it: those of an archive.
    #[serde(default)]
    pub variables: BTreeSet<String>,
}

impl Bundle {
    /// How many bytes its files and modules have.
    pub fn bytes(&self) -> u64 {
        let all = self.files.values().chain(self.modules.values());
        all.map(|Content(bytes)| bytes.len() as u64).sum()
    }

    /// Whether the script can want a variable of this name: it belongs to it, or any of its sources has this word. Data is
    /// no source.
    pub fn speaks_of(&self, word: &str) -> bool {
        if self.variables.contains(word) {
            return true;
        }
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
        let has = |Content(bytes): &Content| {
            let mut rest = &bytes[..];
            while let Some(at) = memchr::memmem::find(rest, word.as_bytes()) {
                let (before, after) = (&rest[..at], &rest[at + word.len()..]);
                if !before.last().is_some_and(is_part) && !after.first().is_some_and(is_part) {
                    return true;
                }
                rest = after;
            }
            false
        };
        let is_source = |path: &PathBuf| *path == self.script || is_script(path);
        let mut sources = self.files.iter().filter(|(path, _)| is_source(path)).map(|(_, content)| content);
        !word.is_empty() && (sources.any(has) || self.modules.values().any(has))
    }

    /// What answers for the network on a machine that got this bundle.
    pub fn network(&self) -> Arc<dyn Fetch> {
        Arc::new(Sent::new(self.modules.clone()))
    }
}

/// An address as the name of a file in an archive can say it: without empty parts.
pub(super) fn without_empty_parts(address: &str) -> String {
    let rest = address.strip_prefix("https://").unwrap_or(address);
    let parts: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
    format!("https://{}", parts.join("/"))
}

/// Whether a file is a script, by its name.
pub fn is_script(path: &Path) -> bool {
    path.extension().and_then(|ending| ending.to_str()).is_some_and(|ending| SCRIPTS.contains(&ending))
}

/// The modules that were sent.
struct Sent {
    modules: BTreeMap<String, Content>,
    /// Their addresses, by what an archive keeps of them.
    plain: BTreeMap<String, String>,
}

impl Sent {
    fn new(modules: BTreeMap<String, Content>) -> Self {
        let plain = modules.keys().map(|address| (without_empty_parts(address), address.clone())).collect();
        Self { modules, plain }
    }
}

impl Fetch for Sent {
    fn fetch(&self, url: &Url) -> Result<Vec<u8>, String> {
        let similar = || self.modules.get(self.plain.get(&without_empty_parts(url.as_str()))?);
        let sent = self.modules.get(url.as_str()).or_else(similar).map(|Content(bytes)| bytes.to_vec());
        sent.ok_or_else(|| "the machine that sent the script did not import it".to_owned())
    }
}

/// The bytes of a file. In messages they are one value, and not a list of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content(pub Arc<[u8]>);

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(Bytes)
    }
}

struct Bytes;

impl<'de> Visitor<'de> for Bytes {
    type Value = Content;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("bytes")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Content, E> {
        Ok(Content(bytes.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Content, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = list.next_element()? {
            bytes.push(byte);
        }
        Ok(Content(bytes.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(source: &str) -> Bundle {
        let file = (PathBuf::from("/a/x.js"), Content(source.as_bytes().into()));
        Bundle { files: BTreeMap::from([file]), ..Bundle::default() }
    }

    #[test]
    fn the_data_of_a_script_speaks_of_nothing() {
        let mut bundle = bundle("open('rows.csv')");
        bundle.files.insert("/a/rows.csv".into(), Content(b"TOKEN,name"[..].into()));
        assert!(!bundle.speaks_of("TOKEN"));
    }

    #[test]
    fn a_script_speaks_of_whole_words_only() {
        let bundle = bundle("get(__ENV.BASE_URL); const HOME_PAGE = 1; MY_HOME;");
        let found = ["BASE_URL", "HOME", "BASE", "HOME_PAGE", ""].map(|word| bundle.speaks_of(word));
        assert_eq!(found, [true, false, false, true, false]);
    }

    #[test]
    fn a_bundle_arrives_as_it_was_sent() {
        let sent = Bundle {
            script: "/a/x.js".into(),
            modules: BTreeMap::from([("https://a.test/b.js".to_owned(), Content([0, 255, 10].into()))]),
            ..bundle("let x = 'ä'")
        };
        let bytes = rmp_serde::to_vec_named(&sent).unwrap();
        assert_eq!(rmp_serde::from_slice::<Bundle>(&bytes).unwrap(), sent);
        let url = Url::parse("https://a.test/b.js").unwrap();
        assert_eq!(sent.network().fetch(&url), Ok(vec![0, 255, 10]));
        assert!(sent.network().fetch(&Url::parse("https://a.test/c.js").unwrap()).is_err());
    }
}
