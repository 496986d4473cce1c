//! `k6/html`: pages and selections of their nodes.
//!
//! Turns arguments and results into each other; [`knee_k6::html`] does the rest. The classes are
//! created when a script reads its first page.

use std::rc::Rc;

use rquickjs::class::{Class, JsClass, Readable};
use rquickjs::function::{Constructor, Rest, This};
use rquickjs::object::Accessor;
use rquickjs::{Coerced, Ctx, Function, IntoJs, Object, Result, Value};

use super::current::state;
use super::define::{Define as _, array_of};
use super::{argument, go_error};
use knee_k6::html::data::{self, DataValue};
use knee_k6::html::{self, Bounds, Target, Walk};

mod class;
mod element;
mod value;

use class::{Element, Inner, Selection, show_element};
use value::{add, list, refuse, text};

pub use class::show;
pub use value::field;

/// Its exports.
pub const EXPORTS: &[&str] = &["parseHTML"];

/// Makes the module.
pub fn build<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.put("parseHTML", Function::new(ctx.clone(), parse)?.with_name("parseHTML")?)?;
    Ok(object)
}

fn parse<'js>(ctx: Ctx<'js>, arguments: Rest<Value<'js>>) -> Result<Value<'js>> {
    show(&ctx, read(&ctx, &text(arguments.0.first())?.unwrap_or_default(), "")?)
}

/// A page from `url`, in the memory of the VU. Other VUs run while it is read.
pub fn read(ctx: &Ctx<'_>, page: &str, url: &str) -> Result<Inner> {
    let state = state(ctx)?;
    let account = state.account.clone();
    let bounds = Bounds { account, must_end: Rc::new(move || state.breathe()) };
    Inner::parse(page, url, &bounds).map_err(|error| refuse(ctx, error))
}

impl<'js> JsClass<'js> for Selection {
    const NAME: &'static str = "Selection";
    type Mutable = Readable;

