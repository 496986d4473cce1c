//! Encodes pages of options as JSON, with one of two encoders that write the same bytes.
//!
//! Does not parse JSON.

use std::fmt;

use bytes::Bytes;
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};
use serde_json::{Value, json};

use crate::config::switch::Json;
use crate::metric::Metrics;
use crate::options::{Choice, Page, PageRequest};

/// The encoder of a process.
pub struct Encoder {
    json: Json,
    metrics: Metrics,
}

impl Encoder {
    /// Configured by the switch.
    pub fn new(json: Json, metrics: Metrics) -> Self {
        Self { json, metrics }
    }

    /// A page as JSON, in the published envelope.
    pub fn page(&self, request: &PageRequest, page: &Page) -> Bytes {
        let envelope = Envelope { page, next: next(request, page), prev: prev(request) };
        match self.json {
            Json::Fast => text(&envelope, 128 + 80 * page.choices.len()),
            Json::Standard => {
                let tree = envelope.tree();
                self.metrics.nodes.inc_by(nodes(&tree));
                text(&tree, 0)
            }
        }
    }
}

/// Path of the next page; empty on the last page.
fn next(request: &PageRequest, page: &Page) -> String {
    let shown = i64::from(request.offset) + page.choices.len() as i64;
    let has_more = match page.count {
        Some(count) => shown < count && !page.choices.is_empty(),
        // Without a count, a page that is not full is the last.
        None => page.choices.len() == request.limit as usize,
    };
    if has_more { request.next().path() } else { String::new() }
}

fn prev(request: &PageRequest) -> String {
    request.prev().map(|request| request.path()).unwrap_or_default()
}

fn text(value: &impl Serialize, capacity: usize) -> Bytes {
    let mut bytes = Vec::with_capacity(capacity);
    // Writing to memory fails only for maps with non-string keys, and there are none.
    let _ = serde_json::to_writer(&mut bytes, value);
    bytes.into()
}

struct Envelope<'a> {
    page: &'a Page,
    next: String,
    prev: String,
}

impl Envelope<'_> {
    /// As a tree of values, with fields in alphabetical order.
    fn tree(&self) -> Value {
        let result = |choice: &Choice| json!({"label": Label(choice).to_string(), "value": choice.id});
        let results: Vec<Value> = self.page.choices.iter().map(result).collect();
        json!({"count": self.page.count, "next": self.next, "prev": self.prev, "results": results})
    }
}

fn nodes(tree: &Value) -> u64 {
    1 + match tree {
        Value::Array(values) => values.iter().map(nodes).sum(),
        Value::Object(fields) => fields.values().map(nodes).sum(),
        _ => 0,
    }
}

impl Serialize for Envelope<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Envelope", 4)?;
        fields.serialize_field("count", &self.page.count)?;
        fields.serialize_field("next", &self.next)?;
        fields.serialize_field("prev", &self.prev)?;
        fields.serialize_field("results", &self.page.choices)?;
        fields.end()
    }
}

impl Serialize for Choice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Choice", 2)?;
        fields.serialize_field("label", &Label(self))?;
        fields.serialize_field("value", &self.id)?;
        fields.end()
    }
}

/// The display name of a worker.
struct Label<'a>(&'a Choice);

impl fmt::Display for Label<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0.first_name, self.0.last_name)
    }
}

impl Serialize for Label<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::session::Tenant;

    fn request(text: &str) -> PageRequest {
        PageRequest::read(Tenant { organization: "org".into(), business_unit: "bu".into() }, text).unwrap()
    }

    fn page(names: &[(String, String)], count: Option<i64>) -> Page {
        let choice = |(first, last): &(String, String)| Choice {
            id: "wrk_1".to_owned(),
            first_name: first.clone(),
            last_name: last.clone(),
        };
        Page { choices: names.iter().map(choice).collect(), count }
    }

    fn parsed(json: Json, request: &PageRequest, page: &Page) -> Value {
        serde_json::from_slice(&Encoder::new(json, Metrics::default()).page(request, page)).unwrap()
    }

    #[test]
    fn a_page_links_to_the_next_and_the_previous() {
        let names = vec![("Ann".to_owned(), "Lee".to_owned()); 10];
        let first = parsed(Json::Fast, &request(""), &page(&names, Some(25)));
        assert_eq!(first["next"], "/api/v1/workers/select-options?limit=10&offset=10");
        assert_eq!((&first["prev"], &first["count"]), (&json!(""), &json!(25)));
        assert_eq!(first["results"][0], json!({"value": "wrk_1", "label": "Ann Lee"}));
        let last = parsed(Json::Fast, &request("offset=20&query=ann"), &page(&names[..5], Some(25)));
        assert_eq!(last["next"], "");
        assert_eq!(last["prev"], "/api/v1/workers/select-options?query=ann&limit=10&offset=10");
        let uncounted = parsed(Json::Fast, &request(""), &page(&names, None));
        assert_eq!(
            (&uncounted["count"], uncounted["next"].as_str().unwrap().is_empty()),
            (&Value::Null, false)
        );
    }

    #[test]
    fn only_the_standard_encoder_builds_trees() {
        for (json, nodes) in [(Json::Fast, 0), (Json::Standard, 5 + 3 * 2)] {
            let metrics = Metrics::default();
            let names = vec![("Ann".to_owned(), "Lee".to_owned()); 2];
            Encoder::new(json, metrics.clone()).page(&request(""), &page(&names, Some(2)));
            assert_eq!(metrics.nodes.get(), nodes);
        }
    }

    proptest! {
        #[test]
        fn both_encoders_write_the_same_bytes(names in prop::collection::vec((".{0,20}", ".{0,20}"), 0..5), count in 0..9_i64) {
            let (request, page) = (request("limit=3"), page(&names, Some(count)));
            let bytes = |json| Encoder::new(json, Metrics::default()).page(&request, &page);
            prop_assert_eq!(bytes(Json::Fast), bytes(Json::Standard));
            let label = parsed(Json::Fast, &request, &page)["results"][0]["label"].clone();
            if let Some((first, last)) = names.first() {
                prop_assert_eq!(label, format!("{first} {last}"));
            }
        }
    }
}
