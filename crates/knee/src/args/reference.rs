//! The page `docs/reference/flags.md`, written from the flags themselves.
//!
//! A test, not a command: it fails when the page is out of step, and rewrites it when
//! `KNEE_UPDATE` is set.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory};

use super::command_line::Cli;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/flags.md");

const INTRODUCTION: &str = "\
# Flags

This page is generated from the program. To change it, edit `crates/knee/src/args.rs` and run
`KNEE_UPDATE=1 cargo test -p knee`.

Flags that `knee` shares with oha have oha's names and meanings. Most flags of hey also work. Write
durations as `10s`, `1m30s` or `500ms`; a number without a unit means seconds. Numbers of requests and connections
can end in k (thousand) or m (million), as in `1.5k`. [The one-liner](../guide/one-liner.md) has examples.
";

/// Every visible flag of a command, by heading.
fn tables(page: &mut String, command: &Command) {
    let mut headings: Vec<&str> = Vec::new();
    let visible = |arg: &&Arg| !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version");
    for arg in command.get_arguments().filter(visible) {
        let heading = arg.get_help_heading().unwrap_or_default();
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    for heading in headings {
        if !heading.is_empty() {
            write!(page, "\n### {heading}\n").unwrap();
        }
        page.push_str("\n| flag | meaning |\n|---|---|\n");
        for arg in command.get_arguments().filter(visible) {
            if arg.get_help_heading().unwrap_or_default() == heading {
                writeln!(page, "| {} | {} |", name(arg), meaning(arg)).unwrap();
            }
        }
    }
}

fn name(arg: &Arg) -> String {
    let value = arg.get_value_names().map(|names| names.join(" ")).unwrap_or_default();
    let takes_value = arg.get_action().takes_values();
    if arg.is_positional() {
        return format!("`{value}`");
    }
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let names = [short, long].into_iter().flatten().collect::<Vec<_>>().join(", ");
    if takes_value { format!("`{names} {value}`") } else { format!("`{names}`") }
}

fn meaning(arg: &Arg) -> String {
    let mut text = arg.get_help().map(ToString::to_string).unwrap_or_default().replace('|', "\\|");
    let values: Vec<_> = arg
        .get_possible_values()
        .iter()
        .filter(|_| arg.get_action().takes_values())
        .map(|value| {
            let name = format!("`{}`", value.get_name());
            value.get_help().map_or(name.clone(), |help| format!("{name} ({help})"))
        })
        .collect();
    if !values.is_empty() {
        write!(text, ". One of {}", values.join(", ")).unwrap();
    }
    text
}

fn page() -> String {
    let command = Cli::command();
    let mut page = INTRODUCTION.to_owned();
    page.push_str("\n## knee URL\n");
    tables(&mut page, &command);
    for command in command.get_subcommands() {
        write!(page, "\n## knee {}\n\n{}.\n", command.get_name(), command.get_about().unwrap()).unwrap();
        if command.get_name() == "demo" {
            page.push_str("\nTakes all flags of `knee URL`, and these:\n");
            let own = command.clone().mut_args(|arg| {
                let hide = arg.get_help_heading() != Some("Demo server");
                arg.hide(hide)
            });
            tables(&mut page, &own);
        } else {
            tables(&mut page, command);
        }
    }
    page
}

#[test]
fn the_reference_page_is_in_step_with_the_flags() {
    let page = page();
    if std::env::var_os("KNEE_UPDATE").is_some() {
        std::fs::write(PAGE, &page).unwrap();
    }
    let written = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(
        written == page,
        "docs/reference/flags.md is out of step: run `KNEE_UPDATE=1 cargo test -p knee`"
    );
}

#[test]
fn the_definition_of_the_flags_does_not_contradict_itself() {
    Cli::command().debug_assert();
}

#[test]
fn the_help_fits_eighty_columns() {
    for line in super::help().lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}
