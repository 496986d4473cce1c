//! What the services of the cases are made of: their descriptions, and the messages that the server looks into.

use std::sync::LazyLock;

use prost::Message;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};
use protox::{Compiler, Error};

/// The files beside the cases, by the names that imports have for them.
const FILES: [(&str, &str); 4] = [
    ("common/money.proto", include_str!("../../../../../compat/cases/grpc/common/money.proto")),
    ("old.proto", include_str!("../../../../../compat/cases/grpc/old.proto")),
    ("parcel.proto", include_str!("../../../../../compat/cases/grpc/parcel.proto")),
    ("shop.proto", include_str!("../../../../../compat/cases/grpc/shop.proto")),
];

/// A set of descriptors with all files; empty if the files are wrong, of which a test complains.
pub fn described() -> &'static [u8] {
    static SET: LazyLock<Vec<u8>> =
        LazyLock::new(|| compiled(&FILES.map(|(name, _)| name)).unwrap_or_default());
    &SET
}

/// A set of descriptors with these files and what they import.
fn compiled(names: &[&str]) -> Result<Vec<u8>, Error> {
    let mut resolver = ChainFileResolver::new();
    resolver.add(Beside);
    resolver.add(GoogleFileResolver::new());
    let mut compiler = Compiler::with_file_resolver(resolver);
    Ok(compiler.include_imports(true).open_files(names)?.encode_file_descriptor_set())
}

/// Finds `FILES`.
struct Beside;

impl FileResolver for Beside {
    fn open_file(&self, name: &str) -> Result<File, Error> {
        match FILES.iter().find(|(known, _)| *known == name) {
            Some((name, text)) => File::from_source(name, text),
            None => Err(Error::file_not_found(name)),
        }
    }
}

/// What `Who` answers.
#[derive(Clone, PartialEq, Message)]
pub struct Caller {
    #[prost(string, tag = "1")]
    pub authority: String,
    #[prost(string, tag = "2")]
    pub path: String,
    #[prost(string, tag = "3")]
    pub scheme: String,
}

/// How `Fail` fails.
#[derive(Clone, PartialEq, Message)]
pub struct Failure {
    #[prost(int32, tag = "1")]
    pub code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(message, repeated, tag = "3")]
    pub details: Vec<prost_types::Any>,
    #[prost(bool, tag = "4")]
    pub late: bool,
}

/// What is put into the trailer `grpc-status-details-bin` (`google.rpc.Status`).
#[derive(Clone, PartialEq, Message)]
pub struct Detailed {
    #[prost(int32, tag = "1")]
    pub code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(message, repeated, tag = "3")]
    pub details: Vec<prost_types::Any>,
}

/// How long `Wait` waits.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Pause {
    #[prost(int32, tag = "1")]
    pub millis: i32,
}

/// How large a message is, in bytes.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Size {
    #[prost(int64, tag = "1")]
    pub bytes: i64,
}

/// A message of some size.
#[derive(Clone, PartialEq, Message)]
pub struct Blob {
    #[prost(bytes = "bytes", tag = "1")]
    pub data: bytes::Bytes,
}

/// What streams are made of.
#[derive(Clone, PartialEq, Message)]
pub struct Item {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(int32, tag = "2")]
    pub count: i32,
}

/// Which items `List` and `Watch` send, and the status after them.
#[derive(Clone, PartialEq, Message)]
pub struct Listing {
    #[prost(int32, tag = "1")]
    pub count: i32,
    #[prost(int32, tag = "2")]
    pub code: i32,
    #[prost(string, tag = "3")]
    pub message: String,
}

/// What `Sum` adds up.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Total {
    #[prost(int32, tag = "1")]
    pub items: i32,
    #[prost(int64, tag = "2")]
    pub count: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_cases_can_be_compiled() {
        compiled(&FILES.map(|(name, _)| name)).unwrap();
        assert!(described().len() > 1_000);
    }

    #[test]
    fn the_protoset_of_the_cases_is_made_of_its_file() {
        let found: &[u8] = include_bytes!("../../../../../compat/cases/grpc/parcel.protoset");
        let set = |bytes: &[u8]| {
            let mut set = prost_types::FileDescriptorSet::decode(bytes).unwrap();
            set.file.sort_by(|one, other| one.name.cmp(&other.name));
            set
        };
        let made = compiled(&["parcel.proto"]).unwrap();
        assert_eq!(set(&made), set(found), "protoc --include_imports --descriptor_set_out=parcel.protoset");
    }
}
