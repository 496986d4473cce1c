//! Random messages keep all that they have on their way to JSON and back.

use proptest::prelude::*;
use prost::Message as _;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, Value as Field};
use rand::SeedableRng as _;
use rand::rngs::StdRng;

use super::*;

/// How deep messages are inside of messages.
const DEPTH: usize = 4;

/// Makes messages from random numbers.
struct Maker {
    random: StdRng,
}

impl Maker {
    fn message(&mut self, descriptor: &MessageDescriptor, depth: usize) -> DynamicMessage {
        let mut message = DynamicMessage::new(descriptor.clone());
        if self.known(&mut message, depth) {
            return message;
        }
        for field in descriptor.fields() {
            // A value that is absent is `null` in JSON, which is a value.
            let must_be = field.is_required() || is_value(&field.kind());
            if !must_be && !self.random.random_bool(0.3) {
                continue;
            }
            if let Some(value) = self.field(&field, depth) {
                message.set_field(&field, value);
            }
        }
        for extension in descriptor.extensions() {
            let values: Vec<Field> = (0..2).filter_map(|_| self.single(&extension.kind(), depth)).collect();
            let value = if extension.is_list() { Field::List(values) } else { values[0].clone() };
            message.set_extension(&extension, value);
        }
        message
    }

    /// Fills messages that cannot have any value in any field.
    fn known(&mut self, message: &mut DynamicMessage, depth: usize) -> bool {
        use prost_reflect::ReflectMessage as _;
        let values = match message.descriptor().full_name() {
            "google.protobuf.Timestamp" => {
                let seconds = self.random.random_range(-62_135_596_800_i64..=253_402_300_799);
                vec![Field::I64(seconds), Field::I32(self.nanos())]
            }
            "google.protobuf.Duration" => {
                let sign = if self.random.random() { 1 } else { -1 };
                let seconds = self.random.random_range(0..=315_576_000_000_i64);
                vec![Field::I64(seconds * sign), Field::I32(self.nanos() * sign as i32)]
            }
            "google.protobuf.FieldMask" => {
                let paths = ["a", "foo_bar", "foo.bar_baz.q", "x1_y"];
                let paths = paths.into_iter().filter(|_| self.random.random());
                vec![Field::List(paths.map(|path| Field::String(path.to_owned())).collect())]
            }
            "google.protobuf.Any" => {
                let pool = message.descriptor().parent_pool().clone();
                let name = ["knee.test.Scalars", "google.protobuf.Timestamp"][self.random.random_range(0..2)];
                let content = self.message(&pool.get_message_by_name(name).unwrap(), depth);
                vec![Field::String(format!("t/{name}")), Field::Bytes(content.encode_to_vec().into())]
            }
            "google.protobuf.Value" => {
                let number = self.random.random_range(1..=if depth > DEPTH { 4 } else { 6 });
                let field = message.descriptor().get_field(number).unwrap();
                let value = self.field(&field, depth).unwrap_or(Field::EnumNumber(0));
                let null = message.descriptor().get_field(1).unwrap();
                let field = if value.is_valid_for_field(&field) { field } else { null };
                message.set_field(&field, value);
                return true;
            }
            _ => return false,
        };
        for (place, value) in values.into_iter().enumerate() {
            message.set_field_by_number(place as u32 + 1, value);
        }
        true
    }

    fn nanos(&mut self) -> i32 {
        let step = [1, 1_000, 1_000_000, 1_000_000_000][self.random.random_range(0..4)];
        self.random.random_range(0..1_000_000_000) / step * step
    }

    fn field(&mut self, field: &FieldDescriptor, depth: usize) -> Option<Field> {
        let count = self.random.random_range(0..4);
        if field.is_list() {
            return Some(Field::List((0..count).filter_map(|_| self.single(&field.kind(), depth)).collect()));
        }
        if !field.is_map() {
            return self.single(&field.kind(), depth);
        }
        let entry = field.kind().as_message().cloned()?;
        let (key, value) = (entry.map_entry_key_field(), entry.map_entry_value_field());
        let entries =
            (0..count).filter_map(|_| Some((self.key(&key.kind())?, self.single(&value.kind(), depth)?)));
        Some(Field::Map(entries.collect()))
    }

    fn key(&mut self, kind: &Kind) -> Option<MapKey> {
        self.single(kind, 0)?.into_map_key()
    }

    /// One value; `None` for messages that would be too deep.
    fn single(&mut self, kind: &Kind, depth: usize) -> Option<Field> {
        let random = &mut self.random;
        Some(match kind {
            Kind::Bool => Field::Bool(random.random()),
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Field::I32(random.random()),
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Field::I64(random.random()),
            Kind::Uint32 | Kind::Fixed32 => Field::U32(random.random()),
            Kind::Uint64 | Kind::Fixed64 => Field::U64(random.random()),
            Kind::Float => Field::F32(Some(f32::from_bits(random.random())).filter(|n| n.is_finite())?),
            Kind::Double => Field::F64(Some(f64::from_bits(random.random())).filter(|n| n.is_finite())?),
            Kind::String => Field::String(self.text()),
            Kind::Bytes => {
                let length = random.random_range(0..8);
                Field::Bytes((0..length).map(|_| random.random::<u8>()).collect::<Vec<_>>().into())
            }
            Kind::Enum(descriptor) if descriptor.full_name() == "google.protobuf.NullValue" => {
                Field::EnumNumber(0)
            }
            Kind::Enum(_) => Field::EnumNumber(random.random_range(-6..9)),
            Kind::Message(_) if depth > DEPTH && !is_value(kind) => return None,
            Kind::Message(descriptor) => Field::Message(self.message(descriptor, depth + 1)),
        })
    }

    fn text(&mut self) -> String {
        let length = self.random.random_range(0..6);
        let highest = [0x80, 0x800, 0x11_0000][self.random.random_range(0..3)];
        (0..length).filter_map(|_| char::from_u32(self.random.random_range(0..highest))).collect()
    }
}

fn is_value(kind: &Kind) -> bool {
    kind.as_message().is_some_and(|message| message.full_name() == "google.protobuf.Value")
}

/// A message of the input of a method goes to JSON and back.
fn is_kept(file: (&str, &str), message: &str, method_path: &str, seed: u64) {
    let pool = compile(&[file], file.0).unwrap().pool().clone();
    let descriptor = pool.get_message_by_name(message).unwrap();
    let mut maker = Maker { random: StdRng::seed_from_u64(seed) };
    let bytes = maker.message(&descriptor, 0).encode_to_vec();
    let method = method(method_path);
    let text = method.decode(&bytes, usize::MAX).unwrap();
    let again = method.encode(text.as_bytes()).unwrap();
    let read = |bytes: &[u8]| DynamicMessage::decode(descriptor.clone(), bytes).unwrap();
    // Not `assert_eq!`: the debug form of messages whose types contain themselves does not end.
    assert!(read(&again) == read(&bytes), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn messages_of_all_kinds_are_kept(seed in any::<u64>()) {
        is_kept(("kinds.proto", KINDS), "knee.test.Kinds", "/knee.test.Echo/Kinds", seed);
    }

    #[test]
    fn messages_of_the_older_syntax_are_kept(seed in any::<u64>()) {
        is_kept(("older.proto", OLDER), "knee.test.older.Older", "/knee.test.older.Archive/Find", seed);
    }
}
