//! Who takes part and who is compared with whom.
//!
//! Some arms are made by the design: a switch alone on the base, an amount of data, the base once more. Does not put
//! them in an order; see [`crate::design`].

use serde::{Deserialize, Serialize};

use super::{Options, Refusal};
use crate::definition::{Arm, Cell, Definition, Design, Kind, Test};
use crate::metric::Metric;

/// Arms and comparisons of a study.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lineup {
    pub arms: Vec<Arm>,
    pub pairings: Vec<Pairing>,
    pub series: Vec<Series>,
}

/// A comparison: what `to` is beside `from`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pairing {
    pub from: Cell,
    pub to: Cell,
    pub relation: Relation,
    /// The metrics that are tested together.
    pub metrics: Vec<Metric>,
}

/// One arm at growing amounts of data.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    /// The arm without an amount.
    pub arm: String,
    /// Amount, and the name of the arm that has it.
    pub members: Vec<(u64, String)>,
}

/// Why two arms are compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// The next step of a ladder.
    Step,
    /// All steps of a ladder up to here.
    SinceFirst,
    /// A listed pair, or an arm and the base.
    Pair,
    /// This switch alone, set on the base as the best has it.
    Added(String),
    /// This switch alone, set back on the best to what the base has. `to` is the best.
    Removed(String),
    /// The base and the best.
    Whole,
    /// The same configuration twice: what chance does.
    Itself,
    /// Asked for by a claim.
    Claim,
}

impl Lineup {
    pub(super) fn of(definition: &Definition, options: &Options) -> Result<Self, Refusal> {
        let design = &definition.design;
        if let Some(name) = &options.against_itself {
            return itself(definition, name);
        }
        let mut arms = taking_part(design, &definition.arms);
        narrow(&mut arms, design, options)?;
        let named = |name: &str| arms.iter().any(|arm| arm.name == name);
        let mut pairings = Vec::new();
        for (from, to, relation) in related(design, &definition.arms, &arms) {
            if named(&from) && named(&to) {
                pairings.extend(definition.workloads.iter().map(|workload| Pairing {
                    from: Cell { arm: from.clone(), workload: workload.name.clone() },
                    to: Cell { arm: to.clone(), workload: workload.name.clone() },
                    relation: relation.clone(),
                    metrics: design.metrics.clone(),
                }));
            }
        }
        let series = series(design, &arms);
        if pairings.is_empty() && series.is_empty() {
            let left: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
            return Err(Refusal::NothingToCompare(left.join(", ")));
        }
        claimed(definition, &arms, &mut pairings);
        Ok(Self { arms, pairings, series })
    }
}

/// An arm and its twin, and nothing else.
fn itself(definition: &Definition, name: &str) -> Result<Lineup, Refusal> {
    let Some(arm) = definition.arm(name) else {
        return Err(unknown(name, &definition.arms));
    };
    let arms = vec![arm.clone(), again(arm)];
    let pairing = |workload: &crate::definition::Workload| Pairing {
        from: Cell { arm: arm.name.clone(), workload: workload.name.clone() },
        to: Cell { arm: again(arm).name, workload: workload.name.clone() },
        relation: Relation::Itself,
        metrics: definition.design.metrics.clone(),
    };
    let pairings = definition.workloads.iter().map(pairing).collect();
    Ok(Lineup { arms, pairings, series: Vec::new() })
}

fn unknown(name: &str, arms: &[Arm]) -> Refusal {
    let known: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
    Refusal::UnknownArm(name.to_owned(), known.join(", "))
}

/// Keeps the arms that the options name, or those of a quick study, and the base.
fn narrow(arms: &mut Vec<Arm>, design: &Design, options: &Options) -> Result<(), Refusal> {
    if let Some(name) = options.arms.iter().find(|name| !arms.iter().any(|arm| arm.name == **name)) {
        return Err(unknown(name, arms));
    }
    let chosen = if options.arms.is_empty() && options.quick { &design.quick } else { &options.arms };
    if !chosen.is_empty() {
        arms.retain(|arm| arm.name == design.base || chosen.contains(&arm.name));
    }
    Ok(())
}

/// All arms that a design has, those among them that it makes itself.
pub(crate) fn taking_part(design: &Design, declared: &[Arm]) -> Vec<Arm> {
    let find = |name: &String| declared.iter().find(|arm| arm.name == *name).cloned();
    let mut arms: Vec<Arm> = match design.kind {
        Kind::Ladder | Kind::Pairs => design.order.iter().filter_map(find).collect(),
        Kind::Ablation => ablation(design, declared).into_iter().map(|(arm, _)| arm).collect(),
        Kind::Growth => design.order.iter().filter_map(find).flat_map(|arm| sized(design, &arm)).collect(),
    };
    if design.aa {
        arms.extend(find(&design.base).map(|base| again(&base)));
    }
    arms
}

fn again(arm: &Arm) -> Arm {
    Arm { name: format!("{} again", arm.name), text: format!("{}, once more", arm.name), ..arm.clone() }
}

