//! The variants that take part, and the comparisons between them.
//!
//! The design creates some variants: a switch alone on the baseline, an amount of data, the baseline a second time.
//! Does not order them; see [`crate::design`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Options, Refusal};
use crate::definition::{Cell, Definition, Design, DesignKind, Load, Variant};
use crate::metric::Metric;

/// Variants and comparisons of a study.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lineup {
    pub variants: Vec<Variant>,
    pub pairings: Vec<Pairing>,
    pub series: Vec<Series>,
}

/// A comparison of `to` with `from`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pairing {
    pub from: Cell,
    pub to: Cell,
    pub relation: Relation,
    /// The metrics that are tested together.
    pub metrics: Vec<Metric>,
    /// Whether the two sides cannot differ.
    pub inert: bool,
}

impl Pairing {
    /// Whether the design asks for it, and not a claim or an A/A test alone.
    pub(super) const fn is_of_design(&self) -> bool {
        !matches!(self.relation, Relation::Claim | Relation::Aa)
    }
}

/// One variant at growing amounts of data.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    /// The variant without an amount.
    pub variant: String,
    /// Amount, and the name of the variant that has it.
    pub members: Vec<(u64, String)>,
}

/// Why two variants are compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// The next step of a ladder.
    Step,
    /// All steps of a ladder up to this one.
    SinceFirst,
    /// A listed pair, or a variant and the baseline.
    Pair,
    /// Only this switch, set on the baseline to its value in the best variant.
    Added(String),
    /// Only this switch, set in the best variant to its value in the baseline. `to` is the best variant.
    Removed(String),
    /// The baseline and the best.
    Whole,
    /// The same configuration twice: an A/A test.
    Aa,
    /// Asked for by a claim.
    Claim,
}

impl Lineup {
    /// What takes part and what is compared; there is something to compare.
    pub(super) fn of(definition: &Definition, options: &Options) -> Result<Self, Refusal> {
        let lineup = Self::of_any(definition, options)?;
        if lineup.pairings.is_empty() && lineup.series.is_empty() {
            let left: Vec<&str> = lineup.variants.iter().map(|variant| variant.name.as_str()).collect();
            return Err(Refusal::NothingToCompare(left.join(", ")));
        }
        Ok(lineup)
    }

    /// The same, also if there is nothing to compare.
    pub(super) fn of_any(definition: &Definition, options: &Options) -> Result<Self, Refusal> {
        let design = &definition.design;
        if let Some(name) = &options.aa {
            return aa_lineup(definition, name);
        }
        let mut variants = taking_part(design, &definition.variants);
        narrow(&mut variants, design, options)?;
        let named = |name: &str| variants.iter().any(|variant| variant.name == name);
        let mut pairings = Vec::new();
        for (from, to, relation) in related(design, &definition.variants, &variants) {
            if named(&from) && named(&to) {
                pairings.extend(definition.workloads.iter().map(|workload| Pairing {
                    from: Cell::new(&from, &workload.name),
                    to: Cell::new(&to, &workload.name),
                    relation: relation.clone(),
                    metrics: design.metrics.clone(),
                    inert: false,
                }));
            }
        }
        let series = series(design, &variants);
        claimed(definition, &variants, &mut pairings);
        for pairing in &mut pairings {
            pairing.inert = cannot_differ(definition, &variants, &pairing.from, &pairing.to);
        }
        Ok(Self { variants, pairings, series })
    }

    /// Whether the design compares nothing, so that the comparisons of the claims are the study's answer.
    pub(super) fn compares_by_claims_alone(&self) -> bool {
        self.series.is_empty() && self.pairings.iter().all(|pairing| pairing.relation == Relation::Claim)
    }
}

/// A variant and its twin, and nothing else.
fn aa_lineup(definition: &Definition, name: &str) -> Result<Lineup, Refusal> {
    let Some(variant) = definition.variant(name) else {
        return Err(unknown(name, &definition.variants));
    };
    let variants = vec![variant.clone(), again(variant)];
    let pairing = |workload: &crate::definition::Workload| Pairing {
        from: Cell::new(&variant.name, &workload.name),
        to: Cell::new(again(variant).name, &workload.name),
        relation: Relation::Aa,
        metrics: definition.design.metrics.clone(),
        inert: true,
    };
    let pairings = definition.workloads.iter().map(pairing).collect();
    Ok(Lineup { variants, pairings, series: Vec::new() })
}

