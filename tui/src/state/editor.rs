//! One editor per format of the resource table. An editor knows its keys and its value. Must not know the form around,
//! nor whether the value is valid.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hearth_contract::formats::format_date;
use hearth_contract::schema::{Field, Format, Kind, Lines, Presence};
use hearth_contract::typed_text;
use ratatui_textarea::{CursorMove, TextArea, WrapMode};
use serde_json::Value;
use time::Date;
use tui_input::InputRequest;

use crate::parse::dates;
use crate::state::input::{self, Line};
use crate::words::{choice, json_text};

/// The editor of a field.
#[derive(Debug)]
pub enum Editor {
    /// A single line: text, date, money, count.
    Line(Line),
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
    },
    /// A reference to a record, chosen by name.
    Reference(Reference),
}

/// A reference to a record.
#[derive(Debug, Default)]
pub struct Reference {
    /// The id of the record; None: nothing is chosen.
    pub id: Option<String>,
    /// The name of the record.
    pub title: String,
    /// The search for another record, while the suggestions are open.
    pub picker: Option<Picker>,
}

/// A search for a record by name.
#[derive(Debug, Default)]
pub struct Picker {
    /// The typed letters.
    pub words: Line,
    /// The suggestions: kinds, ids and names.
    pub options: Vec<(Kind, String, String)>,
    /// The number of the suggestion under the cursor.
    pub selected: usize,
    /// Whether the suggestions belong to the typed letters.
    pub is_answered: bool,
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
            },
            Format::Reference(_) | Format::Subject => {
                let title = name.unwrap_or(&text).to_owned();
                Editor::Reference(Reference { id: value.as_str().map(str::to_owned), title, picker: None })
            }
            _ => Editor::Line(Line::with_text(&text)),
        }
    }

    /// The value as the field's JSON. Text that is no number stays text, and the check reports the fault.
    pub fn value(&self, field: &Field, today: Date) -> Value {
        match self {
            Editor::Line(line) => match line.text() {
                "" => Value::Null,
                text if field.format == Format::Date => match dates::parse_day(text, today) {
                    Some(date) => format_date(date).into(),
                    None => text.trim().into(),
                },
                text if field.format == Format::Money => typed_text::normalize_money(text).into(),
                text if field.format.is_integer() => {
                    typed_text::parse_whole(text).map_or_else(|| text.into(), Value::from)
                }
                text if matches!(field.format, Format::Text { .. }) => text.into(),
                text => text.trim().into(),
            },
            Editor::Notes(area) if area.is_empty() => Value::Null,
            Editor::Notes(area) => area.lines().join("\n").into(),
            Editor::Choice { words, chosen, .. } => chosen.map_or(Value::Null, |index| words[index].into()),
            Editor::Reference(reference) => reference.id.clone().map_or(Value::Null, Value::from),
        }
    }

    /// Replaces short forms when the field is left: `fri` by a date, `130,000` by a number.
    pub fn settle(&mut self, field: &Field, today: Date) {
        if (matches!(field.format, Format::Date | Format::Money) || field.format.is_integer())
            && let Editor::Line(line) = self
            && !line.text().is_empty()
        {
            let value = Editor::Line(line.clone()).value(field, today);
            *line = Line::with_text(&json_text(&value));
        }
    }

    /// Replaces the notes by the text of an external editor.
    pub fn replace(&mut self, text: &str) {
        let text = clean(text);
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
            let mut fresh = Editor::area(area.lines().to_vec());
            fresh.move_cursor(CursorMove::Jump(crop(row), crop(column)));
            **area = fresh;
        }
    }

    fn notes(text: &str) -> Editor {
        let mut area = Editor::area(text.lines().map(str::to_owned).collect());
        area.move_cursor(CursorMove::Bottom);
        area.move_cursor(CursorMove::End);
        Editor::Notes(Box::new(area))
    }

    fn area(lines: Vec<String>) -> TextArea<'static> {
        let mut area = TextArea::new(lines);
        area.set_wrap_mode(WrapMode::WordOrGlyph);
        area.set_cursor_line_style(Default::default());
        area
    }

    /// Handles a key without an action. True: the value or the search has changed.
    pub fn key(&mut self, key: KeyEvent) -> bool {
        match self {
            Editor::Line(line) => line.key(key),
            Editor::Notes(area) => key_of_notes(area, key),
            Editor::Choice { words, chosen, .. } => match input::request(key) {
                Some(InputRequest::InsertChar(letter)) => jump(words, chosen, letter),
                _ => false,
            },
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
            Editor::Line(line) => line.paste(text),
            Editor::Notes(area) => {
                area.insert_str(clean(text));
            }
            Editor::Choice { .. } => return false,
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
        if let Editor::Choice { words, chosen, optional } = self {
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
            Editor::Choice { chosen, optional: true, .. } => *chosen = None,
            Editor::Reference(reference) => *reference = Reference::default(),
            _ => {}
        }
    }
}

