//! What loads give, and how they add up.

use prost::Message as _;
use prost_reflect::prost_types::{FileDescriptorProto, FileDescriptorSet};

use super::*;

/// The files of a load, as a set of descriptors has them.
fn descriptors(loaded: &Loaded) -> Vec<FileDescriptorProto> {
    loaded.pool().file_descriptor_protos().cloned().collect()
}

fn set(file: Vec<FileDescriptorProto>) -> Vec<u8> {
    FileDescriptorSet { file }.encode_to_vec()
}

#[test]
fn a_load_lists_its_methods() {
    let loaded = compile(&[("kinds.proto", KINDS)], "kinds.proto").unwrap();
    let names: Vec<&str> = loaded.methods().iter().map(|method| &*method.full_method).collect();
    assert_eq!(
        names,
        [
            "/knee.test.Echo/Kinds",
            "/knee.test.Echo/Value",
            "/knee.test.Echo/Watch",
            "/knee.test.Echo/Upload",
            "/knee.test.Echo/Chat"
        ]
    );
    assert_eq!(
        loaded.methods()[2],
        MethodInfo {
            package: "knee.test".to_owned(),
            service: "Echo".to_owned(),
            full_method: "/knee.test.Echo/Watch".to_owned(),
            name: "Watch".to_owned(),
            is_client_stream: false,
            is_server_stream: true,
        }
    );
}

#[test]
fn a_method_is_found_with_and_without_its_first_slash() {
    for path in ["/knee.test.Echo/Upload", "knee.test.Echo/Upload"] {
        let upload = method(path);
        assert_eq!(upload.path(), "/knee.test.Echo/Upload");
        assert_eq!((upload.service(), upload.name()), ("knee.test.Echo", "Upload"));
        assert!(upload.is_client_stream() && !upload.is_server_stream());
    }
    assert!(SCHEMA.method("/knee.test.Echo/Missing").is_none());
    assert!(SCHEMA.method("").is_none());
}

#[test]
fn imported_files_are_found_along_the_import_paths() {
    let main = r#"syntax = "proto3"; import "sub/part.proto"; import "google/protobuf/empty.proto";
        service S { rpc M(part.P) returns (google.protobuf.Empty); }"#;
    let part = r#"syntax = "proto3"; package part; message P { string text = 1; }
        service T { rpc N(P) returns (P); }"#;
    let files = [("/b/main.proto", main), ("/a/sub/part.proto", part)];
    let read = |path: &str| match files.iter().find(|(name, _)| *name == path) {
        Some((_, text)) => Ok(text.as_bytes().to_vec()),
        None => Err(io::ErrorKind::NotFound.into()),
    };
    let paths = ["/a".to_owned(), "/b/".to_owned()];
    let loaded = Loaded::compile(&paths, &["./main.proto".to_owned()], &read).unwrap();
    let mut names: Vec<&str> = loaded.methods().iter().map(|method| &*method.full_method).collect();
    names.sort_unstable();
    assert_eq!(names, ["/S/M", "/part.T/N"]);
}

#[test]
fn the_parent_folder_can_have_the_file() {
    let read = |path: &str| match path {
        "/tests/one.proto" => {
            Ok(br#"syntax = "proto3"; message M {} service S { rpc A(M) returns (M); }"#.to_vec())
        }
        _ => Err(io::ErrorKind::NotFound.into()),
    };
    let loaded = Loaded::compile(&["/tests/k6".to_owned()], &["../one.proto".to_owned()], &read).unwrap();
    assert_eq!(loaded.methods().len(), 1);
}

#[test]
fn a_refused_file_is_not_looked_for_elsewhere() {
    let read = |_: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, "outside of the folder"));
    let error =
        Loaded::compile(&["a".to_owned(), "b".to_owned()], &["x.proto".to_owned()], &read).unwrap_err();
    assert_eq!(
        error,
        SchemaError::Unreadable { file: "x.proto".to_owned(), reason: "outside of the folder".to_owned() }
    );
}

#[test]
fn mistakes_in_sources_are_reported_with_their_place() {
    let broken = [
        ("syntax = \"proto3\";\nmessage M {\n  string text 1;\n}", "a.proto:3:15:"),
        ("syntax = \"proto3\";\nmessage M {\n  Missing m = 1;\n}", "a.proto:3:3:"),
        ("syntax = \"proto3\";\nimport \"b.proto\";", "a.proto:2:1:"),
    ];
    for (source, place) in broken {
        let error = compile(&[("a.proto", source)], "a.proto").unwrap_err().to_string();
        assert!(error.starts_with(place), "{error}");
    }
    let missing = compile(&[], "missing.proto").unwrap_err().to_string();
    assert_eq!(missing, "missing.proto: no such file or directory");
}

