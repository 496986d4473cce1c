//! A database whose working set does not fit its memory.
//!
//! Needs a PostgreSQL server. Reads from the cache of the operating system count as misses, too, but wait for no disk.

use knee_core::observation::SourceKind;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::share;

pub(super) const RULE: Rule = Rule {
    code: "cache_miss",
    finds: "blocks that the database must read from the disk",
    needs: "a PostgreSQL server",
    limits: "5 % of the blocks and 10 blocks per response are not in shared_buffers; 10 % of the active backends wait for reads (IO:DataFileRead); a disk is busy 30 % of the time. Two of them, or nothing; nothing if it is known that fewer backends wait",
    source: "PgHero asks for 99 % of hits; 5 % leaves room for a warm-up. What the cache of the operating system has counts as a miss, and makes no backend wait; a disk can be busy with writes.",
    cause: "The data that requests touch is larger than shared_buffers and the page cache.",
    remedy: "Raise shared_buffers, give the machine more memory, or read fewer blocks: indexes, smaller rows.",
    explains: &[],
    check,
};

const MISSES: f64 = 0.05;
const PER_REQUEST: f64 = 10.0;
const WAITING: f64 = 0.1;
const DISK: f64 = 0.3;

fn check(evidence: &Evidence<'_>) -> Checked {
    let hosts = evidence.sources(SourceKind::Host);
    let disk = hosts.first().and_then(|host| host.rises("host.disk.busy").first()?.1.per_second());
    let mut drafts = Vec::new();
    for server in evidence.needed(SourceKind::Postgres)? {
        let Some((database, read)) = server.rises("database.blocks.read").into_iter().next() else {
            continue;
        };
        let hit = server.rise("database.blocks.hit", database).map_or(0.0, |rise| rise.amount);
        let per_request = evidence.per_request(read).filter(|blocks| *blocks >= PER_REQUEST);
        let misses = per_request.map(|_| read.amount / (read.amount + hit));
        let waiting = share::waiting(&server, |wait| wait == "IO:DataFileRead");
        let signals: Vec<Signal> = [
            Signal::at_least(
                "share of blocks not in shared_buffers",
                Unit::Share,
                misses,
                MISSES,
                "pg_stat_database",
            ),
            Signal::at_least(
                "share of active backends that wait for a read",
                Unit::Share,
                waiting,
                WAITING,
                "pg_stat_activity",
            ),
            Signal::at_least(
                "share of the time in which a disk is busy",
                Unit::Share,
                disk,
                DISK,
                "/proc/diskstats",
            ),
        ]
        .into_iter()
        .flatten()
        .collect();
        let (Some(misses), Some(per_request)) = (misses, per_request) else { continue };
        // The cache of the operating system has the blocks, and the disk does other work.
        if signals.len() < 2 || misses < MISSES || Signal::falls_short(waiting, WAITING) {
            continue;
        }
        let now =
            server.text("setting", "shared_buffers").map_or(String::new(), |size| format!(" (now {size})"));
        drafts.push(Draft {
            subject: Subject::of(SubjectKind::Resource, server.name(), None),
            statement: format!(
                "{} blocks per response are not in shared_buffers, {} of all",
                number(per_request),
                percent(misses)
            ),
            signals,
            remedy: Remedy::setting(
                "PostgreSQL",
                "shared_buffers",
                format!("more, up to a quarter of the memory{now}"),
            ),
            gain: None,
        });
    }
    Ok(drafts)
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use crate::testing::Scene;

    #[test]
    fn reads_that_backends_wait_for_are_found_and_reads_from_the_page_cache_are_healthy() {
        let mut scene = Scene::steady();
        let server = scene.postgres();
        scene.counter(server, "database.blocks.read", "shop", 40_000.0);
        scene.counter(server, "database.blocks.hit", "shop", 90_000.0);
        assert_eq!(scene.found("cache_miss"), None);
        scene.counter(server, "activity.wait", "IO:DataFileRead", 2.0);
        assert_eq!(scene.found("cache_miss").unwrap().confidence, Confidence::Likely);
    }

    #[test]
    fn a_disk_that_is_busy_with_writes_does_not_make_reads_from_the_page_cache_slow() {
        let mut scene = Scene::steady();
        let host = scene.host(4.0);
        let server = scene.postgres();
        scene.counter(server, "database.blocks.read", "shop", 40_000.0);
        scene.counter(server, "database.blocks.hit", "shop", 90_000.0);
        scene.counter(host, "host.disk.busy", "sda", 0.5);
        assert_eq!(scene.found("cache_miss"), None, "no backend waits for a read");
        scene.observations.series.retain(|series| series.name != "activity.state");
        assert!(scene.found("cache_miss").is_some(), "it is not known what they wait for");
    }
}
