//! The seeded defects, one switch each.
//!
//! The first 42 are those of a list that is older than the rules. The others, from [`Defect::BulkLoad`] on, come from
//! published incidents, which `expected.toml` names.
//!
//! Says what they are. What each changes is in the module of its route.

use clap::ValueEnum;

/// A seeded defect. Every one is off by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum)]
pub enum Defect {
    /// Healthy
    None,
    /// Jobs: no partial index finds the due ones
    NoDueIndex,
    /// Jobs: the index has priorities in ascending order, the list in descending order
    AscendingPriority,
    /// Jobs: claims lock without SKIP LOCKED
    NoSkipLocked,
    /// Jobs: a batch is written with one commit per job
    CommitPerJob,
    /// Jobs: the transaction of a claim stays open while the job runs
    OpenTransaction,
    /// Jobs: each new job wakes 24 listeners, and each of them asks for it
    NotifyStorm,
    /// Jobs: a pool of two connections
    PoolOfTwo,
    /// Jobs: autovacuum is off for a table that changes much
    DeadRows,
    /// Jobs: each request prepares a statement with a text of its own
    StatementChurn,
    /// News: no index finds the newest articles of a section
    NoSectionIndex,
    /// News: each page counts all articles
    CountPerPage,
    /// News: pages by OFFSET
    DeepOffset,
    /// News: one statement per article for its author
    AuthorPerArticle,
    /// News: views in a SQLite file with a rollback journal
    RollbackJournal,
    /// News: each view is a commit of SQLite that waits for the disk
    CommitPerView,
    /// News: a reader that never ends its transaction pins the WAL of SQLite
    PinnedWal,
    /// News: a search with LIKE '%word%'
    LikeSearch,
    /// News: a page without a validator, so that clients load it again and again
    NoValidators,
    /// Menus: no cache
    CacheOff,
    /// Menus: all requests compute a cached value when it expires
    CacheStampede,
    /// Menus: KEYS for each request
    KeysCommand,
    /// Menus: 200 GET in place of one MGET
    UnrolledMget,
    /// Menus: one value of 2 MB in place of one per page
    LargeValue,
    /// Menus: a search with ILIKE and no index of trigrams
    IlikeSearch,
    /// Menus: the one thread that serves builds large JSON for each request
    JsonPerRequest,
    /// Menus: one connection to Redis per request
    RedisConnections,
    /// Menus: Redis has less memory than the cache needs
    Evictions,
    /// Notes: one connection to PostgreSQL per request
    ConnectionPerRequest,
    /// Notes: no index on the foreign key of rows that a delete removes
    NoForeignKeyIndex,
    /// Notes: debug lines, each written at once
    DebugLog,
    /// Notes: Nagle's algorithm is on and a response is two small writes
    Nagle,
    /// Notes: connections of clients are not kept
    NoKeepAlive,
    /// Notes: an update returns all columns of a wide row
    WideRows,
    /// Todos: lists are read on the primary although there is a replica
    ReadsOnPrimary,
    /// Todos: what was just written is read on a replica that is behind
    StaleReplica,
    /// Tickets: one row counts all sales
    HotRow,
    /// Tickets: serializable transactions are tried again at once
    SerializableRetries,
    /// Tickets: one lock in Redis for all payments, held during the payment
    GlobalLock,
    /// Tickets: one commit per seat
    CommitPerSeat,
    /// Tickets: a pool of four connections for 24 users
    SmallPool,
    /// Tickets: a line of the log per attempt
    LogPerAttempt,
    /// Tickets: no queue before the bank, so that all orders are in progress at once
    NoAdmission,
    /// Parcels: no statistics since a bulk load
    BulkLoad,
    /// Parcels: the key is compared as numeric
    NumericKey,
    /// Parcels: one condition with OR over two tables
    OrAcrossTables,
    /// Parcels: a list of 3,000 numbers in the text of a statement
    IdList,
    /// Office: a closing locks its account against new entries
    ParentLock,
    /// Office: a transaction that never ends keeps dead mails
    LongTransaction,
    /// Office: titles are read out of large JSON
    JsonColumn,
    /// Office: a trigger counts each row of a batch
    RowTrigger,
    /// Office: a feed without a limit
    GrowingFeed,
    /// Levels: the whole hash for one field
    WholeHash,
    /// Levels: a script that adds 10,000 prices
    LongScript,
    /// Levels: BLPOP on the shared connection
    BlockingPop,
    /// News: a lookup within a write transaction of SQLite
    LookupInTransaction,
    /// Partners: a blocking call on the threads that serve
    BlockedThread,
    /// Partners: all requests pause every two seconds
    TimedPause,
    /// Partners: five calls, one after another
    SerialCalls,
    /// Members: no index on the address in small letters
    LowerEmail,
    /// Members: no index has the newest messages of a mailbox
    NewestById,
    /// Members: each request writes when the member was last seen
    SeenPerRequest,
    /// Members: lines and payments of an invoice in one join
    DoubleJoin,
    /// Baskets: items are locked in the order of the basket
    LockOrder,
    /// Baskets: each purchase refreshes a materialized view
    RefreshPerOrder,
    /// Baskets: a connection is held while a carrier is asked
    HeldConnection,
    /// Levels: WATCH on one key, tried again at once
    WatchRetries,
    /// News: a purge scans all events within a write transaction of SQLite
    PurgeScan,
    /// Partners: two calls at a time
    TwoPerHost,
    /// Partners: every fourth call waits for a dead replica
    DeadReplica,
    /// Gate: one limit for all clients behind the proxy
    SharedLimit,
    /// Gate: the password is hashed for each request
    HashPerRequest,
    /// Gate: each reload adds the redirects again
    GrowingRoutes,
    /// Goods: the maker is compared as a field of JSON
    JsonArrow,
    /// Goods: PostgreSQL compiles a statement each time
    JitCompile,
    /// Imports: 16 indexes that no statement uses
    UnusedIndexes,
    /// Imports: one statement per line of a price list
    InsertPerLine,
    /// Tills: a migration waits for its lock, and all others wait behind it
    QueuedAlter,
    /// Tills: one advisory lock for the cards of all members
    AdvisoryLock,
    /// Tills: an early return does not give the connection back
    LeakedConnection,
    /// Leaflets: tasks are a list, from which single ones are removed
    ListRemove,
    /// Leaflets: cached pages are looked for among all keys
    ScanKeys,
    /// Leaflets: the key of a cached page has all parameters of its address
    TrackingKey,
    /// Bookings: a transaction of SQLite reads before it writes
    DeferredBegin,
    /// Visitors: a session is locked for the whole request
    SessionLock,
    /// Visitors: the keys of tokens are read for each request
    SigningKeys,
    /// Visitors: blanks are removed by a pattern that backtracks
    QuadraticTrim,
    /// Letters: a volatile function in the condition is called for each row
    VolatileFunction,
    /// Letters: the service reads all of them and cuts a page out
    PageInMemory,
    /// Letters: one by chance is the first in an order by chance
    RandomRow,
    /// Bills: the next number is the largest one and one more
    NextNumber,
    /// Bills: a backfill changes all wallets in one transaction
    WholeBackfill,
    /// Sheets: a change of one flushes the whole cache
    FlushAll,
    /// Sheets: an empty list in the cache counts as a miss
    EmptyIsMiss,
    /// Ranks: connections to SQLite do not wait for the write lock
    NoBusyTimeout,
    /// Preferences: each change writes the file of all of them
    FilePerChange,
    /// Wishes: each wish of a list has the whole picture in it
    RepeatedPicture,
    /// Logins: each one that is begun leaves a cookie
    PiledCookies,
    /// Brochures: compressed as well as possible for each request
    BrotliEleven,
    /// Couriers: timers of requests that have ended go on
    PiledTimers,
    /// Couriers: the name of a server is looked up for each call
    LookupPerCall,
    /// Refunds: the page behind a scan is compared with OR
    KeysetOr,
    /// Refunds: the state of refunds is a parameter
    ValueAsParameter,
    /// Refunds: the newest reading of each meter out of all readings
    DistinctOn,
    /// Receipts: a migration makes an index while nothing can be written
    BlockingIndex,
    /// Receipts: a list writes all its supplies, changed or not
    UnchangedUpsert,
    /// Receipts: an exchange takes a second connection within its transaction
    SecondConnection,
    /// Favourites: the main thread of Redis frees a large set
    BlockingDelete,
    /// Atlas: one connection to SQLite for all requests
    OneConnection,
    /// Clients: what a server does not know is asked again
    RetriedMissing,
    /// Clients: a client with all root certificates is made for each call
    ClientPerCall,
    /// Clients: a cache stays locked while a server is asked
    LockAcrossCall,
    /// Signups: the request waits until its mail is sent
    InlineMail,
    /// Spans: a request exports each span by itself
    InlineSpans,
    /// Ledgers: each row is written at once
    FlushPerRow,
    /// Trips: the trips of a driver out of all that are valid
    MaterializedCte,
    /// Trips: a load of the fares empties their table first
    TruncateReload,
    /// Trips: picks go through a table that is made for each request
    TempTable,
    /// Surveys: an answer writes the whole survey
    WholeRowSave,
    /// Surveys: the pool keeps two idle connections
    TwoIdle,
    /// Timelines: Redis unites all posts for a page
    UnionPerRead,
    /// Loans: no index has the book of a loan
    AutomaticIndex,
    /// Loans: the file of SQLite is written again while the service runs
    VacuumJob,
    /// Parts: a call for each part of a kit
    CallPerItem,
    /// Parts: a client makes 40 calls per second at most
    ClientThrottle,
    /// Parts: a request looks for the result of its job every 100 ms
    PolledResult,
    /// Carts: they are locked while they are written to a file
    SnapshotUnderLock,
    /// Yearbooks: the one thread that serves computes an export
    ExportOnLoop,
    /// Yearbooks: each review has its whole author in it
    NestedAuthors,
    /// Notices: all are counted to know whether there is one
    ExistenceCount,
    /// Notices: each request adds up what a branch has taken
    SumsPerRequest,
    /// Playlists: one statement per song for a new order
    UpdatePerSong,
    /// Playlists: complaints whose number is in no answer, by NOT IN
    NotIn,
    /// Tallies: each increment waits for the one before
    IncrementPerCall,
    /// Tallies: WAIT on the shared connection
    ReplicaWait,
    /// Albums: no index has the album of a photo
    CascadeScan,
    /// Albums: each line of a stocktaking is a commit that waits for the disk
    CommitPerLine,
    /// Quotas: a connection is opened for each call
    HandshakePerCall,
    /// Quotas: contacts are read in pages of ten
    SmallPages,
    /// Phrases: each request parses the file of all phrases
    ParsePerRequest,
    /// Timetables: they stay locked for readers while they are sent
    QueuedWriter,
    /// Hints: a question waits for others for 80 ms
    BatchWindow,
    /// Recordings: a part is asked for, and the whole is sent
    IgnoredRange,
    /// Registers: a cursor fetches each line by itself
    FetchOne,
    /// Registers: a permit locks the table of all permits
    TableLock,
    /// Recipes: a tag is compared with each tag of an array
    AnyOfArray,
    /// Recipes: passbooks by another column than the one by which their view adds up
    WindowView,
    /// Polls: each list of the best counts the votes of all proposals
    OrderByVotes,
    /// Polls: the key of a cached board counts all notices
    CountedCacheKey,
    /// Polls: currencies are cached for 60 ms in place of 60 s
    TtlInMs,
    /// Vendors: each call goes to an old name, and is redirected twice
    RedirectedCall,
    /// Vendors: slow appraisals take the places of samples
    SharedPlaces,
    /// Vendors: a task is looked at without a pause until it ends
    BusyWait,
    /// Almanacs: the validator is made of the whole text
    LateValidator,
    /// Almanacs: the details of answered enquiries stay in memory
    KeptDetails,
    /// Streets: the index tells small letters from large ones, and LIKE does not
    LikeCollation,
    /// Arrivals: four connections can wait until they are accepted
    SmallBacklog,
}

impl Defect {
    /// Its name, as in `--defect NAME`.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Number of connections to PostgreSQL.
    pub const fn pool_size(self) -> usize {
        match self {
            Self::PoolOfTwo => 2,
            Self::SmallPool => 4,
            _ => 30,
        }
    }

    /// Whether its connections let PostgreSQL compile statements, which is the default of PostgreSQL.
    pub const fn compiles(self) -> bool {
        matches!(self, Self::JitCompile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_156_defects_and_the_service_is_healthy_without_one() {
        assert_eq!(Defect::value_variants().len() - 1, 156);
        assert_eq!(Defect::None.name(), "none");
        assert_eq!(Defect::UnrolledMget.name(), "unrolled-mget");
    }
}
