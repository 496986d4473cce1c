//! The list of all rules; each is a file below, or shares one with its twin.
//!
//! A new rule is a new file and a line in [`RULES`]. Causes stand before the resources that they fill, because findings of
//! equal gain keep this order.

mod accept_queue;
mod batch_window;
mod blocked_loop;
mod blocking_pop;
mod busy_neighbour;
mod cache_flushed;
mod cache_miss;
mod cache_unanswered;
mod call_places;
mod call_rate;
mod checkpoint;
mod collapse;
mod commit_flush;
mod computed_order;
mod condensed_rows;
mod connections;
mod count_per_request;
mod cpu_full;
mod cpu_per_request;
mod database_connections;
mod dead_rows;
mod deadlocks;
mod deep_offset;
mod delayed_ack;
mod dropped_connections;
mod duplicate_keys;
pub(crate) mod fixed_places;
mod growing_cpu;
mod growing_memory;
mod growing_requests;
mod growing_responses;
mod hits_unused;
mod hot_row;
mod idle_in_transaction;
mod idle_replica;
mod insert_per_row;
mod jit_compile;
mod large_values;
mod large_write_response;
mod leaked_connections;
mod lock_wait;
mod log_output;
mod long_list;
mod look_up_per_request;
mod many_commits;
mod many_statements;
mod missing_index;
mod new_call_connections;
mod no_compression;
mod no_validators;
mod one_thread;
mod periodic_pauses;
mod polled_result;
mod pool_exhausted;
mod pool_held;
mod pooler_queue;
mod rate_limit;
mod redis_command;
mod redis_conflicts;
mod redis_connections;
mod redis_evictions;
mod redis_lock;
mod redis_pause;
mod redis_round_trips;
mod redis_thread;
mod repeated_content;
mod replica_behind;
mod row_product;
mod row_trigger;
mod same_answer;
mod serial_calls;
mod serialization_retries;
mod short_lived_keys;
mod slow_replica;
mod sort_mismatch;
mod sqlite_busy;
mod sqlite_pool;
mod sqlite_scan;
mod sqlite_timeout;
mod sqlite_upgrade;
mod sqlite_wal;
mod sqlite_writer;
mod stale_reads;
mod stale_statistics;
mod syn_retransmit;
mod table_growth;
mod transfer;
mod two_populations;
mod unused_indexes;
mod unused_rows;
mod wasted_reads;
mod whole_row_write;
mod writes_on_read;

use crate::definition::Rule;

/// Every rule: first those over the run alone, then those over observed sources.
pub const RULES: &[Rule] = &[
    delayed_ack::RULE,
    rate_limit::RULE,
    syn_retransmit::RULE,
    connections::TLS,
    connections::KEEP_ALIVE,
    transfer::RULE,
    growing_requests::RULE,
    growing_responses::RULE,
    fixed_places::RULE,
    collapse::RULE,
    periodic_pauses::RULE,
    two_populations::RULE,
    no_compression::RULE,
    no_validators::RULE,
    repeated_content::RULE,
    large_write_response::RULE,
    slow_replica::RULE,
    same_answer::RULE,
    serial_calls::RULE,
    call_places::RULE,
    call_rate::RULE,
    new_call_connections::RULE,
    polled_result::RULE,
    batch_window::RULE,
    missing_index::RULE,
    count_per_request::RULE,
    sort_mismatch::RULE,
    computed_order::RULE,
    condensed_rows::RULE,
    deep_offset::RULE,
    row_product::RULE,
    jit_compile::RULE,
    many_statements::RULE,
    insert_per_row::RULE,
    look_up_per_request::RULE,
    long_list::RULE,
    large_values::RULE,
    row_trigger::RULE,
    unused_indexes::RULE,
    unused_rows::RULE,
    wasted_reads::RULE,
    whole_row_write::RULE,
    table_growth::RULE,
    deadlocks::RULE,
    duplicate_keys::RULE,
    serialization_retries::RULE,
    hot_row::RULE,
    idle_in_transaction::RULE,
    lock_wait::RULE,
    stale_statistics::RULE,
    dead_rows::RULE,
    many_commits::RULE,
    writes_on_read::RULE,
    commit_flush::RULE,
    checkpoint::RULE,
    cache_miss::RULE,
    database_connections::RULE,
    idle_replica::RULE,
    stale_reads::RULE,
    replica_behind::RULE,
    redis_command::RULE,
    redis_pause::RULE,
    blocking_pop::RULE,
    redis_conflicts::RULE,
    redis_lock::RULE,
    redis_round_trips::RULE,
    redis_connections::RULE,
    redis_evictions::RULE,
    cache_flushed::RULE,
    short_lived_keys::RULE,
    cache_unanswered::RULE,
    hits_unused::RULE,
    redis_thread::RULE,
    sqlite_scan::RULE,
    sqlite_upgrade::RULE,
    sqlite_timeout::RULE,
    sqlite_busy::RULE,
    sqlite_pool::RULE,
    sqlite_writer::RULE,
    sqlite_wal::RULE,
    log_output::RULE,
    accept_queue::RULE,
    dropped_connections::RULE,
    pooler_queue::RULE,
    pool_exhausted::RULE,
    pool_held::RULE,
    leaked_connections::RULE,
    growing_cpu::RULE,
    growing_memory::RULE,
    blocked_loop::RULE,
    one_thread::RULE,
    busy_neighbour::RULE,
    cpu_per_request::RULE,
    cpu_full::RULE,
];
