//! Workers and users in PostgreSQL; the switches choose the statements.
//!
//! Does not retry: a failed write may have been done. Every statement on workers has their tenant as a condition.

use deadpool_postgres::Client;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use crate::config::ServeArgs;
use crate::config::switch::{Columns, CountQuery};
use crate::metric::Metrics;
use crate::options::{Choice, Page, PageRequest};
use crate::refusal::Refusal;
use crate::session::Tenant;
use crate::worker::{Draft, Worker};

pub mod pool;
pub mod prepare;
mod sql;

use pool::{Database, PooledClient};
use sql::{Select, Sql};

/// Parameters of a statement, each with its type.
type Parameters<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

/// A user who can sign in.
#[derive(Debug, Clone)]
pub struct User {
    /// User id.
    pub id: String,
    /// Name.
    pub name: String,
    /// Digest of the password.
    pub password: String,
    /// Tenant.
    pub tenant: Tenant,
}

/// Tables of tenants, users and workers.
pub struct Store {
    database: Database,
    sql: Sql,
    columns: Columns,
    count: CountQuery,
    keeps_statements: bool,
    metrics: Metrics,
}

impl Store {
    /// Connects on first use.
    ///
    /// # Errors
    /// The address is not a PostgreSQL address.
    pub fn new(args: &ServeArgs, metrics: Metrics) -> Result<Self, Refusal> {
        let switches = &args.switches;
        Ok(Self {
            database: Database::new(args, &metrics)?,
            sql: Sql::of(switches),
            columns: switches.columns,
            count: switches.count_query,
            keeps_statements: switches.statement_cache.is_on(),
            metrics,
        })
    }

    /// A connection.
    ///
    /// # Errors
    /// No connection was free in time.
    pub async fn get(&self) -> Result<PooledClient, Refusal> {
        self.database.get().await
    }

