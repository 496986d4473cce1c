//! Which of the agents that answered make the load.
//!
//! Does not ask them.

use std::collections::BTreeMap;

use knee_core::record::Build;

use crate::name::{AgentId, RunId};
use crate::wire::{Info, WIRE};

/// Which agents are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// So many, of all or of one fleet.
    Count {
        /// How many; 1 or more.
        count: u32,
        /// Of this fleet only.
        fleet: Option<String>,
    },
    /// All of a fleet.
    Fleet(String),
}

/// Why the agents that answered are not enough.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unfit {
    /// How many are wanted; all of a fleet if `None`.
    pub wanted: Option<u32>,
    /// The fleet.
    pub fleet: Option<String>,
    /// Those that could be taken.
    pub free: Vec<AgentId>,
    /// Those that work for another run.
    pub busy: Vec<(AgentId, RunId)>,
    /// Those of another build, or with another version of the messages.
    pub other: Vec<(AgentId, String)>,
    /// Those of whom two processes answered.
    pub double: Vec<AgentId>,
}

impl Unfit {
    /// No agent answered.
    pub fn none(wanted: &Wanted) -> Self {
        let (wanted, fleet) = match wanted {
            Wanted::Count { count, fleet } => (Some(*count), fleet.clone()),
            Wanted::Fleet(name) => (None, Some(name.clone())),
        };
        Self { wanted, fleet, ..Self::default() }
    }
}

impl std::error::Error for Unfit {}

impl std::fmt::Display for Unfit {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let of = self.fleet.as_ref().map(|name| format!(" of the fleet `{name}`")).unwrap_or_default();
        match self.wanted {
            Some(wanted) => write!(to, "{} of {wanted} agents{of} can be taken", self.free.len())?,
            None if self.busy.is_empty() && self.other.is_empty() && self.double.is_empty() => {
                write!(to, "no agent{of} answers")?;
            }
            None => write!(to, "not all agents{of} can be taken")?,
        }
        for (agent, run) in &self.busy {
            write!(to, "; {agent} works for the run {run}")?;
        }
        for (agent, build) in &self.other {
            write!(to, "; {agent} has another build, {build}")?;
        }
        for agent in &self.double {
            write!(to, "; two processes have the name {agent}")?;
        }
        Ok(())
    }
}

/// Chooses, in the order of their names.
///
/// # Errors
/// If there are not enough, or if not all of a fleet can be taken.
pub(super) fn choose<'i>(
    found: &'i [Info],
    wanted: &Wanted,
    build: &Build,
    mixed: bool,
) -> Result<Vec<&'i Info>, Box<Unfit>> {
    let fleet = match wanted {
        Wanted::Count { fleet, .. } => fleet.as_ref(),
        Wanted::Fleet(name) => Some(name),
    };
    let mut unfit = Unfit::none(wanted);
    let mut by_name: BTreeMap<&AgentId, Vec<&Info>> = BTreeMap::new();
    for info in found.iter().filter(|info| fleet.is_none() || info.fleet.as_ref() == fleet) {
        let known = by_name.entry(&info.agent).or_default();
        if !known.iter().any(|other| other.incarnation == info.incarnation) {
            known.push(info);
        }
    }
    let mut free = Vec::new();
    for (agent, infos) in by_name {
        let [info] = infos[..] else {
            unfit.double.push(agent.clone());
            continue;
        };
        if let Some(run) = &info.run {
            unfit.busy.push((agent.clone(), run.clone()));
        } else if info.wire != WIRE || !(mixed || is_same(&info.build, build)) {
            unfit.other.push((agent.clone(), words(info)));
        } else {
            unfit.free.push(agent.clone());
            free.push(info);
        }
    }
    match wanted {
        Wanted::Count { count, .. } if free.len() >= *count as usize => {
            free.truncate(*count as usize);
            Ok(free)
        }
        Wanted::Fleet(_)
            if !free.is_empty()
                && unfit.busy.is_empty()
                && unfit.other.is_empty()
                && unfit.double.is_empty() =>
        {
            Ok(free)
        }
        _ => Err(Box::new(unfit)),
    }
}

fn is_same(one: &Build, other: &Build) -> bool {
    one.version == other.version && one.commit == other.commit
}

fn words(info: &Info) -> String {
    let Build { version, commit, .. } = &info.build;
    let commit = commit.as_ref().map(|commit| format!(" ({commit})")).unwrap_or_default();
    format!("{version}{commit}, messages {}", info.wire)
}

#[cfg(test)]
mod tests {
    use knee_core::record::Machine;

    use super::*;
    use crate::name::Incarnation;

    fn info(agent: &str, change: impl FnOnce(&mut Info)) -> Info {
        let mut info = Info {
            wire: WIRE,
            agent: agent.parse().unwrap(),
            incarnation: Incarnation::random(),
            fleet: Some("main".to_owned()),
            build: Build { version: "1".to_owned(), ..Build::default() },
            machine: Machine::default(),
            challenge: String::new(),
            run: None,
        };
        change(&mut info);
        info
    }

    fn chosen(found: &[Info], wanted: &Wanted) -> Result<Vec<String>, String> {
        let build = Build { version: "1".to_owned(), ..Build::default() };
        let chosen = choose(found, wanted, &build, false).map_err(|unfit| unfit.to_string())?;
        Ok(chosen.iter().map(|info| info.agent.to_string()).collect())
    }

    const TWO: Wanted = Wanted::Count { count: 2, fleet: None };

    #[test]
    fn the_first_by_name_are_taken() {
        let found = [info("c", |_| {}), info("a", |_| {}), info("b", |_| {})];
        assert_eq!(chosen(&found, &TWO).unwrap(), ["a", "b"]);
    }

    #[test]
    fn all_of_a_fleet_are_taken_or_none() {
        let all = Wanted::Fleet("main".to_owned());
        let other = info("z", |info| info.fleet = None);
        assert_eq!(chosen(&[info("b", |_| {}), info("a", |_| {}), other.clone()], &all).unwrap(), ["a", "b"]);
        assert_eq!(chosen(&[other], &all).unwrap_err(), "no agent of the fleet `main` answers");
        let busy = info("b", |info| info.run = Some("r-1".parse().unwrap()));
        let refused = chosen(&[info("a", |_| {}), busy], &all).unwrap_err();
        assert_eq!(refused, "not all agents of the fleet `main` can be taken; b works for the run r-1");
    }

    #[test]
    fn the_reason_names_who_is_busy_differs_or_is_there_twice() {
        let found = [
            info("a", |_| {}),
            info("b", |info| info.build.version = "2".to_owned()),
            info("c", |_| {}),
            info("c", |_| {}),
            info("d", |info| info.run = Some("r-1".parse().unwrap())),
        ];
        assert_eq!(
            chosen(&found, &TWO).unwrap_err(),
            "1 of 2 agents can be taken; d works for the run r-1; b has another build, 2, messages 1; two processes have the name c"
        );
    }

    #[test]
    fn an_agent_that_answers_twice_is_one_agent() {
        let one = info("a", |_| {});
        let found = [one.clone(), one, info("b", |_| {})];
        assert_eq!(chosen(&found, &TWO).unwrap(), ["a", "b"]);
    }
}
