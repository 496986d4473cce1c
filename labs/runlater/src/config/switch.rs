//! The switches that studies vary: the published tuning steps, and further ones.
//!
//! Switches are independent: any combination starts. The defaults are the fastest known setting; the first value
//! of each is the published starting point.

use clap::{Args, ValueEnum};

/// The switches.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Switches")]
pub struct Switches {
    /// How the latest execution of each listed task is found
    #[arg(long, env = "RUNLATER_LIST_QUERY", default_value = "denorm")]
    pub list_query: ListQuery,
    /// Index for the list of tasks; created or dropped at the start
    #[arg(long, env = "RUNLATER_LIST_INDEX", default_value = "org_last_desc")]
    pub list_index: ListIndex,
    /// How a list reports whether there are more tasks
    #[arg(long, env = "RUNLATER_LIST_TOTAL", default_value = "has_more")]
    pub list_total: ListTotal,
    /// When the use of a key is recorded
    #[arg(long, env = "RUNLATER_APIKEY_TOUCH", default_value = "debounce_300s")]
    pub apikey_touch: ApikeyTouch,
    /// Whether a verified key is cached with its organization, for at most 6 seconds
    #[arg(long, env = "RUNLATER_KEY_CACHE", default_value = "on")]
    pub key_cache: Toggle,
    /// How the executions of an organization are counted
    #[arg(long, env = "RUNLATER_MONTH_COUNTER", default_value = "buffer_5s")]
    pub month_counter: MonthCounter,
    /// How a task's time of last execution is recorded
    #[arg(long, env = "RUNLATER_LAST_EXEC_WRITE", default_value = "with_result")]
    pub last_exec_write: LastExecWrite,
    /// Whether a worker loads its job again at every step
    #[arg(long, env = "RUNLATER_WORKER_REFETCH", default_value = "reuse")]
    pub worker_refetch: WorkerRefetch,
    /// Whether a claim also loads the task and the organization
    #[arg(long, env = "RUNLATER_CLAIM_PRELOAD", default_value = "on")]
    pub claim_preload: Toggle,
    /// How a worker finds its next job
    #[arg(long, env = "RUNLATER_CLAIM_QUERY", default_value = "batch")]
    pub claim_query: ClaimQuery,
    /// How a one-time task is written
    #[arg(long, env = "RUNLATER_CREATE_PATH", default_value = "group")]
    pub create_path: CreatePath,
    /// When an immediate task is due
    #[arg(long, env = "RUNLATER_DUE", default_value = "now")]
    pub due: Due,
    /// Most connections to PostgreSQL for requests and workers; batches and maintenance have 8 of their own
    #[arg(long, env = "RUNLATER_DB_POOL", default_value_t = 40, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub db_pool: u16,
    /// Milliseconds that a request waits for a connection
    #[arg(long, env = "RUNLATER_DB_POOL_WAIT_MS", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=600_000))]
    pub db_pool_wait_ms: u32,
    /// Whether task ids have a unique index; created or dropped at the start
    #[arg(long, env = "RUNLATER_TASKS_PK_INDEX", default_value = "present")]
    pub tasks_pk_index: Presence,
    /// Whether the other published indexes exist, which nothing here needs; created or dropped at the start
    #[arg(long, env = "RUNLATER_SPARE_INDEXES", default_value = "absent")]
    pub spare_indexes: Presence,
    /// Status of a request that gets no connection
    #[arg(long, env = "RUNLATER_POOL_ERROR", default_value = "503")]
    pub pool_error: PoolError,
    /// Whether connections to targets are reused
    #[arg(long, env = "RUNLATER_HTTP_CLIENT", default_value = "pool")]
    pub http_client: HttpClient,
    /// Most calls in progress
    #[arg(long, env = "RUNLATER_MAX_WORKERS", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub max_workers: u32,
    /// How the number of workers is chosen
    #[arg(long, env = "RUNLATER_WORKERS", default_value = "fixed")]
    pub workers: Workers,
    /// Milliseconds that a worker pauses after each job
    #[arg(long, env = "RUNLATER_WORKER_PAUSE_MS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=60_000))]
    pub worker_pause_ms: u32,
    /// How results are written
    #[arg(long, env = "RUNLATER_STORE_RESULT", default_value = "group")]
    pub store_result: StoreResult,
    /// Least milliseconds between two batches of claims, and of results
    #[arg(long, env = "RUNLATER_BATCH_GAP_MS", default_value_t = 15, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub batch_gap_ms: u32,
    /// How workers learn of new work
    #[arg(long, env = "RUNLATER_WAKE", default_value = "process")]
    pub wake: Wake,
    /// What happens to executions of a dead node
    #[arg(long, env = "RUNLATER_RESCUE", default_value = "lease")]
    pub rescue: Rescue,
    /// Most requests per client and minute; 0: no limit
    #[arg(long, env = "RUNLATER_RATE_LIMIT_MINUTE", default_value_t = 300)]
    pub rate_limit_minute: u32,
    /// Most requests per client and hour; 0: no limit
    #[arg(long, env = "RUNLATER_RATE_LIMIT_HOUR", default_value_t = 5000)]
    pub rate_limit_hour: u32,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Toggle {
    /// No
    Off,
    /// Yes
    On,
}

impl Toggle {
    /// Whether it is on.
    pub fn is_on(self) -> bool {
        self == Self::On
    }
}

/// There or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Presence {
    /// It is not there
    Absent,
    /// It is there
    Present,
}

