//! A meter as metrics of a record, and back: what machines exchange about one load.
//!
//! Numbers of metrics differ from process to process, so names stand for them. Does not add samples.

use std::collections::BTreeMap;
use std::sync::Arc;

use knee_core::metric::{Adds, Check, Group, Key, Metrics, Place, Series, Sink};

use super::catalog::{BuiltIn, Catalog, Metric, MetricId};
use super::check::Groups;
use super::meter::{Meter, Section, merge_sink, part};
use super::registry::Registry;

/// Gauges of which each machine has its own.
const ADDS: [(BuiltIn, Adds); 2] = [(BuiltIn::Vus, Adds::Now), (BuiltIn::VusMax, Adds::Kept)];

impl Meter {
    /// Everything that has a sample, by name.
    pub fn metrics(&self) -> Metrics {
        let mut metrics = Metrics { left_out: self.groups.lost(), ..Metrics::default() };
        for ((id, metric), slot) in self.catalog.metrics().zip(&self.slots) {
            let whole = slot.sink.iter().map(|sink| (String::new(), sink));
            let filters = metric.submetrics.iter().map(|key| key.suffix.clone());
            let filtered = filters.zip(&slot.submetrics).filter(|(_, sink)| !sink.is_empty());
            for (filter, sink) in whole.chain(filtered) {
                let key = Key { filter, ..key(metric) };
                metrics.series.insert(key, series(id, metric, sink));
            }
        }
        self.groups.store(None, &mut metrics.groups);
        for (scenario, part) in self.parts.iter().flatten() {
            part.groups.store(Some(scenario), &mut metrics.groups);
            for (group, section) in &part.sections {
                for ((id, metric), sink) in self.catalog.metrics().zip(section) {
                    let Some(sink) = sink else { continue };
                    let (scenario, group) = (Some(scenario.clone()), group.clone());
                    metrics.series.insert(Key { scenario, group, ..key(metric) }, series(id, metric, sink));
                }
            }
        }
        metrics
    }

    /// Adds metrics of another process. Those that only it knows are declared in `registry`, from which this meter's
    /// catalogue comes; filters and scenarios that are not kept apart here are left out.
    pub(crate) fn absorb(&mut self, metrics: &Metrics, registry: &Registry) {
        for (key, series) in &metrics.series {
            if self.catalog.find(&key.metric).is_none()
                && registry.declare(&key.metric, series.sink.kind(), series.contains).is_ok()
            {
                self.adopt(&registry.catalog());
            }
            let Some(id) = self.catalog.find(&key.metric) else { continue };
            if self.catalog.metric(id).kind == series.sink.kind() {
                self.absorb_series(id, key, &series.sink);
            }
        }
        for (place, group) in &metrics.groups {
            match (&place.scenario, &mut self.parts) {
                (None, _) => self.groups.load(&place.group, group),
                (Some(scenario), Some(parts)) => part(parts, scenario).groups.load(&place.group, group),
                (Some(_), None) => {}
            }
        }
    }

    fn absorb_series(&mut self, id: MetricId, key: &Key, sink: &Sink) {
        let catalog: Arc<Catalog> = self.catalog.clone();
        match (&key.scenario, &mut self.parts) {
            (None, _) if key.filter.is_empty() => merge_sink(&mut self.slots[id.0].sink, Some(sink)),
            (None, _) => {
                let known = &catalog.metric(id).submetrics;
                let place = known.iter().position(|known| known.suffix == key.filter);
                if let Some(own) = place.and_then(|place| self.slots[id.0].submetrics.get_mut(place)) {
                    own.merge(sink);
                }
            }
            (Some(scenario), Some(parts)) => {
                let section: &mut Section =
                    part(parts, scenario).sections.entry(key.group.clone()).or_default();
                section.resize(section.len().max(catalog.len()), None);
                merge_sink(&mut section[id.0], Some(sink));
            }
            (Some(_), None) => {}
        }
    }
}