/// Whether two sides are the same service under the same workload: they differ in nothing, or only in switches that
/// are declared not to affect it.
fn cannot_differ(definition: &Definition, variants: &[Variant], from: &Cell, to: &Cell) -> bool {
    let find = |cell: &Cell| variants.iter().find(|variant| variant.name == cell.variant);
    let (Some(one), Some(other)) = (find(from), find(to)) else { return false };
    let built = |variant: &Variant| Variant {
        name: String::new(),
        text: String::new(),
        extends: None,
        service: String::new(),
        switches: BTreeMap::new(),
        ..variant.clone()
    };
    // The caller of a comparison knows what A and B are.
    let here = definition.workload(&to.workload).is_some_and(|workload| workload.load != Load::OfCaller);
    let place = |cell: &Cell| (cell.workload.clone(), cell.endpoint.clone(), cell.statement.clone());
    let apart = place(from) != place(to);
    if !here || apart || built(one) != built(other) {
        return false;
    }
    let mut differing = one.switches.iter().filter(|(name, value)| other.switches.get(*name) != Some(*value));
    differing.all(|(name, _)| {
        let affects = definition.switches.get(name).and_then(|switch| switch.affects.as_ref());
        affects.is_some_and(|affects| !affects.contains(&to.workload))
    })
}

fn unknown(name: &str, variants: &[Variant]) -> Refusal {
    let known: Vec<&str> = variants.iter().map(|variant| variant.name.as_str()).collect();
    Refusal::UnknownVariant(name.to_owned(), known.join(", "))
}

/// Keeps the variants that the options name, or those of a quick study, and the baseline.
fn narrow(variants: &mut Vec<Variant>, design: &Design, options: &Options) -> Result<(), Refusal> {
    if let Some(name) =
        options.variants.iter().find(|name| !variants.iter().any(|variant| variant.name == **name))
    {
        return Err(unknown(name, variants));
    }
    let chosen = if options.variants.is_empty() && options.quick { &design.quick } else { &options.variants };
    if !chosen.is_empty() {
        variants.retain(|variant| variant.name == design.baseline || chosen.contains(&variant.name));
    }
    Ok(())
}

/// All variants of a design, including those that it creates.
pub(crate) fn taking_part(design: &Design, declared: &[Variant]) -> Vec<Variant> {
    let find = |name: &String| declared.iter().find(|variant| variant.name == *name).cloned();
    let mut variants: Vec<Variant> = match design.kind {
        DesignKind::Ladder | DesignKind::Pairs => design.order.iter().filter_map(find).collect(),
        DesignKind::Ablation => ablation(design, declared).into_iter().map(|(variant, _)| variant).collect(),
        DesignKind::Growth => {
            design.order.iter().filter_map(find).flat_map(|variant| sized(design, &variant)).collect()
        }
    };
    if design.aa {
        variants.extend(find(&design.baseline).map(|baseline| again(&baseline)));
    }
    variants
}

fn again(variant: &Variant) -> Variant {
    Variant {
        name: format!("{} again", variant.name),
        text: format!("{}, once more", variant.name),
        ..variant.clone()
    }
}

/// Baseline, best variant, and the variants that differ from either in one switch, each with that switch.
fn ablation(design: &Design, declared: &[Variant]) -> Vec<(Variant, Option<Relation>)> {
    let find = |name: &str| declared.iter().find(|variant| variant.name == name);
    let (Some(baseline), Some(best)) = (find(&design.baseline), design.best.as_deref().and_then(find)) else {
        return Vec::new();
    };
    let mut variants = vec![(baseline.clone(), None), (best.clone(), None)];
    let differing: Vec<_> =
        baseline.switches.iter().filter(|(name, value)| best.switches.get(*name) != Some(*value)).collect();
    // One switch alone is the whole way from baseline to best.
    if differing.len() < 2 {
        return variants;
    }
    for (switch, before) in differing {
        let with = |variant: &Variant, sign: char, value: &String| {
            let mut changed =
                Variant { name: format!("{} {sign} {switch}", variant.name), ..variant.clone() };
            changed.text = format!("{} with {switch} = {value}", variant.name);
            changed.switches.insert(switch.clone(), value.clone());
            changed
        };
        let after = best.switches.get(switch).unwrap_or(before);
        variants.push((with(baseline, '+', after), Some(Relation::Added(switch.clone()))));
        variants.push((with(best, '-', before), Some(Relation::Removed(switch.clone()))));
    }
    variants
}

