//! The short help of commands with many flags: the ten that most people use, and where the others are.
//!
//! Does not know what a flag means. Commands with few flags have one help.

use std::ffi::OsString;

use clap::Command;

/// The flag that lists all others.
const ALL: &str = "--help-all";

/// The flags in the short help of a command, by their ids; the program itself has no name.
const FLAGS: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "requests",
            "connections",
            "duration",
            "rate",
            "stages",
            "warm_up",
            "method",
            "headers",
            "body",
            "output_format",
        ],
    ),
    (
        "run",
        &["vus", "duration", "iterations", "stages", "env", "out", "output_format", "name", "quiet", "web"],
    ),
    (
        "sweep",
        &[
            "from",
            "to",
            "factor",
            "step",
            "max_time",
            "connections",
            "slos",
            "errors",
            "targets",
            "output_format",
        ],
    ),
    (
        "find",
        &[
            "targets",
            "connections",
            "duration",
            "rate",
            "headers",
            "body",
            "workload",
            "no_proof",
            "output_format",
        ],
    ),
    (
        "compare",
        &[
            "baseline",
            "blocks",
            "duration",
            "connections",
            "rate",
            "margin",
            "metrics",
            "ready",
            "path",
            "output_format",
        ],
    ),
    ("calibrate", &["blocks", "duration", "connections", "rate", "output_format"]),
    ("demo", &["listen", "serve_only", "server_workers", "server_time", "duration", "rate", "stages", "web"]),
];

/// What prints all flags of a command; the program itself has no name.
pub(super) fn full_help(name: &str) -> String {
    let has_brief = FLAGS.iter().any(|(known, _)| *known == name);
    let flag = if has_brief { ALL } else { "--help" };
    if name.is_empty() { format!("knee {flag}") } else { format!("knee {name} {flag}") }
}

/// The command line with the help that it asks for: `--help-all` is the help of `cli` as it is; with any other line,
/// `cli` has the short help.
pub(super) fn chosen(mut line: Vec<OsString>, cli: Command) -> (Vec<OsString>, Command) {
    let all = line.iter().take_while(|word| *word != "--").position(|word| word == ALL);
    match all {
        Some(place) => {
            line[place] = "--help".into();
            (line, cli)
        }
        None => (line, brief(cli)),
    }
}

/// The command and its subcommands with a short help.
fn brief(mut cli: Command) -> Command {
    for (name, flags) in FLAGS {
        cli = if name.is_empty() {
            shortened(cli, name, flags)
        } else {
            cli.mut_subcommand(name, |command| shortened(command, name, flags))
        };
    }
    cli
}

fn shortened(command: Command, name: &str, flags: &[&str]) -> Command {
    let kept = |id: &str| flags.contains(&id) || matches!(id, "help" | "version");
    let after = command.get_after_help().map(|text| format!("{text}\n\n")).unwrap_or_default();
    let command = command.mut_args(|arg| {
        let hide = !arg.is_positional() && !kept(arg.get_id().as_str());
        // One that is hidden anyway stays so.
        if hide { arg.hide(true) } else { arg }
    });
    let hidden = command.get_arguments().filter(|arg| arg.is_hide_set()).count();
    if hidden == 0 {
        return command;
    }
    command.after_help(format!("{after}`{}` lists all flags.", full_help(name)))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::command_line::Cli;
    use super::*;

    #[test]
    fn every_flag_of_a_short_help_exists_and_at_most_ten_are_shown() {
        let cli = Cli::command();
        for (name, flags) in FLAGS {
            let command = if name.is_empty() { &cli } else { cli.find_subcommand(name).unwrap() };
            assert!(flags.len() <= 10, "{name}");
            for flag in *flags {
                let found = command.get_arguments().find(|arg| arg.get_id() == flag);
                assert!(found.is_some_and(|arg| !arg.is_hide_set()), "`{flag}` of `{name}`");
            }
        }
    }

    #[test]
    fn the_short_help_says_where_the_other_flags_are() {
        let mut brief = brief(Cli::command());
        let text = brief.render_help().to_string();
        assert!(text.contains("--connections") && !text.contains("--cacert"), "{text}");
        assert!(text.ends_with("`knee --help-all` lists all flags.\n"), "{text}");
        let (line, mut all) = chosen(vec!["knee".into(), ALL.into()], Cli::command());
        assert_eq!(line, ["knee", "--help"]);
        assert!(all.render_help().to_string().contains("--cacert"));
    }

    #[test]
    fn flags_that_are_not_shown_are_read_all_the_same() {
        let brief = brief(Cli::command());
        assert!(brief.clone().try_get_matches_from(["knee", "x", "--cacert", "y"]).is_ok());
        assert!(brief.try_get_matches_from(["knee", "sweep", "x", "--peak-factor", "2"]).is_ok());
    }
}
