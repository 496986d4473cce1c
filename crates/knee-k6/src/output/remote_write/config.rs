//! The settings, from k6's variables.

use std::time::Duration;

use super::super::variables::{Lookup, Variables};

/// What begins each of the variables.
const PREFIX: &str = "K6_PROMETHEUS_RW_";

/// Where series go, and in which form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The endpoint.
    pub url: String,
    /// Names and values of headers.
    pub headers: Vec<(String, String)>,
    /// Whether any certificate is accepted.
    pub insecure: bool,
    /// Time between two pushes.
    pub interval: Duration,
    /// What is sent of trends.
    pub stats: Vec<Stat>,
    /// Whether trends are native histograms instead.
    pub native: bool,
    /// Whether all series are marked as ended after the run.
    pub stale: bool,
}

/// A figure of a trend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stat {
    /// Mean.
    Avg,
    /// Smallest value.
    Min,
    /// Median.
    Med,
    /// Largest value.
    Max,
    /// Number of values.
    Count,
    /// Sum of the values.
    Sum,
    /// A percentile, as the user wrote it: `99.9`.
    Percentile(String),
}

impl Stat {
    fn parse(text: &str) -> Result<Self, String> {
        Ok(match text.trim() {
            "avg" => Self::Avg,
            "min" => Self::Min,
            "med" => Self::Med,
            "max" => Self::Max,
            "count" => Self::Count,
            "sum" => Self::Sum,
            other => {
                let number = other.strip_prefix("p(").and_then(|rest| rest.strip_suffix(')'));
                let is_percent = |number: &&str| {
                    number.parse::<f64>().is_ok_and(|percent| (0.0..=100.0).contains(&percent))
                };
                let number = number.filter(is_percent).ok_or_else(|| {
                    format!(
                        "`{other}` in {PREFIX}TREND_STATS is none of avg, min, med, max, count, sum and p(N)"
                    )
                })?;
                Self::Percentile(number.to_owned())
            }
        })
    }

    /// What follows the name of the metric: `p999`.
    pub fn suffix(&self) -> String {
        match self {
            Self::Avg => "avg".to_owned(),
            Self::Min => "min".to_owned(),
            Self::Med => "med".to_owned(),
            Self::Max => "max".to_owned(),
            Self::Count => "count".to_owned(),
            Self::Sum => "sum".to_owned(),
            Self::Percentile(number) => format!("p{}", number.replace('.', "")),
        }
    }
}

impl Config {
    /// Reads the variables.
    ///
    /// # Errors
    /// A value is wrong, or asks for what is not supported; the text names the variable.
    pub fn from_env(env: Lookup<'_>) -> Result<Self, String> {
        let variables = Variables::new(PREFIX, env);
        variables.refuse(&["SIGV4_REGION", "SIGV4_ACCESS_KEY", "SIGV4_SECRET_KEY", "CLIENT_CERTIFICATE"])?;
        let url = variables.text_or("SERVER_URL", "http://localhost:9090/api/v1/write");
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(format!("{PREFIX}SERVER_URL is `{url}`, which is no URL of http or https"));
        }
        let stats = variables.text_or("TREND_STATS", "p(99)");
        Ok(Self {
            url,
            headers: headers(&variables)?,
            insecure: variables.flag("INSECURE_SKIP_TLS_VERIFY")?.unwrap_or(false),
            interval: variables.span("PUSH_INTERVAL", Duration::from_secs(5))?,
            stats: stats.split(',').map(Stat::parse).collect::<Result<_, _>>()?,
            native: variables.flag("TREND_AS_NATIVE_HISTOGRAM")?.unwrap_or(false),
            stale: variables.flag("STALE_MARKERS")?.unwrap_or(false),
        })
    }
}

/// The headers that the user asks for, and those of credentials.
fn headers(variables: &Variables<'_>) -> Result<Vec<(String, String)>, String> {
    let mut headers = Vec::new();
    if let Some(user) = variables.text("USERNAME") {
        let pair = format!("{user}:{}", variables.text_or("PASSWORD", ""));
        headers.push(("authorization".to_owned(), knee_engine::http::credentials::basic(pair.as_bytes())));
    }
    for text in variables.text_or("HTTP_HEADERS", "").split(',').filter(|text| !text.is_empty()) {
        let (name, value) =
            text.split_once(':').ok_or_else(|| format!("`{text}` in {PREFIX}HTTP_HEADERS has no colon"))?;
        headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
    }
    if let Some(token) = variables.text("BEARER_TOKEN") {
        headers.retain(|(name, _)| name != "authorization");
        headers.push(("authorization".to_owned(), format!("Bearer {token}")));
    }
    Ok(headers)
}
