//! One editor per format of the resource table. An editor knows its keys and its value. Must not know the form around,
//! nor whether the value is valid.

use crossterm::event::{KeyCode, KeyEvent};
use hearth_contract::formats::{Timestamp, format_date};
use hearth_contract::schema::{Field, Format, Lines, Presence};
use hearth_contract::typed_text;
use hearth_contract::units::AreaUnit;
use ratatui_textarea::{CursorMove, TextArea};
use serde_json::Value;
use time::Date;
use tui_input::InputRequest;

use crate::parse::{dates, names};
use crate::state::input::{self, Line};
use crate::state::notes;
use crate::state::picker::{Picker, Reference};
use crate::state::spelling::Spelling;
use crate::words::{choice_meant, direction::Direction, json_text};

/// The editor of a field.
#[derive(Debug)]
pub enum Editor {
    /// A single line: text, date, money, count.
    Line(Line),
    /// An area in the unit of the home. The value is in square feet.
    Area(Line, AreaUnit),
    /// Several lines of text.
    Notes(Box<TextArea<'static>>),
    /// A choice of words.
    Choice {
        /// The words of the choice.
        words: &'static [&'static str],
        /// The index of the chosen word.
        chosen: Option<usize>,
        /// Whether the field may be empty.
        optional: bool,
        /// The letters typed in the field.
        spelling: Spelling,
    },
    /// A reference to a record, chosen by name.
    Reference(Reference),
}

impl Editor {
    /// The editor of a field with a value; `name` is the name of the referenced record.
    pub fn new(field: &'static Field, value: &Value, name: Option<&str>) -> Editor {
        let text = json_text(value);
        match field.format {
            Format::Text { lines: Lines::Many, .. } => Editor::notes(&text),
            Format::Choice(words) => Editor::Choice {
                words,
                chosen: words.iter().position(|word| *word == text),
                optional: field.presence == Presence::Optional,
                spelling: Spelling::default(),
            },
            Format::Reference(_) | Format::Subject => {
                let title = name.unwrap_or(&text).to_owned();
                Editor::Reference(Reference { id: value.as_str().map(str::to_owned), title, picker: None })
            }
            _ if field.is_area() => Editor::Area(Line::with_text(&text), AreaUnit::SquareFeet),
            _ => Editor::Line(Line::with_text(&text)),
        }
    }

    /// The value as the field's JSON. Text that is no number stays text, and the check reports the fault.
    pub fn value(&self, field: &Field, today: Date) -> Value {
        match self {
            Editor::Line(line) => match line.text() {
                "" => Value::Null,
                text if field.format == Format::Date => match dates::parse_day(text, today, Direction::of(field)) {
                    Some(date) => format_date(date).into(),
                    None => text.trim().into(),
                },
                text if field.format == Format::Money => typed_text::normalize_money(text).into(),
                text if field.format.is_integer() => {
                    typed_text::parse_whole(text).map_or_else(|| text.into(), Value::from)
                }
                text if matches!(field.format, Format::Text { .. }) => text.into(),
                text => names::meant_name(field.format, text).unwrap_or_else(|| text.trim()).into(),
            },
            Editor::Area(line, _) if line.text().is_empty() => Value::Null,
            Editor::Area(line, unit) => unit.parse(line.text()).map_or_else(|| line.text().trim().into(), Value::from),
            Editor::Notes(area) if area.is_empty() => Value::Null,
            Editor::Notes(area) => area.lines().join("\n").into(),
            Editor::Choice { words, chosen, .. } => chosen.map_or(Value::Null, |index| words[index].into()),
            Editor::Reference(reference) => reference.id.clone().map_or(Value::Null, Value::from),
        }
    }

    /// Shows an area in another unit. A text that is no area stays.
    pub fn set_area_unit(&mut self, unit: AreaUnit) {
        let Editor::Area(line, shown) = self else { return };
        if let Some(square_feet) = shown.parse(line.text()).filter(|_| *shown != unit) {
            *line = Line::with_text(&unit.number(square_feet));
        }
        *shown = unit;
    }