/// Values of `--list-query`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum ListQuery {
    /// The latest execution of each task, from all executions
    GlobalGroup,
    /// The latest execution of each task, from those of the organization's tasks
    ScopedGroup,
    /// The latest execution of each task, by one index lookup per task
    Lateral,
    /// The time of last execution stored with the task
    Denorm,
}

/// Values of `--list-index`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum ListIndex {
    /// None
    None,
    /// Organization and last run, ascending: does not match the list's order, nor its reverse
    OrgLastAsc,
    /// Organization, last run descending with nulls last, created descending: the list's order
    OrgLastDesc,
}

/// Values of `--list-total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum ListTotal {
    /// All tasks are counted; the response has their `total`
    Count,
    /// One more task than requested is read
    HasMore,
}

/// Values of `--apikey-touch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ApikeyTouch {
    /// At every request
    #[value(name = "always")]
    Always,
    /// If the recorded use is older than 5 minutes
    #[value(name = "debounce_300s")]
    Debounce300s,
}

/// Values of `--month-counter`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MonthCounter {
    /// The organization's row, after each execution
    #[value(name = "row_update")]
    RowUpdate,
    /// In memory, written every 5 seconds
    #[value(name = "buffer_5s")]
    Buffer5s,
}

/// Values of `--last-exec-write`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LastExecWrite {
    /// The task's row, after each execution
    #[value(name = "row_update")]
    RowUpdate,
    /// In memory, written every 5 seconds, row by row
    #[value(name = "buffer_5s")]
    Buffer5s,
    /// In the statement that writes the result
    #[value(name = "with_result")]
    WithResult,
}

/// Values of `--worker-refetch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum WorkerRefetch {
    /// Before the call, and three times after it
    Refetch,
    /// Never
    Reuse,
}

/// Values of `--claim-query`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum ClaimQuery {
    /// One, from a join of executions, tasks and organizations sorted by tier, interval and time
    JoinSort,
    /// One, from executions alone
    Single,
    /// As many as there are free workers, by one statement
    Batch,
}

/// Values of `--create-path`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum CreatePath {
    /// The target's name is resolved, then the task, the execution and the task once more
    DnsUpdate,
    /// The task, then the execution, in a transaction
    TwoInserts,
    /// One statement per batch of waiting tasks
    Group,
}

/// Values of `--due`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Due {
    /// At the next whole second
    NextSecond,
    /// Now
    Now,
}

/// Values of `--pool-error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PoolError {
    /// Internal server error
    #[value(name = "500")]
    Internal,
    /// Service unavailable, with `Retry-After`
    #[value(name = "503")]
    Unavailable,
}

/// Values of `--http-client`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HttpClient {
    /// A new connection for each call
    #[value(name = "per_call")]
    PerCall,
    /// At most 25 per host; calls wait for one
    #[value(name = "pool_25")]
    Pool25,
    /// As many as there are calls in progress
    #[value(name = "pool")]
    Pool,
}

/// Values of `--workers`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Workers {
    /// Adjusted every 10 seconds to the waiting jobs, up to 20 or `max-workers`; idle ones end after 30 seconds
    Managed,
    /// `max-workers` from the start
    Fixed,
}

/// Values of `--store-result`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum StoreResult {
    /// One statement per result
    Each,
    /// One statement per batch of waiting tasks
    Group,
}

/// Values of `--wake`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Wake {
    /// Idle workers poll, after 2 seconds with backoff up to 10; batches poll after `poll-ms`
    Poll,
    /// The node that accepts the task wakes its own workers
    Process,
    /// PostgreSQL notifies the workers of all nodes
    Notify,
}

/// Values of `--rescue`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Rescue {
    /// After 5 minutes they fail, whether or not their node is alive
    #[value(name = "age_5min")]
    Age5min,
    /// Other nodes execute them once their node sends no heartbeats
    #[value(name = "lease")]
    Lease,
}
