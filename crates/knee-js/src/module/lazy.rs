//! Objects whose properties are made when a script reads them first.
//!
//! The default export of `k6/http` has more than thirty, of which a script reads two or three. From its first use on, a
//! property is an ordinary one. Does not know what the properties are.

use std::cell::Cell;
use std::ptr;

use rquickjs::class::{
    Class, ClassKind, JsCell, JsClass, PropertyDescriptor, PropertyName, Readable, Trace, Tracer,
};
use rquickjs::function::Constructor;
use rquickjs::object::Property;
use rquickjs::{Atom, Ctx, JsLifetime, Object, Result, Value};

use crate::runtime::lent;

/// Makes the property of a name.
pub type Make = for<'js> fn(&Ctx<'js>, &str) -> Result<Value<'js>>;

/// Most properties of one object.
const MOST: usize = 64;

/// An object whose properties are made when they are needed.
#[derive(JsLifetime)]
pub struct Lazy {
    names: Names,
    make: Make,
    /// A bit for each name whose property has been made, set or deleted: from then on QuickJS knows better.
    touched: Cell<u64>,
}

/// Names of properties.
type Names = &'static [&'static str];

/// An object with properties of these names, at most 64, made by `make`.
pub fn lazy<'js>(ctx: &Ctx<'js>, names: Names, make: Make) -> Result<Object<'js>> {
    debug_assert!(names.len() <= MOST, "there is a bit for each");
    Ok(Class::instance(ctx.clone(), Lazy { names, make, touched: Cell::new(0) })?.into_inner())
}

impl Lazy {
    /// The place of a name whose property is still to be made.
    fn place(&self, name: &Atom<'_>) -> Result<Option<usize>> {
        let name = name.to_string()?;
        let place = self.names.iter().position(|known| *known == name);
        Ok(place.filter(|place| self.touched.get() & (1 << place) == 0))
    }

    fn touch(&self, place: usize) {
        self.touched.set(self.touched.get() | (1 << place));
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
        let value = (lazy.make)(ctx, lazy.names[place])?;
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
        let value = (lazy.make)(ctx, lazy.names[place])?;
        Ok(Some(PropertyDescriptor::new_value(value, true, true, true)))
    }

    fn exotic_get_own_property_names(
        this: &JsCell<'js, Self>,
        ctx: &Ctx<'js>,
    ) -> Result<Vec<PropertyName<'js>>> {
        let lazy = this.borrow();
        let places = (0..lazy.names.len()).filter(|place| lazy.touched.get() & (1 << place) == 0);
        let name = |place: usize| {
            Ok(PropertyName { atom: Atom::from_str(ctx.clone(), lazy.names[place])?, is_enumerable: true })
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
