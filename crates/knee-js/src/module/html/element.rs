//! One node of a page, with the names that a browser's DOM has for what is in it; all of them are
//! functions, as in k6.
//!
//! Every element has every method: those that are meant for other tags find no attribute.

use rquickjs::class::{Class, JsClass, Readable};
use rquickjs::function::Constructor;
use rquickjs::{Ctx, IntoJs, Object, Result, Value};

use super::class::{Element, Inner, show, show_element};
use super::value::{add, field, list, text};
use crate::module::define::{Define as _, array_of};
use knee_k6::html::{Neighbour, Target, Walk};
use knee_k6::http::go_url::GoUrl;

impl<'js> JsClass<'js> for Element {
    const NAME: &'static str = "Element";
    type Mutable = Readable;

    fn prototype(ctx: &Ctx<'js>) -> Result<Option<Object<'js>>> {
        let prototype = Object::new(ctx.clone())?;
        for (name, attribute, kind) in ATTRIBUTES {
            add(ctx, &prototype, name, move |ctx, this: &Self, _| read(ctx, &this.inner, attribute, *kind))?;
        }
        for (name, neighbour) in NEIGHBOURS {
            add(ctx, &prototype, name, move |ctx, this: &Self, _| {
                show_element(ctx, this.inner.neighbour(*neighbour))
            })?;
        }
        for (name, part) in URL_PARTS {
            add(ctx, &prototype, name, move |ctx, this: &Self, _| {
                part(&resolved(&this.inner, "href").unwrap_or_default()).into_js(ctx)
            })?;
        }
        for (name, method) in METHODS {
            add(ctx, &prototype, name, move |ctx, this: &Self, arguments| {
                method(ctx, &this.inner, arguments)
            })?;
        }
        Ok(Some(prototype))
    }

    fn constructor(_: &Ctx<'js>) -> Result<Option<Constructor<'js>>> {
        Ok(None)
    }
}

/// Type of an attribute.
#[derive(Clone, Copy)]
enum Kind {
    /// As it is written; nothing as an empty text.
    Text,
    /// As it is written; nothing as undefined.
    Maybe,
    /// Whether it is there.
    Present,
    /// As a number, or as this one.
    Number(i32),
    /// As a URL, made whole by the URL of the page.
    Url,
}

const ATTRIBUTES: &[(&str, &str, Kind)] = &[
    ("accept", "accept", Kind::Text),
    ("accessKey", "accesskey", Kind::Text),
    ("action", "action", Kind::Url),
    ("alt", "alt", Kind::Text),
    ("autocomplete", "autocomplete", Kind::Text),
    ("autofocus", "autofocus", Kind::Present),
    ("charset", "charset", Kind::Text),
    ("checked", "checked", Kind::Present),
    ("className", "class", Kind::Maybe),
    ("colSpan", "colspan", Kind::Number(1)),
    ("cols", "cols", Kind::Number(0)),
    ("content", "content", Kind::Text),
    ("defaultChecked", "checked", Kind::Present),
    ("defaultSelected", "selected", Kind::Present),
    ("defaultValue", "value", Kind::Text),
    ("disabled", "disabled", Kind::Present),
    ("download", "download", Kind::Text),
    ("headers", "headers", Kind::Text),
    ("height", "height", Kind::Text),
    ("href", "href", Kind::Url),
    ("hreflang", "hreflang", Kind::Text),
    ("htmlFor", "for", Kind::Text),
    ("httpEquiv", "http-equiv", Kind::Text),
    ("id", "id", Kind::Text),
    ("label", "label", Kind::Text),
    ("lang", "lang", Kind::Maybe),
    ("max", "max", Kind::Text),
    ("maxLength", "maxlength", Kind::Number(-1)),
    ("media", "media", Kind::Text),
    ("min", "min", Kind::Text),
    ("multiple", "multiple", Kind::Present),
    ("name", "name", Kind::Text),
    ("noValidate", "novalidate", Kind::Present),
    ("pattern", "pattern", Kind::Text),
    ("placeholder", "placeholder", Kind::Text),
    ("readonly", "readonly", Kind::Present),
    ("rel", "rel", Kind::Text),
    ("required", "required", Kind::Present),
    ("rowSpan", "rowspan", Kind::Number(1)),
    ("rows", "rows", Kind::Number(0)),
    ("scope", "scope", Kind::Text),
    ("selected", "selected", Kind::Present),
    ("sizes", "sizes", Kind::Text),
    ("src", "src", Kind::Url),
    ("srcset", "srcset", Kind::Text),
    ("start", "start", Kind::Number(0)),
    ("step", "step", Kind::Text),
    ("tabIndex", "tabindex", Kind::Number(0)),
    ("target", "target", Kind::Text),
    ("type", "type", Kind::Text),
    ("useMap", "usemap", Kind::Text),
    ("width", "width", Kind::Text),
];

fn read<'js>(ctx: &Ctx<'js>, this: &Inner, attribute: &str, kind: Kind) -> Result<Value<'js>> {
    let value = this.attr(attribute);
    match kind {
        Kind::Text => value.unwrap_or_default().into_js(ctx),
        Kind::Maybe => {
            value.map_or_else(|| Ok(Value::new_undefined(ctx.clone())), |value| value.into_js(ctx))
        }
        Kind::Present => value.is_some().into_js(ctx),
        Kind::Number(default) => value.and_then(|value| value.parse().ok()).unwrap_or(default).into_js(ctx),
        Kind::Url if this.url().is_empty() => value.unwrap_or_default().into_js(ctx),
        Kind::Url => resolved(this, attribute).map(|url| url.to_string()).unwrap_or_default().into_js(ctx),
    }
}

