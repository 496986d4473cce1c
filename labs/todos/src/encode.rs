//! Encoding of todos: JSON by one of two encoders that write the same bytes, and protobuf.
//!
//! Does not parse requests; [`crate::todo`] and [`crate::grpc`] do.

use bytes::Bytes;
use jiff::civil::DateTime;
use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};

use crate::config::{Json, Switches};
use crate::interpreter::Interpreter;
use crate::metric::Metrics;
use crate::todo::Todo;

pub mod protobuf;

/// Encoding of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For HTTP routes.
    Json,
    /// For gRPC.
    Protobuf,
}

/// A todo in every format that this process serves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Encoded {
    /// An object.
    pub json: Bytes,
    /// A message; empty if this process does not serve gRPC.
    pub protobuf: Bytes,
}

/// Work of an encoder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Number of intermediate tree nodes.
    pub nodes: u64,
}

/// The encoder of a process, with the simulated cost of an interpreter.
#[derive(Debug)]
pub struct Encoder {
    json: Json,
    serves_grpc: bool,
    interpreter: Interpreter,
    metrics: Metrics,
}

impl Encoder {
    /// An encoder for the switches. Todos for several readers get both formats only if the process `serves_grpc`.
    pub fn new(switches: &Switches, serves_grpc: bool, metrics: Metrics) -> Self {
        let interpreter = Interpreter::new(switches.row_cost, switches.runtime_lock, metrics.clone());
        Self { json: switches.json, serves_grpc, interpreter, metrics }
    }

    /// A list as an array or a message.
    pub fn list(&self, todos: &[Todo], format: Format) -> Bytes {
        self.run_counted(todos.len(), || match format {
            Format::Json => list(self.json, todos),
            Format::Protobuf => (protobuf::list(todos), Stats::default()),
        })
    }

    /// One todo as an object or a message.
    pub fn one(&self, todo: &Todo, format: Format) -> Bytes {
        self.run_counted(1, || match format {
            Format::Json => one(self.json, todo),
            Format::Protobuf => (protobuf::one(todo), Stats::default()),
        })
    }

    /// One todo in every format that is served.
    pub fn in_all_formats(&self, todo: &Todo) -> Encoded {
        let (encoded, stats) = self.interpreter.run(1, || self.encode(todo));
        self.metrics.nodes.inc_by(stats.nodes);
        encoded
    }

    /// The todos of a list, encoded one by one in every format that is served.
    pub fn each(&self, todos: &[Todo]) -> Vec<Encoded> {
        self.interpreter.run(todos.len(), || {
            let (encoded, stats): (Vec<Encoded>, Vec<Stats>) =
                todos.iter().map(|todo| self.encode(todo)).unzip();
            self.metrics.nodes.inc_by(stats.iter().map(|stats| stats.nodes).sum());
            encoded
        })
    }

    fn encode(&self, todo: &Todo) -> (Encoded, Stats) {
        let (json, stats) = one(self.json, todo);
        let protobuf = if self.serves_grpc { protobuf::one(todo) } else { Bytes::new() };
        (Encoded { json, protobuf }, stats)
    }

    /// An encoded body, at the cost of a request without rows.
    pub fn cached(&self, text: Bytes) -> Bytes {
        self.run_counted(0, || (text, Stats::default()))
    }

    fn run_counted(&self, rows: usize, encode: impl FnOnce() -> (Bytes, Stats)) -> Bytes {
        let (bytes, stats) = self.interpreter.run(rows, encode);
        self.metrics.nodes.inc_by(stats.nodes);
        bytes
    }
}

impl Encoded {
    /// The todo in one format.
    pub fn get(&self, format: Format) -> &Bytes {
        match format {
            Format::Json => &self.json,
            Format::Protobuf => &self.protobuf,
        }
    }
}

/// A list as an array.
pub fn list(json: Json, todos: &[Todo]) -> (Bytes, Stats) {
    match json {
        Json::Fast => (text(&Items(todos), 160 * todos.len() + 2), Stats::default()),
        Json::Standard => {
            let trees: Vec<Tree> = todos.iter().map(Tree::of).collect();
            let nodes = trees.iter().map(Tree::nodes).sum();
            (text(&trees, 0), Stats { nodes })
        }
    }
}

/// One todo as an object.
pub fn one(json: Json, todo: &Todo) -> (Bytes, Stats) {
    match json {
        Json::Fast => (text(todo, 160), Stats::default()),
        Json::Standard => {
            let tree = Tree::of(todo);
            let nodes = tree.nodes();
            (text(&tree, 0), Stats { nodes })
        }
    }
}

fn text(value: &impl Serialize, room: usize) -> Bytes {
    let mut bytes = Vec::with_capacity(room);
    // Writing to memory fails only for maps with keys that are not strings; there are none.
    let _ = serde_json::to_writer(&mut bytes, value);
    bytes.into()
}