    /// Replaces short forms when the field is left: `fri` by a date, `130,000` by a number, `berlin` by a time zone. Ends the
    /// word typed in a field of choices.
    pub fn settle(&mut self, field: &Field, today: Date) {
        if let Editor::Choice { spelling, .. } = self {
            *spelling = Spelling::default();
        }
        if let Editor::Area(line, unit) = self
            && let Some(square_feet) = unit.parse(line.text())
        {
            *line = Line::with_text(&unit.number(square_feet));
        }
        let is_short = matches!(field.format, Format::Date | Format::Money | Format::TimeZone | Format::Currency);
        if (is_short || field.format.is_integer())
            && let Editor::Line(line) = self
            && !line.text().is_empty()
        {
            let value = Editor::Line(line.clone()).value(field, today);
            *line = Line::with_text(&json_text(&value));
        }
    }

    /// Replaces the notes by the text of an external editor.
    pub fn replace(&mut self, text: &str) {
        let text = notes::clean(text);
        let text = text.trim_end_matches('\n');
        // Editors add a final newline; without any other change the notes stay as they are.
        if let Editor::Notes(area) = self
            && area.lines().join("\n").trim_end_matches('\n') != text
        {
            *self = Editor::notes(text);
        }
    }

    /// Scrolls the notes to their first line, as far as the cursor allows: a smaller window may have scrolled them.
    pub fn resized(&mut self) {
        if let Editor::Notes(area) = self {
            let (row, column) = (area.cursor().0, area.cursor().1);
            let crop = |place: usize| u16::try_from(place).unwrap_or(u16::MAX);
            let mut fresh = notes::area(area.lines().to_vec());
            fresh.move_cursor(CursorMove::Jump(crop(row), crop(column)));
            **area = fresh;
        }
    }

    fn notes(text: &str) -> Editor {
        let mut area = notes::area(text.lines().map(str::to_owned).collect());
        area.move_cursor(CursorMove::Bottom);
        area.move_cursor(CursorMove::End);
        Editor::Notes(Box::new(area))
    }

    /// Whether the key continues the word that is being typed in a field of choices: a space or a backspace then belongs
    /// to the word.
    pub fn spells(&self, moment: Timestamp, key: KeyEvent) -> bool {
        let Editor::Choice { spelling, .. } = self else { return false };
        key.modifiers.is_empty()
            && matches!(key.code, KeyCode::Char(' ') | KeyCode::Backspace)
            && spelling.continues_at(moment)
    }

    /// The typed letters, if no choice of the field begins with them.
    pub fn unknown_choice(&self) -> Option<&str> {
        match self {
            Editor::Choice { spelling, .. } => spelling.unknown(),
            _ => None,
        }
    }

    /// Handles a key without an action, typed at `moment`. True: the value or the search has changed.
    pub fn key(&mut self, moment: Timestamp, key: KeyEvent) -> bool {
        match self {
            Editor::Line(line) | Editor::Area(line, _) => line.key(key),
            Editor::Notes(area) => notes::key(area, key),
            Editor::Choice { words, chosen, spelling, .. } => {
                match input::request(key) {
                    Some(InputRequest::InsertChar(letter)) => spelling.add(moment, letter, *chosen),
                    Some(InputRequest::DeletePrevChar) if spelling.continues_at(moment) => spelling.remove(moment),
                    _ => return false,
                }
                *chosen = spelling.choose(|typed| choice_index(words, typed));
                true
            }
            Editor::Reference(Reference { picker: Some(picker), .. }) => {
                let changed = picker.words.key(key);
                picker.is_answered &= !changed;
                changed
            }
            Editor::Reference(reference) => {
                let types = matches!(input::request(key), Some(InputRequest::InsertChar(_)));
                let mut picker = Picker::default();
                let begins = types && picker.words.key(key);
                if begins {
                    reference.picker = Some(picker);
                }
                begins
            }
        }
    }

