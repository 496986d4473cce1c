//! The statistics views of PostgreSQL and their figures, by version.
//!
//! Sources: the chapters "Monitoring Database Activity" and the release notes of PostgreSQL 13 to 18.

use super::group::{Column, Group, View, column};
use crate::figures::{Bytes, Count, Counter, Gauge, Seconds};

/// What is read in every interval.
pub(super) fn fast(version: u32) -> Vec<Group> {
    FAST.iter().filter_map(|view| Group::of(view, version)).collect()
}

/// What is read less often.
pub(super) fn slow(version: u32) -> Vec<Group> {
    SLOW.iter().filter_map(|view| Group::of(view, version)).collect()
}

const ALL: u32 = u32::MAX;

static FAST: [View; 9] = [
    DATABASE,
    CONNECTIONS,
    WAL,
    WAL_FLUSHES,
    CHECKPOINTER,
    CHECKPOINTER_BEFORE_17,
    BACKGROUND_WRITER,
    REPLICATION,
    REPLICA,
];

static SLOW: [View; 3] = [TABLES, INDEXES, IO];

const fn count(name: &'static str, sql: &'static str) -> Column {
    column(name, sql, Count, Counter)
}

const fn bytes(name: &'static str, sql: &'static str) -> Column {
    column(name, sql, Bytes, Counter)
}

/// A counter of milliseconds in the view, whose expression makes seconds of them.
const fn time(name: &'static str, sql: &'static str) -> Column {
    column(name, sql, Seconds, Counter)
}

const fn level(name: &'static str, sql: &'static str) -> Column {
    column(name, sql, Count, Gauge)
}

const fn age(name: &'static str, sql: &'static str) -> Column {
    column(name, sql, Seconds, Gauge)
}

const fn size(name: &'static str, sql: &'static str) -> Column {
    column(name, sql, Bytes, Gauge)
}

const DATABASE: View = View {
    what: "pg_stat_database",
    label: "datname",
    from: "FROM pg_stat_database WHERE datname = current_database()",
    columns: &[
        count("database.commits", "xact_commit"),
        count("database.rollbacks", "xact_rollback"),
        count("database.blocks.read", "blks_read"),
        count("database.blocks.hit", "blks_hit"),
        count("database.rows.returned", "tup_returned"),
        count("database.rows.fetched", "tup_fetched"),
        count("database.rows.inserted", "tup_inserted"),
        count("database.rows.updated", "tup_updated"),
        count("database.rows.deleted", "tup_deleted"),
        count("database.temp_files", "temp_files"),
        bytes("database.temp_bytes", "temp_bytes"),
        count("database.deadlocks", "deadlocks"),
        count("database.conflicts", "conflicts"),
        time("database.read_time", "blk_read_time / 1000"),
        time("database.write_time", "blk_write_time / 1000"),
        count("database.sessions", "sessions").since(14),
        count("database.sessions.abandoned", "sessions_abandoned").since(14),
        count("database.sessions.fatal", "sessions_fatal").since(14),
        count("database.sessions.killed", "sessions_killed").since(14),
        time("database.session_time", "session_time / 1000").since(14),
        time("database.active_time", "active_time / 1000").since(14),
        time("database.idle_in_transaction_time", "idle_in_transaction_time / 1000").since(14),
    ],
    since: 0,
    until: ALL,
};

const CONNECTIONS: View = View {
    what: "connections of the server",
    label: "''",
    // The function behind `pg_stat_activity`, which joins databases and roles.
    from: "FROM pg_stat_get_activity(NULL) WHERE application_name IS DISTINCT FROM 'knee-observe'",
    columns: &[
        level("connections.used", "count(*) FILTER (WHERE backend_type = 'client backend')"),
        level("connections.max", "current_setting('max_connections')"),
        level("activity.autovacuum", "count(*) FILTER (WHERE backend_type = 'autovacuum worker')"),
    ],
    since: 0,
    until: ALL,
};

const WAL: View = View {
    what: "pg_stat_wal",
    label: "''",
    from: "FROM pg_stat_wal",
    columns: &[
        count("wal.records", "wal_records"),
        count("wal.images", "wal_fpi"),
        bytes("wal.bytes", "wal_bytes"),
        count("wal.buffers_full", "wal_buffers_full"),
        count("wal.writes", "wal_write").until(17),
        count("wal.syncs", "wal_sync").until(17),
        time("wal.write_time", "wal_write_time / 1000").until(17),
        time("wal.sync_time", "wal_sync_time / 1000").until(17),
    ],
    since: 14,
    until: ALL,
};