impl Groups {
    /// Adds every group with its checks to `groups`.
    fn store(&self, scenario: Option<&String>, groups: &mut BTreeMap<Place, Group>) {
        for group in self.all() {
            // The root is always there; alone it says nothing.
            if group.parent.is_none() && group.checks.is_empty() {
                continue;
            }
            let place = Place { scenario: scenario.cloned(), group: group.path.clone() };
            let check = |check: &super::Check| {
                let super::Check { name, passes, fails, first } = check;
                (name.clone(), Check { first: *first, passes: *passes, fails: *fails })
            };
            let checks = group.checks.iter().map(check).collect();
            groups.insert(place, Group { first: group.first, checks });
        }
    }

    /// Takes over a group with its checks.
    fn load(&mut self, path: &str, group: &Group) {
        let id = self.descend(path, group.first);
        // In the order in which they were made, so that too many of them are the last ones.
        let mut checks: Vec<_> = group.checks.iter().collect();
        checks.sort_by_key(|(_, check)| check.first);
        for (name, check) in checks {
            self.count(id, name, check.passes, check.fails, check.first);
        }
    }
}

fn key(metric: &Metric) -> Key {
    Key { metric: metric.name.clone(), ..Key::default() }
}

fn series(id: MetricId, metric: &Metric, sink: &Sink) -> Series {
    let adds = ADDS.iter().find(|(built_in, _)| built_in.id() == id).map(|(_, adds)| *adds);
    Series { contains: metric.contains, adds, sink: sink.clone() }
}

#[cfg(test)]
mod tests {
    use super::super::meter::Place;
    use super::super::{Contains, Key as Filter, Kind, TagSet};
    use super::*;

    fn measured(registry: &Registry, by_part: bool) -> Meter {
        let id = registry.declare("orders", Kind::Trend, Contains::Time).unwrap();
        registry.keep_apart(&Filter::parse("http_reqs{team:x}").unwrap());
        let mut meter = Meter::new(registry.catalog(), by_part);
        for at in 0..20_u64 {
            let group = if at % 4 == 0 { "::outer::inner" } else { "" };
            let place = Place { scenario: "default", group, at };
            let tags = TagSet::from_iter([("team", if at % 2 == 0 { "x" } else { "y" })]);
            meter.add(BuiltIn::HttpReqs.id(), 1.0, &place, &tags);
            meter.add(id, at as f64, &place, &tags);
            meter.check("even", at % 2 == 0, &place);
        }
        meter.enter(&Place { scenario: "default", group: "::empty", at: 30 });
        meter
    }

    #[test]
    fn a_process_that_absorbs_metrics_has_measured_the_same() {
        for by_part in [false, true] {
            let metrics = measured(&Registry::default(), by_part).metrics();
            // Another order of declarations.
            let other = Registry::default();
            other.declare("earlier", Kind::Counter, Contains::Default).unwrap();
            other.keep_apart(&Filter::parse("http_reqs{team:x}").unwrap());
            let mut absorbed = Meter::new(other.catalog(), by_part);
            absorbed.absorb(&metrics, &other);
            assert_eq!(absorbed.metrics(), metrics, "by part: {by_part}");
            let paths: Vec<&str> = absorbed.groups().all().map(|group| group.path.as_str()).collect();
            assert!(paths.contains(&"::empty") && paths.contains(&"::outer::inner"), "{paths:?}");
        }
    }

    #[test]
    fn what_is_taken_piece_by_piece_is_all_that_was_measured() {
        let registry = Registry::default();
        let whole = measured(&registry, true).metrics();
        let mut sum = Metrics::default();
        let (mut piece, catalog) = (Meter::new(registry.catalog(), true), registry.catalog());
        let id = catalog.find("orders").unwrap();
        for at in 0..20_u64 {
            let group = if at % 4 == 0 { "::outer::inner" } else { "" };
            let place = Place { scenario: "default", group, at };
            let tags = TagSet::from_iter([("team", if at % 2 == 0 { "x" } else { "y" })]);
            piece.add(BuiltIn::HttpReqs.id(), 1.0, &place, &tags);
            piece.add(id, at as f64, &place, &tags);
            piece.check("even", at % 2 == 0, &place);
            if at % 3 == 0 {
                let taken = std::mem::replace(&mut piece, Meter::new(registry.catalog(), true));
                sum.merge_after(&taken.metrics());
            }
        }
        piece.enter(&Place { scenario: "default", group: "::empty", at: 30 });
        sum.merge_after(&piece.metrics());
        assert_eq!(sum, whole);
    }
}
