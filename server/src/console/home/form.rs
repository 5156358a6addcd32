//! The inputs of a form for a record: from stored values to texts, from typed texts to a body for the check of the API, and the
//! faults beside their inputs. Pure. Must not know which page a form is on.

use hearth_contract::problem::Problem;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, Format, Kind, Lines, Presence, URL_MAX};
use hearth_contract::typed_text::{normalize_money, parse_full_date, parse_whole};
use serde_json::{Map, Value};

use super::words::choice;
use crate::http::web::Fields;

/// Signs of a vehicle identification number, at most.
const VIN_MAX: usize = 17;
/// The start of the name of a hidden input with the text that the input had when the form was made.
const WAS: &str = "was.";

/// How an input looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Control {
    /// One line of text.
    Line,
    /// Several lines of text.
    Lines,
    /// A calendar day.
    Day,
    /// A sum.
    Money,
    /// A whole number.
    Count,
    /// One of several values.
    Choice,
}

/// An input with its text.
#[derive(Debug, Clone)]
pub(super) struct Input {
    field: &'static Field,
    /// The name of the field in the API and in the form.
    pub(super) name: &'static str,
    /// The name for people.
    pub(super) label: String,
    /// How the input looks.
    pub(super) control: Control,
    /// Characters, at most.
    pub(super) length_max: usize,
    /// The text in the input.
    pub(super) text: String,
    /// The text that the input had when the form was made.
    pub(super) was: String,
    /// What is wrong with the text.
    pub(super) fault: Option<String>,
    /// What somebody else has changed meanwhile.
    pub(super) note: Option<String>,
    /// Values and words of a choice.
    pub(super) options: Vec<(String, String)>,
}

/// The inputs of an item for these fields, empty or with their defaults. Fields that an item does not have are left out. `rooms`:
/// ids and names.
pub(super) fn inputs(names: &[&str], rooms: &[(String, String)]) -> Vec<Input> {
    inputs_of(Kind::Inventory, names, rooms)
}

/// As [`inputs`], for a record of a kind.
pub(super) fn inputs_of(kind: Kind, names: &[&str], rooms: &[(String, String)]) -> Vec<Input> {
    let fields = names.iter().filter_map(|name| resource(kind).field(name));
    fields.map(|field| input(field, rooms)).collect()
}

fn input(field: &'static Field, rooms: &[(String, String)]) -> Input {
    let (control, length_max, options) = match field.format {
        Format::Text { max, lines: Lines::Many } => (Control::Lines, max, Vec::new()),
        Format::Text { max, .. } => (Control::Line, max, Vec::new()),
        Format::Date => (Control::Day, 20, Vec::new()),
        Format::Money => (Control::Money, 24, Vec::new()),
        Format::Reference(_) => (Control::Choice, 0, rooms.to_vec()),
        Format::Choice(words) => {
            let options = words.iter().map(|word| ((*word).to_owned(), choice(word)));
            (Control::Choice, 0, options.collect())
        }
        Format::Url => (Control::Line, URL_MAX, Vec::new()),
        Format::Vin => (Control::Line, VIN_MAX, Vec::new()),
        _ => (Control::Count, 14, Vec::new()),
    };
    let text = match field.presence {
        Presence::Default(preset) => shown(&preset.value()),
        _ => String::new(),
    };
    let was = String::new();
    let (name, label) = (field.name, field.label());
    Input { field, name, label, control, length_max, text, was, fault: None, note: None, options }
}

/// A stored value as the text of an input.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

impl Input {
    /// Takes the typed text and the earlier text from a form that was sent.
    pub(super) fn take(&mut self, form: &Fields) {
        let read = |name: &str| form.text(name).replace("\r\n", "\n");
        self.text = read(self.name);
        self.was = read(&format!("{WAS}{}", self.name));
    }

    /// Takes a value of a draft as the text, and the stored value as the earlier text.
    pub(super) fn take_drafted(&mut self, drafted: &Value, stored: &Value) {
        (self.text, self.was) = (shown(drafted), shown(stored));
    }

    /// Takes the typed text from a form with inputs of several records.
    pub(super) fn take_of(&mut self, form: &Fields, record: &str) {
        self.text = form.text(&format!("{record}.{}", self.name)).replace("\r\n", "\n");
    }

    /// Takes the stored value, as the text and as the earlier text.
    pub(super) fn take_stored(&mut self, fields: &Map<String, Value>) {
        self.text = shown(fields.get(self.name).unwrap_or(&Value::Null));
        self.was.clone_from(&self.text);
    }

    /// Whether the person has changed the text.
    pub(super) fn is_changed(&self) -> bool {
        self.text.trim() != self.was.trim()
    }

