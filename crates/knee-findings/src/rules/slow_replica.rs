//! One of several servers, or some of the connections, whose responses are all slow.
//!
//! Needs sampled responses. Servers are known by their addresses or by a header that names them, and are compared within an
//! endpoint. Behind a balancer of connections only the connections are known, and then only the load of a URL by a constant
//! number of users of one machine is looked at, whose requests are alike on all of them. Does not see a server that is slow
//! behind a balancer of requests that names no server: `two_populations` can.

use std::collections::BTreeMap;

use knee_core::histogram::Histogram;
use knee_core::outcome::Outcome;
use knee_core::plan::Executor;
use knee_core::sampled::{ConnectionTimes, Sampled};
use knee_core::unit::Nanos;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, seconds};
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;

pub(super) const RULE: Rule = Rule {
    code: "slow_replica",
    finds: "one slow server of several, or slow connections",
    needs: "the run, with sampled responses of one endpoint from two servers that differ by their address or by a header such as X-Served-By; or, for the load of a URL by a constant number of users, of four connections",
    limits: "a server has 20 sampled responses, a connection 8. The slow ones are at most half of them, take 1.5 times as long as the others and 2 ms more; three quarters of a slow server's responses are slower than three quarters of each other's. Of connections two are slow at least, and their fastest responses are slower than the mean of the others. Of all responses, of the endpoint or of the run, a share between half and twice that of the slow ones is as slow, or nothing",
    source: "Quartiles that do not overlap keep out servers that differ by chance. That all responses have the slow group too, and not the sampled alone, is the second signal.",
    cause: "A balancer sends a part of the requests to an instance that is slower than the others: a smaller machine, a noisy neighbour, a cold cache, an old version. Or it gives one instance more connections than the others.",
    remedy: "Load the servers one by one, and compare them with `knee compare`. If they are alike, look at how connections are spread.",
    explains: &["two_populations"],
    check,
};

const OF_SERVER: u64 = 20;
const OF_CONNECTION: u64 = 8;
const CONNECTIONS: usize = 4;
const TIMES: f64 = 1.5;
/// Seconds.
const MORE: f64 = 0.002;
/// The share of slow responses among all, of that among the sampled, or the inverse.
const AGREES: f64 = 0.5;

/// What is slow, and how slow.
struct Split {
    /// In words: who is slow.
    slow: String,
    /// How many times as long the slow ones take.
    times: f64,
    /// What they take longer, in seconds.
    longer: f64,
    /// Their share of the sampled responses.
    share: f64,
    /// A time between the two groups, in seconds.
    between: f64,
}

fn check(evidence: &Evidence<'_>) -> Checked {
    let sampled = evidence.sampled()?;
    let served: Vec<_> = sampled.servers.iter().map(|(id, servers)| (*id, often(servers))).collect();
    let served: Vec<_> = served.into_iter().filter(|(_, servers)| servers.len() >= 2).collect();
    if sampled.other_servers == 0 && !served.is_empty() {
        let splits = served.iter().filter_map(|(id, servers)| {
            let tally = evidence.run.measured.endpoints.get(id.0 as usize)?;
            let service = &tally.outcomes[Outcome::Ok as usize].service;
            Some((service.count(), draft(evidence, &slow_servers(servers)?, service)?))
        });
        let largest = splits.max_by_key(|(responses, _)| *responses);
        return Ok(largest.map(|(_, draft)| draft).into_iter().collect());
    }
    let connections = connections(evidence, sampled);
    if connections.len() < CONNECTIONS {
        let what = "sampled responses of one endpoint from two servers that an address or a header names, or those of a URL on four connections";
        return Err(Lack::of(what));
    }
    let service = &evidence.all().outcomes[Outcome::Ok as usize].service;
    let split = slow_connections(&connections);
    Ok(split.and_then(|split| draft(evidence, &split, service)).into_iter().collect())
}

/// The servers with enough responses, the fastest first.
fn often(servers: &BTreeMap<String, Histogram>) -> Vec<(&str, &Histogram)> {
    let all = servers.iter().filter(|(_, times)| times.count() >= OF_SERVER);
    let mut servers: Vec<_> = all.map(|(name, times)| (name.as_str(), times)).collect();
    servers.sort_by_key(|(_, times)| times.quantile(0.5));
    servers
}

/// The connections with enough responses, the fastest first; none of a load whose requests or levels differ, or of
/// several machines.
fn connections(evidence: &Evidence<'_>, sampled: &Sampled) -> Vec<ConnectionTimes> {
    let is_constant = match evidence.run.head.plan.scenarios.as_slice() {
        [only] => matches!(&only.executor, Executor::Closed { vus } if vus.stages.is_empty()),
        _ => false,
    };
    if !evidence.is_of_url() || !is_constant || !evidence.run.contributions.is_empty() {
        return Vec::new();
    }
    let all = sampled.connections.iter().filter(|times| times.responses >= OF_CONNECTION);
    let mut connections: Vec<ConnectionTimes> = all.copied().collect();
    connections.sort_by(|one, other| one.mean().unwrap_or(0.0).total_cmp(&other.mean().unwrap_or(0.0)));
    connections
}

