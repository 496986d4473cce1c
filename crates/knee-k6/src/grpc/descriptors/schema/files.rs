//! Compiled descriptors, from a file or from a server.
//!
//! Servers are not trusted: what the library takes for granted is checked here.

use std::collections::{HashMap, HashSet};

use prost::Message as _;
use prost_reflect::prost_types::{FileDescriptorProto, FileDescriptorSet};
use prost_reflect::{DescriptorPool, FieldDescriptor, Kind, MessageDescriptor};

use super::{Loaded, SchemaError};

impl Loaded {
    /// Reads a `FileDescriptorSet`. It must contain all that its files import.
    pub fn from_set(bytes: &[u8]) -> Result<Self, SchemaError> {
        let set = FileDescriptorSet::decode(bytes)
            .map_err(|error| SchemaError::Bytes(super::unreadable(&error)))?;
        let mut names = HashSet::new();
        if let Some(file) = set.file.iter().find(|file| !names.insert(file.name())) {
            let words = format!("file appears multiple times: {:?}", file.name());
            return Err(SchemaError::Descriptor(words));
        }
        build(set.file)
    }

    /// Reads the files that a server returned by reflection, each a `FileDescriptorProto`. A file can be there more than
    /// once. An import that is missing is left out, which works unless its messages are needed; those of
    /// `google/protobuf` are built in.
    pub fn from_files<B: AsRef<[u8]>>(files: &[B]) -> Result<Self, SchemaError> {
        let mut known: HashMap<String, FileDescriptorProto> = HashMap::new();
        for bytes in files {
            let file = FileDescriptorProto::decode(bytes.as_ref())
                .map_err(|error| SchemaError::Bytes(super::unreadable(&error)))?;
            known.entry(file.name().to_owned()).or_insert(file);
        }
        add_built_in(&mut known);
        let names: HashSet<String> = known.keys().cloned().collect();
        let mut files: Vec<FileDescriptorProto> = known.into_values().collect();
        files.sort_by(|a, b| a.name().cmp(b.name()));
        for file in &mut files {
            leave_out_missing(file, &names);
        }
        build(files)
    }
}

/// Adds the files of `google/protobuf` that are imported and missing.
fn add_built_in(known: &mut HashMap<String, FileDescriptorProto>) {
    let built_in = DescriptorPool::global();
    let mut open: Vec<String> = known.values().flat_map(|file| file.dependency.clone()).collect();
    while let Some(name) = open.pop() {
        if known.contains_key(&name) || !name.starts_with("google/protobuf/") {
            continue;
        }
        if let Some(file) = built_in.get_file_by_name(&name) {
            let file = file.file_descriptor_proto().clone();
            open.extend(file.dependency.iter().cloned());
            known.insert(name, file);
        }
    }
}

/// Removes imports that are not in `names`. Public and weak imports are given by position, so they move.
fn leave_out_missing(file: &mut FileDescriptorProto, names: &HashSet<String>) {
    let mut places = HashMap::new();
    let mut kept = Vec::new();
    for (place, name) in file.dependency.drain(..).enumerate() {
        if names.contains(&name) {
            places.insert(place as i32, kept.len() as i32);
            kept.push(name);
        }
    }
    file.dependency = kept;
    for list in [&mut file.public_dependency, &mut file.weak_dependency] {
        *list = list.iter().filter_map(|place| places.get(place).copied()).collect();
    }
}

fn build(files: Vec<FileDescriptorProto>) -> Result<Loaded, SchemaError> {
    let mut pool = DescriptorPool::new();
    pool.add_file_descriptor_protos(files).map_err(|error| SchemaError::Descriptor(format!("{error:?}")))?;
    let broken = pool.all_messages().find(|message| message.is_map_entry() && !is_entry(message));
    if let Some(entry) = broken {
        let words = format!("message {:?} is no entry of a map", entry.full_name());
        return Err(SchemaError::Descriptor(words));
    }
    Ok(Loaded::new(pool))
}

/// Whether a message that claims to be an entry of a map has a key and a value.
fn is_entry(message: &MessageDescriptor) -> bool {
    let single = |field: &FieldDescriptor| !field.is_list() && !field.is_map() && !field.is_required();
    let key = message.get_field(1).is_some_and(|key| single(&key) && is_key(&key.kind()));
    let value =
        message.get_field(2).is_some_and(|value| single(&value) && value.containing_oneof().is_none());
    key && value && message.fields().len() == 2
}

fn is_key(kind: &Kind) -> bool {
    !matches!(kind, Kind::Double | Kind::Float | Kind::Bytes | Kind::Message(_) | Kind::Enum(_))
}
