//! Pictures of a study that an earlier report wrote and the present one does not have.
//!
//! Removes only files that `knee` itself can have written, by their names and their first bytes. Does not draw and does
//! not write.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use knee_report::study::plot::{self, Plot};

/// The first bytes of every picture.
const BEGIN: &[u8] = b"<svg";

/// Removes the pictures in `folder` that are none of `plots`. Other files stay, and so do links and folders.
///
/// # Errors
///
/// When the folder cannot be read, or a file cannot be removed. Without the folder there is nothing to do.
pub fn remove_others(folder: &Path, plots: &[Plot]) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let of_an_earlier_report = name
            .to_str()
            .is_some_and(|name| plot::is_name(name) && plots.iter().all(|plot| plot.file != name));
        if of_an_earlier_report && entry.file_type()?.is_file() && is_picture(&entry.path())? {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Whether a file begins as the pictures do.
fn is_picture(path: &Path) -> io::Result<bool> {
    let mut begin = [0; BEGIN.len()];
    match File::open(path)?.read_exact(&mut begin) {
        Ok(()) => Ok(begin == BEGIN),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use knee_report::study::plot::PlotKind;

    use super::*;

    #[test]
    fn pictures_of_an_earlier_report_go_and_what_others_put_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>";
        for name in ["primary.svg", "effects-old.svg", "effects-list-2.svg", "growth-list_2.svg", "mine.svg"]
        {
            put(name, svg);
        }
        put("timeline-list.svg", svg);
        put("timeline-notes.svg", "to be drawn");
        put("effects-empty.svg", "");
        put("effects-list.md", svg);
        fs::create_dir(folder.path().join("effects-more.svg")).unwrap();
        let plot = |file: &str| Plot {
            file: file.to_owned(),
            kind: PlotKind::Timeline,
            workload: "list".to_owned(),
            alt: String::new(),
            svg: svg.to_owned(),
        };
        remove_others(folder.path(), &[plot("timeline-list.svg"), plot("primary.svg")]).unwrap();
        let left = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut left: Vec<_> = left.map(|name| name.into_string().unwrap()).collect();
        left.sort();
        let expected = [
            "effects-empty.svg",
            "effects-list.md",
            "effects-more.svg",
            "mine.svg",
            "primary.svg",
            "timeline-list.svg",
            "timeline-notes.svg",
        ];
        assert_eq!(left, expected);
    }

    #[test]
    fn without_a_folder_there_is_nothing_to_remove() {
        let folder = tempfile::tempdir().unwrap();
        remove_others(&folder.path().join("plots"), &[]).unwrap();
    }
}
