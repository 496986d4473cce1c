//! Prepares the database for the switches before the first request: indexes.
//!
//! The schema must be there; `migrate` makes it. The indexes belong to `serve`, because studies compare nodes with
//! different switches on copies of the same data. They are not made concurrently: a start waits for them. Serves no
//! requests.

use tokio_postgres::{Client, NoTls};

use crate::config::ServeArgs;
use crate::config::switch::{ListIndex, Presence, Switches};
use crate::migration;

/// The unique index on the ids of tasks, as published.
pub const ID_INDEX: &str = "tasks_default_pkey";
/// The index for the list, as published.
pub const LIST_INDEX: &str = "tasks_org_last_execution_idx";
/// Published indexes that nothing here needs: name, table, rest.
const SPARE: [(&str, &str, &str); 7] = [
    ("tasks_organization_id_index", "tasks_default", "(organization_id)"),
    ("tasks_enabled_index", "tasks_default", "(enabled) WHERE enabled"),
    ("tasks_enabled_next_run_at_index", "tasks_default", "(enabled, next_run_at) WHERE enabled"),
    (
        "tasks_schedule_type_scheduled_at_index",
        "tasks_default",
        "(schedule_type, scheduled_at) WHERE schedule_type = 'once'",
    ),
    ("executions_task_id_index", "executions_default", "(task_id)"),
    ("executions_status_scheduled_for_index", "executions_default", "(status, scheduled_for)"),
    ("executions_status_index", "executions_default", "(status) WHERE status = 'pending'"),
];

/// Number of migrations that the database lacks. Changes nothing.
///
/// # Errors
/// PostgreSQL cannot be reached or reports an error.
pub async fn missing_steps(url: &str) -> Result<usize, tokio_postgres::Error> {
    migration::missing(&connect(url).await?).await
}

/// Applies the indexes that the switches ask for. With several nodes, the last to start wins.
///
/// # Errors
/// PostgreSQL reports an error.
pub async fn prepare(args: &ServeArgs) -> Result<(), tokio_postgres::Error> {
    let mut client = connect(&args.store.postgres).await?;
    let transaction = client.transaction().await?;
    // Nodes that start together do this one after the other.
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&migration::LOCK]).await?;
    transaction.batch_execute(&wanted(&args.switches)).await?;
    transaction.commit().await
}

fn wanted(switches: &Switches) -> String {
    let mut statements = Vec::new();
    let mut index = |is_there: bool, unique: &str, name: &str, table: &str, rest: &str| {
        statements.push(if is_there {
            format!("CREATE {unique} INDEX IF NOT EXISTS {name} ON {table} {rest}")
        } else {
            format!("DROP INDEX IF EXISTS {name}")
        });
    };
    index(switches.tasks_pk_index == Presence::Present, "UNIQUE", ID_INDEX, "tasks_default", "(id)");
    let orders = [
        (ListIndex::OrgLastAsc, "_asc", "(organization_id, last_execution_at)"),
        (
            ListIndex::OrgLastDesc,
            "",
            "(organization_id, last_execution_at DESC NULLS LAST, inserted_at DESC)",
        ),
    ];
    for (value, suffix, columns) in orders {
        let name = format!("{LIST_INDEX}{suffix}");
        index(switches.list_index == value, "", &name, "tasks_default", columns);
    }
    for (name, table, rest) in SPARE {
        index(switches.spare_indexes == Presence::Present, "", name, table, rest);
    }
    statements.join(";")
}

/// A connection outside the pools, for statements without the request time-out.
///
/// # Errors
/// PostgreSQL cannot be reached or reports an error.
pub async fn connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}
