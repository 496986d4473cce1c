//! `CookieJar`: a VU's cookies, or some of a script's own, as an object.

#![allow(missing_docs, reason = "the macro makes constants that are not part of the interface")]

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::{Coerced, Ctx, JsLifetime, Object, Result, Value};

use super::current::state;
use super::define::{Define as _, array_of};
use super::go_error;
use knee_k6::http::compose::seconds_now;
use knee_k6::http::cookie::{Attributes, Cookie, Jar};
use knee_k6::http::go_url::GoUrl;

/// A cookie jar.
#[derive(Trace, JsLifetime)]
#[rquickjs::class]
pub struct CookieJar {
    #[qjs(skip_trace)]
    jar: Kept,
}

/// Cookies that requests share.
type Kept = Rc<RefCell<Jar>>;

impl CookieJar {
    /// The jar as an object.
    pub fn of(jar: Kept) -> Self {
        Self { jar }
    }

    /// The cookies in it.
    pub fn jar(&self) -> Kept {
        self.jar.clone()
    }
}

fn url_of(ctx: &Ctx<'_>, text: &str) -> Result<GoUrl> {
    GoUrl::parse(text.as_bytes()).map_err(|error| go_error::throw(ctx, &error.to_string()))
}

#[rquickjs::methods]
impl CookieJar {
    /// An empty jar.
    ///
    /// # Errors
    ///
    /// If no VU is running.
    #[qjs(constructor)]
    pub fn new(ctx: Ctx<'_>) -> Result<Self> {
        Ok(Self { jar: Rc::new(RefCell::new(Jar::new(&state(&ctx)?.account))) })
    }

    /// `cookiesForURL`: values by name.
    #[qjs(rename = "cookiesForURL")]
    pub fn cookies_for_url<'js>(&self, ctx: Ctx<'js>, url: String) -> Result<Object<'js>> {
        let url = url_of(&ctx, &url)?;
        let mut by_name: Vec<(String, Vec<String>)> = Vec::new();
        for cookie in self.jar.borrow().of(&url, seconds_now()) {
            match by_name.iter_mut().find(|(known, _)| *known == cookie.name) {
                Some((_, values)) => values.push(cookie.value.clone()),
                None => by_name.push((cookie.name.clone(), vec![cookie.value.clone()])),
            }
        }
        let object = Object::new(ctx.clone())?;
        for (name, values) in by_name {
            object.put(name, array_of(&ctx, values.into_iter().map(Ok))?)?;
        }
        Ok(object)
    }

    /// `set`: adds a cookie.
    pub fn set<'js>(
        &self,
        ctx: Ctx<'js>,
        url: String,
        name: Coerced<String>,
        value: Coerced<String>,
        options: Opt<Value<'js>>,
    ) -> Result<bool> {
        let url = url_of(&ctx, &url)?;
        let attributes = options.0.as_ref().and_then(Value::as_object).map(attributes_of).transpose()?;
        let now = seconds_now();
        let mut attributes = attributes.unwrap_or_default();
        if attributes.max_age == Some(0) {
            // Go counts no Max-Age for a zero.
            attributes.max_age = None;
        }
        let cookie = Cookie::new(&name.0, &value.0, &url, &attributes, now);
        self.jar.borrow_mut().put(cookie, &url, now);
        Ok(true)
    }

    /// `clear`: removes all cookies of a URL.
    pub fn clear(&self, ctx: Ctx<'_>, url: String) -> Result<()> {
        let url = url_of(&ctx, &url)?;
        self.jar.borrow_mut().remove(&url, None, seconds_now());
        Ok(())
    }

    /// `delete`: removes one cookie of a URL.
    pub fn delete(&self, ctx: Ctx<'_>, url: String, name: String) -> Result<()> {
        let url = url_of(&ctx, &url)?;
        self.jar.borrow_mut().remove(&url, Some(&name), seconds_now());
        Ok(())
    }
}

fn attributes_of(object: &Object<'_>) -> Result<Attributes> {
    let text =
        |name: &str| object.get::<_, Option<Coerced<String>>>(name).map(|text| text.map(|text| text.0));
    Ok(Attributes {
        domain: text("domain")?,
        path: text("path")?,
        secure: object.get::<_, Option<bool>>("secure")?.unwrap_or(false),
        http_only: object.get::<_, Option<bool>>("http_only")?.unwrap_or(false),
        max_age: object.get::<_, Option<f64>>("max_age")?.map(|seconds| seconds as i64),
        expires: text("expires")?,
    })
}