#[test]
fn files_that_import_each_other_are_refused() {
    let files = [
        ("a.proto", "syntax = \"proto3\"; import \"b.proto\";"),
        ("b.proto", "syntax = \"proto3\"; import \"a.proto\";"),
    ];
    let error = compile(&files, "a.proto").unwrap_err().to_string();
    assert!(error.contains("cycle"), "{error}");
}

#[test]
fn loads_with_the_same_names_do_not_conflict() {
    let source = |fields: &str| {
        format!("syntax = \"proto3\"; message M {{ {fields} }} service S {{ rpc A(M) returns (M); }}")
    };
    let mut schema = Schema::default();
    for (fields, request) in
        [("string text = 1;", r#"{"text":"a"}"#), ("int32 number = 1;", r#"{"number":7}"#)]
    {
        schema.add(&compile(&[("a.proto", &source(fields))], "a.proto").unwrap());
        let method = schema.method("/S/A").unwrap();
        let bytes = method.encode(request.as_bytes()).unwrap();
        assert_eq!(method.decode(&bytes, usize::MAX).unwrap(), request, "the last load counts");
    }
}

#[test]
fn a_method_keeps_its_definition_when_more_is_loaded() {
    let mut schema = SCHEMA.clone();
    let before = schema.method("/knee.test.Echo/Watch").unwrap();
    schema.add(&compile(&[("older.proto", OLDER)], "older.proto").unwrap());
    assert!(before.encode(br#"{"aBool":true}"#).is_ok());
    assert!(schema.method("/knee.test.Echo/Watch").is_some());
}

#[test]
fn a_set_of_descriptors_is_as_good_as_sources() {
    let compiled = compile(&[("kinds.proto", KINDS)], "kinds.proto").unwrap();
    let mut files = descriptors(&compiled);
    files.reverse();
    let loaded = Loaded::from_set(&set(files)).unwrap();
    assert_eq!(loaded.methods(), compiled.methods());
}

#[test]
fn a_set_that_is_not_whole_is_refused() {
    let mut files = descriptors(&compile(&[("kinds.proto", KINDS)], "kinds.proto").unwrap());
    let twice = [files.clone(), vec![files[0].clone()]].concat();
    let error = Loaded::from_set(&set(twice)).unwrap_err().to_string();
    assert!(error.starts_with("file appears multiple times: \"google/protobuf/"), "{error}");
    files.retain(|file| file.name() != "google/protobuf/any.proto");
    assert!(matches!(Loaded::from_set(&set(files)), Err(SchemaError::Descriptor(_))));
    assert!(matches!(Loaded::from_set(b"\xff"), Err(SchemaError::Bytes(_))));
}

#[test]
fn a_server_can_leave_out_what_is_built_in_or_not_needed() {
    let source = r#"syntax = "proto3"; import "unused.proto"; import "google/protobuf/timestamp.proto";
        message M { google.protobuf.Timestamp at = 1; } service S { rpc A(M) returns (M); }"#;
    let unused = r#"syntax = "proto3"; message U {}"#;
    let files = [("a.proto", source), ("unused.proto", unused)];
    let mut files = descriptors(&compile(&files, "a.proto").unwrap());
    files.retain(|file| file.name() == "a.proto");
    let bytes: Vec<Vec<u8>> = files.iter().map(prost::Message::encode_to_vec).collect();
    let loaded = Loaded::from_files(&[&bytes[0], &bytes[0]]).unwrap();
    assert_eq!(loaded.methods()[0].full_method, "/S/A");
}

#[test]
fn a_server_that_leaves_out_what_is_needed_is_an_error() {
    let files = [
        ("a.proto", r#"syntax = "proto3"; import "b.proto"; message M { B b = 1; }"#),
        ("b.proto", r#"syntax = "proto3"; message B {}"#),
    ];
    let mut files = descriptors(&compile(&files, "a.proto").unwrap());
    files.retain(|file| file.name() == "a.proto");
    let error = Loaded::from_files(&[files[0].encode_to_vec()]).unwrap_err().to_string();
    assert!(error.contains("'.B' is not defined"), "{error}");
}

#[test]
fn schemas_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + Clone>() {}
    shared::<Loaded>();
    shared::<Schema>();
    shared::<Method>();
}

#[test]
fn types_that_contain_themselves_have_a_debug_form() {
    let loaded = compile(&[("kinds.proto", KINDS)], "kinds.proto").unwrap();
    assert!(format!("{loaded:?} {:?}", *SCHEMA).contains("/knee.test.Echo/Kinds"));
    assert_eq!(format!("{:?}", kinds()), r#"Method("/knee.test.Echo/Kinds")"#);
}
