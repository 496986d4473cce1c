//! k6's response object: QuickJS asks for a field by its name, and each is made when a script reads it.
//!
//! Building every field of every response would cost more than sending the request, and a script reads two or three.
//! So a response is one small object without properties and without getters. Scripts see k6's fields as its own: they
//! can be listed, copied and assigned. Does not send the requests of `clickLink` and `submitForm`.

use std::borrow::Cow;
use std::cell::Cell;
use std::ptr;

use knee_engine::http::peer::Peer;
use rquickjs::class::{
    Class, ClassKind, JsCell, JsClass, PropertyDescriptor, PropertyName, Readable, Trace, Tracer,
};
use rquickjs::function::{Constructor, Opt, This};
use rquickjs::object::Property;
use rquickjs::{Atom, Coerced, Ctx, Exception, Function, IntoJs, JsLifetime, Object, Result, Value};

use super::params::Refused;
use super::{argument, go_error, html};
use crate::runtime::lent;
use field::{Field, Method, Names};
use knee_k6::html::{Selection, Target};
use knee_k6::http::answer::Answer;
use knee_k6::http::error_code;

mod field;
mod json;
mod value;

/// A response.
#[derive(JsLifetime)]
pub struct Response {
    source: Origin,
    /// Whether values are kept under the hidden name, which most responses do not have.
    keeps: Cell<bool>,
    /// Whether the script has set another body.
    is_changed: Cell<bool>,
}

/// In which no value of JavaScript is.
type Origin = Source;

/// What the fields are made from.
enum Source {
    Answer(Box<Answer>),
    Refused { words: String, code: u16 },
}

/// Gives a VU the methods of responses. The two given ones make requests, which this module does not.
pub fn install(ctx: &Ctx<'_>, click_link: Method, submit_form: Method) -> Result<()> {
    let methods: [(Field, Method); 4] = [
        (Field::ClickLink, click_link),
        (Field::Html, |ctx| Function::new(ctx.clone(), html)),
        (Field::Json, |ctx| Function::new(ctx.clone(), json)),
        (Field::SubmitForm, submit_form),
    ];
    Names::install(ctx, methods)
}

impl<'js> Trace<'js> for Response {
    fn trace<'a>(&self, _: Tracer<'a, 'js>) {}
}

impl<'js> JsClass<'js> for Response {
    const NAME: &'static str = "Object";
    const KIND: ClassKind = ClassKind::Exotic;
    type Mutable = Readable;

    /// That of any object.
    fn prototype(ctx: &Ctx<'js>) -> Result<Option<Object<'js>>> {
        Ok(Object::new(ctx.clone())?.get_prototype())
    }

    fn constructor(_: &Ctx<'js>) -> Result<Option<Constructor<'js>>> {
        Ok(None)
    }

    fn exotic_get_property(
        this: &JsCell<'js, Self>,
        ctx: &Ctx<'js>,
        name: Atom<'js>,
        receiver: Value<'js>,
    ) -> Result<Value<'js>> {
        match Names::with(ctx, |names| Ok(names.field(&name)))? {
            Some(field) => this.borrow().read(ctx, field, own(this, &receiver)),
            // What every object has.
            None => match Class::<Self>::prototype(ctx)? {
                Some(prototype) => prototype.get(name),
                None => Ok(Value::new_undefined(ctx.clone())),
            },
        }
    }

    fn exotic_set_property(
        this: &JsCell<'js, Self>,
        ctx: &Ctx<'js>,
        name: Atom<'js>,
        receiver: Value<'js>,
        value: Value<'js>,
    ) -> Result<bool> {
        let value = lent::keep(value);
        let field = Names::with(ctx, |names| Ok(names.field(&name)))?;
        match (own(this, &receiver), field, receiver.as_object()) {
            (Some(object), Some(field), _) if !field.is_method() => {
                let response = this.borrow();
                response.keep(ctx, &object, field, value)?;
                response.is_changed.set(response.is_changed.get() || field == Field::Body);
            }
            (Some(_), ..) => {
                let words = format!("Cannot assign to property {} of a host object", name.to_string()?);
                return Err(Exception::throw_type(ctx, &words));
            }
            // An object that inherits from a response gets properties of its own.
            (None, _, Some(object)) => {
                object.prop(name, Property::from(value).writable().enumerable().configurable())?;
            }
            (None, _, None) => return Ok(false),
        }
        Ok(true)
    }

    fn exotic_has_property(_: &JsCell<'js, Self>, ctx: &Ctx<'js>, name: Atom<'js>) -> Result<bool> {
        if Names::with(ctx, |names| Ok(names.field(&name)))?.is_some() {
            return Ok(true);
        }
        Class::<Self>::prototype(ctx)?.map_or(Ok(false), |prototype| prototype.contains_key(name))
    }

    /// Describes a field by the value that came with the response, also if the script has set another one: QuickJS does
    /// not say here which object is meant. Fields are read and copied by the function above.
    fn exotic_get_own_property(
        this: &JsCell<'js, Self>,
        ctx: &Ctx<'js>,
        name: Atom<'js>,
    ) -> Result<Option<PropertyDescriptor<'js>>> {
        let Some(field) = Names::with(ctx, |names| Ok(names.field(&name)))? else { return Ok(None) };
        let value = this.borrow().read(ctx, field, None)?;
        Ok(Some(PropertyDescriptor::new_value(value, false, true, !field.is_method())))
    }

