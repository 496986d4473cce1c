//! Todos in PostgreSQL, and what of it a switch decides.
//!
//! Does not retry: whether a write that failed was done is not known.

use std::time::Duration;

use deadpool_postgres::{Client, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use tokio::time::{Instant, timeout_at};
use tokio_postgres::{NoTls, Row, Statement};

use crate::config::{RowCount, ServeArgs, Switches, Toggle};
use crate::metric::Metrics;
use crate::refusal::Refusal;
use crate::todo::{Draft, Todo};

pub mod prepare;
pub mod watch;

/// Who this process is to others that watch the table.
pub const NODE: &str = "todos.node";

const COLUMNS: &str = "id, name, description, done, created_at, updated_at";

/// The statements, as the switches have them.
struct Sql {
    list: String,
    show: String,
    insert: &'static str,
    insert_many: String,
    set: String,
    delete: &'static str,
    /// Takes the place of the oldest; none if the table grows.
    push_out: Option<&'static str>,
}

/// The oldest one is that which the list has last: the list in memory drops it without a question.
const PUSH_OUT: &str = "DELETE FROM todos WHERE id IN \
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
            push_out: is_fixed.then_some(PUSH_OUT),
        }
    }
}

/// The table of todos.
pub struct Store {
    primary: Pool,
    replica: Option<Pool>,
    sql: Sql,
    keeps_statements: bool,
    /// For all that a write does.
    patience: Duration,
    metrics: Metrics,
}

impl Store {
    /// Connects when the first connection is wanted. `node` is who this process is to others.
    ///
    /// # Errors
    /// An address is no address of PostgreSQL.
    pub fn new(args: &ServeArgs, node: &str, metrics: Metrics) -> Result<Self, Refusal> {
        let switches = &args.switches;
        let replica = args.replica.as_ref().filter(|_| switches.replica_reads.is_on());
        Ok(Self {
            primary: pool(&args.store.postgres, args, node)?,
            replica: replica.map(|url| pool(url, args, node)).transpose()?,
            sql: Sql::of(switches),
            keeps_statements: switches.statement_cache.is_on(),
            patience: args.patience(),
            metrics,
        })
    }

    /// The newest todos first, from where reads go.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn list(&self) -> Result<Vec<Todo>, Refusal> {
        self.list_from(self.replica.as_ref().unwrap_or(&self.primary)).await
    }

    /// The newest todos first, from the primary: with all that was ever answered.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn list_of_primary(&self) -> Result<Vec<Todo>, Refusal> {
        self.list_from(&self.primary).await
    }

    async fn list_from(&self, pool: &Pool) -> Result<Vec<Todo>, Refusal> {
        let client = pool.get().await?;
        let statement = self.statement(&client, &self.sql.list).await?;
        Ok(client.query(&statement, &[]).await?.iter().map(todo).collect())
    }

    /// One todo, from where reads go.
    ///
    /// # Errors
    /// There is none; PostgreSQL fails.
    pub async fn show(&self, id: i32) -> Result<Todo, Refusal> {
        let client = self.replica.as_ref().unwrap_or(&self.primary).get().await?;
        self.read(&client, id).await
    }

    async fn read(&self, client: &Client, id: i32) -> Result<Todo, Refusal> {
        let statement = self.statement(client, &self.sql.show).await?;
        client.query_opt(&statement, &[&id]).await?.as_ref().map(todo).ok_or(Refusal::NoTodo)
    }

    /// Makes a todo as published: a transaction, then the row is read again.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn insert_in_steps(&self, draft: &Draft) -> Result<Todo, Refusal> {
        let mut client = self.primary.get().await?;
        let insert = self.statement(&client, self.sql.insert).await?;
        let push_out = match self.sql.push_out {
            Some(sql) => Some(self.statement(&client, sql).await?),
            None => None,
        };
        // Rolled back when it is dropped before it is committed.
        let transaction = client.transaction().await?;
        // First: in an empty table the oldest one would be the new one.
        if let Some(statement) = push_out {
            transaction.execute(&statement, &[]).await?;
        }
        let id: i32 =
            transaction.query_one(&insert, &[&draft.name, &draft.description, &draft.done]).await?.get(0);
        transaction.commit().await?;
        self.metrics.insert_statements.inc();
        self.metrics.created.inc();
        self.read(&client, id).await
    }

    /// Makes todos in one statement; they come back in the order of the drafts. Takes no longer than twice the timeout:
    /// others queue behind it.
    ///
    /// # Errors
    /// PostgreSQL fails, or does not answer; then either all were made or none.
    pub async fn insert(&self, drafts: &[Draft]) -> Result<Vec<Todo>, Refusal> {
        let end = Instant::now() + self.patience;
        let Ok(client) = timeout_at(end, self.primary.get()).await else {
            return Err(Refusal::NotBegun("no connection was free in time".to_owned()));
        };
        let client = client?;
        let Ok(rows) = timeout_at(end, self.insert_with(&client, drafts)).await else {
            give_up(client);
            return Err(Refusal::late());
        };
        let mut todos: Vec<Todo> = rows?.iter().map(todo).collect();
        // Ids are given as the rows are read from the arrays.
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

    /// Says whether a todo is done.
    ///
    /// # Errors
    /// There is none; PostgreSQL fails.
    pub async fn set(&self, id: i32, done: bool) -> Result<Todo, Refusal> {
        let client = self.primary.get().await?;
        let statement = self.statement(&client, &self.sql.set).await?;
        client.query_opt(&statement, &[&id, &done]).await?.as_ref().map(todo).ok_or(Refusal::NoTodo)
    }

    /// Deletes a todo.
    ///
    /// # Errors
    /// There is none; PostgreSQL fails.
    pub async fn delete(&self, id: i32) -> Result<(), Refusal> {
        let client = self.primary.get().await?;
        let statement = self.statement(&client, self.sql.delete).await?;
        if client.execute(&statement, &[&id]).await? == 0 { Err(Refusal::NoTodo) } else { Ok(()) }
    }

    /// Whether every PostgreSQL answers that is used.
    ///
    /// # Errors
    /// One does not, or no connection was free in time.
    pub async fn ping(&self) -> Result<(), Refusal> {
        for pool in std::iter::once(&self.primary).chain(&self.replica) {
            pool.get().await?.simple_query("SELECT 1").await?;
        }
        Ok(())
    }

    /// Connections to the primary at this time.
    pub fn connections(&self) -> usize {
        self.primary.status().size
    }

    async fn statement(&self, client: &Client, sql: &str) -> Result<Statement, Refusal> {
        if self.keeps_statements {
            let kept = client.statement_cache.size();
            let statement = client.prepare_cached(sql).await?;
            self.metrics.prepared.inc_by(client.statement_cache.size().saturating_sub(kept) as u64);
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

/// Closes a connection whose statement was not answered: whoever had it next would wait behind that. PostgreSQL is asked
/// to end the statement, too, so that sessions which nobody waits for do not pile up there.
fn give_up(client: Client) {
    let token = client.cancel_token();
    drop(Client::take(client));
    tokio::spawn(async move { token.cancel_query(NoTls).await });
}

/// Makes a pool; it connects when the first connection is wanted.
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

/// How sessions are opened.
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
