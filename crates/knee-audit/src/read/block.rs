//! Outputs of tools within a text: finds where each begins, and lets its reader read it.
//!
//! Also reads the command lines before them, which say what the outputs do not: connections and rates.

use crate::measurement::{Document, Load, Measurement, Tool};
use crate::number::{Figure, Rounding, plain};

use super::{ab, k6_text, summary_text, vegeta, wrk};

/// A line with its number.
pub type Line<'a> = (usize, &'a str);

/// Reads every output in a text whose first line has the number `before + 1`.
pub fn read(text: &str, before: usize, document: &mut Document) {
    let lines: Vec<Line<'_>> = text.lines().enumerate().map(|(at, line)| (before + at + 1, line)).collect();
    let mut found = Vec::new();
    found.extend(summary_text::read(&lines));
    found.extend(wrk::read(&lines));
    found.extend(ab::read(&lines));
    found.extend(k6_text::read(&lines));
    found.extend(vegeta::read_text(&lines));
    found.sort_by_key(|one: &Measurement| one.line);
    document.measurements.append(&mut found);
}

/// What a command line says about the load.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    tool: Tool,
    connections: Option<u64>,
    rate: Option<Figure>,
}

/// Reads the last command line of a load testing tool in a text.
pub fn command(text: &str) -> Option<Command> {
    text.lines().rev().find_map(|line| {
        let mut words =
            line.split_whitespace().skip_while(|word| matches!(*word, "$" | ">" | "sudo" | "time"));
        let tool = match words.next()?.rsplit('/').next()? {
            "oha" => Tool::Oha,
            "hey" => Tool::Hey,
            "wrk" => Tool::Wrk,
            "wrk2" => Tool::Wrk2,
            "ab" => Tool::Ab,
            _ => return None,
        };
        let words: Vec<&str> = words.collect();
        let value = |flag: &str| {
            words.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(flag)? {
                "" => words.get(at + 1).copied(),
                joined => Some(joined.trim_start_matches('=')),
            })
        };
        let rate_flag = if tool == Tool::Wrk2 { "-R" } else { "-q" };
        let has_rate = matches!(tool, Tool::Oha | Tool::Hey | Tool::Wrk2);
        let rate = value(rate_flag).filter(|_| has_rate).and_then(|text| plain(text, Rounding::Nearest));
        Some(Command {
            tool,
            connections: value("-c").and_then(|text| text.parse().ok()).filter(|n| *n > 0),
            rate: rate.map(|(figure, _)| figure),
        })
    })
}

impl Command {
    /// Adds what the command says to an output of the same tool.
    pub fn complete(&self, one: &mut Measurement) {
        if self.tool != one.tool {
            return;
        }
        if one.connections.is_none() {
            one.connections = self.connections.map(Figure::count);
        }
        match &self.rate {
            // hey's rate is that of one connection.
            Some(_) if self.tool == Tool::Hey => one.load = Load::Users,
            Some(rate) => {
                one.load = Load::Open;
                one.goal_rate = Some(rate.clone());
            }
            None if self.tool != Tool::Wrk2 => one.load = Load::Closed,
            None => {}
        }
    }
}
