//! Reads typing errors and the syntax of other tools, and suggests what to write instead.
//!
//! Looks at the words of the command line only; does not know values and does not resolve names.

use std::ffi::OsString;

use clap::Command;
use knee_engine::secret::redacted;

use super::brief;

use crate::problem::Problem;

/// `knee help` is `knee --help`, and `knee help run` is `knee run --help`.
pub(super) fn asks_for_help(mut line: Vec<OsString>, cli: &Command) -> Vec<OsString> {
    let rest = line.len().saturating_sub(2);
    let named = line.get(2).and_then(|word| word.to_str()).is_some_and(|word| is_command(word, cli));
    if line.get(1).is_some_and(|word| word == "help") && (rest == 0 || (rest == 1 && named)) {
        line.remove(1);
        line.push("--help".into());
    }
    line
}

/// Refuses what clap would misread: long flags with one dash, and commands that do not exist.
///
/// # Errors
///
/// The first such word, with what to write instead.
pub(super) fn check(line: &[OsString], cli: &Command) -> Result<(), Problem> {
    refuse_single_dashes(line, cli)?;
    refuse_commands_of_k6(line)?;
    refuse_unknown_commands(line, cli)
}

/// Whether the command is `run`, whose flags are k6's.
pub(super) fn is_run(line: &[OsString]) -> bool {
    line.get(1).is_some_and(|word| word == "run")
}

/// What prints the flags of the command on this line: each command has its own.
pub(super) fn help(line: &[OsString], cli: &Command) -> String {
    let first = line.get(1).and_then(|word| word.to_str());
    match first.and_then(|word| cli.find_subcommand(word)) {
        Some(command) => brief::full_help(command.get_name()),
        None => brief::full_help(""),
    }
}

/// How to write a command that lacks an argument.
pub(super) fn example(line: &[OsString]) -> Option<&'static str> {
    let example = match line.get(1).and_then(|word| word.to_str()) {
        Some("run") => "write `knee run script.js`",
        Some("archive") => "write `knee archive script.js`",
        Some("inspect") => "write `knee inspect script.js`",
        Some("find") => "give a URL or the folder of a study, as in `knee find labs/todos`",
        Some("study") => "give the folder with the study.toml, as in `knee study labs/lorem-news`",
        Some("merge") => "give the records of all parts, as in `knee merge one.knee two.knee`",
        Some("audit") => "give the outputs of load testing tools, as in `knee audit README.md results.json`",
        Some("compare") => "give two URLs, commands or saved runs, as in `knee compare last~1 last`",
        _ => return None,
    };
    Some(example)
}

/// What to write instead of a flag of another tool.
pub(super) fn instead_of(flag: &str, is_run: bool) -> Option<&'static str> {
    const OF_A_URL: [(&str, &str); 18] = [
        ("--vus", "VUs belong to scripts (`knee run`); with a URL use `-c`, the number of connections"),
        (
            "--iterations",
            "iterations belong to scripts (`knee run`); with a URL use `-n`, the number of requests",
        ),
        ("--concurrency", "use `-c`, the number of connections"),
        ("--threads", "use `-c` for connections, `--workers` for worker threads"),
        ("--qps", "use `-q`, requests per second in total"),
        ("--rps", "use `-q`, requests per second in total"),
        ("--time", "use `-z`, as in `-z 10s`"),
        ("--data", "use `-d`, as in `-d '{}'`"),
        ("--json", "use `--output-format json`"),
        ("--csv", "use `--output-format csv`"),
        ("--html", "use `--output-format html`"),
        ("--quiet", "use `--output-format quiet`"),
        ("--latency", "leave it out: percentiles are always reported"),
        ("--script", "write `knee run script.js`"),
        ("--url", "write the URL without a flag, as in `knee http://127.0.0.1:8080/`"),
        ("--port", "write `--listen 127.0.0.1:8080` for the demo server, or the port in the URL"),
        ("--user", "use `-a USER:PASS`"),
        ("-k", "use `--insecure`"),
    ];
    let known = OF_A_URL.iter().filter(|_| !is_run);
    known.into_iter().find(|(known, _)| *known == flag).map(|(_, hint)| *hint)
}

