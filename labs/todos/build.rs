//! Compiles `proto/todos.proto` into Rust and into the descriptors of reflection, in Rust alone: no `protoc` is needed.
//!
//! The server and the messages are generated apart. The server answers with messages that are encoded already, because
//! the list cache keeps them so; the messages themselves are those of the encoder and of clients.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use protox::prost::Message as _;

/// What the server sends, in the place of the generated messages.
const ENCODED: &str = "crate::grpc::EncodedMessage";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto/todos.proto");
    let output = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    let (messages, server) = (output.join("messages"), output.join("server"));
    fs::create_dir_all(&messages)?;
    fs::create_dir_all(&server)?;
    let descriptors = protox::compile(["todos.proto"], ["proto"])?;
    fs::write(output.join("todos.descriptors"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        .build_server(false)
        .build_transport(false)
        .out_dir(messages)
        .compile_fds(descriptors.clone())?;
    tonic_prost_build::configure()
        .build_client(false)
        .build_transport(false)
        .extern_path(".todos.v1.Todo", ENCODED)
        .extern_path(".todos.v1.TodoList", ENCODED)
        .out_dir(server)
        .compile_fds(descriptors)?;
    Ok(())
}
