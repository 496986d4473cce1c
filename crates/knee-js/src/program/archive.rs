//! Archives as `k6 archive` makes them: a script with everything that it read, its options and its variables, in one tar
//! file that both programs run.
//!
//! Names of users in paths are left out, as in k6. Archives of k6 before 0.25 are refused. Opens no files.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tar::{Builder, EntryType, Header};

use super::bundle::{Bundle, Content, without_empty_parts};
use crate::loader::specifier::tidy;

/// Most bytes of an archive that are read.
const BYTES_MAX: u64 = 4 << 30;
/// Most files of an archive.
const FILES_MAX: usize = 100_000;

/// The entries that are not files of the script.
const METADATA: &str = "metadata.json";
const DATA: &str = "data";

/// Why an archive cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It cannot be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It has no description.
    #[error("it has no {METADATA}")]
    NoMetadata,
    /// It has no script.
    #[error("it has no {DATA}, which is the script")]
    NoData,
    /// Its description says nothing of where the script was.
    #[error("the filename `{0}` in its {METADATA} is no address")]
    Filename(String),
    /// Its description cannot be read.
    #[error("its {METADATA} cannot be read: {0}")]
    Metadata(serde_json::Error),
    /// It is for another program.
    #[error("it holds a test of the type `{0}`, not `js`")]
    Type(String),
    /// A file in it belongs nowhere.
    #[error("unknown file prefix `{0}` for file `{1}`")]
    Prefix(String, String),
    /// It ends before the mark that ends every archive.
    #[error("it is cut: the end is missing")]
    Cut,
    /// There is too much in it.
    #[error("it has more than 100,000 files or 4 GiB")]
    Large,
}

/// What an archive says of its test.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    options: Value,
    filename: String,
    pwd: String,
    #[serde(default)]
    env: Option<BTreeMap<String, String>>,
    #[serde(default)]
    compatibility_mode: String,
    /// The version of k6 whose form the archive has.
    #[serde(default, rename = "k6version")]
    k6_version: String,
    #[serde(default)]
    goos: String,
}

/// An archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Archive {
    /// The script, with its options.
    pub bundle: Bundle,
    /// Variables for `__ENV`.
    pub environment: BTreeMap<String, String>,
}

/// A path without the name of a user: `/home/ann/x.js` becomes `/home/nobody/x.js`.
pub fn anonymous(path: &Path) -> PathBuf {
    let text = path.display().to_string();
    let parts: Vec<&str> = text.split('/').collect();
    let is_homes = |part: &str| {
        ["users", "home", "documents and settings"].contains(&part.to_ascii_lowercase().as_str())
    };
    // A drive of Windows can come first.
    let place = match parts[..] {
        ["", homes, ..] if is_homes(homes) => 2,
        ["", drive, homes, ..] if drive.len() == 1 && is_homes(homes) => 3,
        _ => return path.to_owned(),
    };
    let mut parts = parts;
    match parts.get_mut(place) {
        Some(user) if !user.is_empty() => *user = "nobody",
        _ => return path.to_owned(),
    }
    parts.join("/").into()
}