/// The URL in an attribute, made whole by that of the page.
fn resolved(this: &Inner, attribute: &str) -> Option<GoUrl> {
    let page = GoUrl::parse(this.url().as_bytes()).ok()?;
    page.join(this.attr(attribute)?.as_bytes()).ok()
}

/// A part of a URL.
type UrlPart = fn(&GoUrl) -> String;

const URL_PARTS: &[(&str, UrlPart)] = &[
    ("hash", |url| with_sign("#", url.fragment())),
    ("host", |url| {
        let usual =
            matches!((url.scheme(), url.port().as_deref()), ("http", Some("80")) | ("https", Some("443")));
        if usual { url.hostname() } else { url.host() }
    }),
    ("hostname", GoUrl::hostname),
    ("origin", |url| match url.scheme() {
        "" => String::new(),
        "file" => url.to_string(),
        scheme => format!("{scheme}://{}", url.host()),
    }),
    ("password", |url| url.user().and_then(|user| user.password.as_deref()).map(text_of).unwrap_or_default()),
    ("pathname", GoUrl::path),
    ("port", |url| url.port().unwrap_or_default()),
    ("protocol", |url| if url.scheme().is_empty() { ":" } else { url.scheme() }.to_owned()),
    ("search", |url| with_sign("?", url.query())),
    ("username", |url| url.user().map(|user| text_of(&user.name)).unwrap_or_default()),
];

