//! Random keys on random sizes over a real replica. Each seed gives the same keys again, so that a failure can be repeated.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use hearth_contract::schema::Kind;
use serde_json::json;

use super::scene::{Dice, Scene, fields};
use crate::config::Colors;
use crate::layout::is_too_small;
use crate::message::Message;

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
        _ => dice.of(&[Some(()), None]).map_or(Message::Tick, |()| Message::DatabaseChanged),
    }
}

#[test]
fn random_keys_on_any_size_never_panic() {
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
fn random_changes_keep_cursor_on_record() {
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
            (scene.app.current_record().map(|row| row.id.clone()), line)
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
            scene.takes(Message::DatabaseChanged);
            let (found, line) = shown(&scene);
            assert_eq!(found, record, "seed {seed}: the cursor moved");
            let height = scene.app.list(scene.app.tab).map(crate::state::list::List::height);
            assert!(line <= height, "seed {seed}: the cursor is out of sight");
            assert!(!is_too_small(scene.app.width, scene.app.height));
        }
    }
}
