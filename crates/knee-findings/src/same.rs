//! Whether two findings can be about the same thing, so that one explains the other.
//!
//! Compares what they are about. Which rule explains which is said by the rules.

use knee_core::observation::SourceKind;

use crate::evidence::Evidence;
use crate::finding::{Subject, SubjectKind};
use crate::query;
use crate::statement;

/// Findings whose figures are those of a whole server: the statement or command that they name is the one that shows
/// it most, and the cause can be another one of this server.
const OF_SERVER: [&str; 3] = ["hot_row", "lock_wait", "redis_round_trips"];

/// Whether the finding `code` about `other` can be what a finding about `cause` explains.
pub(crate) fn can_be_same(evidence: &Evidence<'_>, cause: &Subject, code: &str, other: &Subject) -> bool {
    if cause.kind == SubjectKind::Service || other.kind == SubjectKind::Service {
        return true;
    }
    if !is_same_place(evidence, cause, other) {
        return false;
    }
    if OF_SERVER.contains(&code) {
        return true;
    }
    match (cause.kind, other.kind) {
        (SubjectKind::Statement, SubjectKind::Statement)
        | (SubjectKind::Table, SubjectKind::Table)
        | (SubjectKind::Endpoint, SubjectKind::Endpoint) => cause.name == other.name,
        (SubjectKind::Table, SubjectKind::Statement) => names(evidence, other, &cause.name),
        (SubjectKind::Statement, SubjectKind::Table) => names(evidence, cause, &other.name),
        _ => true,
    }
}

/// Whether both belong to one source. A machine holds all that run on it, and a pooler stands before the servers of a run;
/// what belongs to no source can be anywhere.
fn is_same_place(evidence: &Evidence<'_>, one: &Subject, other: &Subject) -> bool {
    let (hosts, poolers) = (evidence.sources(SourceKind::Host), evidence.sources(SourceKind::PgBouncer));
    let has_others = |place: &str| hosts.iter().chain(&poolers).any(|one| one.source.name == place);
    match (place(one), place(other)) {
        (Some(one), Some(other)) => one == other || has_others(one) || has_others(other),
        _ => true,
    }
}

/// The source of a subject. A server as a whole is its own.
fn place(subject: &Subject) -> Option<&str> {
    let whole = (subject.kind == SubjectKind::Resource).then_some(subject.name.as_str());
    subject.source.as_deref().or(whole)
}

/// Whether a statement names a table, or the table of which it is the partition that is read.
fn names(evidence: &Evidence<'_>, statement: &Subject, table: &str) -> bool {
    let servers = evidence.sources(SourceKind::Postgres);
    let server =
        servers.iter().find(|server| Some(server.source.name.as_str()) == statement.source.as_deref());
    let is_it = |named: &String| {
        let found = server.and_then(|server| query::table(server, named));
        named == table || found.is_some_and(|found| found.name == table)
    };
    statement::read(&statement.name).tables.iter().any(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scene;

    const HERE: &str = "postgres://127.0.0.1/shop";

    fn of(kind: SubjectKind, name: &str, source: &str) -> Subject {
        Subject::of(kind, name, (!source.is_empty()).then_some(source))
    }

    #[test]
    fn a_statement_is_the_same_as_itself_and_a_table_as_the_statements_that_name_it() {
        let mut scene = Scene::steady();
        scene.postgres();
        let (run, observations) = scene.finish();
        let evidence = Evidence::of(&run, &observations);
        let same = |one: &Subject, other: &Subject| can_be_same(&evidence, one, "wasted_reads", other);
        let list = of(SubjectKind::Statement, "SELECT id FROM products WHERE shop = $1", HERE);
        let other = of(SubjectKind::Statement, "SELECT id FROM orders WHERE shop = $1", HERE);
        assert!(same(&list, &list) && !same(&list, &other));
        let table = of(SubjectKind::Table, "public.products", HERE);
        assert!(same(&table, &list) && same(&list, &table) && !same(&table, &other));
        assert!(!same(&list, &Subject { source: Some("postgres://other".to_owned()), ..list.clone() }));
    }

    #[test]
    fn the_service_and_a_machine_can_be_anything_and_a_server_is_not_another_one() {
        let mut scene = Scene::steady();
        scene.host(4.0);
        let (run, observations) = scene.finish();
        let evidence = Evidence::of(&run, &observations);
        let same = |one: &Subject, code: &str, other: &Subject| can_be_same(&evidence, one, code, other);
        let statement = of(SubjectKind::Statement, "SELECT 1", HERE);
        assert!(same(&statement, "fixed_places", &Subject::service()));
        let server = of(SubjectKind::Resource, HERE, "");
        assert!(same(&statement, "cache_miss", &server));
        assert!(!same(&statement, "cache_miss", &of(SubjectKind::Resource, "postgres://other", "")));
        let machine = of(SubjectKind::Resource, "CPUs of host", "host");
        let process = of(SubjectKind::Process, "shop (pid 7)", "shop (pid 7)");
        assert!(same(&machine, "cpu_per_request", &process));
    }

    #[test]
    fn waits_for_locks_are_those_of_all_statements_of_a_server() {
        let (run, observations) = Scene::steady().finish();
        let evidence = Evidence::of(&run, &observations);
        let cause = of(SubjectKind::Statement, "UPDATE a SET n = n + 1", HERE);
        let waits = of(SubjectKind::Statement, "UPDATE b SET n = n + 1", HERE);
        assert!(can_be_same(&evidence, &cause, "lock_wait", &waits));
        assert!(!can_be_same(&evidence, &cause, "count_per_request", &waits));
    }
}