fn slow_servers(servers: &[(&str, &Histogram)]) -> Option<Split> {
    let at = |(_, times): &(&str, &Histogram), q: f64| times.quantile(q).map(Nanos::as_secs_f64);
    let medians: Option<Vec<f64>> = servers.iter().map(|server| at(server, 0.5)).collect();
    let (place, times, longer) = largest_step(&medians?)?;
    let (fast, slow) = servers.split_at(place);
    let fast_end = fast.iter().filter_map(|server| at(server, 0.75)).fold(0.0, f64::max);
    let slow_begin = slow.iter().filter_map(|server| at(server, 0.25)).fold(f64::MAX, f64::min);
    if slow_begin <= fast_end {
        return None;
    }
    let count =
        |group: &[(&str, &Histogram)]| group.iter().map(|(_, times)| times.count() as f64).sum::<f64>();
    let names: Vec<&str> = slow.iter().map(|(name, _)| *name).collect();
    Some(Split {
        slow: format!("{} of {} servers ({})", slow.len(), servers.len(), names.join(", ")),
        times,
        longer,
        share: count(slow) / count(servers),
        between: fast_end.midpoint(slow_begin),
    })
}

fn slow_connections(connections: &[ConnectionTimes]) -> Option<Split> {
    let means: Option<Vec<f64>> = connections.iter().map(ConnectionTimes::mean).collect();
    let means = means?;
    let (place, times, longer) = largest_step(&means)?;
    let (fast, slow) = connections.split_at(place);
    let fast_end = means[place - 1];
    let slow_begin = slow.iter().map(|times| times.least.as_secs_f64()).fold(f64::MAX, f64::min);
    if slow.len() < 2 || slow_begin <= fast_end {
        return None;
    }
    let count = |group: &[ConnectionTimes]| group.iter().map(|times| times.responses as f64).sum::<f64>();
    Some(Split {
        slow: format!("{} of {} connections", slow.len(), fast.len() + slow.len()),
        times,
        longer,
        share: count(slow) / count(connections),
        between: fast_end.midpoint(slow_begin),
    })
}

/// Where the slow ones begin in times in ascending order, how many times as long they take as the slowest of the others,
/// and how much longer in seconds. `None` if they are alike, or if most are slow.
fn largest_step(times: &[f64]) -> Option<(usize, f64, f64)> {
    let steps = times.windows(2).enumerate().filter(|(_, pair)| pair[0] > 0.0);
    let steps = steps.map(|(place, pair)| (place + 1, pair[1] / pair[0], pair[1] - pair[0]));
    let large = steps.filter(|(_, times, more)| *times >= TIMES && *more >= MORE);
    let largest = large.max_by(|(_, one, _), (_, other, _)| one.total_cmp(other))?;
    (2 * largest.0 >= times.len()).then_some(largest)
}

/// `service`: the times of all responses of which the split was sampled. `None` if these have no such split.
fn draft(evidence: &Evidence<'_>, split: &Split, service: &Histogram) -> Option<Draft> {
    let ratio = Signal::at_least(
        "times as long as the others",
        Unit::Count,
        Some(split.times),
        TIMES,
        "the run: sampled responses",
    );
    // Within twice of the share, both ways.
    let of_all =
        share_above(service, split.between).map(|share| (share / split.share).min(split.share / share));
    if Signal::falls_short(of_all, AGREES) {
        return None;
    }
    let agrees = Signal::at_least(
        "agreement of the share of slow responses among all with that among the sampled",
        Unit::Share,
        of_all,
        AGREES,
        "the run: service time of all responses",
    );
    Some(Draft {
        subject: Subject::of(SubjectKind::Resource, split.slow.clone(), None),
        statement: format!(
            "responses of {} take {} times as long as those of the others, {} more",
            split.slow,
            number(split.times),
            seconds(split.longer)
        ),
        signals: [ratio, agrees].into_iter().flatten().collect(),
        remedy: Remedy::advice(
            "compare the servers with each other: machine, load, version, cache, connections",
        ),
        gain: Gain::saves(
            evidence.response_mean(),
            Some(split.share * split.longer * service.count() as f64 / evidence.answered().max(1) as f64),
            "the slow ones as fast as the others",
        ),
    })
}

