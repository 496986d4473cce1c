//! The page that shows which row of the table has which case, and every known difference.
//!
//! Made of the table, the cases and the list of differences alone: it is the same on every machine.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::case::{Case, FOLDER};
use super::difference::Known;
use super::surface::{Row, State, Surface};

/// Where the page is, below the root of the repository.
pub const FILE: &str = "docs/reference/k6-compatibility.md";

/// What stands above the tables.
const INTRODUCTION: &str = "\
# Compatibility with k6

Made by `cargo xtask compat --page`; do not edit.

Every case below is a script that k6 and `knee run` both ran against the same server. Compared are the exit code, the requests that
the server saw (method, path, headers, body), checks by name, counters and custom metrics, the names of all metrics, thresholds,
lines of the console, and for some cases standard output and written files. A case stands behind each row that says *yes* or *partly*;
whatever did not come out the same is listed under [Known differences](#known-differences), line by line, with the reason.

Everywhere the same, and therefore not listed: requests carry `knee/VERSION` as their `User-Agent` instead of `Grafana k6/VERSION`, the result of knee itself
stands below k6's summary on standard output, and the exit code is compared with `--no-verdict-exit`, because k6 has no
code for a measurement that is not to be used.

";

/// The page.
pub fn render(surface: &Surface, cases: &[Case], known: &[Known], k6: &str) -> String {
    let mut page = INTRODUCTION.to_owned();
    let _ = writeln!(page, "{} cases, recorded from k6 {k6}; they are in `{FOLDER}`.", cases.len());
    for section in &surface.section {
        let _ = write!(page, "\n## {}\n\n| row | knee | cases |\n|---|---|---|\n", section.title);
        for row in &section.rows {
            let _ = writeln!(
                page,
                "| `{}` | {} | {} |",
                row.name.replace('|', "\\|"),
                state(row),
                tried(row, cases)
            );
        }
    }
    page.push_str("\n## Known differences\n\n");
    if known.is_empty() {
        page.push_str("None.\n");
    }
    let mut known: Vec<&Known> = known.iter().collect();
    known.sort_by_key(|known| (&known.case, &known.part));
    for known in known {
        let _ = writeln!(page, "- **{}** ({}): {}", known.case, known.part, known.why.trim());
        list(&mut page, "k6", &known.k6);
        list(&mut page, "knee", &known.knee);
    }
    page
}

fn list(page: &mut String, name: &str, lines: &[String]) {
    for line in lines {
        // A fence longer than what it holds; the lines are what programs wrote.
        let fence = if line.contains('`') { "``" } else { "`" };
        let _ = writeln!(page, "  - {name}: {fence} {line} {fence}");
    }
}

fn state(row: &Row) -> String {
    let word = match row.state {
        State::Yes | State::Elsewhere => "yes",
        State::Partly => "partly",
        State::Later => "later",
        State::Never => "never",
    };
    if row.note.is_empty() { word.to_owned() } else { format!("{word}: {}", row.note.replace('|', "\\|")) }
}

fn tried(row: &Row, cases: &[Case]) -> String {
    let names: Vec<&str> =
        cases.iter().filter(|case| case.rows.contains(&row.name)).map(|case| case.name.as_str()).collect();
    names.join(", ")
}

/// Writes the page.
pub fn write(root: &Path, page: &str) -> Result<()> {
    fs::write(root.join(FILE), page).with_context(|| format!("cannot write {FILE}"))
}

/// Fails if the page in the repository is another.
pub fn check(root: &Path, page: &str) -> Result<()> {
    let found = fs::read_to_string(root.join(FILE)).with_context(|| format!("cannot read {FILE}"))?;
    if found != page {
        bail!("{FILE} is stale: write it with `cargo xtask compat --page`");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_names_its_cases_and_a_difference_its_lines() {
        let surface: Surface =
            toml::from_str("[[section]]\ntitle = \"k6\"\nrows = [{ name = \"k6.check\" }]").unwrap();
        let case =
            |name: &str, row: &str| Case { name: name.into(), rows: vec![row.into()], ..Case::default() };
        let known = Known {
            case: "k6/a".into(),
            part: "console".into(),
            why: "Engines word it differently.".into(),
            k6: vec!["error a".into()],
            knee: vec!["error `b`".into()],
        };
        let page = render(&surface, &[case("k6/a", "k6.check"), case("k6/b", "other")], &[known], "1.8.1");
        assert!(page.contains("2 cases, recorded from k6 1.8.1"));
        assert!(page.contains("| `k6.check` | yes | k6/a |\n"));
        assert!(page.contains("- **k6/a** (console): Engines word it differently.\n  - k6: ` error a `\n"));
        assert!(page.contains("  - knee: `` error `b` ``\n"));
    }
}
