//! Values of fields, and forms as they are sent.
//!
//! Does not send anything.

use super::{Selection, Target, Walk};

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldValue {
    /// One text.
    Text(String),
    /// The selected options of a multiple choice.
    List(Vec<String>),
}

const FIELDS: &str = "input,select,textarea,keygen";
/// Types of fields that are never sent.
const UNSENT: [&str; 5] = ["submit", "button", "reset", "image", "file"];

impl Selection {
    /// The value of the first node, if it is a field.
    pub fn value(&self) -> Option<FieldValue> {
        let text = |text: Option<String>| Some(FieldValue::Text(text.unwrap_or_default()));
        match self.name().as_str() {
            "input" => {
                let kind = self.attr("type").unwrap_or_default();
                let ticked = matches!(kind.as_str(), "radio" | "checkbox").then(|| "on".to_owned());
                text(self.attr("value").or(ticked))
            }
            "button" => text(self.attr("value")),
            "textarea" => self.html().map(FieldValue::Text),
            "option" => text(self.value_or_html()),
            "select" => {
                let selected = self.at(0).find(&Target::of_selector("option[selected]"));
                if self.attr("multiple").is_some() {
                    return Some(FieldValue::List(
                        selected.each().filter_map(|one| one.value_or_html()).collect(),
                    ));
                }
                text(selected.value_or_html())
            }
            _ => None,
        }
    }

    fn value_or_html(&self) -> Option<String> {
        self.attr("value").or_else(|| self.html())
    }

    /// The nodes one by one.
    pub fn each(&self) -> impl Iterator<Item = Self> {
        (0..self.len()).map(|place| self.slice(place, place + 1))
    }

    /// Names and values of the fields that are sent: those in a form, or those selected.
    pub fn fields(&self) -> Vec<(String, Option<FieldValue>)> {
        let fields = Target::of_selector(FIELDS);
        let is_form = self.picked(&Target::of_selector("form"));
        let fields = if is_form { self.find(&fields) } else { self.filter(&fields, true) };
        let sent = fields.each().filter(|field| {
            let attr = |name: &str| field.attr(name).unwrap_or_default();
            let kind = attr("type");
            let ticked = attr("checked") == "checked" || !matches!(kind.as_str(), "checkbox" | "radio");
            attr("disabled") != "disabled" && !UNSENT.contains(&kind.as_str()) && ticked
        });
        sent.filter_map(|field| Some((field.attr("name").filter(|name| !name.is_empty())?, field.value())))
            .collect()
    }

    /// The fields as a body of a form, sorted by name; of fields of one name the last one.
    pub fn serialize(&self) -> String {
        let mut fields: std::collections::BTreeMap<String, Vec<String>> = std::collections::BTreeMap::new();
        for (name, value) in self.fields() {
            match value {
                Some(FieldValue::Text(text)) => drop(fields.insert(name, vec![text])),
                Some(FieldValue::List(list)) => drop(fields.insert(name, list)),
                None => {}
            }
        }
        let mut body = url::form_urlencoded::Serializer::new(String::new());
        for (name, values) in &fields {
            body.extend_pairs(values.iter().map(|value| (name, value)));
        }
        body.finish()
    }

    /// The form that the first node belongs to: the one around it, or the one it names.
    pub fn form(&self) -> Self {
        let around = self.at(0).closest(&Target::of_selector("form"));
        match self.attr("form").filter(|id| around.is_empty() && !id.is_empty()) {
            Some(id) => self.root().find(&Target::of_selector(&format!("#{id}"))).at(0),
            None => around.at(0),
        }
    }

    /// The labels of the first node.
    pub fn labels(&self) -> Self {
        let around = self.at(0).closest(&Target::of_selector("label"));
        let Some(id) = self.attr("id").filter(|id| !id.is_empty()) else { return around };
        let named = self.root().find(&Target::of_selector(&format!("label[for=\"{id}\"]")));
        around.add(&Target::of_selection(&named))
    }

    /// The outermost element around the first node.
    fn root(&self) -> Self {
        self.at(0).walk(Walk::Parents, None).at(-1)
    }
}
