//! Compiles `.proto` sources.
//!
//! A library parses and compiles. This module finds files along the import paths, as k6 does: the first path that has a
//! file wins, and the files of `google/protobuf` are built in.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use protox::Compiler;
use protox::file::{File, FileResolver, GoogleFileResolver};

use super::{Loaded, SchemaError};

impl Loaded {
    /// Compiles `files` and all that they import. Each name is looked for in `import_paths`, in their order. `read` gets
    /// the joined path; a file that it does not find ([`io::ErrorKind::NotFound`]) can be in the next path.
    pub fn compile(
        import_paths: &[String],
        files: &[String],
        read: &dyn Fn(&str) -> io::Result<Vec<u8>>,
    ) -> Result<Self, SchemaError> {
        let sources = Sources::collect(import_paths, files, read)?;
        let mut compiler = Compiler::with_file_resolver(sources);
        for file in files {
            compiler.open_file(file).map_err(|error| refused(&error))?;
        }
        Ok(Self::new(compiler.descriptor_pool()))
    }
}

/// With file, line and column, which only the debug form has.
fn refused(error: &protox::Error) -> SchemaError {
    SchemaError::Source(format!("{error:?}"))
}

/// All files that a load needs.
struct Sources {
    files: HashMap<String, File>,
    built_in: GoogleFileResolver,
}

impl Sources {
    /// Reads `names` and what they import. Files that do not exist are left out: the compiler knows where they are
    /// imported.
    fn collect(
        import_paths: &[String],
        names: &[String],
        read: &dyn Fn(&str) -> io::Result<Vec<u8>>,
    ) -> Result<Self, SchemaError> {
        let mut sources = Self { files: HashMap::new(), built_in: GoogleFileResolver::new() };
        let mut open: Vec<String> = names.to_vec();
        while let Some(name) = open.pop() {
            if sources.files.contains_key(&name) {
                continue;
            }
            if let Some(file) = find(import_paths, &name, read)? {
                open.extend(file.file_descriptor_proto().dependency.iter().cloned());
                sources.files.insert(name, file);
            } else if names.contains(&name) && sources.built_in.open_file(&name).is_err() {
                return Err(SchemaError::Unreadable {
                    file: name,
                    reason: "no such file or directory".to_owned(),
                });
            }
        }
        Ok(sources)
    }
}

impl FileResolver for Sources {
    /// Names are looked up as they are, so that `../a.proto` works.
    fn resolve_path(&self, path: &Path) -> Option<String> {
        path.to_str().map(str::to_owned)
    }

    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        match self.files.get(name) {
            Some(file) => Ok(file.clone()),
            None => self.built_in.open_file(name),
        }
    }
}

/// Reads and parses a file; `None` if no path has it.
fn find(
    import_paths: &[String],
    name: &str,
    read: &dyn Fn(&str) -> io::Result<Vec<u8>>,
) -> Result<Option<File>, SchemaError> {
    for import_path in import_paths {
        let unreadable = |reason: String| SchemaError::Unreadable { file: name.to_owned(), reason };
        match read(&join(import_path, name)) {
            Ok(bytes) => {
                let source = String::from_utf8(bytes).map_err(|error| unreadable(error.to_string()))?;
                let source = source.strip_prefix('\u{feff}').unwrap_or(&source);
                return File::from_source(name, source).map(Some).map_err(|error| refused(&error));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(unreadable(error.to_string())),
        }
    }
    Ok(None)
}

/// A path in a folder, without `.` and `..` where they can be resolved.
fn join(folder: &str, name: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(name.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|&last| last != "..") => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    let root = if folder.starts_with('/') { "/" } else { "" };
    if root == "/" {
        parts.retain(|&part| part != "..");
    }
    format!("{root}{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn paths_are_joined_as_a_shell_would_resolve_them() {
        assert_eq!(join("/scripts/proto", "a/b.proto"), "/scripts/proto/a/b.proto");
        assert_eq!(join("/scripts/proto/", "./b.proto"), "/scripts/proto/b.proto");
        assert_eq!(join("/scripts/proto", "../b.proto"), "/scripts/b.proto");
        assert_eq!(join("/scripts", "../../../b.proto"), "/b.proto");
        assert_eq!(join("proto", "../../b.proto"), "../b.proto");
        assert_eq!(join("", "b.proto"), "b.proto");
        assert_eq!(join("/scripts", "/abs/b.proto"), "/scripts/abs/b.proto");
    }
}
