//! What a capacity is worth: users that one host supports, and what they cost.
//!
//! Arithmetic on the user's figures. Every assumption is a field, so that a report can print it. Knows no prices.

use std::str::FromStr;

/// Seconds of a month: a twelfth of 365.25 days.
pub const MONTH: f64 = 365.25 * 86_400.0 / 12.0;

/// An amount per time: `20/month`, `0.04/hour`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerTime {
    /// How much; above zero.
    pub amount: f64,
    /// Per how many seconds.
    pub seconds: f64,
}

impl PerTime {
    /// The amount per month.
    pub fn per_month(self) -> f64 {
        self.amount * MONTH / self.seconds
    }
}

/// Why an amount could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an amount per time")]
pub struct PerTimeError(String);

impl FromStr for PerTime {
    type Err = PerTimeError;

    fn from_str(text: &str) -> Result<Self, PerTimeError> {
        let error = || PerTimeError(text.to_owned());
        let (amount, time) = text.split_once('/').ok_or_else(error)?;
        let seconds = match time.trim() {
            "s" | "sec" | "second" => 1.0,
            "m" | "min" | "minute" => 60.0,
            "h" | "hour" => 3_600.0,
            "d" | "day" => 86_400.0,
            "week" => 7.0 * 86_400.0,
            "mo" | "month" => MONTH,
            "y" | "year" => 12.0 * MONTH,
            _ => return Err(error()),
        };
        let amount = amount.trim();
        let plain = !amount.is_empty() && amount.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let amount: f64 = plain.then(|| amount.parse().ok()).flatten().ok_or_else(error)?;
        if amount > 0.0 && amount.is_finite() { Ok(Self { amount, seconds }) } else { Err(error()) }
    }
}

/// The user's figures about cost and users.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Assumptions {
    /// What the hardware costs, in any currency.
    pub host: Option<PerTime>,
    /// Requests that one user makes.
    pub per_user: Option<PerTime>,
    /// Peak load as a multiple of the mean load; 1 or more.
    pub peak_factor: f64,
}

/// Results for a capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worth {
    /// What was assumed.
    pub assumptions: Assumptions,
    /// Arrivals per second at the peak: the lower end of the capacity.
    pub peak: f64,
    /// Arrivals per month at the mean load that belongs to this peak.
    pub per_month: f64,
    /// Users, if the requests per user are known.
    pub users: Option<f64>,
    /// Cost of a million arrivals at the mean load, if the host has a price.
    pub per_million: Option<f64>,
    /// Cost per user and month, if both are known.
    pub per_user: Option<f64>,
}

/// The results for a capacity of `peak` arrivals per second.
pub fn worth(peak: f64, assumptions: Assumptions) -> Worth {
    let per_month = peak / assumptions.peak_factor * MONTH;
    let host = assumptions.host.map(PerTime::per_month);
    let users = assumptions.per_user.map(|each| per_month / each.per_month());
    Worth {
        assumptions,
        peak,
        per_month,
        users,
        per_million: host.map(|host| host / per_month * 1e6),
        per_user: host.zip(users).map(|(host, users)| host / users),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_the_mean_load_over_what_one_does() {
        // 1,000/s at the peak, 100/s on average: 100 x 2,629,800 s = 262,980,000 a month.
        let assumptions = Assumptions {
            host: "20/month".parse().ok(),
            per_user: "300/month".parse().ok(),
            peak_factor: 10.0,
        };
        let worth = worth(1_000.0, assumptions);
        assert!((worth.per_month - 262_980_000.0).abs() < 1.0);
        assert!((worth.users.unwrap() - 876_600.0).abs() < 1.0);
        assert!((worth.per_million.unwrap() - 20.0 / 262.98).abs() < 1e-9);
        assert!((worth.per_user.unwrap() - 20.0 / 876_600.0).abs() < 1e-12);
    }

    #[test]
    fn amounts_are_read_with_their_time() {
        for (text, per_month) in
            [("20/month", 20.0), ("1/s", MONTH), ("240/year", 20.0), ("0.5 / hour", MONTH / 7_200.0)]
        {
            assert!((text.parse::<PerTime>().unwrap().per_month() / per_month - 1.0).abs() < 1e-12, "{text}");
        }
        for text in ["", "20", "20/", "/month", "x/month", "20/fortnight", "-1/s", "0/s", "1e3/s"] {
            assert!(text.parse::<PerTime>().is_err(), "{text}");
        }
    }
}
