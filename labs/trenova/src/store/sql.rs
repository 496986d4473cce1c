//! The statements, as the switches have them.
//!
//! A page of the usual size has its numbers in its text: a prepared statement is planned without knowing its parameters, and
//! a plan for a page of unknown size is one for a tenth of the table.

use crate::config::switch::{Columns, CountQuery, Switches};
use crate::options::{Ask, USUAL_LIMIT};

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
    usual: String,
    page: String,
    usual_search: String,
    page_search: String,
    count: String,
    count_search: String,
    pub show: String,
    pub insert: String,
}

impl Sql {
    /// Statements in the way of the switches.
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
        let usual = format!("LIMIT {USUAL_LIMIT} OFFSET 0");
        let select = |count: &str, search: &str, page: &str| {
            format!("SELECT {columns}{count} FROM workers WHERE {TENANT}{search} {ORDER} {page}")
        };
        let search = |parameter: u8| format!(" AND search_vector @@ to_tsquery('simple', ${parameter})");
        Self {
            usual: select(of_all, "", &usual),
            page: select(of_all, "", "LIMIT $3 OFFSET $4"),
            usual_search: select(of_search, &search(3), &usual),
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

    /// The statement for a page.
    pub fn select(&self, ask: &Ask) -> Select<'_> {
        let is_usual = ask.is_usual();
        let text = match (ask.is_search(), is_usual) {
            (false, true) => &self.usual,
            (false, false) => &self.page,
            (true, true) => &self.usual_search,
            (true, false) => &self.page_search,
        };
        Select { text, with_page: !is_usual }
    }

    /// The statement that counts.
    pub fn count(&self, ask: &Ask) -> &str {
        if ask.is_search() { &self.count_search } else { &self.count }
    }
}