    /// A page of options, over one connection or over two in parallel.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn page(&self, request: &PageRequest) -> Result<Page, Refusal> {
        if self.count == CountQuery::Parallel {
            let choices = async {
                let client = self.get().await?;
                client.with_timeout(self.choices(&client, request)).await
            };
            let count = async {
                let client = self.get().await?;
                client.with_timeout(self.count_matches(&client, request)).await
            };
            let ((choices, _), count) = tokio::try_join!(choices, count)?;
            return Ok(Page { choices, count: Some(count) });
        }
        let client = self.get().await?;
        client.with_timeout(self.page_on(&client, request)).await
    }

    /// A page of options over a connection that other statements can use at the same time.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn page_on(&self, client: &Client, request: &PageRequest) -> Result<Page, Refusal> {
        if self.count == CountQuery::Parallel {
            let ((choices, _), count) =
                tokio::try_join!(self.choices(client, request), self.count_matches(client, request))?;
            return Ok(Page { choices, count: Some(count) });
        }
        let (choices, count) = self.choices(client, request).await?;
        let count = match (self.count, count) {
            (CountQuery::Off, _) => None,
            // Without rows no row carries the count.
            (_, None) if request.offset > 0 => Some(self.count_matches(client, request).await?),
            (_, count) => Some(count.unwrap_or(0)),
        };
        Ok(Page { choices, count })
    }

    async fn choices(
        &self,
        client: &Client,
        request: &PageRequest,
    ) -> Result<(Vec<Choice>, Option<i64>), Refusal> {
        let Select { text, with_page } = self.sql.select(request);
        let (limit, offset) = (i64::from(request.limit), i64::from(request.offset));
        let words = request.words();
        let of = request.tenant.texts();
        let mut parameters: Vec<(&(dyn ToSql + Sync), Type)> = tenant(&of).to_vec();
        if with_page {
            parameters.push((&limit, Type::INT8));
            parameters.push((&offset, Type::INT8));
        }
        if let Some(words) = &words {
            parameters.push((words, Type::TEXT));
        }
        let rows = self.query(client, text, &parameters).await?;
        self.metrics.columns.inc_by(rows.iter().map(Row::len).sum::<usize>() as u64);
        let count = match self.count {
            CountQuery::Window | CountQuery::Kept => rows.first().map(|row| row.get("total")),
            CountQuery::Parallel | CountQuery::Off => None,
        };
        Ok((rows.iter().map(|row| self.choice(row)).collect(), count))
    }

    /// The option of a row; with all columns, all of them are decoded first.
    fn choice(&self, row: &Row) -> Choice {
        if self.columns == Columns::All {
            let worker = worker(row);
            return Choice { id: worker.id, first_name: worker.first_name, last_name: worker.last_name };
        }
        Choice { id: row.get(0), first_name: row.get(1), last_name: row.get(2) }
    }

    async fn count_matches(&self, client: &Client, request: &PageRequest) -> Result<i64, Refusal> {
        let words = request.words();
        let of = request.tenant.texts();
        let mut parameters: Vec<(&(dyn ToSql + Sync), Type)> = tenant(&of).to_vec();
        if let Some(words) = &words {
            parameters.push((words, Type::TEXT));
        }
        let rows = self.query(client, self.sql.count(request), &parameters).await?;
        rows.first().map(|row| row.get(0)).ok_or_else(|| Refusal::Postgres("no count came".to_owned()))
    }

    async fn query(
        &self,
        client: &Client,
        text: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, Refusal> {
        self.metrics.statements.inc();
        let rows = if self.keeps_statements {
            let types: Vec<Type> = parameters.iter().map(|(_, kind)| kind.clone()).collect();
            let values: Vec<&(dyn ToSql + Sync)> = parameters.iter().map(|(value, _)| *value).collect();
            let statement = client.prepare_typed_cached(text, &types).await?;
            client.query(&statement, &values).await?
        } else {
            client.query_typed(text, parameters).await?
        };
        tracing::debug!(statement = text, rows = rows.len(), "selected");
        Ok(rows)
    }

    /// One worker of a tenant.
    ///
    /// # Errors
    /// The tenant has no worker with this id, or PostgreSQL fails.
    pub async fn worker(&self, of: &Tenant, id: &str) -> Result<Worker, Refusal> {
        let client = self.get().await?;
        let of = of.texts();
        let [organization, business_unit] = tenant(&of);
        let parameters = [organization, business_unit, (&id as &(dyn ToSql + Sync), Type::TEXT)];
        let rows = client.with_timeout(client.query_typed(&self.sql.show, &parameters)).await?;
        rows.first().map(worker).ok_or(Refusal::NoWorker)
    }

    /// Creates a worker of a tenant.
    ///
    /// # Errors
    /// PostgreSQL fails; the worker may have been created.
    pub async fn create(&self, of: &Tenant, draft: &Draft) -> Result<Worker, Refusal> {
        let client = self.get().await?;
        let id = format!("wrk_{}", ulid::Ulid::new());
        let (status, kind) = (format!("{:?}", draft.status), format!("{:?}", draft.r#type));
        let of = of.texts();
        let [organization, business_unit] = tenant(&of);
        let texts =
            [&id, &status, &kind, &draft.first_name, &draft.last_name, &draft.city, &draft.postal_code];
        let texts = texts.map(|text| (text as &(dyn ToSql + Sync), Type::TEXT));
        let parameters: Vec<_> = [organization, business_unit].into_iter().chain(texts).collect();
        let rows = client.with_timeout(client.query_typed(&self.sql.insert, &parameters)).await?;
        rows.first().map(worker).ok_or_else(|| Refusal::Postgres("no row came back".to_owned()))
    }

    /// Deletes a worker of a tenant.
    ///
    /// # Errors
    /// The tenant has no worker with this id, or PostgreSQL fails.
    pub async fn delete(&self, of: &Tenant, id: &str) -> Result<(), Refusal> {
        let client = self.get().await?;
        let sql = "DELETE FROM workers WHERE organization_id = $1 AND business_unit_id = $2 AND id = $3";
        let [organization, business_unit] = of.texts();
        let deleted = client.with_timeout(client.execute(sql, &[&organization, &business_unit, &id])).await?;
        if deleted == 0 { Err(Refusal::NoWorker) } else { Ok(()) }
    }

    /// The user of an e-mail address.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn user(&self, email: &str) -> Result<Option<User>, Refusal> {
        let client = self.get().await?;
        let sql = "SELECT id, name, password, organization_id, business_unit_id FROM users \
                   WHERE lower(email) = lower($1)";
        let row = client.with_timeout(client.query_opt(sql, &[&email])).await?;
        Ok(row.map(|row| User {
            id: row.get(0),
            name: row.get(1),
            password: row.get(2),
            tenant: Tenant {
                organization: row.get::<_, &str>(3).into(),
                business_unit: row.get::<_, &str>(4).into(),
            },
        }))
    }

    /// Checks that PostgreSQL responds.
    ///
    /// # Errors
    /// It does not, or no connection was free in time.
    pub async fn ping(&self) -> Result<(), Refusal> {
        let client = self.get().await?;
        client.with_timeout(client.simple_query("SELECT 1")).await?;
        Ok(())
    }

    /// Open connections.
    pub fn connections(&self) -> usize {
        self.database.connections()
    }

    /// Requests that wait for a connection.
    pub fn waiting(&self) -> usize {
        self.database.waiting()
    }
}

/// The first two parameters of every statement on workers.
fn tenant<'a>([organization, business_unit]: &'a [&'a str; 2]) -> [(&'a (dyn ToSql + Sync), Type); 2] {
    [(organization, Type::TEXT), (business_unit, Type::TEXT)]
}

fn worker(row: &Row) -> Worker {
    Worker {
        id: row.get(0),
        organization_id: row.get(1),
        business_unit_id: row.get(2),
        state_id: row.get(3),
        fleet_code_id: row.get(4),
        status: row.get(5),
        r#type: row.get(6),
        first_name: row.get(7),
        last_name: row.get(8),
        address_line1: row.get(9),
        address_line2: row.get(10),
        city: row.get(11),
        postal_code: row.get(12),
        gender: row.get(13),
        can_be_assigned: row.get(14),
        assignment_blocked: row.get(15),
        profile_pic_url: row.get(16),
        version: row.get(17),
        created_at: row.get(18),
        updated_at: row.get(19),
    }
}
