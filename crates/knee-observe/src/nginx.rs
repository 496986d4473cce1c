//! The page `stub_status` of an nginx.
//!
//! Knows only this page; the access log of an nginx is not read.

use knee_core::unit::Nanos;
use url::Url;

use crate::figures::{Count, Counter, Figures, Gauge};
use crate::http::Fetcher;
use crate::sampler::{Depth, Sampler, Unreadable};

/// An nginx.
pub(crate) struct Nginx {
    fetcher: Fetcher,
}

impl Nginx {
    /// The nginx with its page at this URL.
    pub(crate) fn new(url: &Url) -> Self {
        Self { fetcher: Fetcher::new(url) }
    }
}

impl Sampler for Nginx {
    fn connect(&mut self) -> Result<(), Unreadable> {
        Ok(())
    }

    fn read(&mut self, _: Nanos, _: Depth, figures: &mut Figures) -> Result<(), Unreadable> {
        let page = self.fetcher.fetch()?;
        let Some(status) = parse(&page.text) else {
            return Err(Unreadable("the page is not that of stub_status".to_owned()));
        };
        for (state, connections) in
            ["active", "reading", "writing", "waiting"].into_iter().zip(status.connections)
        {
            figures.put("nginx.connections", state, Count, Gauge, connections);
        }
        for (name, value) in ["nginx.accepts", "nginx.handled", "nginx.requests"].into_iter().zip(status.sums)
        {
            figures.put(name, "", Count, Counter, value);
        }
        Ok(())
    }
}

/// What the page says.
#[derive(Debug, PartialEq)]
struct Status {
    /// Active, reading, writing, waiting.
    connections: [f64; 4],
    /// Accepts, handled, requests.
    sums: [f64; 3],
}

/// The page has four lines; its numbers are always in this order.
fn parse(text: &str) -> Option<Status> {
    if !text.trim_start().starts_with("Active connections:") {
        return None;
    }
    let words = text.split_ascii_whitespace().filter_map(|word| word.parse::<u64>().ok());
    let numbers: Vec<f64> = words.map(|number| number as f64).collect();
    let [active, accepts, handled, requests, rest @ ..] = &numbers[..] else { return None };
    let [reads, writes, waits] = rest else { return None };
    Some(Status { connections: [*active, *reads, *writes, *waits], sums: [*accepts, *handled, *requests] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::tests::{page, serve};

    const PAGE: &str = "Active connections: 291 \nserver accepts handled requests\n 16630948 16630947 31070465 \n\
                        Reading: 6 Writing: 179 Waiting: 106 \n";

    #[test]
    fn the_page_is_understood_and_another_one_is_refused() {
        let mut nginx = Nginx::new(&serve(|number| page(if number == 0 { PAGE } else { "<html>" })));
        let mut figures = Figures::default();
        nginx.read(Nanos::ZERO, Depth::Whole, &mut figures).unwrap();
        assert_eq!(figures.value("nginx.connections", "writing"), Some(179.0));
        assert_eq!(figures.value("nginx.requests", ""), Some(31_070_465.0));
        assert!(nginx.read(Nanos::ZERO, Depth::Whole, &mut Figures::default()).is_err());
    }
}
