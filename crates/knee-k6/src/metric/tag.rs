//! The tags of a sample.
//!
//! Does not filter by them; see [`super::key`].

use std::collections::BTreeMap;
use std::sync::Arc;

/// The tags of a sample, however its maker keeps them.
pub trait Tags {
    /// The value of the tag `name`.
    fn tag(&self, name: &str) -> Option<&str>;
}

/// No tags at all.
impl Tags for () {
    fn tag(&self, _name: &str) -> Option<&str> {
        None
    }
}

/// A set of tags that is cheap to clone; outputs and tests use it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagSet(BTreeMap<Arc<str>, Arc<str>>);

impl TagSet {
    /// Sets one tag, replacing its former value.
    pub fn set(&mut self, name: impl Into<Arc<str>>, value: impl Into<Arc<str>>) {
        self.0.insert(name.into(), value.into());
    }

    /// Name and value of every tag, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }
}

impl Tags for TagSet {
    fn tag(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| &**value)
    }
}

impl<N: Into<Arc<str>>, V: Into<Arc<str>>> FromIterator<(N, V)> for TagSet {
    fn from_iter<T: IntoIterator<Item = (N, V)>>(pairs: T) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}
