//! A page of metrics in the text format of Prometheus.
//!
//! [`page`] understands the text. The first series of a page are read, up to a limit; those after it are counted.

use knee_core::unit::Nanos;
use url::Url;

use crate::figures::{Figures, figure};
use crate::http::Fetcher;
use crate::sampler::{About, Depth, Sampler, Unreadable};
use crate::text::label;

mod page;

/// Most series of a page.
const SERIES_MAX: usize = 1_000;

/// A page.
pub(crate) struct Prometheus {
    fetcher: Fetcher,
    about: About,
}

impl Prometheus {
    /// The page at this URL.
    pub(crate) fn new(url: &Url) -> Self {
        Self { fetcher: Fetcher::new(url), about: About::default() }
    }
}

impl Sampler for Prometheus {
    fn connect(&mut self) -> Result<(), Unreadable> {
        self.about = About::default();
        Ok(())
    }

    fn read(&mut self, _: Nanos, _: Depth, figures: &mut Figures) -> Result<(), Unreadable> {
        let page = self.fetcher.fetch()?;
        let samples = page::samples(&page.text);
        if samples.is_empty() && !page.text.trim_start().starts_with('#') && !page.text.trim().is_empty() {
            return Err(Unreadable("the page has no metrics in the Prometheus text format".to_owned()));
        }
        self.about.without.clear();
        if page.is_cut {
            self.about.without.push("what is behind the first 4 MiB of the page".to_owned());
        }
        self.about.left_out = samples.len().saturating_sub(SERIES_MAX) as u64;
        for sample in samples.into_iter().take(SERIES_MAX) {
            let name = format!("prometheus.{}", sample.name);
            figures.now.push(figure(&name, &label(&sample.labels), sample.unit, sample.kind, sample.value));
        }
        Ok(())
    }

    fn about(&self) -> About {
        self.about.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::tests::{page, serve};

    #[test]
    fn a_page_that_is_too_long_or_has_too_many_series_is_read_in_part_and_that_is_said() {
        let lines: Vec<String> =
            (0..200_000).map(|number| format!("requests_total{{code=\"{number}\"}} 1\n")).collect();
        let lines = lines.concat();
        let mut source = Prometheus::new(&serve(move |_| page(&lines)));
        let mut figures = Figures::default();
        source.read(Nanos::ZERO, Depth::Whole, &mut figures).unwrap();
        assert_eq!(figures.now.len(), SERIES_MAX);
        let about = source.about();
        assert!(about.left_out > 100_000 && about.without.len() == 1, "{about:?}");
    }

    #[test]
    fn a_page_of_something_else_is_refused() {
        let mut source = Prometheus::new(&serve(|_| page("<!doctype html><p>hello")));
        assert!(source.read(Nanos::ZERO, Depth::Whole, &mut Figures::default()).is_err());
    }
}
