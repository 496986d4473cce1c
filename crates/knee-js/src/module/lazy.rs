//! Objects whose properties are made when a script reads them first.
//!
//! The default export of `k6/http` has more than thirty, and `__ENV` has all variables of the process, of which a script
//! reads two or three. From its first use on, a property is an ordinary one. Does not know what the properties are.

use std::cell::RefCell;
use std::ptr;
use std::rc::Rc;

use rquickjs::class::{
    Class, ClassKind, JsCell, JsClass, PropertyDescriptor, PropertyName, Readable, Trace, Tracer,
};
use rquickjs::function::Constructor;
use rquickjs::object::Property;
use rquickjs::{Atom, Ctx, JsLifetime, Object, Result, Value};

use crate::runtime::lent;

/// The properties of an object, each with a place from 0.
pub trait Members {
    /// Number of places.
    fn count(&self) -> usize;

    /// The name at a place. Of two places with one name, only that which [`Members::place`] says counts.
    fn name(&self, place: usize) -> &str;

    /// The place of a name.
    fn place(&self, name: &str) -> Option<usize>;

    /// A new value of the property at a place.
    fn make<'js>(&self, ctx: &Ctx<'js>, place: usize) -> Result<Value<'js>>;
}

/// An object whose properties are made when they are needed.
#[derive(JsLifetime)]
pub struct Lazy {
    members: Shared,
    /// Whether the property of each place has been made, set or deleted: from then on QuickJS knows better.
    touched: RefCell<Vec<bool>>,
}

/// In which no value of JavaScript is.
type Shared = Rc<dyn Members>;

/// An object with these properties.
pub fn lazy<'js>(ctx: &Ctx<'js>, members: Rc<dyn Members>) -> Result<Object<'js>> {
    Ok(Class::instance(ctx.clone(), Lazy { members, touched: RefCell::default() })?.into_inner())
}

impl Lazy {
    /// The place of a name whose property is still to be made.
    fn place(&self, name: &Atom<'_>) -> Result<Option<usize>> {
        let place = self.members.place(&name.to_string()?);
        Ok(place.filter(|place| !self.is_touched(*place)))
    }

    fn is_touched(&self, place: usize) -> bool {
        self.touched.borrow().get(place).copied().unwrap_or(false)
    }

    fn touch(&self, place: usize) {
        let mut touched = self.touched.borrow_mut();
        if touched.len() <= place {
            touched.resize(place + 1, false);
        }
        touched[place] = true;
    }
}

impl<'js> Trace<'js> for Lazy {
    fn trace<'a>(&self, _: Tracer<'a, 'js>) {}
}

impl<'js> JsClass<'js> for Lazy {
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
        let lazy = this.borrow();
        let Some(place) = lazy.place(&name)? else {
            // What every object has.
            let prototype = Class::<Self>::prototype(ctx)?;
            return prototype.map_or(Ok(Value::new_undefined(ctx.clone())), |prototype| prototype.get(name));
        };
        let value = lazy.members.make(ctx, place)?;
        if let Some(object) = own(this, &receiver) {
            define(&object, name, value.clone())?;
            lazy.touch(place);
        }
        Ok(value)
    }

    fn exotic_set_property(
        this: &JsCell<'js, Self>,
        _: &Ctx<'js>,
        name: Atom<'js>,
        receiver: Value<'js>,
        value: Value<'js>,
    ) -> Result<bool> {
        let value = lent::keep(value);
        let lazy = this.borrow();
        let Some(object) = receiver.as_object() else { return Ok(false) };
        let place = lazy.place(&name)?.filter(|_| own(this, &receiver).is_some());
        define(object, name, value)?;
        if let Some(place) = place {
            lazy.touch(place);
        }
        Ok(true)
    }

    fn exotic_delete_property(this: &JsCell<'js, Self>, _: &Ctx<'js>, name: Atom<'js>) -> Result<bool> {
        let lazy = this.borrow();
        if let Some(place) = lazy.place(&name)? {
            lazy.touch(place);
        }
        Ok(true)
    }

    fn exotic_has_property(this: &JsCell<'js, Self>, ctx: &Ctx<'js>, name: Atom<'js>) -> Result<bool> {
        if this.borrow().place(&name)?.is_some() {
            return Ok(true);
        }
        Class::<Self>::prototype(ctx)?.map_or(Ok(false), |prototype| prototype.contains_key(name))
    }

    fn exotic_get_own_property(
        this: &JsCell<'js, Self>,
        ctx: &Ctx<'js>,
        name: Atom<'js>,
    ) -> Result<Option<PropertyDescriptor<'js>>> {
        let lazy = this.borrow();
        let Some(place) = lazy.place(&name)? else { return Ok(None) };
        let value = lazy.members.make(ctx, place)?;
        Ok(Some(PropertyDescriptor::new_value(value, true, true, true)))
    }

    fn exotic_get_own_property_names(
        this: &JsCell<'js, Self>,
        ctx: &Ctx<'js>,
    ) -> Result<Vec<PropertyName<'js>>> {
        let lazy = this.borrow();
        let counts = |place: &usize| lazy.members.place(lazy.members.name(*place)) == Some(*place);
        let places = (0..lazy.members.count()).filter(counts).filter(|place| !lazy.is_touched(*place));
        let name = |place: usize| {
            let atom = Atom::from_str(ctx.clone(), lazy.members.name(place))?;
            Ok(PropertyName { atom, is_enumerable: true })
        };
        places.map(name).collect()
    }
}

/// The object itself, if it is the one that a property is read or set on, and not one that inherits from it.
fn own<'js>(this: &JsCell<'js, Lazy>, receiver: &Value<'js>) -> Option<Object<'js>> {
    let class = Class::<Lazy>::from_object(receiver.as_object()?)?;
    ptr::eq(class.get_cell(), this).then(|| class.into_inner())
}

fn define<'js>(object: &Object<'js>, name: Atom<'js>, value: Value<'js>) -> Result<()> {
    object.prop(name, Property::from(value).writable().enumerable().configurable())
}
