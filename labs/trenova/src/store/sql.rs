//! The statements, built from the switches.
//!
//! The default page has its limit and offset in the text: a prepared statement is planned without its parameters, and
//! PostgreSQL assumes that an unknown limit takes a tenth of the table.

use crate::config::switch::{Columns, CountQuery, Switches};
use crate::options::{DEFAULT_LIMIT, PageRequest};

const ALL: &str = "id, organization_id, business_unit_id, state_id, fleet_code_id, status::text, type::text, \
                   first_name, last_name, address_line1, address_line2, city, postal_code, gender::text, \
                   can_be_assigned, assignment_blocked, profile_pic_url, version, created_at, updated_at";
const TENANT: &str = "organization_id = $1 AND business_unit_id = $2";
const ORDER: &str = "ORDER BY created_at DESC, first_name, last_name, id";

/// A statement that selects options.
pub struct Select<'a> {
    pub text: &'a str,
    /// Whether limit and offset are parameters.
    pub with_page: bool,
}

/// Texts of statements.
pub struct Sql {
    default_page: String,
    page: String,
    default_page_search: String,
    page_search: String,
    count: String,
    count_search: String,
    pub show: String,
    pub insert: String,
}

impl Sql {
    /// Builds the statements for the switches.
    pub fn of(switches: &Switches) -> Self {
        let columns = match switches.columns {
            Columns::All => ALL,
            Columns::Needed => "id, first_name, last_name",
        };
        let window = ", count(*) OVER () AS total";
        let kept = ", (SELECT coalesce(max(kept.workers), 0) FROM worker_counts AS kept WHERE kept.organization_id = $1 \
                    AND kept.business_unit_id = $2) AS total";
        let (of_all, of_search) = match switches.count_query {
            CountQuery::Parallel | CountQuery::Off => ("", ""),
            CountQuery::Window => (window, window),
            CountQuery::Kept => (kept, window),
        };
        let default_page = format!("LIMIT {DEFAULT_LIMIT} OFFSET 0");
        let select = |count: &str, search: &str, page: &str| {
            format!("SELECT {columns}{count} FROM workers WHERE {TENANT}{search} {ORDER} {page}")
        };
        let search = |parameter: u8| format!(" AND search_vector @@ to_tsquery('simple', ${parameter})");
        Self {
            default_page: select(of_all, "", &default_page),
            page: select(of_all, "", "LIMIT $3 OFFSET $4"),
            default_page_search: select(of_search, &search(3), &default_page),
            page_search: select(of_search, &search(5), "LIMIT $3 OFFSET $4"),
            count: format!("SELECT count(*) FROM workers WHERE {TENANT}"),
            count_search: format!("SELECT count(*) FROM workers WHERE {TENANT}{}", search(3)),
            show: format!("SELECT {ALL} FROM workers WHERE {TENANT} AND id = $3"),
            insert: format!(
                "INSERT INTO workers (organization_id, business_unit_id, id, status, type, first_name, last_name, \
                 city, postal_code) VALUES ($1, $2, $3, $4::worker_status, $5::worker_type, $6, $7, $8, $9) RETURNING {ALL}"
            ),
        }
    }

    /// Statement that selects a page.
    pub fn select(&self, request: &PageRequest) -> Select<'_> {
        let is_default_page = request.is_default_page();
        let text = match (request.is_search(), is_default_page) {
            (false, true) => &self.default_page,
            (false, false) => &self.page,
            (true, true) => &self.default_page_search,
            (true, false) => &self.page_search,
        };
        Select { text, with_page: !is_default_page }
    }

    /// Statement that counts matches.
    pub fn count(&self, request: &PageRequest) -> &str {
        if request.is_search() { &self.count_search } else { &self.count }
    }
}
