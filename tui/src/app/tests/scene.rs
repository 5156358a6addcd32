//! A screen over a real replica without threads, and repeatable random numbers.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use hearth_replica::{Origin, Replica};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::json;

use crate::app::{App, Setup};
use crate::config::Colors;
use crate::edge::context::EdgeContext;
use crate::edge::effects::run_effect;
use crate::edge::undo::UndoHistory;
use crate::fixtures::now;
use crate::message::{Effect, Message};
use crate::now::Now;
use crate::state::session::Session;
use crate::view::{self, Theme};

/// Pseudo-random numbers from a seed (splitmix64).
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % most as u64).unwrap()
    }

    pub(super) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// An application over a replica; each effect is answered at once.
pub(super) struct Scene {
    pub(super) app: App,
    pub(super) replica: Replica,
    /// Another program on the same database.
    pub(super) other: Replica,
    places: EdgeContext,
    steps: UndoHistory,
    pub(super) now: Now,
    _directory: tempfile::TempDir,
}

pub(super) fn fields(of: serde_json::Value) -> Fields {
    of.as_object().cloned().unwrap()
}

impl Scene {
    pub(super) fn new() -> Scene {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let open = |origin| Replica::open(&db, origin).unwrap();
        let (replica, other) = (open(Origin::Tui), open(Origin::Cli));
        let evil = "evil \u{202e}日本語 e\u{301}\u{301}\u{301}";
        let room = other.create(Kind::Room, &fields(json!({ "name": evil, "floor": "1" }))).unwrap();
        for number in 0..30 {
            let title = format!("{} {number}", if number % 7 == 0 { evil } else { "Task" });
            let due = format!("2026-{:02}-{:02}", 10 + number % 3, 1 + number % 28);
            let task = json!({ "title": title, "due_on": due, "notes": format!("{evil}\n{evil}") });
            other.create(Kind::Task, &fields(task)).unwrap();
            let item = json!({ "name": format!("Item {number}"), "room_id": room, "current_value": "12.50" });
            other.create(Kind::Inventory, &fields(item)).unwrap();
        }
        let (session, exports) = (directory.path().join("session"), directory.path().to_owned());
        let places = EdgeContext { db: db.clone(), session, exports, flags: String::new() };
        let (app, effects) = App::start(now(), Setup::default(), Session::default(), (80, 24));
        let steps = UndoHistory::default();
        let mut scene = Scene { app, replica, other, places, steps, now: now(), _directory: directory };
        scene.carry_out(effects);
        scene
    }

    pub(super) fn carry_out(&mut self, effects: Vec<Effect>) {
        let mut waiting = std::collections::VecDeque::from(effects);
        let mut rounds = 0;
        while let Some(effect) = waiting.pop_front() {
            rounds += 1;
            assert!(rounds < 500, "it asks for ever; lately for {effect:?}");
            let message = match effect {
                Effect::Editor(text) => Some(Message::EditorClosed(Ok(text + "\nmore"))),
                effect => {
                    run_effect(&self.replica, &self.places, &mut self.steps, effect, &mut |_| {}).map(Message::Answer)
                }
            };
            waiting.extend(message.into_iter().flat_map(|message| self.app.update(self.now, message)));
        }
    }

    pub(super) fn takes(&mut self, message: Message) {
        let effects = self.app.update(self.now, message);
        self.carry_out(effects);
    }

    pub(super) fn types(&mut self, text: &str) {
        for letter in text.chars() {
            let code = if letter == '\n' { KeyCode::Enter } else { KeyCode::Char(letter) };
            self.takes(Message::Key(KeyEvent::new(code, KeyModifiers::NONE)));
        }
    }

    /// Draws the screen; fails when a cell could control the terminal.
    pub(super) fn draws(&self, colors: Colors) {
        let mut terminal = Terminal::new(TestBackend::new(self.app.width, self.app.height)).unwrap();
        terminal.draw(|frame| view::draw(&self.app, self.now, &Theme::new(colors), frame)).unwrap();
        for cell in terminal.backend().buffer().content() {
            let bad = cell.symbol().chars().find(|letter| letter.is_control() || *letter == '\u{202e}');
            assert!(bad.is_none(), "{bad:?} is drawn");
        }
    }
}
