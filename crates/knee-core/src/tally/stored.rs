//! The form of tallies in records: outcomes, phases and faults by name, so that there can be more of them later.
//!
//! Only what counted something is written. Does not read tallies: those of a record are unpacked one endpoint at a
//! time (`record::format`), because their serde form would take many times the memory of its bytes.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq, SerializeStruct};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Accounting, EndpointTally, OutcomeTally, Phase};
use crate::histogram::Histogram;
use crate::outcome::{Blame, Outcome};

impl Serialize for EndpointTally {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("EndpointTally", 17)?;
        fields.serialize_field("planned", &self.planned)?;
        fields.serialize_field("outcomes", &Outcomes(self))?;
        fields.serialize_field("phases", &Phases(self))?;
        fields.serialize_field("lag", &self.send_delay)?;
        fields.serialize_field("own_lag", &self.generator_lag)?;
        fields.serialize_field("status", &self.status)?;
        fields.serialize_field("faults", &Faults(self))?;
        fields.serialize_field("bytes_sent", &self.bytes_sent)?;
        fields.serialize_field("bytes_received", &self.bytes_received)?;
        fields.serialize_field("bytes_body", &self.bytes_body)?;
        fields.serialize_field("connections", &self.connections)?;
        fields.serialize_field("resent", &self.resent)?;
        fields.serialize_field("redirects", &self.redirects)?;
        fields.serialize_field("redirects_refused", &self.redirects_refused)?;
        fields.serialize_field("surplus", &self.surplus)?;
        fields.serialize_field("doubtful", &self.doubtful)?;
        fields.serialize_field("bodies", &self.bodies)?;
        fields.end()
    }
}

/// The outcomes of a tally by name.
struct Outcomes<'t>(&'t EndpointTally);

/// What is written of an outcome.
#[derive(Serialize)]
struct StoredOutcome<'t> {
    response: &'t Histogram,
    service: &'t Histogram,
    /// Written for readers that do not know the outcome.
    lower_bound: bool,
}

impl Serialize for Outcomes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let EndpointTally { outcomes, unknown, .. } = self.0;
        let known = Outcome::ALL.into_iter().zip(outcomes);
        let known = known.map(|(outcome, times)| (outcome.name(), outcome.is_lower_bound(), times));
        let unknown = unknown.outcomes.iter().map(|one| (one.name.as_str(), one.lower_bound, &one.times));
        let counted = |times: &OutcomeTally| times.response.count() > 0 || times.service.count() > 0;
        let written: Vec<_> = known.chain(unknown).filter(|(_, _, times)| counted(times)).collect();
        let mut map = serializer.serialize_map(Some(written.len()))?;
        for (name, lower_bound, OutcomeTally { response, service }) in written {
            map.serialize_entry(name, &StoredOutcome { response, service, lower_bound })?;
        }
        map.end()
    }
}

/// The phases of a tally by name.
struct Phases<'t>(&'t EndpointTally);

impl Serialize for Phases<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let EndpointTally { phases, unknown, .. } = self.0;
        let mut written: Vec<(&str, &Histogram)> = Vec::new();
        Phase::ALL.into_iter().zip(phases).for_each(|(phase, times)| written.push((phase.name(), times)));
        written.extend(unknown.phases.iter().map(|one| (one.name.as_str(), &one.times)));
        written.retain(|(_, times)| times.count() > 0);
        let mut map = serializer.serialize_map(Some(written.len()))?;
        for (name, times) in written {
            map.serialize_entry(name, times)?;
        }
        map.end()
    }
}

/// The faults of a tally.
struct Faults<'t>(&'t EndpointTally);

/// What is written of a fault.
#[derive(Serialize)]
struct StoredFault<'t> {
    fault: &'t str,
    /// Written for readers that do not know the fault.
    blame: Option<Blame>,
    count: u64,
    examples: &'t [String],
}

impl Serialize for Faults<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let EndpointTally { faults, unknown, .. } = self.0;
        let mut list = serializer.serialize_seq(Some(faults.len() + unknown.faults.len()))?;
        for tally in faults {
            let (fault, blame) = (tally.fault.name(), Some(tally.fault.blame()));
            list.serialize_element(&StoredFault {
                fault,
                blame,
                count: tally.count,
                examples: &tally.examples,
            })?;
        }
        for tally in &unknown.faults {
            list.serialize_element(&StoredFault {
                fault: &tally.name,
                blame: tally.blame,
                count: tally.count,
                examples: &tally.examples,
            })?;
        }
        list.end()
    }
}

/// The form of [`Accounting`]. Before version 2 of records, `by_outcome` was a list.
#[derive(Serialize, Deserialize)]
struct StoredAccounting {
    planned: u64,
    by_outcome: ByOutcome,
    #[serde(default, skip_serializing_if = "is_zero")]
    unknown: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Counts by outcome, and the sum of those that this version does not know.
#[derive(Default)]
struct ByOutcome {
    known: [u64; 6],
    unknown: u64,
}

impl ByOutcome {
    fn add(&mut self, outcome: Option<Outcome>, count: u64) {
        let sum = outcome.map_or(&mut self.unknown, |outcome| &mut self.known[outcome as usize]);
        *sum = sum.saturating_add(count);
    }
}

impl Serialize for ByOutcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Outcome::ALL.map(|outcome| (outcome.name(), self.known[outcome as usize])))
    }
}

impl<'de> Deserialize<'de> for ByOutcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ByOutcomeVisitor)
    }
}

struct ByOutcomeVisitor;

impl<'de> Visitor<'de> for ByOutcomeVisitor {
    type Value = ByOutcome;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("counts by outcome")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ByOutcome, A::Error> {
        let mut counts = ByOutcome::default();
        while let Some((name, count)) = map.next_entry::<String, u64>()? {
            counts.add(Outcome::named(&name), count);
        }
        Ok(counts)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ByOutcome, A::Error> {
        let mut counts = ByOutcome::default();
        for outcome in Outcome::ALL {
            let Some(count) = list.next_element()? else { return Ok(counts) };
            counts.add(Some(outcome), count);
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(counts)
    }
}

impl Serialize for Accounting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let by_outcome = ByOutcome { known: self.by_outcome, unknown: 0 };
        StoredAccounting { planned: self.planned, by_outcome, unknown: self.unknown }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Accounting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let StoredAccounting { planned, by_outcome, unknown } = StoredAccounting::deserialize(deserializer)?;
        let unknown = unknown.saturating_add(by_outcome.unknown);
        Ok(Self { planned, by_outcome: by_outcome.known, unknown })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_accounting_of_an_earlier_version_and_of_a_later_one_are_both_read() {
        let old: Accounting =
            serde_json::from_str(r#"{"planned": 21, "by_outcome": [1, 2, 3, 4, 5, 6]}"#).unwrap();
        assert_eq!(old, Accounting { planned: 21, by_outcome: [1, 2, 3, 4, 5, 6], unknown: 0 });
        let later = r#"{"planned": 12, "by_outcome": {"shed": 7, "ok": 5}}"#;
        let later: Accounting = serde_json::from_str(later).unwrap();
        assert_eq!(later, Accounting { planned: 12, by_outcome: [5, 0, 0, 0, 0, 0], unknown: 7 });
        for accounting in [old, later] {
            let text = serde_json::to_string(&accounting).unwrap();
            assert_eq!(serde_json::from_str::<Accounting>(&text).unwrap(), accounting, "{text}");
        }
    }
}
