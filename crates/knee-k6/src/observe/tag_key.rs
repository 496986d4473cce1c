//! Bytes that stand for a set of tags, compared with those of the set before while they are made.
//!
//! Most samples have the tags of an earlier one of their kind, so most keys are never written: each piece is compared in
//! place. Does not know what the pieces are.

/// Whether two short texts are the same. Most names have few bytes, for which a call takes longer than the comparison.
#[inline]
pub fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let (mut words, mut others) = (one.chunks_exact(8), other.chunks_exact(8));
    words.by_ref().zip(others.by_ref()).all(|(word, other)| number(word) == number(other))
        && words.remainder().iter().zip(others.remainder()).all(|(byte, other)| byte == other)
}

/// Eight bytes as a number.
#[inline]
fn number(bytes: &[u8]) -> Option<u64> {
    bytes.try_into().ok().map(u64::from_le_bytes)
}

/// The key of a set of tags.
#[derive(Debug, Default)]
pub struct TagKey {
    /// The key that this one is compared with.
    known: Vec<u8>,
    /// How much of `known` is the same so far.
    same: usize,
    /// The key from its beginning, if it is another one.
    other: Option<Vec<u8>>,
}

impl TagKey {
    /// Begins a key that is compared with this one.
    pub fn begin(&mut self, known: Vec<u8>) {
        *self = Self { known, same: 0, other: None };
    }

    /// Appends bytes whose number is always the same at this place.
    #[inline]
    pub fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        let end = self.same + N;
        if self.other.is_none() && self.known.get(self.same..end).is_some_and(|known| known == bytes) {
            self.same = end;
        } else {
            self.write(&bytes);
        }
    }

    /// Appends a text with its length, so that no other texts have the same bytes.
    #[inline]
    pub fn text(&mut self, text: &str) {
        self.put((text.len() as u32).to_le_bytes());
        if text.is_empty() {
            return;
        }
        let end = self.same + text.len();
        let known = self.known.get(self.same..end);
        if self.other.is_none() && known.is_some_and(|known| is_same(known, text.as_bytes())) {
            self.same = end;
        } else {
            self.write(text.as_bytes());
        }
    }

    /// Appends pairs of texts, with their number.
    pub fn pairs(&mut self, pairs: &[(String, String)]) {
        self.put((pairs.len() as u32).to_le_bytes());
        for (name, value) in pairs {
            self.text(name);
            self.text(value);
        }
    }

    #[cold]
    fn write(&mut self, bytes: &[u8]) {
        let same = &self.known[..self.same];
        self.other.get_or_insert_with(|| same.to_vec()).extend_from_slice(bytes);
    }

    /// The key, and whether it is the one that it was compared with.
    pub fn end(&mut self) -> (Vec<u8>, bool) {
        let known = std::mem::take(&mut self.known);
        match self.other.take() {
            Some(other) => (other, false),
            None if self.same == known.len() => (known, true),
            None => (known[..self.same].to_vec(), false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(known: &[u8], texts: &[&str]) -> (Vec<u8>, bool) {
        let mut key = TagKey::default();
        key.begin(known.to_vec());
        for text in texts {
            key.text(text);
        }
        key.put([7]);
        key.end()
    }

    #[test]
    fn texts_of_any_length_are_the_same_only_if_all_their_bytes_are() {
        let text: Vec<u8> = (0..40).collect();
        for length in 0..text.len() {
            let one = &text[..length];
            assert!(is_same(one, one) && !is_same(one, &text[..=length]));
            for place in 0..length {
                let mut other = one.to_vec();
                other[place] ^= 1;
                assert!(!is_same(one, &other), "{length}, {place}");
            }
        }
    }

    #[test]
    fn a_key_is_the_same_whatever_it_is_compared_with() {
        let sets: [&[&str]; 6] = [&["a", "bc"], &["ab", "c"], &["a"], &["a", "bc", ""], &[], &["", "a"]];
        let keys = sets.map(|texts| key(b"", texts).0);
        for (known, before) in keys.iter().enumerate() {
            for (place, texts) in sets.iter().enumerate() {
                assert_eq!(key(before, texts), (keys[place].clone(), known == place), "{texts:?}");
            }
        }
    }
}
