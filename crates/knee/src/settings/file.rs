//! Files that a flag names, read whole.
//!
//! Does not know what is in them.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::problem::{Problem, reason};

/// Size limit of a file that a flag names: more is an error, such as `/dev/zero`.
const FILE_MAX: u64 = 1 << 30;

/// The content of a file that `flag` names.
pub fn read_file(flag: &str, path: &Path) -> Result<Vec<u8>, Problem> {
    let unreadable = |error: std::io::Error| {
        Problem::new(
            format!("`{}` cannot be read, for `{flag}`: {}", path.display(), reason(&error)),
            "check the path and its permissions",
        )
    };
    let mut content = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(FILE_MAX + 1).read_to_end(&mut content).map_err(unreadable)?;
    if content.len() as u64 > FILE_MAX {
        return Err(Problem::new(
            format!("`{}` is larger than 1 GiB, for `{flag}`", path.display()),
            "give a smaller file",
        ));
    }
    Ok(content)
}
