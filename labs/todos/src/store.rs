//! Todos in PostgreSQL: statements, connections and the switches that affect them.
//!
//! Does not retry: a failed write may have been executed.

use std::time::Duration;

use deadpool_postgres::{Client, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use tokio::time::{Instant, timeout_at};
use tokio_postgres::{NoTls, Row, Statement};

use crate::config::{RowCount, ServeArgs, Switches, Toggle};
use crate::metric::Metrics;
use crate::refusal::Refusal;
use crate::todo::{Draft, Todo};

pub mod notifications;
pub mod prepare;

/// Setting that identifies this process to others that listen for changes.
pub const NODE: &str = "todos.node";

const COLUMNS: &str = "id, name, description, done, created_at, updated_at";

/// The statements for the current switches.
struct Sql {
    list: String,
    show: String,
    insert: &'static str,
    insert_many: String,
    set: String,
    delete: &'static str,
    /// Deletes the oldest todo for a new one. None if the table grows.
    delete_oldest: Option<&'static str>,
}

/// The oldest todo is the last one of the list, so that the cache can drop it without a query.
const DELETE_OLDEST: &str = "DELETE FROM todos WHERE id IN \
                        (SELECT id FROM todos ORDER BY created_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)";

impl Sql {
    fn of(switches: &Switches) -> Self {
        let is_fixed = switches.row_count == RowCount::Fixed;
        let limit = switches.list_limit.number().map(|limit| format!(" LIMIT {limit}")).unwrap_or_default();
        let gone = if is_fixed {
            "WITH gone AS (DELETE FROM todos WHERE id IN (SELECT id FROM todos ORDER BY created_at, id \
             LIMIT cardinality($1::text[]) FOR UPDATE SKIP LOCKED)) "
        } else {
            ""
        };
        Self {
            list: format!("SELECT {COLUMNS} FROM todos ORDER BY created_at DESC, id DESC{limit}"),
            show: format!("SELECT {COLUMNS} FROM todos WHERE id = $1"),
            insert: "INSERT INTO todos (name, description, done) VALUES ($1, $2, $3) RETURNING id",
            insert_many: format!(
                "{gone}INSERT INTO todos (name, description, done) \
                 SELECT * FROM unnest($1::text[], $2::text[], $3::bool[]) RETURNING {COLUMNS}"
            ),
            set: format!("UPDATE todos SET done = $2, updated_at = now() WHERE id = $1 RETURNING {COLUMNS}"),
            delete: "DELETE FROM todos WHERE id = $1",
            delete_oldest: is_fixed.then_some(DELETE_OLDEST),
        }
    }
}

/// The table of todos.
pub struct Store {
    primary: Pool,
    replica: Option<Pool>,
    sql: Sql,
    caches_statements: bool,
    /// Timeout of a whole write.
    request_timeout: Duration,
    metrics: Metrics,
}

impl Store {
    /// Connects lazily. `node` identifies this process to others.
    ///
    /// # Errors
    /// An address is not a PostgreSQL address.
    pub fn new(args: &ServeArgs, node: &str, metrics: Metrics) -> Result<Self, Refusal> {
        let switches = &args.switches;
        let replica = args.replica.as_ref().filter(|_| switches.replica_reads.is_on());
        Ok(Self {
            primary: pool(&args.store.postgres, args, node)?,
            replica: replica.map(|url| pool(url, args, node)).transpose()?,
            sql: Sql::of(switches),
            caches_statements: switches.statement_cache.is_on(),
            request_timeout: args.request_timeout(),
            metrics,
        })
    }

    /// The list, newest first, from the replica if reads go there.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn list(&self) -> Result<Vec<Todo>, Refusal> {
        self.list_from(self.replica.as_ref().unwrap_or(&self.primary)).await
    }

    /// The list, newest first, from the primary: includes every acknowledged write.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn list_from_primary(&self) -> Result<Vec<Todo>, Refusal> {
        self.list_from(&self.primary).await
    }

    async fn list_from(&self, pool: &Pool) -> Result<Vec<Todo>, Refusal> {
        let client = pool.get().await?;
        let statement = self.statement(&client, &self.sql.list).await?;
        Ok(client.query(&statement, &[]).await?.iter().map(todo).collect())
    }

    /// One todo, from the replica if reads go there.
    ///
    /// # Errors
    /// No such todo; PostgreSQL fails.
    pub async fn show(&self, id: i32) -> Result<Todo, Refusal> {
        let client = self.replica.as_ref().unwrap_or(&self.primary).get().await?;
        self.read(&client, id).await
    }

    async fn read(&self, client: &Client, id: i32) -> Result<Todo, Refusal> {
        let statement = self.statement(client, &self.sql.show).await?;
        client.query_opt(&statement, &[&id]).await?.as_ref().map(todo).ok_or(Refusal::NoTodo)
    }

    /// Creates a todo as published: a transaction, then a read of the row.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn insert_in_steps(&self, draft: &Draft) -> Result<Todo, Refusal> {
        let mut client = self.primary.get().await?;
        let insert = self.statement(&client, self.sql.insert).await?;
        let delete_oldest = match self.sql.delete_oldest {
            Some(sql) => Some(self.statement(&client, sql).await?),
            None => None,
        };
        // Rolled back if dropped before the commit.
        let transaction = client.transaction().await?;
        // Before the insert: otherwise the new todo of an empty table would be the oldest.
        if let Some(statement) = delete_oldest {
            transaction.execute(&statement, &[]).await?;
        }
        let id: i32 =
            transaction.query_one(&insert, &[&draft.name, &draft.description, &draft.done]).await?.get(0);
        transaction.commit().await?;
        self.metrics.insert_statements.inc();
        self.metrics.created.inc();
        self.read(&client, id).await
    }

    /// Creates todos in one statement. Returns them in the order of the drafts. Takes at most twice the store timeout, because
    /// other writes queue behind it.
    ///
    /// # Errors
    /// PostgreSQL fails or does not respond; then either all todos were created or none.
    pub async fn insert(&self, drafts: &[Draft]) -> Result<Vec<Todo>, Refusal> {
        let end = Instant::now() + self.request_timeout;
        let Ok(client) = timeout_at(end, self.primary.get()).await else {
            return Err(Refusal::NotStarted("no connection was free in time".to_owned()));
        };
        let client = client?;
        let Ok(rows) = timeout_at(end, self.insert_with(&client, drafts)).await else {
            cancel_and_close(client);
            return Err(Refusal::timed_out());
        };
        let mut todos: Vec<Todo> = rows?.iter().map(todo).collect();
        // Ids are assigned in the order of the arrays.
        todos.sort_unstable_by_key(|todo| todo.id);
        self.metrics.insert_statements.inc();
        self.metrics.created.inc_by(todos.len() as u64);
        Ok(todos)
    }

    async fn insert_with(&self, client: &Client, drafts: &[Draft]) -> Result<Vec<Row>, Refusal> {
        let statement = self.statement(client, &self.sql.insert_many).await?;
        let names: Vec<&str> = drafts.iter().map(|draft| draft.name.as_str()).collect();
        let descriptions: Vec<&str> = drafts.iter().map(|draft| draft.description.as_str()).collect();
        let done: Vec<bool> = drafts.iter().map(|draft| draft.done).collect();
        Ok(client.query(&statement, &[&names, &descriptions, &done]).await?)
    }

    /// Sets whether a todo is done.
    ///
    /// # Errors
    /// No such todo; PostgreSQL fails.
    pub async fn set(&self, id: i32, done: bool) -> Result<Todo, Refusal> {
        let client = self.primary.get().await?;
        let statement = self.statement(&client, &self.sql.set).await?;
        client.query_opt(&statement, &[&id, &done]).await?.as_ref().map(todo).ok_or(Refusal::NoTodo)
    }

    /// Deletes a todo.
    ///
    /// # Errors
    /// No such todo; PostgreSQL fails.
    pub async fn delete(&self, id: i32) -> Result<(), Refusal> {
        let client = self.primary.get().await?;
        let statement = self.statement(&client, self.sql.delete).await?;
        if client.execute(&statement, &[&id]).await? == 0 { Err(Refusal::NoTodo) } else { Ok(()) }
    }

    /// Checks that every PostgreSQL in use responds.
    ///
    /// # Errors
    /// One does not respond, or no connection was free in time.
    pub async fn ping(&self) -> Result<(), Refusal> {
        for pool in std::iter::once(&self.primary).chain(&self.replica) {
            pool.get().await?.simple_query("SELECT 1").await?;
        }
        Ok(())
    }

    /// Current number of connections to the primary.
    pub fn connections(&self) -> usize {
        self.primary.status().size
    }

    async fn statement(&self, client: &Client, sql: &str) -> Result<Statement, Refusal> {
        if self.caches_statements {
            let cached = client.statement_cache.size();
            let statement = client.prepare_cached(sql).await?;
            self.metrics.prepared.inc_by(client.statement_cache.size().saturating_sub(cached) as u64);
            return Ok(statement);
        }
        self.metrics.prepared.inc();
        Ok(client.prepare(sql).await?)
    }
}

