//! From an arm to what the rig changes about a service for it.
//!
//! Does not start anything.

use knee_rig::Overrides;
use knee_study::definition::{Arm, Definition, Passed};

/// What an arm changes about one service: the switches it is told, and, for the arm's own service, its
/// environment, command and revision.
pub fn overrides(definition: &Definition, arm: &Arm, service: &str) -> Overrides {
    let mut overrides = Overrides::default();
    for (name, switch) in definition.switches.iter().filter(|(_, switch)| switch.service == service) {
        let value = arm.switches.get(name).unwrap_or(&switch.default);
        match &switch.passed {
            Passed::Env(variable) => drop(overrides.env.insert(variable.clone(), value.clone())),
            Passed::Argument(argument) => overrides.args.push(argument.replace("{value}", value)),
        }
    }
    if arm.service == service {
        overrides.env.extend(arm.env.clone());
        overrides.command.clone_from(&arm.command);
        overrides.revision.clone_from(&arm.revision);
    }
    overrides
}

/// Services that an arm changes besides the one that is loaded: they are started first.
pub fn others(definition: &Definition, arm: &Arm, loaded: &str) -> Vec<String> {
    let told = definition.switches.values().map(|switch| &switch.service).chain([&arm.service]);
    let mut others: Vec<String> = told.filter(|service| *service != loaded).cloned().collect();
    others.sort();
    others.dedup();
    others.retain(|service| definition.rig.service.contains_key(service));
    others
}
