//! Fills the tables with organizations, a key and tasks that have run, like a service in use.
//!
//! Does not create indexes that are switches of `serve`.

use tokio_postgres::Client;
use uuid::Uuid;

use crate::config::{SeedArgs, shown};
use crate::store::prepare::connect;
use crate::{key, migration, refusal, signature};

/// $1 the organization, $2 how many, $3 executions of each. Ids are of version 7, as those of the service: a task each
/// tenth of a second, the last one just now.
const TASKS: &str = "INSERT INTO tasks (id, organization_id, name, url, method, schedule_type, scheduled_at, \
    retry_attempts, timeout_ms, last_execution_at, inserted_at, updated_at) \
    SELECT (lpad(to_hex((extract(epoch FROM t.at) * 1000)::bigint), 12, '0') || '7000a' || \
    substr(md5(($1::uuid)::text || n), 1, 15))::uuid, $1::uuid, 'seeded task ' || n, 'https://example.com/get', 'GET', 'once', t.at, 1, 10000, \
    CASE WHEN $3::bigint > 0 THEN t.at + interval '0.1 s' END, t.at, t.at \
    FROM generate_series(1, $2::bigint) n, \
    LATERAL (SELECT now() - make_interval(secs => ($2::bigint - n) * 0.1) AS at) t";
/// $1 the organization, $2 executions of each task.
const EXECUTIONS: &str = "INSERT INTO executions (id, task_id, scheduled_for, status, started_at, finished_at, \
    status_code, duration_ms, claim, response_body, inserted_at) \
    SELECT (lpad(to_hex((extract(epoch FROM a.at) * 1000)::bigint), 12, '0') || '7000b' || \
    substr(md5(t.id::text || k), 1, 15))::uuid, t.id, a.at, 'success', a.at, a.at + interval '0.1 s', 200, 100, 1, 'ok', a.at \
    FROM tasks t, generate_series(1, $2::bigint) k, \
    LATERAL (SELECT t.scheduled_at - make_interval(secs => ($2::bigint - k) * 60) AS at) a \
    WHERE t.organization_id = $1";

/// Why seeding failed.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// Organizations exist already.
    #[error("{0} holds organizations already")]
    Exists(String),
    /// The key is malformed.
    #[error("the key is not of the form ID.SECRET, of letters, digits, - and _")]
    Key,
    /// The system has no random numbers.
    #[error("the system has no random numbers: {0}")]
    Random(#[from] getrandom::Error),
    /// PostgreSQL reports an error.
    #[error("PostgreSQL at {address}: {reason}")]
    Postgres {
        /// Address.
        address: String,
        /// Reason.
        reason: String,
    },
}

/// Creates the schema, the organizations with their tasks, and the key; returns the key.
///
/// # Errors
/// Organizations exist and `replace` is not set; the key is malformed; PostgreSQL reports an error.
pub async fn fill(args: &SeedArgs) -> Result<String, Problem> {
    let text = match &args.key {
        Some(text) => text.clone(),
        None => key::generate()?,
    };
    let (id, secret) = key::split(&text).ok_or(Problem::Key)?;
    let hash = signature::digest(secret);
    let address = || shown(&args.store.postgres);
    let problem = |error: tokio_postgres::Error| Problem::Postgres {
        address: address(),
        reason: refusal::postgres_message(&error),
    };
    let mut client = connect(&args.store.postgres).await.map_err(problem)?;
    migration::migrate(&mut client).await.map_err(problem)?;
    let there = client.query_one("SELECT EXISTS (SELECT FROM organizations)", &[]).await.map_err(problem)?;
    if args.replace {
        let sql = "TRUNCATE organizations, api_keys, tasks, executions, idempotency_keys, nodes";
        client.batch_execute(sql).await.map_err(problem)?;
    } else if there.get(0) {
        return Err(Problem::Exists(address()));
    }
    let secret = key::generate_webhook_secret()?;
    let first = write(&mut client, args, &secret).await.map_err(problem)?;
    let sql =
        "INSERT INTO api_keys (id, organization_id, name, key_id, key_hash) VALUES ($1, $2, $3, $4, $5)";
    client.execute(sql, &[&Uuid::now_v7(), &first, &"seeded", &id, &hash]).await.map_err(problem)?;
    // The planner needs current statistics.
    client.batch_execute("VACUUM (ANALYZE) tasks, executions").await.map_err(problem)?;
    Ok(text)
}

/// Writes organizations with their tasks; returns the first.
async fn write(client: &mut Client, args: &SeedArgs, secret: &str) -> Result<Uuid, tokio_postgres::Error> {
    let first = Uuid::now_v7();
    for number in 0..args.organizations {
        let organization = if number == 0 { first } else { Uuid::now_v7() };
        let sql = "INSERT INTO organizations (id, name, tier, webhook_secret) VALUES ($1, $2, 'pro', $3)";
        let name = format!("organization {}", number + 1);
        client.execute(sql, &[&organization, &name, &secret]).await?;
        let tasks = i64::from(args.tasks);
        let executions = i64::from(args.executions);
        if tasks > 0 {
            client.execute(TASKS, &[&organization, &tasks, &executions]).await?;
        }
        if tasks > 0 && executions > 0 {
            client.execute(EXECUTIONS, &[&organization, &executions]).await?;
        }
    }
    Ok(first)
}
