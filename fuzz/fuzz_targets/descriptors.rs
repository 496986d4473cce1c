//! Any bytes as descriptors of gRPC: as a `.proto` source, as a set of descriptors, and as a file that a server returned
//! by reflection.
//!
//! Looks for panics and hangs, and for methods that cannot be called although they were loaded.

#![no_main]

use std::io;

use knee_k6::grpc::descriptors::{Loaded, Schema};
use libfuzzer_sys::fuzz_target;

/// Most bytes of JSON here.
const JSON_MAX: usize = 64 << 10;

fuzz_target!(|input: &[u8]| {
    let [kind, bytes @ ..] = input else { return };
    let loaded = match kind % 3 {
        0 => {
            let read = |path: &str| match path {
                "a.proto" => Ok(bytes.to_vec()),
                _ => Err(io::Error::from(io::ErrorKind::NotFound)),
            };
            Loaded::compile(&[], &["a.proto".to_owned()], &read)
        }
        1 => Loaded::from_set(bytes),
        _ => Loaded::from_files(&[bytes]),
    };
    let loaded = match loaded {
        Ok(loaded) => loaded,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut schema = Schema::default();
    schema.add(&loaded);
    for info in loaded.methods() {
        let method = schema.method(&info.full_method).expect("it was loaded");
        let _ = (method.encode(b"{}"), method.decode(&[], JSON_MAX), method.empty());
    }
});
