//! The file of `--summary-export`: k6's first form of the summary, kept for those who read it.
//!
//! Its thresholds have inverted values: `true` means crossed. k6 keeps this on purpose, so knee keeps it too.

use serde_json::{Map, Value, json};

use super::data::{check, identity, number, values};
use super::{Entry, Summary};
use crate::metric::{GroupId, Groups, Sink};

/// The whole file, with what `setup` returned, if it returned anything.
pub fn object(summary: &Summary, setup_data: Option<Value>) -> Value {
    let metrics: Map<String, Value> =
        summary.entries().iter().map(|entry| (entry.name.clone(), metric(summary, entry))).collect();
    let mut object = json!({ "metrics": metrics, "root_group": group(summary.meter.groups(), Groups::ROOT) });
    if let Some(data) = setup_data {
        object["setup_data"] = data;
    }
    object
}

fn metric(summary: &Summary, entry: &Entry<'_>) -> Value {
    let mut figures = values(summary, entry);
    if let Sink::Rate(rate) = &entry.sink {
        figures.remove("rate");
        figures.insert("value".to_owned(), number(rate.share()));
    }
    let thresholds = entry.judged.map(|judged| &judged.thresholds).filter(|list| !list.is_empty());
    if let Some(thresholds) = thresholds {
        let crossed = thresholds.iter().map(|one| (one.source.clone(), json!(!one.holds)));
        figures.insert("thresholds".to_owned(), Value::Object(crossed.collect()));
    }
    Value::Object(figures)
}

fn group(groups: &Groups, id: GroupId) -> Value {
    let own = groups.group(id);
    let children: Map<String, Value> = groups
        .children(id)
        .into_iter()
        .map(|child| (groups.group(child).name.clone(), group(groups, child)))
        .collect();
    let checks: Map<String, Value> =
        groups.checks(id).into_iter().map(|one| (one.name.clone(), check(&own.path, one))).collect();
    json!({ "name": own.name, "path": own.path, "id": identity(&own.path), "groups": children, "checks": checks })
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn figures_lie_flat_and_true_means_crossed() {
        // Recorded from k6 v1.8.1, run with the samples of `sample`.
        let object = object(&sample::summary(false), None);
        assert_eq!(
            object["metrics"]["my_counter"],
            json!({"count": 7, "rate": 1_485.117_111_031_386_2, "thresholds": {"count>1": false, "count<3": true}})
        );
        assert_eq!(
            object["metrics"]["my_rate"],
            json!({"value": 2.0 / 3.0, "passes": 2, "fails": 1, "thresholds": {"rate>0.5": false}})
        );
        assert_eq!(object["root_group"]["checks"]["two"]["fails"], 1);
        assert_eq!(object["root_group"]["groups"]["G"]["groups"]["H"]["checks"]["in h"]["passes"], 0);
    }
}