struct Items<'a>(&'a [Todo]);

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0)
    }
}

impl Serialize for Todo {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Todo", 6)?;
        fields.serialize_field("id", &self.id)?;
        fields.serialize_field("name", &self.name)?;
        fields.serialize_field("description", &self.description)?;
        fields.serialize_field("done", &self.done)?;
        fields.serialize_field("created_at", &Timestamp(self.created_at))?;
        fields.serialize_field("updated_at", &self.updated_at.map(Timestamp))?;
        fields.end()
    }
}

/// A time as `2020-07-01T12:34:56.123456`: always 26 characters.
struct Timestamp(DateTime);

impl Timestamp {
    fn text(&self) -> [u8; 26] {
        let time = self.0;
        let mut text = *b"0000-00-00T00:00:00.000000";
        let mut put = |from: usize, digits: usize, mut value: u32| {
            for place in (from..from + digits).rev() {
                text[place] = b'0' + (value % 10) as u8;
                value /= 10;
            }
        };
        put(0, 4, time.year().unsigned_abs().into());
        put(5, 2, time.month().unsigned_abs().into());
        put(8, 2, time.day().unsigned_abs().into());
        put(11, 2, time.hour().unsigned_abs().into());
        put(14, 2, time.minute().unsigned_abs().into());
        put(17, 2, time.second().unsigned_abs().into());
        put(20, 6, time.subsec_nanosecond().unsigned_abs() / 1000);
        text
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(std::str::from_utf8(&self.text()).unwrap_or_default())
    }
}

/// The intermediate form of a dynamic language: a map of names and values per row.
struct Tree(Vec<(String, Node)>);

enum Node {
    Number(i64),
    Text(String),
    Bool(bool),
    Null,
}

impl Tree {
    fn of(todo: &Todo) -> Self {
        let time = |time: DateTime| Node::Text(time.strftime("%Y-%m-%dT%H:%M:%S%.6f").to_string());
        let fields = [
            ("id", Node::Number(todo.id.into())),
            ("name", Node::Text(todo.name.clone())),
            ("description", Node::Text(todo.description.clone())),
            ("done", Node::Bool(todo.done)),
            ("created_at", time(todo.created_at)),
            ("updated_at", todo.updated_at.map_or(Node::Null, time)),
        ];
        Self(fields.into_iter().map(|(name, node)| (name.to_owned(), node)).collect())
    }

    fn nodes(&self) -> u64 {
        self.0.len() as u64
    }
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(Some(self.0.len()))?;
        for (name, node) in &self.0 {
            fields.serialize_entry(name, node)?;
        }
        fields.end()
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_i64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Null => serializer.serialize_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn todo(id: i32, text: &str, micros: i32, updated: bool) -> Todo {
        let time = DateTime::constant(2020, 7, 1, 12, 34, 56, micros * 1000);
        Todo {
            id,
            name: text.to_owned(),
            description: text.chars().rev().collect(),
            done: updated,
            created_at: time,
            updated_at: updated.then_some(time),
        }
    }

    #[test]
    fn a_seeded_todo_has_the_published_size() {
        let mut item = todo(1234, "United todo", 5, false);
        item.description = "fourteen chars".to_owned();
        let (bytes, _) = one(Json::Fast, &item);
        assert_eq!(bytes.len(), 136, "{}", String::from_utf8_lossy(&bytes));
        let five = Todo { id: 12_345, ..item };
        let list_of_200 = list(Json::Fast, &vec![five; 200]).0;
        assert_eq!(list_of_200.len(), 27_601);
    }

    #[test]
    fn only_the_standard_encoder_builds_trees() {
        let todos = vec![todo(1, "a", 0, true); 3];
        assert_eq!(list(Json::Fast, &todos).1, Stats { nodes: 0 });
        assert_eq!(list(Json::Standard, &todos).1, Stats { nodes: 18 });
    }

    proptest! {
        #[test]
        fn both_encoders_write_the_same_bytes_and_they_are_json(
            items in prop::collection::vec((any::<i32>(), ".{0,20}", 0..1_000_000_i32, any::<bool>()), 0..5)
        ) {
            let todos: Vec<Todo> = items.iter().map(|(id, text, at, updated)| todo(*id, text, *at, *updated)).collect();
            let (fast, standard) = (list(Json::Fast, &todos).0, list(Json::Standard, &todos).0);
            prop_assert_eq!(&fast, &standard);
            let parsed: serde_json::Value = serde_json::from_slice(&fast).unwrap();
            prop_assert_eq!(parsed.as_array().unwrap().len(), todos.len());
            for todo in &todos {
                prop_assert_eq!(one(Json::Fast, todo).0, one(Json::Standard, todo).0);
            }
        }
    }
}