/// The command that a word probably means: at most one wrong letter in three, or its beginning.
pub(super) fn meant_command(word: &str, cli: &Command) -> Option<String> {
    let slip = |name: &&str| {
        strsim::damerau_levenshtein(word, name) * 3 <= name.len().max(word.len())
            || (word.len() > 2 && (name.starts_with(word) || word.starts_with(name)))
    };
    let names = cli.get_subcommands().map(Command::get_name);
    names
        .filter(|name| slip(name))
        .min_by_key(|name| strsim::damerau_levenshtein(word, name))
        .map(str::to_owned)
}

fn is_command(word: &str, cli: &Command) -> bool {
    cli.get_subcommands().any(|command| command.get_name() == word)
}

/// Words of a command line, as far as they are UTF-8, without the program's name.
fn words(line: &[OsString]) -> impl Iterator<Item = &str> {
    line.iter().skip(1).filter_map(|word| word.to_str())
}

/// hey, wrk and Go programs write long flags with one dash. As a cluster of short flags they would mean something
/// else: `-disable-keepalive` is `-d` with the body `isable-keepalive`.
fn refuse_single_dashes(line: &[OsString], cli: &Command) -> Result<(), Problem> {
    const HEY: [(&str, &str); 3] = [
        ("-disable-redirects", "leave it out: redirects are not followed unless `-r` asks for it"),
        ("-cpus", "write `--workers`"),
        ("-h2", "leave it out: this version supports HTTP/1.1 only"),
    ];
    let is_long =
        |name: &str| name.len() > 2 && cli.get_arguments().any(|flag| flag.get_long() == Some(name));
    for word in words(line) {
        let name = word.split('=').next().unwrap_or(word);
        let foreign = HEY.iter().find(|(flag, _)| *flag == name).map(|(_, hint)| (*hint).to_owned());
        let own = || {
            let long = name.strip_prefix('-').filter(|rest| !rest.starts_with('-') && is_long(rest))?;
            Some(format!("write `--{long}`"))
        };
        if let Some(hint) = foreign.or_else(own) {
            return Err(Problem::new(format!("`{name}` has one dash; long flags have two"), hint));
        }
    }
    Ok(())
}

/// k6 commands that knee does not have. A single word could be a host name. So a command counts only with a second
/// word, or if it is hardly ever a host name.
fn refuse_commands_of_k6(line: &[OsString]) -> Result<(), Problem> {
    const ALONE: &str = "knee runs on this machine only and is controlled by signals (Ctrl-C)";
    const K6: [(&str, &str); 8] = [
        ("cloud", ALONE),
        ("login", ALONE),
        ("pause", ALONE),
        ("resume", ALONE),
        ("scale", ALONE),
        ("stats", ALONE),
        ("new", "copy the first script from docs/guide/k6.md"),
        ("version", "write `knee --version`"),
    ];
    let mut words = words(line);
    let (first, second) = (words.next().unwrap_or_default(), words.next());
    let known = K6.iter().find(|(name, _)| *name == first);
    match known {
        Some((name, hint)) if second.is_some() || *name == "version" => {
            Err(Problem::new(format!("`{name}` is a k6 command that knee does not have"), *hint))
        }
        _ => Ok(()),
    }
}

/// A plain first word with another plain word behind it is a command that does not exist: one word could be a host,
/// two words cannot.
fn refuse_unknown_commands(line: &[OsString], cli: &Command) -> Result<(), Problem> {
    let mut words = words(line);
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or("-"));
    let plain = !first.is_empty() && first.chars().all(|c| c.is_ascii_alphabetic() || matches!(c, '-' | '_'));
    if !plain
        || first.starts_with('-')
        || second.starts_with('-')
        || first == "localhost"
        || is_command(first, cli)
    {
        return Ok(());
    }
    let hint = match meant_command(first, cli) {
        Some(name) => format!("did you mean `knee {name}`? `knee --help` lists the commands"),
        None if second.contains("://") => {
            format!("to load a URL write `knee {}`", redacted(second))
        }
        None => "`knee --help` lists the commands; to load a URL write `knee URL`".to_owned(),
    };
    Err(Problem::new(format!("there is no command `{first}`"), hint))
}