/// A variant at every amount of data.
fn sized(design: &Design, variant: &Variant) -> Vec<Variant> {
    let Some(growth) = &design.growth else { return Vec::new() };
    let at = |size: &u64| {
        let mut sized = Variant { name: format!("{} at {size}", variant.name), ..variant.clone() };
        sized.text = format!("{} with {} = {size}", variant.name, growth.switch);
        sized.switches.insert(growth.switch.clone(), size.to_string());
        sized
    };
    growth.sizes.iter().map(at).collect()
}

fn series(design: &Design, variants: &[Variant]) -> Vec<Series> {
    let Some(growth) = design.growth.as_ref().filter(|_| design.kind == DesignKind::Growth) else {
        return Vec::new();
    };
    let members = |variant: &String| {
        let sizes = growth.sizes.iter().map(|size| (*size, format!("{variant} at {size}")));
        sizes.filter(|(_, name)| variants.iter().any(|variant| variant.name == *name)).collect::<Vec<_>>()
    };
    let series =
        design.order.iter().map(|variant| Series { variant: variant.clone(), members: members(variant) });
    series.filter(|series| series.members.len() > 1).collect()
}

/// Pairs of variants by name, with why they are compared.
fn related(design: &Design, declared: &[Variant], variants: &[Variant]) -> Vec<(String, String, Relation)> {
    let mut related = Vec::new();
    // A filter leaves gaps in a ladder; the steps are between those that are left.
    let order: Vec<&String> =
        design.order.iter().filter(|name| variants.iter().any(|variant| variant.name == **name)).collect();
    match design.kind {
        DesignKind::Ladder => {
            let steps = order.windows(2).map(|step| (step[0].clone(), step[1].clone(), Relation::Step));
            related.extend(steps);
            let first = order.first().into_iter();
            let later = first.flat_map(|first| order.iter().skip(2).map(move |variant| (first, variant)));
            related.extend(
                later.map(|(first, variant)| ((*first).clone(), (*variant).clone(), Relation::SinceFirst)),
            );
        }
        DesignKind::Pairs if design.pairs.is_empty() => {
            let others = order.iter().filter(|variant| ***variant != design.baseline);
            related
                .extend(others.map(|variant| (design.baseline.clone(), (*variant).clone(), Relation::Pair)));
        }
        DesignKind::Pairs => {
            related.extend(design.pairs.iter().map(|[from, to]| (from.clone(), to.clone(), Relation::Pair)));
        }
        DesignKind::Ablation => {
            let best = design.best.clone().unwrap_or_default();
            related.push((design.baseline.clone(), best.clone(), Relation::Whole));
            related.extend(ablation(design, declared).into_iter().filter_map(|(variant, relation)| {
                match relation? {
                    Relation::Removed(switch) => {
                        Some((variant.name, best.clone(), Relation::Removed(switch)))
                    }
                    relation => Some((design.baseline.clone(), variant.name, relation)),
                }
            }));
        }
        DesignKind::Growth => {}
    }
    if design.aa {
        related.push((design.baseline.clone(), format!("{} again", design.baseline), Relation::Aa));
    }
    related
}

/// Adds the comparisons that claims ask for and the design does not have.
fn claimed(definition: &Definition, variants: &[Variant], pairings: &mut Vec<Pairing>) {
    for claim in &definition.claims {
        let Some((from, to, metric)) = claim.test.compared() else { continue };
        let here = |cell: &Cell| variants.iter().any(|variant| variant.name == cell.variant);
        let had = pairings
            .iter()
            .any(|pairing| (&pairing.from, &pairing.to) == (from, to) && pairing.metrics.contains(&metric));
        if here(from) && here(to) && !had {
            let (from, to, metrics) = (from.clone(), to.clone(), vec![metric]);
            pairings.push(Pairing { from, to, relation: Relation::Claim, metrics, inert: false });
        }
    }
}
