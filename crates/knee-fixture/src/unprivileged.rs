//! The user that runs PostgreSQL if knee runs as root, because PostgreSQL refuses to run as root.
//!
//! Does not change the user of this process; only starts processes as that user.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::Error;
use crate::folder::User;

/// Candidates, in this order.
const CANDIDATES: [&str; 2] = ["postgres", "nobody"];

/// The user that runs PostgreSQL; none if knee does not run as root. The user must be able to enter `folder`.
pub(crate) fn for_postgres(folder: &Path) -> Result<Option<User>, Error> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let found = CANDIDATES.iter().find_map(|name| Some((*name, lookup(name)?)));
    let (name, user) = found.ok_or(Error::NoUser)?;
    let closed = folder.ancestors().find(|part| !can_enter(part, user));
    let Some(closed) = closed else { return Ok(Some(user)) };
    let text = format!("cannot be entered by `{name}`, the user that runs PostgreSQL if knee runs as root");
    Err(Error::declared(closed.display().to_string(), text))
}

/// Whether the permissions of a folder let a user pass through it.
fn can_enter(folder: &Path, user: User) -> bool {
    let Ok(metadata) = fs::metadata(folder) else { return false };
    let (owner, group) = (metadata.uid() == user.uid, metadata.gid() == user.gid);
    metadata.mode() & 0o001 != 0
        || (owner && metadata.mode() & 0o100 != 0)
        || (group && metadata.mode() & 0o010 != 0)
}

/// Asks the system rather than a file: users can be defined elsewhere.
fn lookup(name: &str) -> Option<User> {
    let number = |flag: &str| {
        let said =
            Command::new("id").args([flag, name]).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
        String::from_utf8(said.stdout).ok()?.trim().parse().ok()
    };
    Some(User { uid: number("-u")?, gid: number("-g")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name() {
        let root = lookup("root").unwrap();
        assert_eq!(root, User { uid: 0, gid: root.gid });
        assert_eq!(lookup("no-such-user-here"), None);
    }

    #[test]
    fn a_private_folder_cannot_be_entered_by_others() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        let own = User { uid: fs::metadata(folder.path()).unwrap().uid(), gid: 4_000_000 };
        assert!(can_enter(folder.path(), own));
        assert!(!can_enter(folder.path(), User { uid: 4_000_001, gid: 4_000_001 }));
    }
}