    fn exotic_get_own_property_names(
        _: &JsCell<'js, Self>,
        ctx: &Ctx<'js>,
    ) -> Result<Vec<PropertyName<'js>>> {
        Names::with(ctx, |names| {
            let names = names.atoms().iter().cloned();
            Ok(names.map(|atom| PropertyName { atom, is_enumerable: true }).collect())
        })
    }
}

/// The response itself, if it is the object that a property is read or set on, and not one that inherits from it.
fn own<'js>(this: &JsCell<'js, Response>, receiver: &Value<'js>) -> Option<Class<'js, Response>> {
    let class = Class::<Response>::from_object(receiver.as_object()?)?;
    ptr::eq(class.get_cell(), this).then_some(class)
}

impl Response {
    /// The response of a request that was sent.
    pub fn new(answer: Box<Answer>) -> Self {
        Self::of(Source::Answer(answer))
    }

    /// The response of a request that could not be.
    pub fn refused(refused: &Refused) -> Self {
        Self::of(Source::Refused { words: refused.words.clone(), code: refused.code })
    }

    fn of(source: Source) -> Self {
        Self { source, keeps: Cell::new(false), is_changed: Cell::new(false) }
    }

    fn answer(&self) -> Option<&Answer> {
        match &self.source {
            Source::Answer(answer) => Some(answer),
            Source::Refused { .. } => None,
        }
    }

    fn peer(&self) -> Option<Peer> {
        self.answer().and_then(|answer| answer.peer)
    }

    /// The URL of the last hop.
    fn url(&self) -> &str {
        self.answer().map_or("", Answer::url)
    }

    fn error(&self) -> &str {
        match &self.source {
            Source::Answer(answer) => answer.error.as_ref().map_or("", |(words, _)| words),
            Source::Refused { words, .. } => words,
        }
    }

    fn error_code(&self) -> u16 {
        match &self.source {
            Source::Answer(answer) => {
                answer.error.as_ref().map_or_else(|| error_code::of_status(answer.status), |(_, code)| *code)
            }
            Source::Refused { code, .. } => *code,
        }
    }

    /// Status; 0 without a complete response.
    fn status(&self) -> u16 {
        self.answer().map_or(0, |answer| answer.status)
    }

    /// Status with its words.
    fn status_text(&self) -> String {
        let answer = self.answer().filter(|answer| answer.status > 0);
        answer.map(|answer| format!("{} {}", answer.status, answer.reason)).unwrap_or_default()
    }

    /// The value of a field. That of an `object` is the one that the script has set, and reading it twice gives the same.
    fn read<'js>(
        &self,
        ctx: &Ctx<'js>,
        field: Field,
        object: Option<Class<'js, Self>>,
    ) -> Result<Value<'js>> {
        if self.keeps.get()
            && !field.is_method()
            && let Some(object) = &object
            && let Some(kept) = kept(ctx, object, field)?
        {
            return Ok(kept);
        }
        let (value, keep) = self.make(ctx, field)?;
        if keep && let Some(object) = &object {
            self.keep(ctx, object, field, value.clone())?;
        }
        Ok(value)
    }

    /// A new value of a field, and whether it is to be kept, because it is an object or takes time to make.
    fn make<'js>(&self, ctx: &Ctx<'js>, field: Field) -> Result<(Value<'js>, bool)> {
        let answer = self.answer();
        let tls = || self.peer().and_then(|peer| peer.tls);
        let plain = match field {
            Field::Status => self.status().into_js(ctx),
            Field::StatusText => self.status_text().into_js(ctx),
            Field::Url => self.url().into_js(ctx),
            Field::Error => self.error().into_js(ctx),
            Field::ErrorCode => self.error_code().into_js(ctx),
            Field::Proto => self.answer().map_or("", Answer::protocol).into_js(ctx),
            Field::RemoteIp => {
                self.peer().map(|peer| peer.address.ip().to_string()).unwrap_or_default().into_js(ctx)
            }
            Field::RemotePort => self.peer().map_or(0, |peer| peer.address.port()).into_js(ctx),
            Field::TlsVersion => tls().map_or("", |tls| tls.version).into_js(ctx),
            Field::TlsCipherSuite => tls().map_or("", |tls| tls.suite).into_js(ctx),
            Field::ClickLink | Field::Html | Field::Json | Field::SubmitForm => {
                Names::with(ctx, |names| names.method(ctx, field))?.into_js(ctx)
            }
            // The list of a request that could not be made is a new one each time, as in k6.
            Field::Body => return Ok((value::body(ctx, answer)?, answer.is_some())),
            Field::Headers => return Ok((value::headers(ctx, answer)?, true)),
            Field::Timings => {
                let timings = answer.map(|answer| answer.timings).unwrap_or_default();
                return Ok((value::timings(ctx, &timings)?, true));
            }
            Field::Cookies => return Ok((value::cookies(ctx, answer)?, true)),
            Field::Ocsp => return Ok((value::ocsp(ctx)?, true)),
            Field::Request => {
                let null = || Ok(Value::new_null(ctx.clone()));
                return Ok((answer.map_or_else(null, |answer| value::request(ctx, answer))?, true));
            }
        };
        Ok((plain?, false))
    }

    /// Keeps a value of a field, in a property that no list of properties has.
    fn keep<'js>(
        &self,
        ctx: &Ctx<'js>,
        object: &Class<'js, Self>,
        field: Field,
        value: Value<'js>,
    ) -> Result<()> {
        let (hidden, name, json) =
            Names::with(ctx, |names| Ok((names.hidden(), names.atom(field), names.atom(Field::Json))))?;
        let holder = if self.keeps.get() {
            object.get::<_, Object<'js>>(hidden)?
        } else {
            let holder = Object::new_proto(ctx.clone(), None)?;
            object.prop(hidden, Property::from(holder.clone()))?;
            self.keeps.set(true);
            holder
        };
        if field == Field::Body {
            // It was read from the body that was there before.
            holder.remove(json)?;
        }
        holder.prop(name, Property::from(value).writable().configurable())
    }
}

