//! The effect of each switch of an ablation: alone on the baseline, and as the last step to the best variant.
//!
//! Shows the results of the comparisons side by side, ordered by the gain of the last step; does not judge.

use knee_study::metric::{Direction, Metric};
use knee_study::statistics::location;
use knee_study::statistics::verdict::Verdict;
use knee_study::study::{Conclusion, Effect, Relation};

use super::block::Table;
use super::{value, words};
use crate::number;

/// The two comparisons of a switch by one metric under one workload.
struct SwitchEffect<'a> {
    switch: &'a str,
    /// The baseline with the switch against the baseline.
    alone: &'a Effect,
    /// The best variant against the best variant without the switch.
    last: Option<&'a Effect>,
}

impl<'a> SwitchEffect<'a> {
    /// The effects of the switch, if `alone` is the comparison of a switch on the baseline.
    fn of(alone: &'a Effect, effects: &'a [Effect]) -> Option<Self> {
        let Relation::Added(switch) = &alone.relation else { return None };
        let removed = Relation::Removed(switch.clone());
        let like = |effect: &&Effect| {
            effect.relation == removed
                && effect.metric == alone.metric
                && effect.to.workload == alone.to.workload
        };
        Some(Self { switch, alone, last: effects.iter().find(like) })
    }

    fn both(&self) -> impl Iterator<Item = &'a Effect> {
        std::iter::once(self.alone).chain(self.last)
    }

    fn is(&self, verdict: Verdict) -> [bool; 2] {
        [self.alone.verdict == verdict, self.last.is_some_and(|last| last.verdict == verdict)]
    }

    /// The improvement by the last step, on the scale of the differences.
    fn gain(&self) -> f64 {
        let Some(last) = self.last.filter(|last| !last.differences.is_empty()) else { return f64::MIN };
        let gain = location::mean(&last.differences);
        if last.metric.direction() == Direction::More { gain } else { -gain }
    }
}

/// The switches under a workload, by the first metric with a result; those with the largest last step come first.
fn worths<'a>(conclusion: &'a Conclusion, workload: &str) -> Vec<SwitchEffect<'a>> {
    let effects = &conclusion.effects;
    let by = |metric: &Metric| {
        let here = effects.iter().filter(|effect| effect.metric == *metric && effect.to.workload == workload);
        here.filter_map(|effect| SwitchEffect::of(effect, effects)).collect::<Vec<_>>()
    };
    let tells =
        |worths: &Vec<SwitchEffect<'_>>| worths.iter().any(|worth| worth.both().any(|one| one.n_blocks > 0));
    let mut worths = conclusion.metrics.iter().map(by).find(tells).unwrap_or_default();
    worths.sort_by(|a, b| b.gain().total_cmp(&a.gain()));
    worths
}

/// One row per switch; none if the study is not an ablation.
pub(super) fn table(conclusion: &Conclusion, workload: &str) -> Table {
    let worths = worths(conclusion, workload);
    let mut table = Table::new(["switch", "alone", "as the last step"]);
    let Some(first) = worths.first() else { return table };
    let metric = first.alone.metric;
    table.columns[1] = format!("{metric}, alone on {}", first.alone.from.variant);
    if let Some(last) = first.last {
        table.columns[2] = format!("{metric}, as the last step to {}", last.to.variant);
    }
    let set = |worth: &SwitchEffect<'_>| {
        let variant = conclusion.variants.iter().find(|variant| variant.name == worth.alone.to.variant);
        let value = variant.and_then(|variant| variant.differs.get(worth.switch));
        value.map_or_else(|| worth.switch.to_owned(), |value| format!("{} = {value}", worth.switch))
    };
    let row = |worth: &SwitchEffect<'_>| vec![set(worth), cell(Some(worth.alone)), cell(worth.last)];
    table.rows.extend(worths.iter().map(row));
    table
}

fn cell(effect: Option<&Effect>) -> String {
    let Some(effect) = effect.filter(|effect| effect.change.is_some()) else {
        return value::UNKNOWN.to_owned();
    };
    let metric = effect.metric;
    let change = effect.change.map_or_else(String::new, |range| value::change(metric, range.estimate));
    let interval = value::interval(metric, effect.change.as_ref());
    format!("{change} ({interval}), {}", words::explained(effect))
}

/// Which switches make the best variant faster, and which have no effect; nothing if the study is not an ablation.
pub(super) fn in_short(conclusion: &Conclusion) -> Option<String> {
    let workload = &conclusion.workloads.first()?.0;
    let worths = worths(conclusion, workload);
    let metric = worths.first()?.alone.metric;
    let is_open = |worth: &SwitchEffect<'_>| worth.is(Verdict::Open) != [false, false];
    let those = |verdict: Verdict, wanted: fn([bool; 2]) -> bool| {
        let found = worths.iter().filter(|worth| !is_open(worth) && wanted(worth.is(verdict)));
        found.map(|worth| worth.switch).collect::<Vec<_>>()
    };
    let open: Vec<&str> = worths.iter().filter(|worth| is_open(worth)).map(|worth| worth.switch).collect();
    let (better, worse) = (words::verdict(metric, Verdict::Better), words::verdict(metric, Verdict::Worse));
    let parts = [
        (format!("{better} alone and as the last step"), those(Verdict::Better, |is| is == [true, true])),
        (format!("{better} alone only"), those(Verdict::Better, |is| is == [true, false])),
        (format!("{better} as the last step only"), those(Verdict::Better, |is| is == [false, true])),
        (format!("{worse} alone"), those(Verdict::Worse, |[alone, _]| alone)),
        (format!("{worse} as the last step"), those(Verdict::Worse, |[_, last]| last)),
        ("open, because too few trials are valid".to_owned(), open),
    ];
    let named: Vec<String> = parts
        .iter()
        .filter(|(_, switches)| !switches.is_empty())
        .map(|(what, switches)| format!("{what}: {}", switches.join(", ")))
        .collect();
    let others = worths.iter().filter(|worth| !parts.iter().any(|(_, some)| some.contains(&worth.switch)));
    let others = match others.count() {
        0 => None,
        1 => Some("no effect shown: 1".to_owned()),
        count => Some(format!("no effect shown: {}", number::count(count as u64))),
    };
    let named = named.into_iter().chain(others).collect::<Vec<_>>().join("; ");
    Some(format!("Switches, {metric}, {workload}: {named}."))
}