    fn prototype(ctx: &Ctx<'js>) -> Result<Option<Object<'js>>> {
        let prototype = Object::new(ctx.clone())?;
        for (name, method) in METHODS {
            add(ctx, &prototype, name, move |ctx, this: &Self, arguments| {
                method(ctx, &this.inner, arguments)
            })?;
        }
        for (name, walk) in WALKS {
            add(ctx, &prototype, name, move |ctx, this: &Self, arguments| {
                let filter = text(arguments.first())?.map(|selector| Target::of_selector(&selector));
                show(ctx, this.inner.walk(*walk, filter.as_ref()))
            })?;
        }
        for (name, walk) in UNTIL {
            add(ctx, &prototype, name, move |ctx, this: &Self, arguments| {
                let until = match arguments.first().filter(|until| !until.is_null() && !until.is_undefined())
                {
                    Some(until) => Some(target(ctx, until)?),
                    None => None,
                };
                let filter = text(arguments.get(1))?.map(|selector| Target::of_selector(&selector));
                show(ctx, this.inner.walk_until(*walk, until.as_ref(), filter.as_ref()))
            })?;
        }
        let url = |this: This<Class<'js, Self>>| this.borrow().inner.url().to_owned();
        prototype.prop("url", Accessor::new_get(url).enumerable().configurable())?;
        Ok(Some(prototype))
    }

    fn constructor(_: &Ctx<'js>) -> Result<Option<Constructor<'js>>> {
        Ok(None)
    }
}

const WALKS: &[(&str, Walk)] = &[
    ("next", Walk::Next),
    ("nextAll", Walk::NextAll),
    ("prev", Walk::Previous),
    ("prevAll", Walk::PreviousAll),
    ("parent", Walk::Parent),
    ("parents", Walk::Parents),
    ("siblings", Walk::Siblings),
    ("children", Walk::Children),
    ("contents", Walk::Contents),
];

const UNTIL: &[(&str, Walk)] =
    &[("nextUntil", Walk::NextAll), ("prevUntil", Walk::PreviousAll), ("parentsUntil", Walk::Parents)];

type Method = for<'js> fn(&Ctx<'js>, &Inner, &[Value<'js>]) -> Result<Value<'js>>;

const METHODS: &[(&str, Method)] = &[
    ("find", |ctx, this, arguments| show(ctx, this.find(&picked_by(ctx, arguments)?))),
    ("add", |ctx, this, arguments| show(ctx, this.add(&picked_by(ctx, arguments)?))),
    ("closest", |ctx, this, arguments| show(ctx, this.closest(&picked_by(ctx, arguments)?))),
    ("has", |ctx, this, arguments| show(ctx, this.has(&picked_by(ctx, arguments)?))),
    ("not", |ctx, this, arguments| match arguments.first().and_then(Value::as_function) {
        Some(function) => keep(ctx, this, function, false),
        None => show(ctx, this.filter(&picked_by(ctx, arguments)?, false)),
    }),
    ("filter", |ctx, this, arguments| match chosen_by(ctx, "filter", arguments)? {
        Choice::Function(function) => keep(ctx, this, &function, true),
        Choice::Target(target) => show(ctx, this.filter(&target, true)),
    }),
    ("is", |ctx, this, arguments| match chosen_by(ctx, "is", arguments)? {
        Choice::Function(function) => {
            let kept = Class::<Selection>::from_value(&keep(ctx, this, &function, true)?)?;
            let any = !kept.borrow().inner.is_empty();
            any.into_js(ctx)
        }
        Choice::Target(target) => this.picked(&target).into_js(ctx),
    }),
    ("each", each),
    ("map", map),
    ("size", |ctx, this, _| (this.len() as f64).into_js(ctx)),
    ("end", |ctx, this, _| show(ctx, this.end())),
    ("first", |ctx, this, _| show(ctx, this.at(0))),
    ("last", |ctx, this, _| show(ctx, this.at(-1))),
    ("eq", |ctx, this, arguments| show(ctx, this.at(place(arguments.first())?.unwrap_or(0)))),
    ("slice", slice),
    ("get", get),
    ("toArray", |ctx, this, _| list(ctx, this.each().map(|one| show(ctx, one)))),
    ("index", index),
    ("text", |ctx, this, _| this.text().into_js(ctx)),
    ("html", |ctx, this, _| this.html().unwrap_or_default().into_js(ctx)),
    ("attr", |ctx, this, arguments| match this.attr(&text(arguments.first())?.unwrap_or_default()) {
        Some(value) => value.into_js(ctx),
        None => Ok(arguments.get(1).cloned().unwrap_or_else(|| Value::new_undefined(ctx.clone()))),
    }),
    ("val", |ctx, this, _| field(ctx, this.value())),
    ("data", data_of),
    ("serialize", |ctx, this, _| this.serialize().into_js(ctx)),
    ("serializeArray", |ctx, this, _| {
        list(
            ctx,
            this.fields().into_iter().map(|(name, value)| {
                let pair = Object::new(ctx.clone())?;
                pair.put("name", name)?;
                pair.put("value", field(ctx, value)?)?;
                Ok(pair.into_value())
            }),
        )
    }),
    ("serializeObject", |ctx, this, _| fields(ctx, this).map(Object::into_value)),
];

/// Names and values of fields as an object.
pub fn fields<'js>(ctx: &Ctx<'js>, selection: &Inner) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    for (name, value) in selection.fields() {
        object.put(name, field(ctx, value)?)?;
    }
    Ok(object)
}

fn place(value: Option<&Value<'_>>) -> Result<Option<i64>> {
    value.map(|value| value.get::<Coerced<f64>>().map(|number| number.0 as i64)).transpose()
}

/// What a selector, a selection or an element picks; `None` for anything else.
fn target_of(value: &Value<'_>) -> Result<Option<Target>> {
    if let Some(text) = value.as_string() {
        return Ok(Some(Target::of_selector(&text.to_string()?)));
    }
    if let Ok(selection) = Class::<Selection>::from_value(value) {
        return Ok(Some(Target::of_selection(&selection.borrow().inner)));
    }
    Ok(Class::<Element>::from_value(value).ok().map(|element| Target::of_selection(&element.borrow().inner)))
}

fn target<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Result<Target> {
    target_of(value)?.ok_or_else(|| {
        let words = format!("invalid argument, cannot use a '{}' as a selector", argument::kind(value));
        go_error::throw(ctx, &words)
    })
}

fn picked_by<'js>(ctx: &Ctx<'js>, arguments: &[Value<'js>]) -> Result<Target> {
    match arguments.first() {
        Some(value) => target(ctx, value),
        None => target(ctx, &Value::new_undefined(ctx.clone())),
    }
}

/// A function or a condition that picks nodes.
enum Choice<'js> {
    Function(Function<'js>),
    Target(Target),
}

fn chosen_by<'js>(ctx: &Ctx<'js>, name: &str, arguments: &[Value<'js>]) -> Result<Choice<'js>> {
    let first = arguments.first();
    if let Some(function) = first.and_then(Value::as_function) {
        return Ok(Choice::Function(function.clone()));
    }
    let target = first.map(target_of).transpose()?.flatten();
    let words = format!("the argument to {name}() must be a function, a selector or a selection");
    target.map(Choice::Target).ok_or_else(|| go_error::throw(ctx, &words))
}

/// The nodes for which a function says yes, or no.
fn keep<'js>(ctx: &Ctx<'js>, this: &Inner, function: &Function<'js>, wanted: bool) -> Result<Value<'js>> {
    let mut thrown = None;
    let kept = this.keep(|place, one| {
        if thrown.is_some() {
            return false;
        }
        let said =
            show(ctx, one.clone()).and_then(|one| function.call::<_, Coerced<bool>>((place as f64, one)));
        match said {
            Ok(said) => said.0 == wanted,
            Err(error) => {
                thrown = Some(error);
                false
            }
        }
    });
    match thrown {
        Some(error) => Err(error),
        None => show(ctx, kept),
    }
}

fn callback<'a, 'js>(ctx: &Ctx<'js>, name: &str, arguments: &'a [Value<'js>]) -> Result<&'a Function<'js>> {
    let function = arguments.first().and_then(Value::as_function);
    function.ok_or_else(|| go_error::throw(ctx, &format!("the argument to {name}() must be a function")))
}

fn each<'js>(ctx: &Ctx<'js>, this: &Inner, arguments: &[Value<'js>]) -> Result<Value<'js>> {
    let function = callback(ctx, "each", arguments)?;
    for (place, one) in this.each().enumerate() {
        function.call::<_, Value<'js>>((place as f64, show_element(ctx, one)?))?;
    }
    show(ctx, this.clone())
}

/// What a function makes of every node; where it throws, nothing.
fn map<'js>(ctx: &Ctx<'js>, this: &Inner, arguments: &[Value<'js>]) -> Result<Value<'js>> {
    let function = callback(ctx, "map", arguments)?;
    let mut all = Vec::new();
    for (place, one) in this.each().enumerate() {
        match function.call::<_, Value<'js>>((place as f64, show(ctx, one)?)) {
            Ok(made) => all.push(made),
            Err(error) if state(ctx)?.quitting.get() => return Err(error),
            Err(_) => drop(ctx.catch()),
        }
    }
    Ok(array_of(ctx, all.into_iter().map(Ok))?.into_value())
}

fn slice<'js>(ctx: &Ctx<'js>, this: &Inner, arguments: &[Value<'js>]) -> Result<Value<'js>> {
    let all = html::count(this.len());
    let end = |place: i64| (if place < 0 { all + place } else { place }).clamp(0, all);
    let from = end(place(arguments.first())?.unwrap_or(0));
    let to = place(arguments.get(1))?.map_or(all, end);
    show(ctx, this.slice(from as usize, to as usize))
}

fn get<'js>(ctx: &Ctx<'js>, this: &Inner, arguments: &[Value<'js>]) -> Result<Value<'js>> {
    let Some(place) = place(arguments.first())? else {
        return list(ctx, this.each().map(|one| show_element(ctx, one)));
    };
    // As k6 has it, the first one cannot be reached from the end.
    if place.unsigned_abs() >= this.len() as u64 && place != 0 {
        return Ok(Value::new_undefined(ctx.clone()));
    }
    show_element(ctx, this.at(place))
}

fn index<'js>(ctx: &Ctx<'js>, this: &Inner, arguments: &[Value<'js>]) -> Result<Value<'js>> {
    let Some(of) = arguments.first() else { return (this.place() as f64).into_js(ctx) };
    let place = if let Some(selector) = of.as_string() {
        let page = this.at(0).walk(Walk::Parents, None).at(-1);
        page.find(&Target::of_selector(&selector.to_string()?)).place_of(this)
    } else if let Ok(selection) = Class::<Selection>::from_value(of) {
        this.place_of(&selection.borrow().inner)
    } else if let Ok(element) = Class::<Element>::from_value(of) {
        this.place_of(&element.borrow().inner)
    } else {
        -1
    };
    (place as f64).into_js(ctx)
}

fn data_of<'js>(ctx: &Ctx<'js>, this: &Inner, arguments: &[Value<'js>]) -> Result<Value<'js>> {
    if let Some(name) = text(arguments.first())? {
        let value = this.attr(&format!("data-{}", data::attribute(&name)));
        return datum(ctx, value.as_deref().unwrap_or_default());
    }
    let attrs = this.attrs();
    if attrs.is_empty() {
        return Ok(Value::new_undefined(ctx.clone()));
    }
    let object = Object::new(ctx.clone())?;
    for (name, value) in &attrs {
        if let Some(name) = name.strip_prefix("data-").filter(|name| !name.is_empty()) {
            object.put(data::property(name), datum(ctx, value)?)?;
        }
    }
    Ok(object.into_value())
}

fn datum<'js>(ctx: &Ctx<'js>, text: &str) -> Result<Value<'js>> {
    match data::value(text) {
        DataValue::Undefined => Ok(Value::new_undefined(ctx.clone())),
        DataValue::Bool(yes) => yes.into_js(ctx),
        DataValue::Number(number) => number.into_js(ctx),
        DataValue::Text(text) => text.into_js(ctx),
        DataValue::Json(json) => ctx.json_parse(json).or_else(|_| {
            ctx.catch();
            json.into_js(ctx)
        }),
    }
}
