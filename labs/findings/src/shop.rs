//! What all routes share: the stores, the switch, and values that are made once.
//!
//! Does not parse HTTP.

use std::sync::Arc;

use bytes::Bytes;
use knee_sqlite::Watch;
use serde_json::{Value, json};
use tokio::sync::RwLock;

use crate::albums::Albums;
use crate::almanacs::Enquiries;
use crate::atlas::Atlas;
use crate::bank::Bank;
use crate::bookings::Bookings;
use crate::cache::Cache;
use crate::calls::Calls;
use crate::carts::Carts;
use crate::clients::Clients;
use crate::config::ServeArgs;
use crate::couriers::Couriers;
use crate::database::Database;
use crate::defect::Defect;
use crate::gate::Gate;
use crate::hints::Hints;
use crate::levels::Quotes;
use crate::loans::Loans;
use crate::partner::Partners;
use crate::parts::Stations;
use crate::phrases::Phrases;
use crate::preferences::Preferences;
use crate::quotas::Allowances;
use crate::ranks::Ranks;
use crate::recordings::Recordings;
use crate::refusal::Refusal;
use crate::spans::Spans;
use crate::streets::Streets;
use crate::timetables::Timetables;
use crate::todos::Writers;
use crate::vendors::Places;
use crate::views::Views;
use crate::visitors::Visitors;
use crate::wishes::Wishes;
use crate::yearbooks::Yearbooks;

/// The service without its routes.
pub struct Shop {
    /// The defect that is on.
    pub defect: Defect,
    /// PostgreSQL.
    pub database: Database,
    /// A replica of PostgreSQL, if there is one.
    pub replica: Option<Database>,
    /// Redis.
    pub cache: Cache,
    /// Calls to other servers.
    pub calls: Arc<Calls>,
    /// Counts what the connections to SQLite do.
    pub watch: Watch,
    /// SQLite.
    pub views: Views,
    /// Bookings in the same file of SQLite.
    pub bookings: Arc<Bookings>,
    /// Ranks of members in the same file of SQLite.
    pub ranks: Arc<Ranks>,
    /// Places in the same file of SQLite.
    pub atlas: Arc<Atlas>,
    /// Books, loans and returns in the same file of SQLite.
    pub loans: Arc<Loans>,
    /// Albums, and what is counted on shelves, in the same file of SQLite.
    pub albums: Albums,
    /// Streets in the same file of SQLite.
    pub streets: Streets,
    /// Carts in memory, with a file beside that of SQLite.
    pub carts: Arc<Carts>,
    /// Preferences in a file beside that of SQLite.
    pub preferences: Arc<Preferences>,
    /// Connections for quotes and points.
    pub quotes: Quotes,
    /// Partners that have replicas or a limit.
    pub partners: Partners,
    /// The members who wrote just now.
    pub writers: Writers,
    /// The bank, and the queue before it.
    pub bank: Bank,
    /// What requests pass before their route.
    pub gate: Gate,
    /// Sessions, tokens and comments.
    pub visitors: Visitors,
    /// Wish lists.
    pub wishes: Wishes,
    /// Couriers, and the places of parcels.
    pub couriers: Couriers,
    /// Clients of other servers.
    pub clients: Clients,
    /// Yearbooks that were computed.
    pub yearbooks: Yearbooks,
    /// The pace of calls about stations.
    pub stations: Stations,
    /// The connection to the server of the quotas.
    pub allowances: Allowances,
    /// Phrases with a file beside that of SQLite.
    pub phrases: Phrases,
    /// The timetable of deliveries.
    pub timetables: Timetables,
    /// Questions that wait for their batch.
    pub hints: Hints,
    /// Recordings in memory.
    pub recordings: Recordings,
    /// The places of calls about vendors.
    pub places: Places,
    /// Enquiries that have no answer yet.
    pub enquiries: Enquiries,
    /// Spans of requests, which a collector gets.
    pub spans: Arc<Spans>,
    /// Held for writing while all requests pause.
    pub pause: RwLock<()>,
    /// The front page.
    pub front: Bytes,
    /// Options whose JSON is built for a checksum.
    pub options: Vec<(i64, String)>,
    /// The checksum of their JSON.
    pub checksum: u64,
}

impl Shop {
    /// Opens the stores.
    ///
    /// # Errors
    /// A store does not answer.
    pub async fn open(args: &ServeArgs) -> Result<Self, Refusal> {
        let database = Database::open(&args.store.postgres, args.defect)?;
        let replica = args.replica.as_deref().map(|url| Database::open(url, args.defect)).transpose()?;
        let rows = database.query("SELECT id, name FROM options ORDER BY id LIMIT 8000", &[]).await?;
        let watch = Watch::new();
        let calls = Calls::start()?;
        let options: Vec<(i64, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        Ok(Self {
            defect: args.defect,
            database,
            replica,
            cache: Cache::open(&args.redis).await?,
            hints: Hints::start(&calls, args.defect),
            calls,
            views: Views::open(&args.views, args.defect, &watch)?,
            bookings: Bookings::new(&args.views, args.defect, &watch),
            ranks: Ranks::open(&args.views, args.defect, &watch)?,
            atlas: Atlas::open(&args.views, args.defect, &watch)?,
            loans: Loans::open(&args.views, args.defect, &watch)?,
            albums: Albums::open(&args.views, args.defect, &watch)?,
            streets: Streets::open(&args.views, args.defect, &watch)?,
            watch,
            carts: Carts::new(&args.views, args.defect),
            preferences: Preferences::new(&args.views, args.defect),
            quotes: Quotes::default(),
            partners: Partners::default(),
            writers: Writers::default(),
            bank: Bank::default(),
            gate: Gate::default(),
            visitors: Visitors::default(),
            wishes: Wishes::default(),
            couriers: Couriers::default(),
            clients: Clients::default(),
            yearbooks: Yearbooks::default(),
            stations: Stations::default(),
            allowances: Allowances::default(),
            phrases: Phrases::open(&args.views, args.defect)?,
            timetables: Timetables::default(),
            recordings: Recordings::new(args.defect),
            places: Places::default(),
            enquiries: Enquiries::default(),
            spans: Arc::default(),
            pause: RwLock::new(()),
            front: Bytes::from("<p>A page of the shop, with all that is new today.</p>\n".repeat(800)),
            checksum: checksum(&document(&options)),
            options,
        })
    }

    /// Whether this defect is on.
    pub fn has(&self, defect: Defect) -> bool {
        self.defect == defect
    }
}

/// The JSON of all options: a tree of values, then text.
pub fn document(options: &[(i64, String)]) -> String {
    let one = |(id, name): &(i64, String)| json!({"value": id, "label": name, "enabled": true});
    Value::Array(options.iter().map(one).collect()).to_string()
}

/// A checksum of a text (FNV-1a).
pub fn checksum(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_fnv_1a() {
        // The published test vectors of FNV-1a, 64 bits.
        assert_eq!(checksum(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(checksum("a"), 0xaf63_dc4c_8601_ec8c);
    }

    #[test]
    fn the_document_has_every_option() {
        let text = document(&[(1, "tea".to_owned())]);
        assert_eq!(text, r#"[{"enabled":true,"label":"tea","value":1}]"#);
    }
}
