//! Any bytes as what a gRPC server sends: frames in pieces whose sizes the input decides, their messages as protobuf, and
//! a status in header fields.
//!
//! Looks for panics, for messages that depend on the pieces, and for messages whose JSON does not lead back to them.

#![no_main]

use std::io;
use std::sync::LazyLock;

use knee_k6::grpc::descriptors::{Loaded, Method, Schema};
use knee_k6::grpc::frame::Assembler;
use knee_k6::grpc::metadata;
use knee_k6::grpc::status::Status;
use libfuzzer_sys::fuzz_target;

/// Most bytes of a message here.
const MESSAGE_MAX: usize = 64 << 10;
/// Most bytes of its JSON.
const JSON_MAX: usize = 1 << 20;

/// A message with fields of each kind.
const SOURCE: &str = r#"
syntax = "proto3";
package fuzz;
import "google/protobuf/any.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/field_mask.proto";
import "google/protobuf/wrappers.proto";
enum Kind { NONE = 0; SOME = 1; }
message All {
  int32 a = 1; int64 b = 2; uint64 c = 3; sint64 d = 4; fixed32 e = 5; sfixed64 f = 6; float g = 7; double h = 8;
  bool i = 9; string j = 10; bytes k = 11; Kind l = 12; repeated All m = 13; repeated int32 n = 14;
  map<string, All> o = 15; map<int64, bytes> p = 16; oneof choice { string q = 17; All r = 18; }
  google.protobuf.Any s = 19; google.protobuf.Struct t = 20; google.protobuf.Timestamp u = 21;
  google.protobuf.Duration v = 22; google.protobuf.FieldMask w = 23; google.protobuf.Int64Value x = 24;
  optional string y = 25; repeated Kind z = 26;
}
service Echo { rpc Say(All) returns (All); }
"#;

static METHOD: LazyLock<Method> = LazyLock::new(|| {
    let read = |path: &str| match path {
        "all.proto" => Ok(SOURCE.as_bytes().to_vec()),
        _ => Err(io::Error::from(io::ErrorKind::NotFound)),
    };
    let loaded = Loaded::compile(&[], &["all.proto".to_owned()], &read).expect("the source is right");
    let mut schema = Schema::default();
    schema.add(&loaded);
    schema.method("fuzz.Echo/Say").expect("the source has it")
});

// The first byte says whether messages can be compressed, the second how long pieces are.
fuzz_target!(|input: &[u8]| {
    let [flags, size, bytes @ ..] = input else { return };
    let is_gzip = flags & 1 == 1;
    let whole = messages(is_gzip, bytes, bytes.len().max(1));
    assert_eq!(whole, messages(is_gzip, bytes, usize::from(*size).max(1)));
    for message in whole.iter().chain([&bytes.to_vec()]) {
        decode(message);
    }
    // As JSON of a script.
    let _ = METHOD.encode(bytes);
    status(bytes);
});

/// The whole messages of bytes in pieces of a size, up to what is wrong.
fn messages(is_gzip: bool, bytes: &[u8], size: usize) -> Vec<Vec<u8>> {
    let mut assembler = Assembler::new(MESSAGE_MAX, is_gzip);
    let mut all = Vec::new();
    for piece in bytes.chunks(size) {
        assembler.feed(piece);
        loop {
            match assembler.take() {
                Ok(Some(message)) => all.push(message.to_vec()),
                Ok(None) => break,
                Err(_) => return all,
            }
        }
    }
    all
}

/// What has JSON is a message, whose JSON is the same again.
fn decode(message: &[u8]) {
    let Ok(json) = METHOD.decode(message, JSON_MAX) else { return };
    let Ok(again) = METHOD.encode(json.as_bytes()) else { return };
    if let Ok(second) = METHOD.decode(&again, JSON_MAX) {
        assert_eq!(json, second);
    }
}

/// Fields that the lines of the input are.
fn status(bytes: &[u8]) {
    let names = ["grpc-status", "grpc-message", "grpc-status-details-bin", "x-own", "x-own-bin"];
    let lines = bytes.split(|byte| *byte == b'\n').zip(names);
    let fields = lines.map(|(value, name)| (name.to_owned(), value.to_vec())).collect();
    if let Some(status) = Status::of_fields(&fields) {
        let _ = (status.shown(), status.rpc_error());
    }
    let _ = (metadata::shown(&fields), metadata::check(&fields));
}