/// The kept value of a field; `None` if there is none.
fn kept<'js>(ctx: &Ctx<'js>, object: &Class<'js, Response>, field: Field) -> Result<Option<Value<'js>>> {
    let (hidden, name) = Names::with(ctx, |names| Ok((names.hidden(), names.atom(field))))?;
    let holder: Object<'js> = object.get(hidden)?;
    if holder.contains_key(name.clone())? { holder.get(name).map(Some) } else { Ok(None) }
}

/// The body as text, to be read as `what`; includes a body that the script has set.
fn text_of_body<'a, 'js>(
    ctx: &Ctx<'js>,
    object: &Class<'js, Response>,
    response: &'a Response,
    what: &str,
) -> Result<Cow<'a, str>> {
    let null = || {
        let words = format!(
            "the body is null so we can't transform it to {what} - this likely was because of a request error getting the response"
        );
        go_error::throw(ctx, &words)
    };
    // A request that could not be made has no bytes, whatever its list holds by now.
    if response.answer().is_none() && !response.is_changed.get() {
        return Ok(Cow::Borrowed(""));
    }
    // A text that was only read is the one that came; bytes can have been changed in place.
    let kept = if response.keeps.get() { kept(ctx, object, Field::Body)? } else { None };
    if let Some(kept) = kept.filter(|kept| response.is_changed.get() || !kept.is_string()) {
        if kept.is_null() || kept.is_undefined() {
            return Err(null());
        }
        let bytes = argument::bytes_argument(ctx, &kept)?;
        return Ok(Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()));
    }
    let answer = response.answer().filter(|answer| answer.has_body());
    answer.map(|answer| String::from_utf8_lossy(answer.body.bytes())).ok_or_else(null)
}

/// The body of a response as a page.
pub fn page<'js>(ctx: &Ctx<'js>, object: &Class<'js, Response>) -> Result<Selection> {
    let response = object.borrow();
    html::read(ctx, &text_of_body(ctx, object, &response, "HTML")?, response.url())
}

/// `response.html()`: the body as a page, or what a selector finds in it.
fn html<'js>(
    ctx: Ctx<'js>,
    this: This<Class<'js, Response>>,
    selector: Opt<Coerced<String>>,
) -> Result<Value<'js>> {
    let page = page(&ctx, &this)?;
    html::show(
        &ctx,
        match selector.0 {
            Some(selector) => page.find(&Target::of_selector(&selector.0)),
            None => page,
        },
    )
}

/// `response.json()`: the body as JSON, or what a path leads to in it.
fn json<'js>(ctx: Ctx<'js>, this: This<Class<'js, Response>>, path: Opt<Value<'js>>) -> Result<Value<'js>> {
    let path = path.0.map(|path| path.get::<Coerced<String>>()).transpose()?;
    let response = this.borrow();
    if let Some(path) = path {
        return json::select(&ctx, &text_of_body(&ctx, &this, &response, "JSON")?, &path.0);
    }
    // The method cannot be replaced, so its name is free for what it has returned.
    let known = if response.keeps.get() { kept(&ctx, &this, Field::Json)? } else { None };
    if let Some(known) = known {
        return Ok(known);
    }
    let value = json::parse(&ctx, &text_of_body(&ctx, &this, &response, "JSON")?)?;
    response.keep(&ctx, &this, Field::Json, value.clone())?;
    Ok(value)
}
