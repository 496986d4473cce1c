//! Fills the tables with tenants, users and workers, the same on every run.
//!
//! Does not create the measured index: that is a switch of `serve`.

use tokio_postgres::Client;

use crate::config::{SeedArgs, shown};
use crate::migration;
use crate::password;
use crate::refusal;
use crate::store::prepare::connect;

const BUSINESS_UNITS: &str = "\
    INSERT INTO business_units (id, name)
    SELECT 'bu_01J' || upper(lpad(to_hex(n), 23, '0')), 'Business unit ' || n FROM generate_series(1, $1::bigint) n";
const ORGANIZATIONS: &str = "\
    INSERT INTO organizations (id, business_unit_id, name)
    SELECT 'org_01J' || upper(lpad(to_hex(n), 23, '0')), 'bu_01J' || upper(lpad(to_hex(n), 23, '0')), 'Carrier ' || n
    FROM generate_series(1, $1::bigint) n";
const USERS: &str = "\
    INSERT INTO users (id, organization_id, business_unit_id, name, email, password)
    SELECT 'usr_01J' || upper(lpad(to_hex(n * 1000 + u), 23, '0')), 'org_01J' || upper(lpad(to_hex(n), 23, '0')),
           'bu_01J' || upper(lpad(to_hex(n), 23, '0')), 'Dispatcher ' || u, 'user' || u || '@org' || n || '.example', $3
    FROM generate_series(1, $1::bigint) n, generate_series(1, $2::bigint) u";
/// Adds `$4` workers to a tenant, with its first unused numbers, a minute apart so that their order is unique.
const WORKERS: &str = "\
    INSERT INTO workers (id, organization_id, business_unit_id, state_id, status, type, first_name, last_name,
                         address_line1, city, postal_code, gender, created_at, updated_at)
    SELECT 'wrk_01J' || upper(lpad(to_hex($3::bigint * 100000000 + n), 23, '0')), $1, $2,
           'us_' || n % 50, CASE n % 20 WHEN 0 THEN 'Inactive' ELSE 'Active' END::worker_status,
           CASE n % 3 WHEN 0 THEN 'Contractor' ELSE 'Employee' END::worker_type,
           (ARRAY['Ann','Ben','Cara','Dan','Eve','Finn','Gina','Hank','Iris','Jack','Kim','Lee','Mona','Ned','Olga','Paul'])
               [1 + n % 16],
           (ARRAY['Adams','Baker','Clark','Davis','Evans','Ford','Green','Hill','Irwin','Jones','King','Lopez','Moore'])
               [1 + n % 13] || ' ' || n,
           n || ' Main Street', 'Springfield', lpad((n % 100000)::text, 5, '0'),
           CASE n % 2 WHEN 0 THEN 'Male' ELSE 'Female' END::gender, 1700000000 + n * 60, 1700000000 + n * 60
    FROM (SELECT n FROM generate_series(1, $5::bigint) n
          WHERE NOT EXISTS (SELECT FROM workers WHERE organization_id = $1 AND business_unit_id = $2
                            AND id = 'wrk_01J' || upper(lpad(to_hex($3::bigint * 100000000 + n), 23, '0')))
          ORDER BY n LIMIT $4::bigint) missing
    ON CONFLICT DO NOTHING";
const DELETE_OLDEST: &str = "\
    DELETE FROM workers WHERE organization_id = $1 AND business_unit_id = $2 AND id IN
        (SELECT id FROM workers WHERE organization_id = $1 AND business_unit_id = $2
         ORDER BY created_at DESC, id OFFSET $3)";

/// Why seeding failed.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// Tenants exist already.
    #[error("{0} holds tenants already")]
    Exists(String),
    /// PostgreSQL reports an error.
    #[error("PostgreSQL at {address}: {reason}")]
    Postgres {
        /// Address.
        address: String,
        /// Reason.
        reason: String,
    },
    /// The system gives no random bytes.
    #[error("no password can be made: {0}")]
    Password(String),
}

/// Creates schema, tenants, users and workers.
///
/// # Errors
/// Tenants exist and `replace` is not set, or PostgreSQL reports an error.
pub async fn fill(args: &SeedArgs) -> Result<(), Problem> {
    let address = || shown(&args.store.postgres);
    let problem = |error: tokio_postgres::Error| Problem::Postgres {
        address: address(),
        reason: refusal::postgres_message(&error),
    };
    let mut client = connect(&args.store.postgres).await.map_err(problem)?;
    migration::migrate(&mut client).await.map_err(problem)?;
    if args.replace {
        client
            .batch_execute("TRUNCATE workers, users, organizations, business_units")
            .await
            .map_err(problem)?;
    } else if !tenants(&client).await.map_err(problem)?.is_empty() {
        return Err(Problem::Exists(address()));
    }
    // One digest for all: it is slow to compute, and the password is public.
    let digest = password::digest("password").map_err(|error| Problem::Password(error.to_string()))?;
    let (count, users) = (i64::from(args.tenants), i64::from(args.users));
    client.execute(BUSINESS_UNITS, &[&count]).await.map_err(problem)?;
    client.execute(ORGANIZATIONS, &[&count]).await.map_err(problem)?;
    client.execute(USERS, &[&count, &users, &digest]).await.map_err(problem)?;
    set_worker_count(&client, args.workers).await.map_err(problem)
}

/// Creates workers or deletes the oldest until each tenant has `workers` of them.
///
/// # Errors
/// PostgreSQL reports an error.
pub async fn set_worker_count(client: &Client, workers: u32) -> Result<(), tokio_postgres::Error> {
    let wanted = i64::from(workers);
    for (number, (organization, business_unit)) in (1_i64..).zip(tenants(client).await?) {
        let count = "SELECT count(*) FROM workers WHERE organization_id = $1 AND business_unit_id = $2";
        let there: i64 = client.query_one(count, &[&organization, &business_unit]).await?.get(0);
        if there < wanted {
            // At most `there` of the numbers up to `wanted` are in use, so enough are free.
            let more = wanted - there;
            client.execute(WORKERS, &[&organization, &business_unit, &number, &more, &wanted]).await?;
        } else if there > wanted {
            client.execute(DELETE_OLDEST, &[&organization, &business_unit, &wanted]).await?;
        }
    }
    // The planner needs current statistics.
    client.batch_execute("VACUUM (ANALYZE) workers, worker_counts").await
}

/// All tenants, in the order of their creation.
async fn tenants(client: &Client) -> Result<Vec<(String, String)>, tokio_postgres::Error> {
    let rows = client.query("SELECT id, business_unit_id FROM organizations ORDER BY id", &[]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}