/// Base, best, and what lies one switch away from either, each with the switch it is about.
fn ablation(design: &Design, declared: &[Arm]) -> Vec<(Arm, Option<Relation>)> {
    let find = |name: &str| declared.iter().find(|arm| arm.name == name);
    let (Some(base), Some(best)) = (find(&design.base), design.best.as_deref().and_then(find)) else {
        return Vec::new();
    };
    let mut arms = vec![(base.clone(), None), (best.clone(), None)];
    let differing: Vec<_> =
        base.switches.iter().filter(|(name, value)| best.switches.get(*name) != Some(*value)).collect();
    // One switch alone is the whole way from base to best.
    if differing.len() < 2 {
        return arms;
    }
    for (switch, before) in differing {
        let with = |arm: &Arm, sign: char, value: &String| {
            let mut changed = Arm { name: format!("{} {sign} {switch}", arm.name), ..arm.clone() };
            changed.text = format!("{} with {switch} = {value}", arm.name);
            changed.switches.insert(switch.clone(), value.clone());
            changed
        };
        let after = best.switches.get(switch).unwrap_or(before);
        arms.push((with(base, '+', after), Some(Relation::Added(switch.clone()))));
        arms.push((with(best, '-', before), Some(Relation::Removed(switch.clone()))));
    }
    arms
}

/// An arm at every amount of data.
fn sized(design: &Design, arm: &Arm) -> Vec<Arm> {
    let Some(growth) = &design.growth else { return Vec::new() };
    let at = |size: &u64| {
        let mut sized = Arm { name: format!("{} at {size}", arm.name), ..arm.clone() };
        sized.text = format!("{} with {} = {size}", arm.name, growth.switch);
        sized.switches.insert(growth.switch.clone(), size.to_string());
        sized
    };
    growth.sizes.iter().map(at).collect()
}

fn series(design: &Design, arms: &[Arm]) -> Vec<Series> {
    let Some(growth) = design.growth.as_ref().filter(|_| design.kind == Kind::Growth) else {
        return Vec::new();
    };
    let members = |arm: &String| {
        let sizes = growth.sizes.iter().map(|size| (*size, format!("{arm} at {size}")));
        sizes.filter(|(_, name)| arms.iter().any(|arm| arm.name == *name)).collect::<Vec<_>>()
    };
    let series = design.order.iter().map(|arm| Series { arm: arm.clone(), members: members(arm) });
    series.filter(|series| series.members.len() > 1).collect()
}

/// Pairs of arms by name, with why they are compared.
fn related(design: &Design, declared: &[Arm], arms: &[Arm]) -> Vec<(String, String, Relation)> {
    let mut related = Vec::new();
    // A filter leaves gaps in a ladder; the steps are between those that are left.
    let order: Vec<&String> =
        design.order.iter().filter(|name| arms.iter().any(|arm| arm.name == **name)).collect();
    match design.kind {
        Kind::Ladder => {
            let steps = order.windows(2).map(|step| (step[0].clone(), step[1].clone(), Relation::Step));
            related.extend(steps);
            let first = order.first().into_iter();
            let later = first.flat_map(|first| order.iter().skip(2).map(move |arm| (first, arm)));
            related
                .extend(later.map(|(first, arm)| ((*first).clone(), (*arm).clone(), Relation::SinceFirst)));
        }
        Kind::Pairs if design.pairs.is_empty() => {
            let others = order.iter().filter(|arm| ***arm != design.base);
            related.extend(others.map(|arm| (design.base.clone(), (*arm).clone(), Relation::Pair)));
        }
        Kind::Pairs => {
            related.extend(design.pairs.iter().map(|[from, to]| (from.clone(), to.clone(), Relation::Pair)));
        }
        Kind::Ablation => {
            let best = design.best.clone().unwrap_or_default();
            related.push((design.base.clone(), best.clone(), Relation::Whole));
            related.extend(ablation(design, declared).into_iter().filter_map(
                |(arm, relation)| match relation? {
                    Relation::Removed(switch) => Some((arm.name, best.clone(), Relation::Removed(switch))),
                    relation => Some((design.base.clone(), arm.name, relation)),
                },
            ));
        }
        Kind::Growth => {}
    }
    if design.aa {
        related.push((design.base.clone(), format!("{} again", design.base), Relation::Itself));
    }
    related
}

/// Adds the comparisons that claims ask for and the design does not have.
fn claimed(definition: &Definition, arms: &[Arm], pairings: &mut Vec<Pairing>) {
    for claim in &definition.claims {
        let Test::Comparison { from, to, metric, .. } = &claim.test else { continue };
        let here = |cell: &Cell| arms.iter().any(|arm| arm.name == cell.arm);
        let had = pairings
            .iter()
            .any(|pairing| (&pairing.from, &pairing.to) == (from, to) && pairing.metrics.contains(metric));
        if here(from) && here(to) && !had {
            let (from, to, metrics) = (from.clone(), to.clone(), vec![*metric]);
            pairings.push(Pairing { from, to, relation: Relation::Claim, metrics });
        }
    }
}
