//! What a study turns on and off: every step of the published story, and those that it does not have.
//!
//! Every switch is independent: any combination starts. The defaults are the fastest known setting; the first value
//! of each is what the story began with.

use clap::{Args, ValueEnum};

/// The switches.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Switches")]
pub struct Switches {
    /// What the list of tasks is ordered by, and how that is found
    #[arg(long, env = "RUNLATER_LIST_QUERY", default_value = "denorm")]
    pub list_query: ListQuery,
    /// The index for the list of tasks; made or dropped at the start
    #[arg(long, env = "RUNLATER_LIST_INDEX", default_value = "org_last_desc")]
    pub list_index: ListIndex,
    /// How a list says whether there is more
    #[arg(long, env = "RUNLATER_LIST_TOTAL", default_value = "has_more")]
    pub list_total: ListTotal,
    /// When it is written down that a key was used
    #[arg(long, env = "RUNLATER_APIKEY_TOUCH", default_value = "debounce_300s")]
    pub apikey_touch: ApikeyTouch,
    /// Whether a key that was proven is kept in memory with its organization, for 6 seconds at the most
    #[arg(long, env = "RUNLATER_KEY_CACHE", default_value = "on")]
    pub key_cache: Toggle,
    /// How the executions of an organization are counted
    #[arg(long, env = "RUNLATER_MONTH_COUNTER", default_value = "buffer_5s")]
    pub month_counter: MonthCounter,
    /// How it is written down when a task last ran
    #[arg(long, env = "RUNLATER_LAST_EXEC_WRITE", default_value = "with_result")]
    pub last_exec_write: LastExecWrite,
    /// Whether a worker loads its job again at every step
    #[arg(long, env = "RUNLATER_WORKER_REFETCH", default_value = "reuse")]
    pub worker_refetch: WorkerRefetch,
    /// Whether a claim brings the task and the organization along
    #[arg(long, env = "RUNLATER_CLAIM_PRELOAD", default_value = "on")]
    pub claim_preload: Toggle,
    /// How a worker finds its next job
    #[arg(long, env = "RUNLATER_CLAIM_QUERY", default_value = "batch")]
    pub claim_query: ClaimQuery,
    /// How a task that runs once is written
    #[arg(long, env = "RUNLATER_CREATE_PATH", default_value = "group")]
    pub create_path: CreatePath,
    /// When an immediate task is due
    #[arg(long, env = "RUNLATER_DUE", default_value = "now")]
    pub due: Due,
    /// Most connections to PostgreSQL for requests and workers; what waits together, and the house, have 8 of their own
    #[arg(long, env = "RUNLATER_DB_POOL", default_value_t = 40, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub db_pool: u16,
    /// Milliseconds that a request waits for one of them
    #[arg(long, env = "RUNLATER_DB_POOL_WAIT_MS", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=600_000))]
    pub db_pool_wait_ms: u32,
    /// Whether there is a unique index on the ids of tasks; made or dropped at the start
    #[arg(long, env = "RUNLATER_TASKS_PK_INDEX", default_value = "present")]
    pub tasks_pk_index: Presence,
    /// Whether the other published indexes are there, which nothing here needs; made or dropped at the start
    #[arg(long, env = "RUNLATER_SPARE_INDEXES", default_value = "absent")]
    pub spare_indexes: Presence,
    /// The status of a request that got no connection
    #[arg(long, env = "RUNLATER_POOL_ERROR", default_value = "503")]
    pub pool_error: PoolError,
    /// Whether connections to those who are called are kept
    #[arg(long, env = "RUNLATER_HTTP_CLIENT", default_value = "pool")]
    pub http_client: HttpClient,
    /// Most calls at a time
    #[arg(long, env = "RUNLATER_MAX_WORKERS", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub max_workers: u32,
    /// Who decides how many workers there are
    #[arg(long, env = "RUNLATER_WORKERS", default_value = "fixed")]
    pub workers: Workers,
    /// Milliseconds that a worker rests after each job
    #[arg(long, env = "RUNLATER_WORKER_PAUSE_MS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=60_000))]
    pub worker_pause_ms: u32,
    /// How results are written
    #[arg(long, env = "RUNLATER_STORE_RESULT", default_value = "group")]
    pub store_result: StoreResult,
    /// Milliseconds between two batches of claims, and of results
    #[arg(long, env = "RUNLATER_BATCH_GAP_MS", default_value_t = 15, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub batch_gap_ms: u32,
    /// Who tells workers that there is something to do
    #[arg(long, env = "RUNLATER_WAKE", default_value = "process")]
    pub wake: Wake,
    /// What becomes of executions whose node is gone
    #[arg(long, env = "RUNLATER_RESCUE", default_value = "lease")]
    pub rescue: Rescue,
    /// Requests that a client may make in a minute; 0 is no limit
    #[arg(long, env = "RUNLATER_RATE_LIMIT_MINUTE", default_value_t = 300)]
    pub rate_limit_minute: u32,
    /// Requests that a client may make in an hour; 0 is no limit
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
    /// The latest execution of each task, out of all executions there are
    GlobalGroup,
    /// The latest execution of each task, out of those of the organization's tasks
    ScopedGroup,
    /// The latest execution of each task, by one look into an index for each
    Lateral,
    /// When a task last ran, as written down with the task
    Denorm,
}

/// Values of `--list-index`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum ListIndex {
    /// None
    None,
    /// Organization and last run, ascending: the list's order it is not, read backwards either
    OrgLastAsc,
    /// Organization, last run descending with nulls last, made descending: the list's order
    OrgLastDesc,
}

/// Values of `--list-total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum ListTotal {
    /// All tasks are counted, and the answer has their `total`
    Count,
    /// One task more than asked for is looked up
    HasMore,
}

/// Values of `--apikey-touch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ApikeyTouch {
    /// At every request
    #[value(name = "always")]
    Always,
    /// When what is written is older than 5 minutes
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
    /// In memory, written every 5 seconds, one row after the other
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
    /// One, from executions, tasks and organizations joined and sorted by tier, interval and time
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
    /// One statement for all that wait
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
    /// As if the service were broken
    #[value(name = "500")]
    Internal,
    /// Come back later, and when
    #[value(name = "503")]
    Unavailable,
}

/// Values of `--http-client`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HttpClient {
    /// A new connection for each call
    #[value(name = "per_call")]
    PerCall,
    /// At most 25 to each host; calls wait for one
    #[value(name = "pool_25")]
    Pool25,
    /// As many as there are calls at a time
    #[value(name = "pool")]
    Pool,
}

/// Values of `--workers`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Workers {
    /// Every 10 seconds as many as jobs wait, up to 20 or `max-workers`; an idle one leaves after 30 seconds
    Managed,
    /// `max-workers` from the start
    Fixed,
}

/// Values of `--store-result`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum StoreResult {
    /// Each by a statement of its own
    Each,
    /// One statement for all that wait
    Group,
}

/// Values of `--wake`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Wake {
    /// Nobody: idle workers look by themselves, after 2 seconds, then ever later, up to 10; for batches after `poll-ms`
    Poll,
    /// The node that took the task tells its own workers
    Process,
    /// PostgreSQL tells the workers of all nodes
    Notify,
}

/// Values of `--rescue`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Rescue {
    /// After 5 minutes they have failed, their node alive or not
    #[value(name = "age_5min")]
    Age5min,
    /// When their node gives no sign of life, others execute them
    #[value(name = "lease")]
    Lease,
}