impl Archive {
    /// Reads an archive.
    pub fn read(from: impl Read) -> Result<Self, ArchiveError> {
        let mut metadata = None;
        let mut data: Option<Arc<[u8]>> = None;
        let mut bundle = Bundle::default();
        let mut archive = tar::Archive::new(Watched { inner: from, left: BYTES_MAX, is_over: false });
        for (count, entry) in archive.entries()?.enumerate() {
            if count >= FILES_MAX {
                return Err(ArchiveError::Large);
            }
            let mut entry = entry?;
            // The script itself is a link to `data`.
            if entry.header().entry_type() != EntryType::Regular {
                continue;
            }
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes)?;
            match name.as_str() {
                METADATA => metadata = Some(bytes),
                DATA => data = Some(bytes.into()),
                name => place(&mut bundle, name, Content(bytes.into()))?,
            }
        }
        let read = archive.into_inner();
        if read.is_over {
            return Err(if read.left == 0 { ArchiveError::Large } else { ArchiveError::Cut });
        }
        let metadata = metadata.ok_or(ArchiveError::NoMetadata)?;
        let metadata: Metadata = serde_json::from_slice(&metadata).map_err(ArchiveError::Metadata)?;
        if metadata.kind != "js" {
            return Err(ArchiveError::Type(metadata.kind));
        }
        let script = Content(data.ok_or(ArchiveError::NoData)?);
        bundle.folder = file_of(&metadata.pwd).unwrap_or_else(|| PathBuf::from("/"));
        if let Some(path) = file_of(&metadata.filename) {
            bundle.script.clone_from(&path);
            bundle.files.insert(path, script);
        } else {
            let named = url::Url::parse(&metadata.filename);
            let named = named.or_else(|_| url::Url::parse(&format!("https:{}", metadata.filename)));
            let address = named.ok().filter(url::Url::has_host).map(String::from);
            let address = address.ok_or(ArchiveError::Filename(metadata.filename))?;
            bundle.script = bundle.folder.join("-");
            bundle.modules.insert(address.clone(), script);
            bundle.address = Some(address);
        }
        bundle.options = Some(metadata.options.to_string()).filter(|_| metadata.options.is_object());
        Ok(Self { bundle, environment: metadata.env.unwrap_or_default() })
    }

    /// Writes an archive. The same test gives the same bytes.
    pub fn write(&self, to: impl Write) -> Result<(), ArchiveError> {
        let bundle = &self.bundle;
        let script = anonymous(&bundle.script);
        let name = bundle.address.clone().unwrap_or_else(|| url_of(&script));
        let options = bundle.options.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let metadata = Metadata {
            kind: "js".to_owned(),
            options: options.unwrap_or_else(|| Value::Object(serde_json::Map::default())),
            filename: name,
            pwd: url_of(&anonymous(&bundle.folder)),
            env: Some(self.environment.clone()),
            compatibility_mode: "extended".to_owned(),
            k6_version: "1.8.1".to_owned(),
            goos: std::env::consts::OS.to_owned(),
        };
        let data = match &bundle.address {
            Some(address) => bundle.modules.get(address),
            None => bundle.files.get(&bundle.script),
        };
        let data = data.map_or(&[][..], |Content(bytes)| bytes);
        let main = match &bundle.address {
            Some(address) => path_of_address(address),
            None => format!("file{}", script.display()),
        };
        let mut files: BTreeMap<String, &[u8]> = BTreeMap::new();
        for (path, Content(bytes)) in &bundle.files {
            if bundle.address.is_none() || *path != bundle.script {
                files.insert(format!("file{}", anonymous(path).display()), bytes);
            }
        }
        for (address, Content(bytes)) in &bundle.modules {
            files.insert(path_of_address(address), bytes);
        }
        let mut archive = Builder::new(to);
        let json = serde_json::to_vec_pretty(&metadata).map_err(ArchiveError::Metadata)?;
        append(&mut archive, METADATA, &json)?;
        append(&mut archive, DATA, data)?;
        for folder in folders(files.keys()) {
            let mut header = Header::new_ustar();
            header.set_entry_type(EntryType::Directory);
            header.set_mode(0o755);
            header.set_size(0);
            archive.append_data(&mut header, format!("{folder}/"), io::empty())?;
        }
        for (path, bytes) in files {
            if path == main {
                let mut header = Header::new_ustar();
                header.set_entry_type(EntryType::Link);
                header.set_mode(0o644);
                header.set_size(0);
                archive.append_link(&mut header, path, DATA)?;
            } else {
                append(&mut archive, &path, bytes)?;
            }
        }
        archive.into_inner()?.flush()?;
        Ok(())
    }
}

/// An archive that is read up to a limit. The library takes the end of a file between two entries for the end of the
/// archive, so whether the file ended is noted here.
struct Watched<R> {
    inner: R,
    left: u64,
    is_over: bool,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = (&mut self.inner).take(self.left).read(buffer)?;
        self.left -= count as u64;
        self.is_over |= count == 0 && !buffer.is_empty();
        Ok(count)
    }
}