/// Since 18, writes and flushes of the WAL are counted with all other I/O. The context `normal` leaves out new
/// segments that are made ahead.
const WAL_FLUSHES: View = View {
    what: "pg_stat_io",
    label: "''",
    from: "FROM pg_stat_io WHERE object = 'wal' AND context = 'normal'",
    columns: &[
        count("wal.writes", "sum(writes)"),
        count("wal.syncs", "sum(fsyncs)"),
        time("wal.write_time", "sum(write_time) / 1000"),
        time("wal.sync_time", "sum(fsync_time) / 1000"),
    ],
    since: 18,
    until: ALL,
};

const CHECKPOINTER: View = View {
    what: "pg_stat_checkpointer",
    label: "''",
    from: "FROM pg_stat_checkpointer",
    columns: &[
        count("checkpoint.timed", "num_timed"),
        count("checkpoint.requested", "num_requested"),
        time("checkpoint.write_time", "write_time / 1000"),
        time("checkpoint.sync_time", "sync_time / 1000"),
        count("checkpoint.buffers", "buffers_written"),
    ],
    since: 17,
    until: ALL,
};

const CHECKPOINTER_BEFORE_17: View = View {
    what: "pg_stat_bgwriter",
    label: "''",
    from: "FROM pg_stat_bgwriter",
    columns: &[
        count("checkpoint.timed", "checkpoints_timed"),
        count("checkpoint.requested", "checkpoints_req"),
        time("checkpoint.write_time", "checkpoint_write_time / 1000"),
        time("checkpoint.sync_time", "checkpoint_sync_time / 1000"),
        count("checkpoint.buffers", "buffers_checkpoint"),
        count("backend.buffers", "buffers_backend"),
        count("backend.syncs", "buffers_backend_fsync"),
    ],
    since: 0,
    until: 16,
};

const BACKGROUND_WRITER: View = View {
    what: "pg_stat_bgwriter",
    label: "''",
    from: "FROM pg_stat_bgwriter",
    columns: &[count("background.buffers", "buffers_clean")],
    since: 0,
    until: ALL,
};

const REPLICATION: View = View {
    what: "pg_stat_replication",
    label: "application_name",
    from: "FROM pg_stat_replication WHERE state = 'streaming' LIMIT 16",
    columns: &[
        age("replication.write_lag", "extract(epoch FROM write_lag)"),
        age("replication.flush_lag", "extract(epoch FROM flush_lag)"),
        age("replication.replay_lag", "extract(epoch FROM replay_lag)"),
        size(
            "replication.behind",
            "pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn() \
             ELSE pg_current_wal_lsn() END, replay_lsn)",
        ),
    ],
    since: 0,
    until: ALL,
};

const REPLICA: View = View {
    what: "state of replication",
    label: "''",
    from: "",
    columns: &[
        level("replica", "pg_is_in_recovery()::int"),
        age(
            "replica.replay_age",
            "CASE WHEN pg_is_in_recovery() \
             THEN extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) END",
        ),
        size(
            "replica.behind",
            "CASE WHEN pg_is_in_recovery() \
             THEN pg_wal_lsn_diff(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) END",
        ),
    ],
    since: 0,
    until: ALL,
};

const TABLES: View = View {
    what: "pg_stat_user_tables",
    label: "t.schemaname || '.' || t.relname",
    from: "FROM pg_stat_user_tables t JOIN pg_statio_user_tables i USING (relid) JOIN pg_class c ON c.oid = t.relid \
           ORDER BY t.seq_tup_read + coalesce(t.idx_tup_fetch, 0) + t.n_tup_ins + t.n_tup_upd + t.n_tup_del DESC, \
           c.relpages DESC LIMIT 200",
    columns: &[
        count("table.seq_scans", "t.seq_scan"),
        count("table.seq_rows", "t.seq_tup_read"),
        count("table.index_scans", "t.idx_scan"),
        count("table.index_rows", "t.idx_tup_fetch"),
        count("table.inserted", "t.n_tup_ins"),
        count("table.updated", "t.n_tup_upd"),
        count("table.deleted", "t.n_tup_del"),
        count("table.hot_updated", "t.n_tup_hot_upd"),
        count("table.newpage_updated", "t.n_tup_newpage_upd").since(16),
        level("table.live_rows", "t.n_live_tup"),
        level("table.dead_rows", "t.n_dead_tup"),
        level("table.changed_since_analyze", "t.n_mod_since_analyze"),
        count("table.vacuums", "t.vacuum_count + t.autovacuum_count"),
        count("table.analyzes", "t.analyze_count + t.autoanalyze_count"),
        age("table.vacuum_age", "extract(epoch FROM now() - greatest(t.last_vacuum, t.last_autovacuum))"),
        age("table.analyze_age", "extract(epoch FROM now() - greatest(t.last_analyze, t.last_autoanalyze))"),
        count("table.blocks.read", "i.heap_blks_read"),
        count("table.blocks.hit", "i.heap_blks_hit"),
        count("table.index_blocks.read", "i.idx_blks_read"),
        count("table.index_blocks.hit", "i.idx_blks_hit"),
        count("table.toast_blocks.read", "i.toast_blks_read"),
        count("table.toast_blocks.hit", "i.toast_blks_hit"),
        level("table.rows_estimate", "CASE WHEN c.relpages > 0 AND c.reltuples >= 0 THEN c.reltuples END"),
        size(
            "table.bytes",
            "CASE WHEN c.relpages > 0 THEN c.relpages::float8 * current_setting('block_size')::float8 END",
        ),
    ],
    since: 0,
    until: ALL,
};

