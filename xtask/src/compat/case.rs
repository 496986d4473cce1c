//! A case: one script, one behaviour, and what its first lines say about running it.
//!
//! Does not run it. The first line names the rows of the table it belongs to; the others are optional:
//!
//! ```text
//! // row: k6/http.get, k6.check
//! // args: --vus 2 --iterations 4     added to the command line; {dir}, {base} and {out} are replaced
//! // env: K6_VUS=3                    one variable a line; {proxy} is also replaced
//! // order: any                       requests as a bag; `set` also ignores how often
//! // lines: any                       the same for lines of the console
//! // loose: dropped_iterations        metrics of which only the name is compared
//! // keep: vus                        metrics that are left out otherwise
//! // stdout: yes                      what is printed is compared too
//! // files: out.json                  files that are written are compared too
//! // samples: all.csv                 and files of samples, without their times
//! // stdin: yes                        the script is handed over on standard input
//! // interrupt: ready, again           SIGINT once for each of these words that the script has said
//! ```

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// Where cases are, below the root of the repository.
pub const FOLDER: &str = "compat/cases";

/// How lists are compared whose order or number is no matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As they are.
    #[default]
    Exact,
    /// Whatever the order.
    Any,
    /// Whatever the order, each once.
    Set,
}

impl Order {
    /// `lines` as they are to be compared.
    pub fn apply(self, mut lines: Vec<String>) -> Vec<String> {
        if self != Self::Exact {
            lines.sort();
        }
        if self == Self::Set {
            lines.dedup();
        }
        lines
    }

    fn parse(word: &str) -> Result<Self> {
        match word {
            "exact" => Ok(Self::Exact),
            "any" => Ok(Self::Any),
            "set" => Ok(Self::Set),
            _ => bail!("`{word}` is no order: exact, any or set"),
        }
    }
}

/// One case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Case {
    /// Folder and name without the extension: `http/get`.
    pub name: String,
    /// The script.
    pub path: PathBuf,
    /// Rows of the table.
    pub rows: Vec<String>,
    /// Words for the command line.
    pub arguments: Vec<String>,
    /// Variables.
    pub environment: Vec<(String, String)>,
    /// Order of the requests.
    pub order: Order,
    /// Order of the console's lines.
    pub lines: Order,
    /// Metrics of which only the name is compared.
    pub loose: BTreeSet<String>,
    /// Metrics that come with time and not with what is done, and are wanted all the same.
    pub keep: BTreeSet<String>,
    /// Whether standard output is compared.
    pub stdout: bool,
    /// Files that are compared.
    pub files: Vec<String>,
    /// Files of samples that are compared.
    pub samples: Vec<String>,
    /// Whether the script is handed over on standard input.
    pub stdin: bool,
    /// Words of the script's console, at each of which the program is sent SIGINT.
    pub interrupt: Vec<String>,
    /// A checksum of the script, to tell whether what was recorded is of this one.
    pub checksum: String,
}

impl Case {
    /// Reads the head of a script.
    pub fn parse(name: &str, path: &Path, text: &str) -> Result<Self> {
        let mut case = Self {
            name: name.to_owned(),
            path: path.to_owned(),
            checksum: checksum(text),
            ..Self::default()
        };
        for (place, line) in text.lines().map_while(|line| line.strip_prefix("// ")).enumerate() {
            let Some((key, value)) = line.split_once(": ").filter(|(key, _)| is_word(key)) else {
                if place == 0 {
                    bail!("the first line of {name} names no row: begin with `// row: `");
                }
                continue;
            };
            if (place == 0) != (key == "row") {
                bail!("`// row: ` belongs in the first line of {name}, and nowhere else");
            }
            case.take(key, value.trim()).with_context(|| format!("in the head of {name}"))?;
        }
        if case.rows.is_empty() {
            bail!("the first line of {name} names no row: begin with `// row: `");
        }
        Ok(case)
    }

