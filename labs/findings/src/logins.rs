//! Logins that were begun. A cookie keeps what the shop needs when the visitor is back from the server that knows them.
//!
//! Does not use the stores, and does not parse HTTP.

use std::iter::repeat_with;

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// Bytes of the cookies of a request that the shop accepts. Servers and proxies have such a limit.
pub const COOKIES_MAX: usize = 4096;
/// Characters of a cookie.
const STATE: usize = 280;

/// Begins a login of a visitor who sent these cookies, and returns the cookie that keeps its state. It replaces that of an
/// earlier login; with the defect, each login has a cookie with a name of its own, and none removes those of logins that
/// never ended.
///
/// # Errors
/// The cookies are too long.
pub fn begin(shop: &Shop, cookies: &str) -> Result<String, Refusal> {
    if cookies.len() > COOKIES_MAX {
        return Err(Refusal::LongCookies);
    }
    let name = if shop.has(Defect::PiledCookies) {
        format!("login-{:08x}", fastrand::u32(..))
    } else {
        "login".to_owned()
    };
    let state: String = repeat_with(fastrand::alphanumeric).take(STATE).collect();
    Ok(format!("{name}={state}; Path=/; HttpOnly"))
}
