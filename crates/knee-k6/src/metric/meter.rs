//! Everything one worker has measured for k6's view; meters of all workers merge into one.
//!
//! Does not decide which samples exist; the code that makes a request, a check or an iteration adds them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Kind;
use super::Sink;
use super::catalog::{Catalog, Metric, MetricId};
use super::check::Groups;
use super::key::Key;
use super::tag::Tags;

/// Sinks of one part of a run: a scenario, or a group in one.
pub type Section = Vec<Option<Sink>>;

/// The measurements of one worker.
#[derive(Clone, Debug)]
pub struct Meter {
    pub(super) catalog: Arc<Catalog>,
    /// By metric.
    pub(super) slots: Vec<Slot>,
    /// Groups and checks of the whole run.
    pub(super) groups: Groups,
    /// The same by scenario, and sinks by scenario and group; only with the full summary.
    pub(super) parts: Option<BTreeMap<String, Part>>,
}

/// The samples of one metric, together in memory: a request adds to ten of them.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    kind: Kind,
    /// `None` while the metric has no sample, because only metrics with samples are shown.
    pub(super) sink: Option<Sink>,
    pub(super) submetrics: Vec<Sink>,
}

impl Slot {
    /// No samples of a metric.
    fn new(metric: &Metric) -> Self {
        let submetrics = metric.submetrics.iter().map(|_| Sink::new(metric.kind)).collect();
        Self { kind: metric.kind, sink: None, submetrics }
    }
}

/// The measurements of one scenario.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// Its groups and checks.
    pub groups: Groups,
    /// Sinks by the path of the group they were added in; the whole scenario is at `None`.
    pub sections: BTreeMap<Option<String>, Section>,
}

/// Position in the script and time of a sample.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The scenario; empty outside of scenarios (setup, teardown).
    pub scenario: &'a str,
    /// The path of the group, `::outer::inner`; empty outside of groups.
    pub group: &'a str,
    /// Time on the run's clock, in nanoseconds.
    pub at: u64,
}

impl Meter {
    /// An empty meter. `by_part` keeps scenarios and groups apart, which only the full
    /// summary shows.
    pub fn new(catalog: Arc<Catalog>, by_part: bool) -> Self {
        let slots = catalog.metrics().map(|(_, metric)| Slot::new(metric)).collect();
        Self { catalog, slots, groups: Groups::new(), parts: by_part.then(BTreeMap::new) }
    }

    /// The metrics that exist.
    pub const fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Takes one sample. `id` must come from this meter's catalogue.
    pub fn add(&mut self, id: MetricId, value: f64, place: &Place<'_>, tags: &dyn Tags) {
        let slot = &mut self.slots[id.0];
        let kind = slot.kind;
        slot.sink.get_or_insert_with(|| Sink::new(kind)).add(value, place.at);
        if !slot.submetrics.is_empty() {
            let keys = &self.catalog.metric(id).submetrics;
            for (_, sink) in keys.iter().zip(&mut slot.submetrics).filter(|(key, _)| key.matches(tags)) {
                sink.add(value, place.at);
            }
        }
        if let Some(parts) = &mut self.parts {
            let part = part(parts, place.scenario);
            part.add(self.catalog.len(), None, id, kind, value, place.at);
            if !place.group.is_empty() {
                part.add(self.catalog.len(), Some(place.group), id, kind, value, place.at);
            }
        }
    }

    /// Enters the group at `place.group`, so that it is listed even if nothing happens in it.
    pub fn enter(&mut self, place: &Place<'_>) {
        self.groups.descend(place.group, place.at);
        if let Some(parts) = &mut self.parts {
            part(parts, place.scenario).groups.descend(place.group, place.at);
        }
    }

    /// Counts one check. The sample of the metric `checks` is added apart from this.
    pub fn check(&mut self, name: &str, passed: bool, place: &Place<'_>) {
        let group = self.groups.descend(place.group, place.at);
        self.groups.check(group, name, passed, place.at);
        if let Some(parts) = &mut self.parts {
            let groups = &mut part(parts, place.scenario).groups;
            let group = groups.descend(place.group, place.at);
            groups.check(group, name, passed, place.at);
        }
    }

    /// Merges the measurements of another worker. Both must have been made for catalogues of one
    /// registry; metrics that only the other one knows are taken over too.
    pub fn merge(&mut self, other: &Self) {
        if other.catalog.len() > self.catalog.len() {
            self.adopt(&other.catalog);
        }
        for (own, other) in self.slots.iter_mut().zip(&other.slots) {
            merge_sink(&mut own.sink, other.sink.as_ref());
            own.submetrics.iter_mut().zip(&other.submetrics).for_each(|(own, other)| own.merge(other));
        }
        self.groups.merge(&other.groups);
        let (Some(parts), Some(others)) = (&mut self.parts, &other.parts) else { return };
        for (scenario, other) in others {
            let own = part(parts, scenario);
            own.groups.merge(&other.groups);
            for (group, section) in &other.sections {
                let own = own.sections.entry(group.clone()).or_default();
                own.resize(own.len().max(section.len()), None);
                merge_sections(own, section);
            }
        }
    }