    fn take(&mut self, key: &str, value: &str) -> Result<()> {
        let list = || value.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty());
        match key {
            "row" => self.rows = list().collect(),
            "args" => self.arguments.extend(words(value)),
            "env" => {
                let (name, value) = value.split_once('=').context("`env` wants NAME=VALUE")?;
                self.environment.push((name.to_owned(), value.to_owned()));
            }
            "order" => self.order = Order::parse(value)?,
            "lines" => self.lines = Order::parse(value)?,
            "loose" => self.loose.extend(list()),
            "keep" => self.keep.extend(list()),
            "stdout" => self.stdout = value == "yes",
            "stdin" => self.stdin = value == "yes",
            "interrupt" => self.interrupt.extend(list()),
            "files" => self.files.extend(list()),
            "samples" => self.samples.extend(list()),
            _ => bail!("the key `{key}` is unknown"),
        }
        Ok(())
    }
}

/// Every case below `root`, by name. Folders in a folder hold material, not cases.
pub fn all(root: &Path) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for folder in entries(&root.join(FOLDER))?.into_iter().filter(|path| path.is_dir()) {
        for path in entries(&folder)? {
            let is_script = path.extension().is_some_and(|ending| ending == "js" || ending == "ts");
            let (Some(area), Some(stem)) = (folder.file_name(), path.file_stem()) else { continue };
            if is_script {
                let name = format!("{}/{}", area.to_string_lossy(), stem.to_string_lossy());
                let text = fs::read_to_string(&path).with_context(|| format!("cannot read {name}"))?;
                cases.push(Case::parse(&name, &path, &text)?);
            }
        }
    }
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    if let Some(pair) = cases.windows(2).find(|pair| pair[0].name == pair[1].name) {
        bail!("two cases are called {}", pair[0].name);
    }
    Ok(cases)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    read.map(|entry| Ok(entry?.path())).collect()
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase())
}

/// Words of a command line; double quotes keep spaces.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().into_iter().for_each(|word| word.push(c)),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// FNV-1a over the bytes: short, and the same everywhere.
fn checksum(text: &str) -> String {
    let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Case> {
        Case::parse("a/b", Path::new("b.js"), text)
    }

    #[test]
    fn the_head_of_a_case_says_how_it_is_run_and_compared() {
        let text = "// row: k6/http.get, k6.check\n// args: --vus 2 -e \"A=b c\"\n// env: K6_VUS=3\n\
                    // order: any\n// loose: a, b\n// stdout: yes\n// Why it is here.\nlet x; // env: no\n";
        let case = parse(text).unwrap();
        assert_eq!(case.rows, ["k6/http.get", "k6.check"]);
        assert_eq!(case.arguments, ["--vus", "2", "-e", "A=b c"]);
        assert_eq!(case.environment, [("K6_VUS".to_owned(), "3".to_owned())]);
        assert_eq!((case.order, case.lines), (Order::Any, Order::Exact));
        assert_eq!(case.loose.iter().collect::<Vec<_>>(), ["a", "b"]);
        assert!(case.stdout);
    }

    #[test]
    fn a_case_without_a_row_is_refused() {
        for text in ["", "let x;\n", "// args: -q\n// row: k6.check\n", "// a word about it\n"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_misspelt_key_is_refused() {
        assert_eq!(
            format!("{:#}", parse("// row: x\n// ordre: any\n").unwrap_err()),
            "in the head of a/b: the key `ordre` is unknown"
        );
        assert!(parse("// row: x\n// order: none\n").is_err());
    }

    #[test]
    fn a_change_of_the_script_changes_its_checksum() {
        assert_ne!(checksum("a"), checksum("b"));
        assert_eq!(checksum(""), "cbf29ce484222325");
    }

    #[test]
    fn orders_forget_what_they_say_they_forget() {
        let lines = || ["b", "a", "b"].map(str::to_owned).to_vec();
        assert_eq!(Order::Exact.apply(lines()), ["b", "a", "b"]);
        assert_eq!(Order::Any.apply(lines()), ["a", "b", "b"]);
        assert_eq!(Order::Set.apply(lines()), ["a", "b"]);
    }
}