/// Puts a file of an archive where the script finds it.
fn place(bundle: &mut Bundle, name: &str, content: Content) -> Result<(), ArchiveError> {
    // As in k6, files beside the folders are no part of the test.
    let Some((prefix, path)) = name.trim_start_matches("./").split_once('/') else { return Ok(()) };
    match prefix {
        "file" => {
            let path = tidy(&anonymous(&Path::new("/").join(path)));
            bundle.files.insert(path, content);
        }
        "https" => {
            bundle.modules.insert(format!("https://{path}"), content);
        }
        _ => return Err(ArchiveError::Prefix(prefix.to_owned(), name.to_owned())),
    }
    Ok(())
}

/// The file that a URL in the description names; `None` for an address of the network.
fn file_of(url: &str) -> Option<PathBuf> {
    let path = match url.strip_prefix("file://") {
        Some(path) => percent_decode_str(path).decode_utf8_lossy().into_owned(),
        None if url.starts_with('/') && !url.starts_with("//") => url.to_owned(),
        None => return None,
    };
    Some(tidy(&anonymous(&Path::new("/").join(path))))
}

/// A path as a URL of the description.
fn url_of(path: &Path) -> String {
    url::Url::from_file_path(path).map_or_else(|()| format!("file://{}", path.display()), String::from)
}

/// Where the module of an address is in an archive.
fn path_of_address(address: &str) -> String {
    without_empty_parts(address).replacen("https://", "https/", 1)
}

/// All folders above files.
fn folders<'a>(files: impl Iterator<Item = &'a String>) -> BTreeSet<String> {
    let above = |file: &'a String| file.match_indices('/').map(|(end, _)| file[..end].to_owned());
    files.flat_map(above).collect()
}

