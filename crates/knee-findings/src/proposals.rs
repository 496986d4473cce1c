//! The indexes that the findings of a run propose, for servers whose planner can be asked about them.
//!
//! Asks nothing; observers do. What they were answered is weighed in [`crate::hypothetical`].

use knee_core::observation::{Observations, Proposal};
use knee_core::record::Run;

use crate::evidence::Evidence;
use crate::examine::examine;
use crate::finding::{Finding, Remedy};

/// Most indexes of a run.
const PROPOSALS_MAX: usize = 5;

/// The extension that makes indexes that do not exist.
const HYPOTHETICAL: &str = "hypopg";

/// The indexes that the findings with most gain propose, of databases with HypoPG.
pub fn proposals(run: &Run) -> Vec<Proposal> {
    let observations = &run.observations;
    let can_be_asked = |source: usize| observations.text(source, "extension", HYPOTHETICAL).is_some();
    if !(0..observations.sources.len()).any(can_be_asked) {
        return Vec::new();
    }
    let findings = examine(&Evidence::of(run, observations)).findings;
    let proposals = findings.iter().filter_map(|finding| proposal(observations, finding));
    proposals.filter(|proposal| can_be_asked(proposal.source)).take(PROPOSALS_MAX).collect()
}

/// The index of a finding about a statement.
fn proposal(observations: &Observations, finding: &Finding) -> Option<Proposal> {
    let (subject, Remedy::Index { .. }) = (&finding.subject, &finding.remedy) else { return None };
    let name = subject.source.as_deref()?;
    let source = observations.sources.iter().position(|source| source.name == name)?;
    let mut texts = observations.texts.iter().filter(|text| text.source == source);
    let text = texts.find(|text| text.name == "statement.text" && text.text == subject.name)?;
    Some(Proposal { source, statement: text.label.clone(), index: finding.remedy.sql()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Costs, RATE, Scene};

    /// A server with HypoPG, and a page of products that scans them.
    fn scanning() -> Scene {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        let text = "SELECT id, name FROM products WHERE shop = $1 ORDER BY name LIMIT 20";
        let costs =
            Costs { per_request: 0.2, seconds: 0.015, rows: 20.0, blocks: 1_200.0, ..Costs::default() };
        scene.statement(server, "2", text, &costs);
        let calls = 0.2 * RATE as f64;
        scene.table(server, "public.products", 50_000.0, [calls, calls * 50_000.0], [1_000.0, 1_000.0]);
        scene.text(server, "extension", HYPOTHETICAL, "1.4.0");
        scene
    }

    fn proposed(scene: Scene) -> Vec<Proposal> {
        let (mut run, observations) = scene.finish();
        run.observations = observations;
        proposals(&run)
    }

    #[test]
    fn the_index_of_a_finding_is_proposed_with_the_statement_that_needs_it() {
        let index = r#"CREATE INDEX ON "public"."products" ("shop", "name")"#.to_owned();
        let proposal = Proposal { source: 0, statement: "2".to_owned(), index };
        assert_eq!(proposed(scanning()), [proposal]);
    }

    #[test]
    fn nothing_is_proposed_to_a_server_without_hypopg_or_for_a_run_without_findings() {
        let mut without = scanning();
        without.observations.texts.retain(|text| text.name != "extension");
        assert!(proposed(without).is_empty());
        let mut healthy = Scene::steady();
        let server = healthy.postgres();
        healthy.text(server, "extension", HYPOTHETICAL, "1.4.0");
        assert!(proposed(healthy).is_empty());
    }
}