fn with_sign(sign: &str, text: String) -> String {
    if text.is_empty() { text } else { format!("{sign}{text}") }
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const NEIGHBOURS: &[(&str, Neighbour)] = &[
    ("firstChild", Neighbour::FirstChild),
    ("lastChild", Neighbour::LastChild),
    ("previousSibling", Neighbour::Previous),
    ("nextSibling", Neighbour::Next),
    ("parentNode", Neighbour::Parent),
    ("ownerDocument", Neighbour::Document),
];

type Method = for<'js> fn(&Ctx<'js>, &Inner, &[Value<'js>]) -> Result<Value<'js>>;

const METHODS: &[(&str, Method)] = &[
    ("attributes", attributes),
    ("childElementCount", |ctx, this, _| (this.walk(Walk::Children, None).len() as f64).into_js(ctx)),
    ("childNodes", |ctx, this, _| elements(ctx, &this.walk(Walk::Contents, None))),
    ("children", |ctx, this, _| elements(ctx, &this.walk(Walk::Children, None))),
    ("classList", |ctx, this, _| words(ctx, this, "class")),
    ("contains", |ctx, this, arguments| {
        other(arguments.first()).is_some_and(|other| this.contains(&other)).into_js(ctx)
    }),
    ("elements", |ctx, this, _| elements(ctx, &within(this, "input,select,textarea,button,fieldset"))),
    ("firstElementChild", |ctx, this, _| show_element(ctx, this.walk(Walk::Children, None).at(0))),
    ("form", |ctx, this, _| show_element(ctx, this.form())),
    ("getAttribute", |ctx, this, arguments| read(ctx, this, &name(arguments)?, Kind::Maybe)),
    ("getAttributeNode", |ctx, this, arguments| match this.attr(&name(arguments)?) {
        Some(value) => attribute(ctx, this, &name(arguments)?, value),
        None => Ok(Value::new_undefined(ctx.clone())),
    }),
    ("getElementsByClassName", |ctx, this, arguments| {
        elements(ctx, &within(this, &format!(".{}", name(arguments)?)))
    }),
    ("getElementsByTagName", |ctx, this, arguments| elements(ctx, &within(this, &name(arguments)?))),
    ("hasAttribute", |ctx, this, arguments| this.attr(&name(arguments)?).is_some().into_js(ctx)),
    ("hasAttributes", |ctx, this, _| (!this.attrs().is_empty()).into_js(ctx)),
    ("hasChildNodes", |ctx, this, _| (!this.neighbour(Neighbour::FirstChild).is_empty()).into_js(ctx)),
    ("innerHTML", |ctx, this, _| this.html().into_js(ctx)),
    ("isDefaultNamespace", |ctx, _, _| true.into_js(ctx)),
    ("isEqualNode", |ctx, this, arguments| {
        other(arguments.first()).is_some_and(|other| this.html() == other.html()).into_js(ctx)
    }),
    ("isSameNode", |ctx, this, arguments| {
        other(arguments.first()).is_some_and(|other| this.is_same(&other)).into_js(ctx)
    }),
    ("labels", |ctx, this, _| elements(ctx, &this.labels())),
    ("lastElementChild", |ctx, this, _| show_element(ctx, this.walk(Walk::Children, None).at(-1))),
    ("length", |ctx, this, _| {
        let parts = if this.name() == "select" { "option" } else { "input,select,textarea,button,fieldset" };
        (within(this, parts).len() as f64).into_js(ctx)
    }),
    ("matches", |ctx, this, arguments| this.picked(&Target::of_selector(&name(arguments)?)).into_js(ctx)),
    ("method", |ctx, this, _| {
        let method = this.attr("method").unwrap_or_default();
        (if method.eq_ignore_ascii_case("post") { "post" } else { "get" }).into_js(ctx)
    }),
    ("namespaceURI", |ctx, _, _| "http://www.w3.org/1999/xhtml".into_js(ctx)),
    ("nextElementSibling", |ctx, this, _| show_element(ctx, this.walk(Walk::Next, None))),
    ("nodeName", |ctx, this, _| this.name().into_js(ctx)),
    ("nodeType", |ctx, this, _| this.kind().into_js(ctx)),
    ("nodeValue", |ctx, this, _| match this.kind() {
        Some(3 | 8) => this.text().into_js(ctx),
        _ => Ok(Value::new_undefined(ctx.clone())),
    }),
    ("options", |ctx, this, _| elements(ctx, &within(this, "option"))),
    ("parentElement", |ctx, this, _| show_element(ctx, this.walk(Walk::Parent, None))),
    ("previousElementSibling", |ctx, this, _| show_element(ctx, this.walk(Walk::Previous, None))),
    ("querySelector", |ctx, this, arguments| show_element(ctx, within(this, &name(arguments)?).at(0))),
    ("querySelectorAll", |ctx, this, arguments| elements(ctx, &within(this, &name(arguments)?))),
    ("relList", |ctx, this, _| words(ctx, this, "rel")),
    ("selectedOptions", |ctx, this, _| elements(ctx, &within(this, "option[selected]"))),
    ("selection", |ctx, this, _| show(ctx, this.clone())),
    ("text", |ctx, this, _| this.text().into_js(ctx)),
    ("textContent", |ctx, this, _| this.text().into_js(ctx)),
    ("toString", |ctx, this, _| match this.kind() {
        Some(1) if this.name() == "a" => read(ctx, this, "href", Kind::Url),
        Some(1) => "[object html.Node]".into_js(ctx),
        _ => format!("[object {}]", this.name()).into_js(ctx),
    }),
    ("value", |ctx, this, _| match this.value() {
        None => read(ctx, this, "value", Kind::Text),
        value => field(ctx, value),
    }),
];

fn name(arguments: &[Value<'_>]) -> Result<String> {
    text(arguments.first()).map(Option::unwrap_or_default)
}

fn within(this: &Inner, selector: &str) -> Inner {
    this.find(&Target::of_selector(selector))
}

fn elements<'js>(ctx: &Ctx<'js>, selection: &Inner) -> Result<Value<'js>> {
    list(ctx, selection.each().map(|one| show_element(ctx, one)))
}

fn other(value: Option<&Value<'_>>) -> Option<Inner> {
    let element = Class::<Element>::from_value(value?).ok()?;
    let inner = element.borrow().inner.clone();
    Some(inner)
}

fn words<'js>(ctx: &Ctx<'js>, this: &Inner, attribute: &str) -> Result<Value<'js>> {
    let value = this.attr(attribute).unwrap_or_default();
    Ok(array_of(ctx, value.split_whitespace().map(Ok))?.into_value())
}

fn attribute<'js>(ctx: &Ctx<'js>, this: &Inner, name: &str, value: String) -> Result<Value<'js>> {
    let object = Object::new(ctx.clone())?;
    object.put("owner_element", show_element(ctx, this.clone())?)?;
    object.put("name", name)?;
    object.put("value", value)?;
    Ok(object.into_value())
}

fn attributes<'js>(ctx: &Ctx<'js>, this: &Inner, _: &[Value<'js>]) -> Result<Value<'js>> {
    let object = Object::new(ctx.clone())?;
    for (name, value) in this.attrs() {
        object.put(name.as_str(), attribute(ctx, this, &name, value)?)?;
    }
    Ok(object.into_value())
}