/// A text without control characters except newline and tab, with `\n` line breaks, without a byte order mark.
fn clean(text: &str) -> String {
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    let is_kept = |letter: &char| matches!(letter, '\n' | '\t') || !(letter.is_control() || *letter == '\u{feff}');
    lines.chars().filter(is_kept).collect()
}

/// The keys of notes: the same keys as in a line, and keys that move between lines. True: the text has changed.
fn key_of_notes(area: &mut TextArea<'_>, key: KeyEvent) -> bool {
    let goes = match (key.code, input::request(key)) {
        // Some terminals send ctrl-j for a line break.
        (KeyCode::Char('j'), _) if key.modifiers.contains(KeyModifiers::CONTROL) => {
            area.insert_newline();
            return true;
        }
        (KeyCode::Up, _) => CursorMove::Up,
        (KeyCode::Down, _) => CursorMove::Down,
        (_, Some(InputRequest::GoToStart)) => CursorMove::Head,
        (_, Some(InputRequest::GoToEnd)) => CursorMove::End,
        (_, Some(InputRequest::GoToPrevWord)) => CursorMove::WordBack,
        (_, Some(InputRequest::GoToNextWord)) => CursorMove::WordForward,
        (_, Some(InputRequest::GoToPrevChar)) => CursorMove::Back,
        (_, Some(InputRequest::GoToNextChar)) => CursorMove::Forward,
        (_, Some(InputRequest::DeletePrevChar)) => return area.delete_char(),
        (_, Some(InputRequest::DeletePrevWord)) => return area.delete_word(),
        (_, Some(InputRequest::DeleteFromStart)) => return area.delete_line_by_head(),
        (_, Some(InputRequest::DeleteTillEnd)) => return area.delete_line_by_end(),
        _ => return area.input_without_shortcuts(key),
    };
    area.move_cursor(goes);
    false
}

/// Selects the next word that begins with the letter.
fn jump(words: &[&str], chosen: &mut Option<usize>, letter: char) -> bool {
    let from = chosen.map_or(0, |index| index + 1);
    let next = (0..words.len())
        .map(|step| (from + step) % words.len())
        .find(|index| choice(words[*index]).starts_with(letter.to_ascii_lowercase()));
    if next.is_some() {
        *chosen = next;
    }
    next.is_some()
}

impl Picker {
    /// Moves the cursor in the suggestions.
    pub fn step(&mut self, by: isize) {
        self.selected = self.selected.saturating_add_signed(by).min(self.options.len().saturating_sub(1));
    }

    /// Takes the suggestions for the typed letters.
    pub fn set_options(&mut self, options: Vec<(Kind, String, String)>) {
        (self.options, self.selected, self.is_answered) = (options, 0, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(notes.key(control('j')) && notes.key(KeyCode::Char('x').into()));
        assert_eq!(text(&notes), "first\nsecond line\nx");
        assert!(notes.key(control('h')) && notes.key(KeyCode::Backspace.into()));
        assert_eq!(text(&notes), "first\nsecond line");
        for key in [control('a'), KeyCode::Right.into(), control('u')] {
            notes.key(key);
        }
        assert_eq!(text(&notes), "first\necond line");
        for key in [control('e'), control('w'), KeyCode::Up.into(), KeyCode::Home.into(), control('k')] {
            notes.key(key);
        }
        assert_eq!(text(&notes), "\necond ");
        assert!(notes.key(KeyCode::Enter.into()) && notes.key(KeyCode::Delete.into()));
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