fn append<W: Write>(archive: &mut Builder<W>, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut header = Header::new_ustar();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    header.set_size(bytes.len() as u64);
    archive.append_data(&mut header, name, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(text: &str) -> Content {
        Content(text.as_bytes().into())
    }

    fn archive() -> Archive {
        let files = [("/home/nobody/a/x.js", "import './b.js'"), ("/home/nobody/a/b.js", "export {}")];
        let files = files.map(|(path, text)| (PathBuf::from(path), content(text)));
        let long = PathBuf::from(format!("/home/nobody/a/{}/data.txt", "long/".repeat(60)));
        let bundle = Bundle {
            script: "/home/nobody/a/x.js".into(),
            folder: "/home/nobody/a".into(),
            files: files.into_iter().chain([(tidy(&long), content("rows"))]).collect(),
            modules: BTreeMap::from([("https://a.test/m.js".to_owned(), content("export {}"))]),
            options: Some(r#"{"vus":3}"#.to_owned()),
            ..Bundle::default()
        };
        Archive { bundle, environment: BTreeMap::from([("A".to_owned(), "1".to_owned())]) }
    }

    fn written(archive: &Archive) -> Vec<u8> {
        let mut bytes = Vec::new();
        archive.write(&mut bytes).unwrap();
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Archive, String> {
        Archive::read(bytes).map_err(|error| error.to_string())
    }

    /// A tar file of these entries.
    fn tar_of(entries: &[(&str, &str)]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (name, text) in entries {
            append(&mut builder, name, text.as_bytes()).unwrap();
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn what_was_written_is_read_again() {
        let archive = archive();
        assert_eq!(read(&written(&archive)), Ok(archive.clone()));
        assert_eq!(written(&archive), written(&archive));
    }

    #[test]
    fn a_script_from_the_network_keeps_its_address() {
        let mut archive = archive();
        let address = "https://a.test/m.js".to_owned();
        archive.bundle.files.clear();
        archive.bundle.script = "/home/nobody/a/-".into();
        archive.bundle.address = Some(address);
        assert_eq!(read(&written(&archive)), Ok(archive));
    }

    #[test]
    fn names_of_users_are_left_out() {
        for (path, shown) in [
            ("/home/ann/a/x.js", "/home/nobody/a/x.js"),
            ("/Users/ann/x.js", "/Users/nobody/x.js"),
            ("/C/Users/ann/x.js", "/C/Users/nobody/x.js"),
            ("/srv/home/ann", "/srv/home/ann"),
            ("/home", "/home"),
        ] {
            assert_eq!(anonymous(Path::new(path)), PathBuf::from(shown));
        }
    }

    #[test]
    fn what_is_no_archive_is_refused() {
        assert_eq!(read(&tar_of(&[("data", "x")])), Err("it has no metadata.json".to_owned()));
        let other = r#"{"type": "go", "filename": "file:///x", "pwd": "file:///"}"#;
        let refused = read(&tar_of(&[("metadata.json", other)])).unwrap_err();
        assert_eq!(refused, "it holds a test of the type `go`, not `js`");
        assert!(read(&tar_of(&[("metadata.json", "[]")])).is_err());
        let without = r#"{"type": "js", "filename": "file:///x", "pwd": "file:///"}"#;
        assert_eq!(
            read(&tar_of(&[("metadata.json", without)])),
            Err("it has no data, which is the script".to_owned())
        );
        for filename in ["", "::::", "mailto:x"] {
            let metadata = format!(r#"{{"type": "js", "filename": "{filename}", "pwd": "file:///"}}"#);
            let refused = read(&tar_of(&[("metadata.json", &metadata), ("data", "1")])).unwrap_err();
            assert_eq!(refused, format!("the filename `{filename}` in its metadata.json is no address"));
        }
        let refused = read(&tar_of(&[("scripts/_/x.js", "")])).unwrap_err();
        assert_eq!(refused, "unknown file prefix `scripts` for file `scripts/_/x.js`");
    }

    #[test]
    fn an_archive_that_was_cut_is_refused_wherever_it_was_cut() {
        let whole = written(&archive());
        // The mark at the end is two empty blocks, of which the first one counts.
        let end = whole.len() - 1024;
        for end in (0..end).step_by(97).chain((0..=end).step_by(512)) {
            assert!(read(&whole[..end]).is_err(), "{end} of {}", whole.len());
        }
        assert_eq!(read(&whole[..end]), Err("it is cut: the end is missing".to_owned()));
        assert!(read(&whole).is_ok());
    }

    #[test]
    fn modules_whose_addresses_have_empty_parts_are_found_again() {
        let address = "https://a.test/a//b.js?c=//d/";
        let mut archive = archive();
        archive.bundle.modules.insert(address.to_owned(), content("export default 1"));
        let again = read(&written(&archive)).unwrap();
        let found = again.bundle.network().fetch(&url::Url::parse(address).unwrap());
        assert_eq!(found, Ok(b"export default 1".to_vec()));
        assert_eq!(written(&again), written(&archive));
        let other = again.bundle.network().fetch(&url::Url::parse("https://a.test/a/c.js").unwrap());
        assert!(other.is_err());
    }

    #[test]
    fn no_file_of_an_archive_gets_out_of_its_folders() {
        let metadata = r#"{"type": "js", "filename": "file:///a/x.js", "pwd": "file:///a"}"#;
        let mut bytes = tar_of(&[("metadata.json", metadata), ("data", "1"), ("file/aa/bb/x", "2")]);
        // The library does not write such a name, so it is written over another one.
        let place = bytes.windows(12).position(|name| name == b"file/aa/bb/x").unwrap();
        bytes[place..place + 12].copy_from_slice(b"file/../../x");
        // The sum of the head counts its own eight bytes as spaces.
        let head = place / 512 * 512;
        bytes[head + 148..head + 156].fill(b' ');
        let sum: u32 = bytes[head..head + 512].iter().map(|byte| u32::from(*byte)).sum();
        bytes[head + 148..head + 156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let archive = read(&bytes).unwrap();
        let files: Vec<&Path> = archive.bundle.files.keys().map(PathBuf::as_path).collect();
        assert_eq!(files, [Path::new("/a/x.js"), Path::new("/x")]);
    }
}