const INDEXES: View = View {
    what: "pg_stat_user_indexes",
    label: "x.schemaname || '.' || x.indexrelname",
    from: "FROM pg_stat_user_indexes x JOIN pg_statio_user_indexes i USING (indexrelid) \
           JOIN pg_class c ON c.oid = x.indexrelid ORDER BY x.idx_scan DESC, c.relpages DESC LIMIT 400",
    columns: &[
        count("index.scans", "x.idx_scan"),
        count("index.rows_read", "x.idx_tup_read"),
        count("index.rows_fetched", "x.idx_tup_fetch"),
        count("index.blocks.read", "i.idx_blks_read"),
        count("index.blocks.hit", "i.idx_blks_hit"),
        size("index.bytes", "c.relpages::float8 * current_setting('block_size')::float8"),
    ],
    since: 0,
    until: ALL,
};

const IO: View = View {
    what: "pg_stat_io",
    label: "backend_type || '/' || object || '/' || context",
    from: "FROM pg_stat_io",
    columns: &[
        count("io.reads", "reads"),
        count("io.writes", "writes"),
        count("io.extends", "extends"),
        count("io.hits", "hits"),
        count("io.evictions", "evictions"),
        count("io.fsyncs", "fsyncs"),
        bytes("io.read_bytes", "reads * op_bytes").until(17),
        bytes("io.write_bytes", "writes * op_bytes").until(17),
        bytes("io.read_bytes", "read_bytes").since(18),
        bytes("io.write_bytes", "write_bytes").since(18),
        time("io.read_time", "read_time / 1000"),
        time("io.write_time", "write_time / 1000"),
        time("io.fsync_time", "fsync_time / 1000"),
    ],
    since: 16,
    until: ALL,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flushes_of_the_wal_have_one_source_in_every_version_that_counts_them() {
        let of = |version: u32| {
            let groups = fast(version);
            let asked: Vec<String> = groups.iter().map(Group::sql).collect();
            let flushes = |sql: &&String| sql.contains("wal_sync") || sql.contains("sum(fsyncs)");
            asked.iter().filter(flushes).cloned().collect::<Vec<_>>()
        };
        assert!(of(13).is_empty());
        assert!(of(17).len() == 1 && of(17)[0].ends_with("FROM pg_stat_wal"));
        assert!(of(18).len() == 1 && of(18)[0].ends_with("WHERE object = 'wal' AND context = 'normal'"));
    }

    #[test]
    fn each_version_is_asked_only_for_what_it_has() {
        let all = |version: u32| -> String {
            fast(version).iter().chain(&slow(version)).map(Group::sql).collect::<Vec<_>>().join("\n")
        };
        assert!(!all(13).contains("pg_stat_wal") && !all(13).contains("active_time"));
        assert!(all(14).contains("wal_sync") && !all(14).contains("pg_stat_io"));
        assert!(all(16).contains("op_bytes") && all(16).contains("checkpoints_timed"));
        assert!(all(17).contains("num_timed") && !all(17).contains("checkpoints_timed"));
        assert!(
            all(18).contains("read_bytes") && !all(18).contains("op_bytes") && !all(18).contains("wal_sync")
        );
        assert!(
            all(18).lines().all(|sql| sql.contains("/* knee-observe */")),
            "own statements can be recognized"
        );
    }
}
