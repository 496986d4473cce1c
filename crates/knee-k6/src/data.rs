//! Data that all VUs share: one copy, however many VUs look at it.
//!
//! Knows no JavaScript; `module/data.rs` shows elements to scripts, each parsed when it is asked for.

/// The elements of a shared array: their JSON, end to end.
#[derive(Debug, Default)]
pub struct Elements {
    text: String,
    ends: Vec<usize>,
}

impl Elements {
    /// Adds the JSON of one more element.
    pub fn push(&mut self, json: &str) {
        self.text.push_str(json);
        self.ends.push(self.text.len());
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        self.text.len() + self.ends.len() * size_of::<usize>()
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The JSON of one element.
    pub fn get(&self, place: usize) -> Option<&str> {
        let end = *self.ends.get(place)?;
        let from = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.text[from..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_come_back_one_by_one() {
        let mut elements = Elements::default();
        for json in ["{\"a\":1}", "2", "\"x\""] {
            elements.push(json);
        }
        assert_eq!(
            (elements.get(0), elements.get(2), elements.get(3)),
            (Some("{\"a\":1}"), Some("\"x\""), None)
        );
        assert_eq!(elements.len(), 3);
    }
}
