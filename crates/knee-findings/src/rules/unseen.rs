//! Rules whose evidence neither a record nor an observer has yet: they say what they lack, and never find anything.
//!
//! They stand in the list so that "nothing found" does not seem to cover them.

use crate::definition::Rule;
use crate::lack::Lack;

pub(super) const SLOW_REPLICA: Rule = Rule {
    code: "slow_replica",
    finds: "one slow instance of several",
    needs: "which address or instance answered each request; records do not have it",
    limits: "none yet",
    source: "No limit is needed while the evidence is missing.",
    cause: "A balancer sends a part of the requests to an instance that is slower than the others.",
    remedy: "Load the instances one by one, and compare them with `knee compare`.",
    explains: &[],
    check: |_| Err(Lack::of("which instance answered each request: records do not have it")),
};

pub(super) const COMPRESSION: Rule = Rule {
    code: "no_compression",
    finds: "text that is sent without compression",
    needs: "the encoding and the type of bodies; records do not have them",
    limits: "none yet; `transfer` finds large bodies whose arrival takes time",
    source: "No limit is needed while the evidence is missing.",
    cause: "The service or the proxy before it does not compress, or the load does not offer it.",
    remedy: "Ask with `-H 'Accept-Encoding: gzip'`, and look at Content-Encoding.",
    explains: &[],
    check: |_| Err(Lack::of("the encoding of bodies: records do not have it")),
};

pub(super) const TABLE_GROWTH: Rule = Rule {
    code: "table_growth",
    finds: "statements that become slower with the number of rows",
    needs: "runs with four amounts of data; one run has one amount",
    limits: "none yet; a study with `growth` fits the exponent",
    source: "No limit is needed while the evidence is missing.",
    cause: "A scan, a count or an offset that reads all rows is fast while there are few.",
    remedy: "Make a study over amounts of data, as the guide on studies shows.",
    explains: &[],
    check: |_| Err(Lack::of("runs with four amounts of data: this is one run")),
};
