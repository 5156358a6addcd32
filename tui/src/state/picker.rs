//! A reference to a record, and the search for a record by its name. Must not know the form around.

use hearth_contract::schema::Kind;

use crate::state::input::Line;

/// A reference to a record.
#[derive(Debug, Default)]
pub struct Reference {
    /// The id of the record; None: nothing is chosen.
    pub id: Option<String>,
    /// The name of the record.
    pub title: String,
    /// The search for another record, while the suggestions are open, or while the typed name leads to no record.
    pub picker: Option<Picker>,
}

impl Reference {
    /// The text of the field without focus: a typed name that leads to no record yet, otherwise the name of the record.
    pub fn text(&self) -> &str {
        self.picker.as_ref().map(|picker| picker.words.text()).filter(|typed| !typed.is_empty()).unwrap_or(&self.title)
    }
}

/// A search for a record by name.
#[derive(Debug, Default)]
pub struct Picker {
    /// The typed letters.
    pub words: Line,
    /// The suggestions: kinds, ids and names.
    pub options: Vec<(Kind, String, String)>,
    /// The number of the suggestion under the cursor. The number after the last suggestion is the offer of `new`.
    pub selected: usize,
    /// Whether the suggestions belong to the typed letters.
    pub is_answered: bool,
    /// The kind of a new record with the typed name, offered after the suggestions. None: no new record is offered.
    pub new: Option<Kind>,
}

impl Picker {
    /// The typed name, without spaces around it.
    pub fn name(&self) -> &str {
        self.words.text().trim()
    }

    /// Moves the cursor in the suggestions.
    pub fn step(&mut self, by: isize) {
        let last = (self.options.len() + usize::from(self.new.is_some())).saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    /// Takes the suggestions for the typed letters. `kind`: the only kind that the field refers to. A new record is
    /// offered when no record of this kind has the typed name.
    pub fn set_options(&mut self, options: Vec<(Kind, String, String)>, kind: Option<Kind>) {
        let name = self.name().to_lowercase();
        let is_taken = options.iter().any(|(_, _, title)| title.to_lowercase() == name);
        self.new = kind.filter(|_| !name.is_empty() && !is_taken);
        (self.options, self.selected, self.is_answered) = (options, 0, true);
    }

    /// The kind of the new record, if the cursor is on the offer of a new record.
    pub fn offered(&self) -> Option<Kind> {
        self.new.filter(|_| self.is_answered && self.selected == self.options.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_record_is_offered_for_an_unknown_name() {
        let named = |title: &str| (Kind::Room, String::new(), title.to_owned());
        let picker = |typed: &str, titles: &[&str], kind| {
            let mut picker = Picker { words: Line::with_text(typed), ..Picker::default() };
            picker.set_options(titles.iter().map(|title| named(title)).collect(), kind);
            picker
        };
        let room = Some(Kind::Room);
        let attic = picker(" Attic ", &[], room);
        assert_eq!((attic.offered(), attic.name()), (room, "Attic"));
        let mut bath = picker("bath", &["Guest bathroom"], room);
        assert_eq!((bath.new, bath.offered()), (room, None));
        bath.step(5);
        assert_eq!((bath.selected, bath.offered()), (1, room), "after the suggestions");
        assert_eq!(picker("garage", &["Garage"], room).new, None);
        assert_eq!(picker("attic", &[], None).new, None, "the field takes several kinds");
        assert_eq!(picker("  ", &[], room).new, None);
    }
}
