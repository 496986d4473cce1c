//! `response.submitForm()` and `response.clickLink()`: what a user does on a page.
//!
//! Reads the page; the requests are sent as any other.

use std::collections::BTreeMap;
use std::rc::Rc;

use rquickjs::class::Class;
use rquickjs::function::{Opt, This};
use rquickjs::{Coerced, Ctx, Function, IntoJs, Object, Result, Value};

use super::define::Define as _;
use super::params::Wanted;
use super::perform::perform;
use super::response::{self, Response};
use super::{go_error, html};
use knee_k6::html::{Selection, Target};
use knee_k6::http::go_url::GoUrl;

/// Gives responses their methods; those that make requests are here.
pub fn install(ctx: &Ctx<'_>) -> Result<()> {
    response::install(
        ctx,
        |ctx| Function::new(ctx.clone(), click_link),
        |ctx| Function::new(ctx.clone(), submit_form),
    )
}

fn submit_form<'js>(
    ctx: Ctx<'js>,
    this: This<Class<'js, Response>>,
    wish: Opt<Value<'js>>,
) -> Result<Value<'js>> {
    let page = response::page(&ctx, &this)?;
    submit(&ctx, &page, wish.0)
}

fn click_link<'js>(
    ctx: Ctx<'js>,
    this: This<Class<'js, Response>>,
    wish: Opt<Value<'js>>,
) -> Result<Value<'js>> {
    let page = response::page(&ctx, &this)?;
    click(&ctx, &page, wish.0)
}

/// The script's arguments for the form or the link.
struct Wish<'js> {
    selector: String,
    submit: String,
    fields: Option<Object<'js>>,
    params: Option<Value<'js>>,
}

fn wish<'js>(given: Option<Value<'js>>, name: &str, default: &str) -> Result<Wish<'js>> {
    let given = given.and_then(Value::into_object);
    let value = |name: &str| -> Result<Option<Value<'js>>> {
        let value = given.as_ref().map(|given| given.get::<_, Value<'js>>(name)).transpose()?;
        Ok(value.filter(|value| !value.is_undefined()))
    };
    let text = |name: &str, default: &str| -> Result<String> {
        let text = value(name)?.map(|value| value.get::<Coerced<String>>()).transpose()?;
        Ok(text.map_or_else(|| default.to_owned(), |text| text.0))
    };
    Ok(Wish {
        selector: text(name, default)?,
        submit: text("submitSelector", "[type=\"submit\"]")?,
        fields: value("fields")?.and_then(Value::into_object),
        params: value("params")?,
    })
}

/// The URL of `relative` on the page at `base`; of the page itself without one.
fn address(ctx: &Ctx<'_>, base: &str, relative: Option<&str>) -> Result<GoUrl> {
    let base = GoUrl::parse(base.as_bytes());
    let url = match relative {
        Some(relative) => base.and_then(|base| base.join(relative.as_bytes())),
        None => base,
    };
    url.map_err(|error| go_error::throw(ctx, &error.to_string()))
}

/// Sends the form of a page: its fields, the button, and what the script fills in.
fn submit<'js>(ctx: &Ctx<'js>, page: &Selection, given: Option<Value<'js>>) -> Result<Value<'js>> {
    let wish = wish(given, "formSelector", "form")?;
    let form = page.find(&Target::of_selector(&wish.selector));
    if form.is_empty() {
        let words = format!("no form found for selector '{}' in response '{}'", wish.selector, page.url());
        return Err(go_error::throw(ctx, &words));
    }
    let method: Rc<str> =
        form.attr("method").map_or_else(|| "GET".into(), |method| method.to_uppercase().into());
    let mut url = address(ctx, page.url(), form.attr("action").as_deref())?;
    let values = html::fields(ctx, &form)?;
    let button = form.find(&Target::of_selector(&wish.submit));
    if let (Some(name), Some(value)) = (button.attr("name"), button.value()) {
        values.put(name, html::field(ctx, Some(value))?)?;
    }
    if let Some(fields) = wish.fields {
        for pair in fields.props::<String, Value<'js>>() {
            let (name, value) = pair?;
            values.put(name, value)?;
        }
    }
    if &*method != "GET" {
        let (url, body) = (url.to_string().into_js(ctx)?, values.into_value());
        return perform(ctx, &Wanted { method, url: &url, body: Some(&body), params: wish.params.as_ref() });
    }
    let pairs = values.props::<String, Coerced<String>>().collect::<Result<BTreeMap<_, _>>>()?;
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(pairs.iter().map(|(name, value)| (name, &value.0)));
    url.set_query(query.finish());
    let url = url.to_string().into_js(ctx)?;
    perform(ctx, &Wanted { method, url: &url, body: None, params: wish.params.as_ref() })
}

/// Follows a link of a page.
fn click<'js>(ctx: &Ctx<'js>, page: &Selection, given: Option<Value<'js>>) -> Result<Value<'js>> {
    let wish = wish(given, "selector", "a[href]")?;
    let link = page.find(&Target::of_selector(&wish.selector));
    let refused = |words: &str| {
        go_error::throw(ctx, &format!("{words} '{}' in response '{}'", wish.selector, page.url()))
    };
    if link.is_empty() {
        return Err(refused("no element found for selector"));
    }
    let target =
        link.attr("href").ok_or_else(|| refused("no valid href attribute value found on element"))?;
    let url = address(ctx, page.url(), Some(&target))?.to_string().into_js(ctx)?;
    perform(ctx, &Wanted { method: "GET".into(), url: &url, body: None, params: wish.params.as_ref() })
}