/// Share of the responses that took longer than this many seconds; `None` without a response.
fn share_above(service: &Histogram, least: f64) -> Option<f64> {
    let all = service.count();
    let above = all.saturating_sub(service.count_at_or_below(Nanos::from_secs_f64(least)));
    (all > 0).then(|| above as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use knee_core::plan::EndpointId;
    use knee_core::sampled::Looks;
    use knee_core::schedule::{Curve, Stage};

    use super::*;
    use crate::Confidence;
    use crate::testing::{Dice, Scene};

    /// A run in which every `slow`-th of `of` servers or connections takes longer, and all its responses sampled: by
    /// server, and by connection.
    fn answered_by(of: u64, slow: u64, longer: f64) -> Scene {
        let (mut servers, mut connections) =
            (Sampled::default(), vec![ConnectionTimes::default(); of as usize]);
        let mut number = 0;
        let mut scene = Scene::with(|sample, _, dice: &mut Dice| {
            number = (number + 1) % of;
            sample.wait = 0.004 + dice.exponential(0.001);
            if number < slow {
                sample.wait += longer;
            }
            let service = Nanos::from_secs_f64(sample.wait + sample.receive);
            servers.add_server(EndpointId(0), &format!("10.0.0.{number}:80"), service);
            connections[number as usize].add(service);
        });
        scene.run.sampled = Sampled { connections, ..servers };
        scene.run.sampled.endpoints.insert(EndpointId(0), Looks::default());
        scene
    }

    /// The same behind one address.
    fn connected_to(of: u64, slow: u64, longer: f64) -> Scene {
        let mut scene = answered_by(of, slow, longer);
        scene.run.sampled.servers.clear();
        scene
    }

    #[test]
    fn one_slow_server_of_three_is_named() {
        let finding = answered_by(3, 1, 0.02).found("slow_replica").unwrap();
        assert_eq!((finding.confidence, finding.evidence.len()), (Confidence::Likely, 2));
        assert_eq!(finding.subject.name, "1 of 3 servers (10.0.0.0:80)");
        assert!(
            finding.statement.contains("times as long as those of the others, 20"),
            "{}",
            finding.statement
        );
        assert!(finding.gain.unwrap().share() > 0.5);
    }

    #[test]
    fn five_slow_connections_of_twenty_are_found_where_only_the_balancer_is_known() {
        let finding = connected_to(20, 5, 0.02).found("slow_replica").unwrap();
        assert_eq!(
            (finding.confidence, finding.subject.name.as_str()),
            (Confidence::Likely, "5 of 20 connections")
        );
        assert_eq!(
            connected_to(20, 1, 0.02).found("slow_replica"),
            None,
            "one connection can be slow by chance"
        );
    }

    #[test]
    fn servers_and_connections_that_are_alike_or_mostly_slow_are_healthy() {
        assert_eq!(answered_by(3, 0, 0.0).found("slow_replica"), None);
        assert_eq!(answered_by(3, 1, 0.001).found("slow_replica"), None, "a little slower");
        assert_eq!(answered_by(3, 2, 0.02).found("slow_replica"), None, "two fast ones would be needed");
        assert_eq!(connected_to(20, 0, 0.0).found("slow_replica"), None);
        assert_eq!(connected_to(20, 15, 0.02).found("slow_replica"), None);
    }

    #[test]
    fn a_server_whose_slow_responses_are_in_the_sample_alone_is_not_named() {
        let mut scene = answered_by(3, 1, 0.02);
        scene.run.measured = Scene::with(|sample, _, _| sample.wait = 0.004).run.measured;
        assert_eq!(scene.found("slow_replica"), None, "no response is slow");
        scene.run.measured = Scene::steady().run.measured;
        assert_eq!(scene.found("slow_replica"), None, "one of a hundred is slow");
    }

    #[test]
    fn servers_of_different_endpoints_stepped_loads_and_fleets_are_not_compared() {
        let mut scene = answered_by(2, 1, 0.02);
        let servers = scene.run.sampled.servers.remove(&EndpointId(0)).unwrap();
        for (place, (name, times)) in (0..).zip(servers) {
            scene.run.sampled.servers.insert(EndpointId(place), [(name, times)].into());
        }
        assert!(scene.lacks("slow_replica").is_some(), "another service answers the other endpoint");
        let mut stepped = connected_to(20, 5, 0.02);
        let stages = vec![Stage { duration: Nanos::from_secs(30), target: 20.0 }];
        let Executor::Closed { vus } = &mut stepped.run.head.plan.scenarios[0].executor else { panic!() };
        *vus = Curve { start: 10.0, stages };
        assert!(stepped.lacks("slow_replica").is_some(), "late connections meet a slower service");
    }

    #[test]
    fn names_that_differ_with_each_response_and_few_connections_lack_what_the_rule_needs() {
        let mut scene = answered_by(2, 1, 0.02);
        scene.run.sampled.other_servers = 40;
        assert!(scene.lacks("slow_replica").unwrap().contains("four connections"));
        assert!(Scene::steady().lacks("slow_replica").unwrap().starts_with("sampled responses"));
    }
}
