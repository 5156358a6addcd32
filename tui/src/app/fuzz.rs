//! Any keys on any size over a real replica: nothing panics, nothing of the data reaches the terminal as a command, and a change
//! that arrives leaves the cursor on its record. Dice with a seed, so that what fails fails again.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use hearth_replica::{Origin, Replica};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::json;

use super::{App, Setup};
use crate::config::Colors;
use crate::edge::context::EdgeContext;
use crate::edge::effects::run_effect;
use crate::edge::undo::UndoHistory;
use crate::fixtures::now;
use crate::layout::is_too_small;
use crate::message::{Effect, Message};
use crate::now::Now;
use crate::state::session::Session;
use crate::view::{self, Theme};

/// Numbers that look like chance and are the same for the same seed (splitmix64).
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

/// The screen over a replica, without threads: what is asked for is answered at once.
pub(super) struct Scene {
    pub(super) app: App,
    pub(super) replica: Replica,
    /// Somebody else on the same database.
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
                Effect::Editor(text) => Some(Message::Edited(Ok(text + "\nmore"))),
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

    /// Draws; every cell must be harmless.
    pub(super) fn draws(&self, colors: Colors) {
        let mut terminal = Terminal::new(TestBackend::new(self.app.width, self.app.height)).unwrap();
        terminal.draw(|frame| view::draw(&self.app, self.now, &Theme::new(colors), frame)).unwrap();
        for cell in terminal.backend().buffer().content() {
            let bad = cell.symbol().chars().find(|letter| letter.is_control() || *letter == '\u{202e}');
            assert!(bad.is_none(), "{bad:?} is drawn");
        }
    }
}

fn chance(dice: &mut Dice) -> Message {
    const KEYS: [KeyCode; 18] = [
        KeyCode::Enter,
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Tab,
        KeyCode::BackTab,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::PageDown,
        KeyCode::PageUp,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::Backspace,
        KeyCode::Delete,
        KeyCode::F(1),
        KeyCode::Char(' '),
        KeyCode::Char('y'),
    ];
    const LETTERS: &[u8] = b"123456jkghlaenxdduuUU/ffsrv**wwSpymteT?:!@+<> cGMT[]0.";
    const TEXTS: [&str; 6] =
        ["due<fri room:", "日本語\u{301}", "\u{1b}[2J\u{202e}", "!high due:+2w @ev", "-1.5e9", "a\nb\tc"];
    let key = |code, modifiers| Message::Key(KeyEvent::new(code, modifiers));
    match dice.below(20) {
        0..=9 => key(KeyCode::Char(char::from(dice.of(LETTERS))), KeyModifiers::NONE),
        10..=14 => key(dice.of(&KEYS), KeyModifiers::NONE),
        15 => key(KeyCode::Char(char::from(dice.of(b"srudlopnz"))), KeyModifiers::CONTROL),
        16 => Message::Paste(dice.of(&TEXTS).to_owned()),
        17 => {
            let kinds = [MouseEventKind::ScrollDown, MouseEventKind::ScrollUp, MouseEventKind::Down(MouseButton::Left)];
            let (column, row) = (u16::try_from(dice.below(310)).unwrap(), u16::try_from(dice.below(60)).unwrap());
            Message::Mouse(MouseEvent { kind: dice.of(&kinds), column, row, modifiers: KeyModifiers::NONE })
        }
        18 => Message::Resize(
            dice.of(&[1, 12, 20, 21, 33, 50, 71, 72, 80, 109, 110, 132, 300]),
            dice.of(&[1, 4, 5, 6, 7, 8, 9, 13, 14, 15, 24, 40]),
        ),
        _ => dice.of(&[Some(()), None]).map_or(Message::Tick, |()| Message::Stale),
    }
}

#[test]
fn any_keys_on_any_size_end_in_no_panic() {
    for seed in 0..8 {
        let mut dice = Dice(seed);
        let mut scene = Scene::new();
        for _ in 0..120 {
            let message = chance(&mut dice);
            scene.now.moment = scene.now.moment.plus_millis(i64::try_from(dice.below(3_000)).unwrap());
            scene.takes(message);
            scene.draws(dice.of(&[Colors::Terminal, Colors::Dark, Colors::Light, Colors::Mono]));
        }
    }
}

#[test]
fn a_change_that_arrives_leaves_the_cursor_on_its_record() {
    for seed in 0..8 {
        let mut dice = Dice(seed);
        let mut scene = Scene::new();
        scene.takes(Message::Resize(dice.of(&[50, 80, 120]), dice.of(&[9, 15, 24])));
        scene.types(dice.of(&["2", "2v", "2s", "2sr", "3", "3v", "3s", "1"]));
        let steps = 1 + dice.below(25);
        scene.types(&"j".repeat(steps));
        let shown = |scene: &Scene| {
            let list = scene.app.list(scene.app.tab);
            let line = list.map(|list| list.selected - list.top);
            (scene.app.shown().map(|row| row.id.clone()), line)
        };
        let (record, _) = shown(&scene);
        assert!(record.is_some(), "seed {seed}: nothing is under the cursor");
        for _ in 0..8 {
            let title = format!("{} {}", dice.of(&["Aa", "Mm", "Task 1", "Zz"]), dice.below(1_000));
            let due = format!("2026-{:02}-{:02}", 10 + dice.below(3), 1 + dice.below(28));
            let kind = if scene.app.tab == Kind::Inventory { Kind::Inventory } else { Kind::Task };
            let new = match kind {
                Kind::Inventory => json!({ "name": title }),
                _ => json!({ "title": title, "due_on": due }),
            };
            let made = scene.other.create(kind, &fields(new)).unwrap();
            if dice.below(3) == 0 {
                scene.other.delete(kind, &made).unwrap();
            }
            scene.takes(Message::Stale);
            let (found, line) = shown(&scene);
            assert_eq!(found, record, "seed {seed}: the cursor moved");
            let height = scene.app.list(scene.app.tab).map(crate::state::list::List::height);
            assert!(line <= height, "seed {seed}: the cursor is out of sight");
            assert!(!is_too_small(scene.app.width, scene.app.height));
        }
    }
}