fn todo(row: &Row) -> Todo {
    Todo {
        id: row.get(0),
        name: row.get(1),
        description: row.get(2),
        done: row.get(3),
        created_at: row.get(4),
        updated_at: row.get(5),
    }
}

/// Closes a connection whose statement timed out: the next user of the connection would wait for that statement. Also asks
/// PostgreSQL to cancel the statement, so that abandoned sessions do not accumulate.
fn cancel_and_close(client: Client) {
    let token = client.cancel_token();
    drop(Client::take(client));
    tokio::spawn(async move { token.cancel_query(NoTls).await });
}

/// Creates a connection pool that connects lazily.
fn pool(url: &str, args: &ServeArgs, node: &str) -> Result<Pool, Refusal> {
    let timeout = args.store_timeout();
    let recycling_method = match args.switches.pool_probe {
        Toggle::On => RecyclingMethod::Verified,
        Toggle::Off => RecyclingMethod::Fast,
    };
    let manager = Manager::from_config(session(url, args, node)?, NoTls, ManagerConfig { recycling_method });
    Pool::builder(manager)
        .max_size(args.switches.pool_max.into())
        .wait_timeout(Some(timeout))
        .create_timeout(Some(timeout))
        .runtime(Runtime::Tokio1)
        .build()
        .map_err(|error| Refusal::Postgres(error.to_string()))
}

/// Settings of a session.
fn session(url: &str, args: &ServeArgs, node: &str) -> Result<tokio_postgres::Config, Refusal> {
    let timeout: Duration = args.store_timeout();
    let mut config: tokio_postgres::Config = url.parse()?;
    config.connect_timeout(timeout).application_name("todos");
    let given = config.get_options().unwrap_or_default();
    let options = format!(
        "{given} -c timezone=UTC -c statement_timeout={} -c synchronous_commit={} -c {NODE}={node}",
        timeout.as_millis(),
        args.switches.commit.setting(),
    );
    config.options(options.trim());
    Ok(config)
}
