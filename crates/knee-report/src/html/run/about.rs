//! How a run was made: the summary of its counts, its plan, its machine, how to see more of it.
//!
//! The record does not contain the command that made it, so the page has none.

use maud::{Markup, html};

use crate::View;
use crate::html::words;
use crate::study::{day, machine, program};
use crate::text::plan;
use crate::text::section::{ending, items};

/// Counts, rates, durations, data and connections.
pub(super) fn summary(view: &View) -> Markup {
    let items = items(view);
    html! {
        dl.facts {
            @for item in &items { (fact(item.label, &item.pieces.join(item.joint))) }
            @if let Some(ending) = ending(view) { (fact("Ending", &ending)) }
        }
    }
}

/// The plan and the machine.
pub(super) fn section(view: &View) -> Markup {
    let head = &view.head;
    let together = match head.co_located {
        Some(true) => "on the machine of the load generator",
        Some(false) => "on another machine",
        None => "unknown",
    };
    let scenarios = head.plan.scenarios.iter().map(|scenario| scenario.name.as_str());
    let scenarios: Vec<&str> = scenarios.collect();
    html! {
        dl.facts {
            (fact("Target", &head.title))
            (fact("Load", &plan::pieces(head, &view.amendments).join(", ")))
            @if scenarios.len() > 1 { (fact("Scenarios", &scenarios.join(", "))) }
            (fact("Started", &day(head.started)))
            (fact("Program", &program(&head.build)))
            (fact("Machine", &machine(&head.machine)))
            (fact("Service", together))
        }
        p.note { "The whole plan is in the data: " code { "plan" } "." }
    }
}

fn fact(name: &str, text: &str) -> Markup {
    html! { dt { (name) } dd { (words::text(text)) } }
}