    /// Has room for the metrics of a catalogue that has grown.
    pub(super) fn adopt(&mut self, catalog: &Arc<Catalog>) {
        self.catalog = catalog.clone();
        for (id, metric) in catalog.metrics() {
            match self.slots.get_mut(id.0) {
                Some(slot) => slot.submetrics.resize_with(metric.submetrics.len(), || Sink::new(metric.kind)),
                None => self.slots.push(Slot::new(metric)),
            }
        }
    }

    /// The samples of a metric; `None` without one.
    pub fn sink(&self, id: MetricId) -> Option<&Sink> {
        self.slots[id.0].sink.as_ref()
    }

    /// The samples of a metric's sub-metrics, in the order of the catalogue.
    pub fn submetrics(&self, id: MetricId) -> &[Sink] {
        &self.slots[id.0].submetrics
    }

    /// The samples of the metric or sub-metric that the options call `name`; `None` if there is no such
    /// metric or it has no sample.
    pub fn find(&self, name: &str) -> Option<&Sink> {
        let key = Key::parse(name).ok()?;
        let id = self.catalog.find(&key.metric)?;
        if key.tags.is_empty() {
            return self.sink(id);
        }
        let index = self.catalog.metric(id).submetrics.iter().position(|known| known.suffix == key.suffix)?;
        self.slots[id.0].submetrics.get(index)
    }

    /// Groups and checks of the whole run.
    pub const fn groups(&self) -> &Groups {
        &self.groups
    }

    /// The measurements of each scenario, by name; `None` unless parts are kept.
    pub const fn parts(&self) -> Option<&BTreeMap<String, Part>> {
        self.parts.as_ref()
    }
}

impl Part {
    fn add(&mut self, metrics: usize, group: Option<&str>, id: MetricId, kind: Kind, value: f64, at: u64) {
        // The common case is a key that exists, for which nothing should be allocated; a map with an
        // optional text as its key offers that only by a search.
        let key = group.map(str::to_owned);
        let section = self.sections.entry(key).or_insert_with(|| vec![None; metrics]);
        section[id.0].get_or_insert_with(|| Sink::new(kind)).add(value, at);
    }
}

pub(super) fn part<'a>(parts: &'a mut BTreeMap<String, Part>, scenario: &str) -> &'a mut Part {
    if !parts.contains_key(scenario) {
        parts.insert(scenario.to_owned(), Part::default());
    }
    // The entry was made above if it was missing.
    #[allow(clippy::expect_used, reason = "inserted above")]
    parts.get_mut(scenario).expect("inserted above")
}

fn merge_sections(own: &mut Section, other: &Section) {
    own.iter_mut().zip(other).for_each(|(own, other)| merge_sink(own, other.as_ref()));
}

pub(super) fn merge_sink(own: &mut Option<Sink>, other: Option<&Sink>) {
    match (own, other) {
        (Some(own), Some(other)) => own.merge(other),
        (own @ None, Some(other)) => *own = Some(other.clone()),
        (_, None) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::catalog::BuiltIn;
    use super::super::tag::TagSet;
    use super::*;

    fn catalog() -> Arc<Catalog> {
        let mut catalog = Catalog::new();
        catalog.keep_apart(&Key::parse("http_reqs{team:x}").unwrap());
        Arc::new(catalog)
    }

    fn place(group: &str, at: u64) -> Place<'_> {
        Place { scenario: "default", group, at }
    }

    fn sum(sink: Option<&Sink>) -> f64 {
        match sink {
            Some(Sink::Counter(counter)) => counter.sum(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_sample_counts_for_its_metric_and_for_the_filters_it_matches() {
        let mut meter = Meter::new(catalog(), false);
        let id = BuiltIn::HttpReqs.id();
        meter.add(id, 1.0, &place("", 0), &());
        meter.add(id, 1.0, &place("", 1), &TagSet::from_iter([("team", "x")]));
        assert_eq!(sum(meter.find("http_reqs")), 2.0);
        assert_eq!(sum(meter.find("http_reqs{team:x}")), 1.0);
        assert!(meter.find("http_reqs{team:y}").is_none());
        assert!(meter.find("iterations").is_none());
    }

    #[test]
    fn workers_merge_into_what_one_worker_would_have_seen() {
        let id = BuiltIn::HttpReqs.id();
        let mut one = Meter::new(catalog(), true);
        let mut parts = [Meter::new(catalog(), true), Meter::new(catalog(), true)];
        for i in 0..10u64 {
            let group = if i % 3 == 0 { "::a" } else { "" };
            for meter in [&mut one, &mut parts[i as usize % 2]] {
                meter.add(id, i as f64, &place(group, i), &());
                meter.check("even", i % 2 == 0, &place(group, i));
            }
        }
        let [mut first, second] = parts;
        first.merge(&second);
        assert_eq!(sum(first.find("http_reqs")), sum(one.find("http_reqs")));
        assert_eq!(first.groups().all_checks(), one.groups().all_checks());
        let section = |meter: &Meter| {
            let part = &meter.parts().unwrap()["default"];
            sum(part.sections[&Some("::a".to_owned())][id.0].as_ref())
        };
        assert_eq!(section(&first), section(&one));
    }
}
