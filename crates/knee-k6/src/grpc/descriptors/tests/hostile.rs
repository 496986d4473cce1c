//! Bytes and texts that were made to break their reader.

use proptest::prelude::*;
use prost::Message as _;
use prost_reflect::prost_types::field_descriptor_proto::{Label, Type};
use prost_reflect::prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto, MessageOptions, MethodDescriptorProto,
    ServiceDescriptorProto,
};

use super::*;

/// Runs on a stack that is as small as that of a virtual user.
fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(512 << 10).spawn(run).unwrap().join().unwrap();
}

#[test]
fn json_within_the_limit_of_depth_is_read_and_written_on_a_small_stack() {
    on_a_small_stack(|| {
        let nested = |depth: usize| {
            format!("{}{}", r#"{"child":"#.repeat(depth), "{}".to_owned() + &"}".repeat(depth))
        };
        let bytes = kinds().encode(nested(MAX_DEPTH).as_bytes()).unwrap();
        assert!(kinds().decode(&bytes, usize::MAX).is_ok());
        let error = refusal(&kinds(), &nested(MAX_DEPTH + 1));
        assert_eq!(error, "proto: exceeded max recursion depth");
    });
}

#[test]
fn deeper_json_is_refused() {
    on_a_small_stack(|| {
        for (start, end) in [
            (r#"{"value":"#, ""),
            (r#"{"structure":{"a":"#, ""),
            (r#"{"child":"#, "}"),
            (r#"{"any":{"@type":"/knee.test.Kinds","any":"#, ""),
        ] {
            let deep = format!("{start}{}{}", "[".repeat(100_000), end);
            assert!(kinds().encode(deep.as_bytes()).is_err());
        }
        let lists = format!(r#"{{"value":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(refusal(&kinds(), &lists), "proto: exceeded max recursion depth");
        let any = r#"{"@type":"/google.protobuf.Any","value":"#;
        let nested = format!(r#"{{"any":{}{{}}{}}}"#, any.repeat(3_000), "}".repeat(3_000));
        assert_eq!(refusal(&kinds(), &nested), "proto: exceeded max recursion depth");
    });
}

/// A field of these bytes.
fn wrapped(tag: &[u8], content: &[u8]) -> Vec<u8> {
    let mut bytes = tag.to_vec();
    prost::encoding::encode_varint(content.len() as u64, &mut bytes);
    bytes.extend_from_slice(content);
    bytes
}

#[test]
fn deeper_bytes_are_refused() {
    on_a_small_stack(|| {
        let mut child = Vec::new();
        for _ in 0..2_000 {
            child = wrapped(&[0x12], &child);
        }
        assert!(matches!(kinds().decode(&child, usize::MAX), Err(DecodeError::Bytes(_))));
        let groups = vec![0x3b; 100_000];
        assert!(method("/knee.test.older.Archive/Find").decode(&groups, usize::MAX).is_err());
        let unknown = [0xfb, 0x07].repeat(100_000);
        assert!(kinds().decode(&unknown, usize::MAX).is_err());
        let mut any = Vec::new();
        for _ in 0..2_000 {
            let kinds = wrapped(&[0xc2, 0x03], &any);
            any = [wrapped(&[0x0a], b"/knee.test.Kinds"), wrapped(&[0x12], &kinds)].concat();
        }
        let error = kinds().decode(&wrapped(&[0xc2, 0x03], &any), usize::MAX).unwrap_err();
        assert_eq!(error.to_string(), "proto: exceeded max recursion depth");
    });
}

#[test]
fn a_length_beyond_the_bytes_is_refused() {
    for length in [&[0x7f][..], &[0xff, 0xff, 0xff, 0xff, 0x0f], &[0xff; 9], &[0xff; 11]] {
        for tag in [&[0x0a][..], &[0xf2, 0x01], &[0xfa, 0x01], &[0xc2, 0x02]] {
            let bytes = [tag, length, b"a"].concat();
            assert!(kinds().decode(&bytes, usize::MAX).is_err(), "{bytes:x?}");
        }
    }
}

#[test]
fn few_bytes_that_need_much_json_are_bounded() {
    let many = [0x1a, 0x00].repeat(10_000);
    let error = kinds().decode(&many, 1 << 20).unwrap_err();
    assert_eq!(error.to_string(), "proto: the message is too large as JSON");
}

/// A server's schema with one message, `M`, and other messages.
fn schema_of_server(package: &str, messages: Vec<DescriptorProto>) -> Result<Loaded, SchemaError> {
    let name = messages[0].name.clone().unwrap();
    let full = format!(".{package}.{name}");
    let method = MethodDescriptorProto {
        name: Some("A".to_owned()),
        input_type: Some(full.clone()),
        output_type: Some(full),
        ..Default::default()
    };
    let service = ServiceDescriptorProto { name: Some("S".to_owned()), method: vec![method], options: None };
    let file = FileDescriptorProto {
        name: Some("a.proto".to_owned()),
        package: Some(package.to_owned()),
        message_type: messages,
        service: vec![service],
        syntax: Some("proto3".to_owned()),
        ..Default::default()
    };
    Loaded::from_files(&[file.encode_to_vec()])
}

fn field(name: &str, number: i32, kind: Type, type_name: Option<&str>, label: Label) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.to_owned()),
        number: Some(number),
        r#type: Some(kind.into()),
        type_name: type_name.map(str::to_owned),
        label: Some(label.into()),
        ..Default::default()
    }
}

#[test]
fn an_entry_of_a_map_needs_a_key_and_a_value() {
    let keys = [None, Some(Type::Double), Some(Type::Bytes)];
    for key in keys {
        let mut fields = vec![field("value", 2, Type::String, None, Label::Optional)];
        fields.extend(key.map(|kind| field("key", 1, kind, None, Label::Optional)));
        let entry = DescriptorProto {
            name: Some("EEntry".to_owned()),
            field: fields,
            options: Some(MessageOptions { map_entry: Some(true), ..Default::default() }),
            ..Default::default()
        };
        let message = DescriptorProto {
            name: Some("M".to_owned()),
            field: vec![field("e", 1, Type::Message, Some(".p.M.EEntry"), Label::Repeated)],
            nested_type: vec![entry],
            ..Default::default()
        };
        let error = schema_of_server("p", vec![message]).unwrap_err().to_string();
        assert_eq!(error, "message \"p.M.EEntry\" is no entry of a map");
    }
}

#[test]
fn redefined_messages_of_google_are_errors() {
    for name in ["Any", "Timestamp", "Duration", "Struct", "ListValue", "Value", "FieldMask", "Int32Value"] {
        let own = format!(".google.protobuf.{name}");
        let shapes = [
            vec![],
            vec![field("value", 1, Type::Message, Some(&own), Label::Optional)],
            vec![field("value", 1, Type::Message, Some(&own), Label::Repeated)],
        ];
        for fields in shapes {
            let message =
                DescriptorProto { name: Some(name.to_owned()), field: fields, ..Default::default() };
            let mut schema = Schema::default();
            schema.add(&schema_of_server("google.protobuf", vec![message]).unwrap());
            let method = schema.method("/google.protobuf.S/A").unwrap();
            for request in ["{}", "[]", "5", "\"1s\"", "\"a\"", "null", r#"{"@type":"x"}"#, "[[[]]]"] {
                let _ = method.encode(request.as_bytes());
            }
            for response in [&b""[..], b"\x0a\x00", b"\x0a\x02\x0a\x00"] {
                let _ = method.decode(response, 1 << 20);
            }
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = kinds().decode(&bytes, 1 << 20);
        let _ = method("/knee.test.older.Archive/Find").decode(&bytes, 1 << 20);
        let _ = Loaded::from_set(&bytes);
        let _ = Loaded::from_files(&[&bytes]);
        let _ = RpcStatus::received(5, "", Some(&bytes)).json(&SCHEMA);
    }

    #[test]
    fn no_text_makes_it_panic(text in r#"[{}\[\]",:\\a-f0-9eE.+\- \nä]{0,60}"#) {
        let _ = kinds().encode(text.as_bytes());
        let _ = kinds().encode(format!(r#"{{"value":{text}}}"#).as_bytes());
    }

    #[test]
    fn a_set_that_was_damaged_does_not_make_it_panic(at in 0_usize..8_000, byte in any::<u8>()) {
        let loaded = compile(&[("older.proto", OLDER)], "older.proto").unwrap();
        let mut bytes = loaded.pool().encode_to_vec();
        let at = at % bytes.len();
        bytes[at] = byte;
        if let Ok(loaded) = Loaded::from_set(&bytes) {
            let mut schema = Schema::default();
            schema.add(&loaded);
            for info in loaded.methods() {
                let method = schema.method(&info.full_method).unwrap();
                let _ = method.encode(br#"{"id":1,"pair":{},"innerByName":{"a":{"name":""}},"packed":[1]}"#);
                let _ = method.decode(&[0x08, 1, 0x2a, 1, 1, 0x52, 2, 0x0a, 0], 1 << 20);
            }
        }
    }
}
