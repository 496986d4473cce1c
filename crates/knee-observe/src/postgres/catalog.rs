//! Texts that describe a database: settings, extensions, columns, indexes, foreign keys.
//!
//! Asked once per connection. Takes no locks but those of the system catalogs.

use crate::figures::Figures;
use crate::session::{Answer, Session};
use crate::sql::mask;
use crate::text::{harmless, label};

/// A question whose rows are parts of texts.
pub(super) struct Question {
    /// What is missing without it.
    pub(super) what: &'static str,
    /// Name of the texts.
    name: &'static str,
    /// First the label, then the columns of a line. Rows of one label follow each other.
    sql: &'static str,
    /// Whether columns are SQL, with literals to be masked.
    is_sql: bool,
}

/// Everything that is asked. Of many tables and indexes, the largest are described.
pub(super) const QUESTIONS: &[Question] = &[
    Question {
        what: "settings",
        name: "setting",
        sql: "SELECT /* knee-observe */ name, current_setting(name, true) FROM pg_settings WHERE name IN ( \
              'autovacuum', 'autovacuum_vacuum_scale_factor', 'autovacuum_naptime', 'checkpoint_timeout', \
              'commit_delay', \
              'compute_query_id', 'deadlock_timeout', 'default_statistics_target', 'default_transaction_isolation', \
              'effective_cache_size', 'effective_io_concurrency', 'fsync', 'full_page_writes', \
              'hot_standby_feedback', 'idle_in_transaction_session_timeout', 'jit_above_cost', \
              'log_min_duration_statement', 'log_statement', 'maintenance_work_mem', 'max_connections', \
              'max_parallel_workers_per_gather', 'max_wal_size', 'plan_cache_mode', 'random_page_cost', \
              'shared_buffers', 'synchronous_commit', 'synchronous_standby_names', 'track_io_timing', \
              'wal_buffers', 'wal_compression', 'work_mem')",
        is_sql: false,
    },
    Question {
        // What this session was asked for is not what others have.
        what: "settings",
        name: "setting",
        sql: "SELECT /* knee-observe */ name, reset_val FROM pg_settings WHERE name = 'jit' AND source <> 'client'",
        is_sql: false,
    },
    Question {
        what: "extensions",
        name: "extension",
        sql: "SELECT /* knee-observe */ extname, extversion FROM pg_extension",
        is_sql: false,
    },
    Question {
        what: "indexes",
        name: "index.definition",
        sql: "SELECT /* knee-observe */ n.nspname || '.' || c.relname, pg_get_indexdef(c.oid) || \
              CASE WHEN x.indisvalid THEN '' ELSE ' -- invalid' END FROM pg_index x \
              JOIN pg_class c ON c.oid = x.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
              WHERE n.nspname NOT IN ('pg_catalog', 'pg_toast', 'information_schema') \
              ORDER BY c.relpages DESC LIMIT 400",
        is_sql: true,
    },
    Question {
        what: "columns",
        name: "table.columns",
        sql: "SELECT /* knee-observe */ n.nspname || '.' || c.relname, a.attname, \
              format_type(a.atttypid, a.atttypmod), s.n_distinct, s.null_frac \
              FROM (SELECT * FROM pg_class WHERE relkind IN ('r', 'p', 'm') \
              AND relnamespace NOT IN (SELECT oid FROM pg_namespace \
              WHERE nspname IN ('pg_catalog', 'information_schema')) ORDER BY relpages DESC LIMIT 200) c \
              JOIN pg_namespace n ON n.oid = c.relnamespace \
              JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
              LEFT JOIN pg_stats s ON s.schemaname = n.nspname AND s.tablename = c.relname \
              AND s.attname = a.attname AND NOT s.inherited ORDER BY c.relpages DESC, c.oid, a.attnum LIMIT 4000",
        is_sql: false,
    },
    Question {
        what: "partitions",
        name: "table.partition_of",
        sql: "SELECT /* knee-observe */ n.nspname || '.' || c.relname, m.nspname || '.' || p.relname FROM pg_class c \
              JOIN pg_class p ON p.oid = pg_partition_root(c.oid) JOIN pg_namespace n ON n.oid = c.relnamespace \
              JOIN pg_namespace m ON m.oid = p.relnamespace \
              WHERE c.relispartition AND c.relkind = 'r' ORDER BY c.relpages DESC LIMIT 400",
        is_sql: false,
    },
    Question {
        what: "foreign keys",
        name: "table.foreign_keys",
        sql: "SELECT /* knee-observe */ n.nspname || '.' || c.relname, \
              (SELECT string_agg(a.attname, ',' ORDER BY u.place) \
              FROM unnest(k.conkey) WITH ORDINALITY u(number, place) \
              JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.number), \
              m.nspname || '.' || d.relname, (SELECT string_agg(a.attname, ',' ORDER BY u.place) \
              FROM unnest(k.confkey) WITH ORDINALITY u(number, place) \
              JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.number) \
              FROM pg_constraint k \
              JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
              JOIN pg_class d ON d.oid = k.confrelid JOIN pg_namespace m ON m.oid = d.relnamespace \
              WHERE k.contype = 'f' ORDER BY k.conrelid, k.oid LIMIT 1000",
        is_sql: false,
    },
    Question {
        what: "row triggers",
        name: "table.row_triggers",
        sql: "SELECT /* knee-observe */ n.nspname || '.' || c.relname, t.tgname FROM pg_trigger t \
              JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
              WHERE NOT t.tgisinternal AND t.tgtype & 1 = 1 AND t.tgenabled <> 'D' \
              ORDER BY t.tgrelid, t.tgname LIMIT 400",
        is_sql: false,
    },
    Question {
        what: "options of tables",
        name: "table.options",
        sql: "SELECT /* knee-observe */ n.nspname || '.' || c.relname, array_to_string(c.reloptions, ',') \
              FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
              WHERE c.reloptions IS NOT NULL AND c.relkind IN ('r', 'p', 'm') LIMIT 200",
        is_sql: false,
    },
];

impl Question {
    /// Adds its texts.
    pub(super) fn read(&self, session: &Session, figures: &mut Figures) -> Answer<()> {
        let mut texts: Vec<(String, String)> = Vec::new();
        for row in session.texts(self.sql)? {
            let of = label(row.get(0).unwrap_or_default());
            let columns = (1..row.len()).map(|place| {
                let column = row.get(place).unwrap_or_default();
                if self.is_sql { mask(column) } else { harmless(column) }
            });
            let line = columns.collect::<Vec<_>>().join("\t");
            match texts.last_mut() {
                Some((last, text)) if *last == of => {
                    text.push('\n');
                    text.push_str(&line);
                }
                _ => texts.push((of, line)),
            }
        }
        figures.texts.extend(texts.into_iter().map(|(of, text)| (self.name, of, text)));
        Ok(())
    }
}