    /// Inserts a pasted text. True: the value or the search has changed.
    pub fn paste(&mut self, text: &str) -> bool {
        match self {
            Editor::Line(line) | Editor::Area(line, _) => line.paste(text),
            Editor::Notes(area) => {
                area.insert_str(notes::clean(text));
            }
            Editor::Choice { words, chosen, spelling, .. } => {
                spelling.paste(text, *chosen);
                *chosen = spelling.choose(|typed| choice_index(words, typed));
            }
            Editor::Reference(reference) => {
                let picker = reference.picker.get_or_insert_default();
                picker.words.paste(text);
                picker.is_answered = false;
            }
        }
        true
    }

    /// Selects the next choice (`forward`), or the previous one.
    pub fn cycle(&mut self, forward: bool) {
        if let Editor::Choice { words, chosen, optional, spelling } = self {
            *spelling = Spelling::default();
            let last = words.len() - 1;
            *chosen = match (*chosen, forward) {
                (None, true) => Some(0),
                (None, false) => Some(last),
                (Some(index), true) if index == last => (!*optional).then_some(0),
                (Some(0), false) => (!*optional).then_some(last),
                (Some(index), true) => Some(index + 1),
                (Some(index), false) => Some(index - 1),
            };
        }
    }

    /// Clears the field, where empty is allowed.
    pub fn clear(&mut self) {
        match self {
            Editor::Choice { chosen, optional, spelling, .. } => {
                *spelling = Spelling::default();
                *chosen = chosen.filter(|_| !*optional);
            }
            Editor::Reference(reference) => *reference = Reference::default(),
            _ => {}
        }
    }
}

/// The index of the choice that a typed word means: its first letters are enough.
fn choice_index(words: &[&'static str], typed: &str) -> Option<usize> {
    let meant = choice_meant(words, typed)?;
    words.iter().position(|word| *word == meant)
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyModifiers;

    use super::*;

    /// Notes do not depend on the time.
    const NOW: Timestamp = Timestamp::from_millis(0);

    fn text(editor: &Editor) -> String {
        match editor {
            Editor::Notes(area) => area.lines().join("\n"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn notes_share_line_keys() {
        let control = |letter: char| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
        let mut notes = Editor::notes("first\nsecond line");
        assert!(notes.key(NOW, control('j')) && notes.key(NOW, KeyCode::Char('x').into()));
        assert_eq!(text(&notes), "first\nsecond line\nx");
        assert!(notes.key(NOW, control('h')) && notes.key(NOW, KeyCode::Backspace.into()));
        assert_eq!(text(&notes), "first\nsecond line");
        for key in [control('a'), KeyCode::Right.into(), control('u')] {
            notes.key(NOW, key);
        }
        assert_eq!(text(&notes), "first\necond line");
        for key in [control('e'), control('w'), KeyCode::Up.into(), KeyCode::Home.into(), control('k')] {
            notes.key(NOW, key);
        }
        assert_eq!(text(&notes), "\necond ");
        assert!(notes.key(NOW, KeyCode::Enter.into()) && notes.key(NOW, KeyCode::Delete.into()));
        assert_eq!(text(&notes), "\necond ");
    }

    #[test]
    fn external_text_is_cleaned() {
        let foreign = "\u{feff}one\u{1b}[31m\u{7}\r\ntwo\tthree\n";
        let mut written = Editor::notes("before");
        written.replace(foreign);
        assert_eq!(text(&written), "one[31m\ntwo\tthree");
        let mut unchanged = Editor::notes("one\n\n");
        unchanged.paste("\n");
        let before = text(&unchanged);
        unchanged.replace("one\n");
        assert_eq!(text(&unchanged), before);
        let mut pasted = Editor::notes("");
        pasted.paste(foreign);
        assert_eq!(text(&pasted), "one[31m\ntwo\tthree\n");
    }
}