    /// Merges what somebody else has stored meanwhile: the newer value where this person has changed nothing, else the typed
    /// text beside a note. A later save replaces the newer value.
    pub(super) fn merge(&mut self, fields: &Map<String, Value>, author: &str) {
        let theirs = shown(fields.get(self.name).unwrap_or(&Value::Null));
        if theirs.trim() == self.was.trim() || theirs.trim() == self.text.trim() {
            self.was = theirs;
            return;
        }
        let words = match (&self.options[..], &*theirs) {
            (_, "") => "nothing".to_owned(),
            (options, id) => {
                options.iter().find(|(known, _)| known == id).map_or(theirs.clone(), |(_, name)| name.clone())
            }
        };
        self.note = Some(match self.is_changed() {
            true => format!("{author} has changed this to: {words}. If you save, your text replaces it."),
            false => format!("{author} has changed this."),
        });
        if !self.is_changed() {
            self.text.clone_from(&theirs);
        }
        self.was = theirs;
    }

    /// The typed text as a value for the check. A text that is no such value stays a text, which the check refuses.
    pub(super) fn value(&self) -> Value {
        let typed = self.text.trim();
        if typed.is_empty() {
            return Value::Null;
        }
        match self.field.format {
            Format::Text { lines: Lines::Many, .. } => self.text.trim_end().into(),
            Format::Money => normalize_money(typed).into(),
            Format::Date => parse_full_date(typed).unwrap_or_else(|| typed.to_owned()).into(),
            Format::Count { .. } | Format::Year => parse_whole(typed).map_or_else(|| typed.into(), Value::from),
            _ => typed.into(),
        }
    }
}

/// The body of a create: an input without text is left out.
pub(super) fn create_body(inputs: &[Input]) -> Map<String, Value> {
    let typed = inputs.iter().map(|input| (input.name.to_owned(), input.value()));
    typed.filter(|(_, value)| !value.is_null()).collect()
}

/// The body of a patch: the changed inputs.
pub(super) fn patch_body(inputs: &[Input]) -> Map<String, Value> {
    inputs.iter().filter(|input| input.is_changed()).map(|input| (input.name.to_owned(), input.value())).collect()
}

/// Writes the faults of a refusal beside their inputs. Gives the sentence above the form.
pub(super) fn show_faults(inputs: &mut [Input], problem: &Problem) -> String {
    let faults = problem.details.get("fields").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut others = Vec::new();
    for fault in faults {
        let part = |name: &str| fault.get(name).and_then(Value::as_str).unwrap_or_default();
        let message = part("message");
        match inputs.iter_mut().find(|input| input.name == part("field")) {
            Some(input) => {
                let rest = message.strip_prefix(input.name);
                input.fault = Some(rest.map_or_else(|| message.to_owned(), |rest| format!("{}{rest}", input.label)));
            }
            None => others.push(message),
        }
    }
    match (faults.is_empty(), &others[..]) {
        (true, _) => format!("{} {}", problem.message, problem.fix.as_deref().unwrap_or(problem.kind.fix())),
        (false, []) => "Nothing was saved yet. Correct the marked fields.".to_owned(),
        (false, others) => others.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(pairs: &[(&str, &str)]) -> Fields {
        Fields(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    fn typed(pairs: &[(&str, &str)]) -> Vec<Input> {
        let names: Vec<&str> = pairs.iter().map(|(name, _)| *name).filter(|name| !name.starts_with(WAS)).collect();
        let mut inputs = inputs(&names, &[]);
        inputs.iter_mut().for_each(|input| input.take(&form(pairs)));
        inputs
    }

    #[test]
    fn typed_texts_become_values() {
        let inputs = typed(&[
            ("name", "  Drill "),
            ("quantity", "1,200"),
            ("purchase_price", "1.299,50 €"),
            ("warranty_expires_on", "21.10.2027"),
            ("notes", "one\r\ntwo\r\n"),
            ("serial_number", ""),
        ]);
        let expected = json!({ "name": "Drill", "quantity": 1200, "purchase_price": "1299.50",
            "warranty_expires_on": "2027-10-21", "notes": "one\ntwo" });
        assert_eq!(Value::Object(create_body(&inputs)), expected);
    }

    #[test]
    fn patch_holds_changed_inputs_only() {
        let inputs = typed(&[
            ("name", "Drill"),
            ("was.name", "Drill"),
            ("notes", ""),
            ("was.notes", "old"),
            ("quantity", "few"),
            ("was.quantity", "1"),
        ]);
        assert_eq!(Value::Object(patch_body(&inputs)), json!({ "notes": null, "quantity": "few" }));
    }

    #[test]
    fn newer_values_are_merged() {
        let mut inputs = typed(&[
            ("name", "Drill"),
            ("was.name", "Drill"),
            ("notes", "mine"),
            ("was.notes", "old"),
            ("quantity", "2"),
            ("was.quantity", "1"),
        ]);
        let newer = json!({ "name": "Big drill", "notes": "theirs", "quantity": 1 });
        inputs.iter_mut().for_each(|input| input.merge(newer.as_object().unwrap(), "Ana"));
        assert_eq!((&*inputs[0].text, inputs[0].is_changed()), ("Big drill", false));
        assert_eq!((&*inputs[1].text, inputs[1].is_changed()), ("mine", true));
        assert!(inputs[1].note.as_deref().unwrap().contains("theirs"));
        assert_eq!((&*inputs[2].text, inputs[2].note.is_none()), ("2", true));
    }
}
