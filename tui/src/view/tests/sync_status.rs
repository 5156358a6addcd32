//! The sync status in the bars and on the sync screen: plain words, and the next command. Must not use a replica.

use super::*;
use hearth_replica::Phase;

#[test]
fn sync_screen_scrolls_back_at_once() {
    let mut app = household();
    letter(&mut app, 'S');
    screen(&mut app, 80, 9);
    let top = screen(&mut app, 80, 9);
    letter(&mut app, 'G');
    let bottom = screen(&mut app, 80, 9);
    assert_ne!(top, bottom);
    letter(&mut app, 'k');
    assert_ne!(screen(&mut app, 80, 9), bottom);
}

/// The status of a home without a server.
fn local() -> Status {
    Status { phase: Phase::Local, ..Status::default() }
}

#[test]
fn home_without_server_offers_a_connection() {
    let mut app = household();
    app.setup.can_connect = true;
    app.update(now(), Message::Answer(Answer::Status(Ok(local()))));
    letter(&mut app, 'S');
    let text = screen(&mut app, 80, 24);
    assert_says(&text, &["⌂ on this machine only", "none: all data is on this machine only", "c connect to a server"]);
    for word in ["waiting", "Behind", "never", "no process", "pause"] {
        assert!(!text.contains(word), "{word}:\n{text}");
    }
    assert!(letter(&mut app, 'c').contains(&Effect::Connect));
    // The list of actions finds it from any screen.
    press(&mut app, KeyCode::Esc);
    letter(&mut app, '?');
    "connect".chars().for_each(|one| drop(letter(&mut app, one)));
    assert_says(&screen(&mut app, 80, 24), &["Connect to a server"]);
    press(&mut app, KeyCode::Esc);
    // A home with a server has nothing to connect.
    app.update(now(), Message::Answer(Answer::Status(Ok(live()))));
    letter(&mut app, 'S');
    assert!(!letter(&mut app, 'c').contains(&Effect::Connect));
    assert!(!screen(&mut app, 80, 24).contains("connect to a server"));
}

#[test]
fn pause_without_server_explains_itself() {
    let mut app = household();
    app.setup.can_connect = true;
    app.update(now(), Message::Answer(Answer::Status(Ok(local()))));
    letter(&mut app, 'S');
    for key in ['p', 'r'] {
        assert_eq!(letter(&mut app, key), []);
        assert_says(&screen(&mut app, 80, 24), &["This home has no server; c connects it with one."]);
    }
}

#[test]
fn status_bar_shows_the_phase() {
    let phase = |phase: Phase| Status { phase, ..live() };
    for (status, words) in [
        (live(), "● live"),
        (local(), "⌂ on this machine only"),
        (Status { server: None, ..phase(Phase::New) }, "◌ first sync has not begun"),
        (
            Status { offline_since: Some("2026-11-21T13:02:00.000Z".into()), ..phase(Phase::Offline) },
            "□ offline since 13:02",
        ),
        (Status { position: 1_200, head: Some(5_000), ..phase(Phase::Backfilling) }, "◌ first sync 1,200 of 5,000"),
        (Status { behind_events: Some(312), ..phase(Phase::CatchingUp) }, "◌ catching up, 312 behind"),
        (Status { waiting: 4, needs_you: 1, ..live() }, "● live   ! 1 needs you   ▲ 4 waiting"),
        (phase(Phase::NeedsKey), "! the server wants another key"),
        (phase(Phase::Paused), "‖ paused"),
    ] {
        let mut app = household();
        app.update(now(), Message::Answer(Answer::Status(Ok(status))));
        assert_says(&screen(&mut app, 80, 24), &[words]);
    }
}

#[test]
fn edits_screen_without_server_omits_the_server() {
    for (status, is_said) in [(live(), true), (local(), false)] {
        let mut app = household();
        app.update(now(), Message::Answer(Answer::Status(Ok(status))));
        letter(&mut app, 'w');
        let Some(Layer::Edits(edits)) = app.layers.last_mut() else { panic!("{:?}", app.layers) };
        edits.set_edits(Vec::new());
        let text = screen(&mut app, 80, 24);
        assert_says(&text, &["Nothing waits"]);
        assert_eq!(text.contains("the server has all changes of this device"), is_said, "{text}");
    }
}

#[test]
fn unreadable_key_shows_until_another_sync() {
    let why = "the key's file /home/ada/home.key: Permission denied; next: ls -l /home/ada/home.key";
    let setup = Setup { keyless: Some(why.into()), ..Setup::default() };
    let (mut app, _) = App::start(now(), setup, Session::default(), (80, 24));
    let offline = Status { phase: Phase::Offline, ..live() };
    app.update(now(), Message::Answer(Answer::Status(Ok(offline.clone()))));
    let first = screen(&mut app, 80, 24);
    assert_says(&first, &["! no key to sync with", "Changes stay here for now; S says why and what to do."]);
    // The notice disappears, the badge stays, and `S` shows the full sentence.
    let mut later = now();
    later.moment = later.moment.plus_millis(60_000);
    app.update(later, Message::Tick);
    letter(&mut app, 'S');
    let flat = screen(&mut app, 80, 24).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_says(&flat, &["! no key to sync with", "next: ls -l /home/ada/home.key"]);
    // A daemon syncs with its own key.
    app.update(now(), Message::Answer(Answer::Status(Ok(Status { daemon_pid: Some(7), ..offline }))));
    let synced = screen(&mut app, 80, 24);
    assert!(!synced.contains("no key") && !synced.contains("ls -l"), "{synced}");
}

#[test]
fn notice_is_shown_in_full() {
    let (mut app, _) = App::start(now(), Setup::default(), Session::default(), (80, 24));
    let reason =
        "the file /home/ada/.local/share/hearth-replica/cabin/replica.db was moved, deleted or replaced".to_owned();
    app.update(now(), Message::SyncEnded { reason, will_retry: false });
    for (columns, last) in [(80, "replaced"), (24, "…")] {
        let shown = screen(&mut app, columns, 24);
        let lines: Vec<&str> = shown.lines().collect();
        let first = lines.iter().position(|line| line.contains("Syncing stopped:")).unwrap();
        assert!(first >= lines.len() - 3 && lines[lines.len() - 1].trim_end().ends_with(last), "{shown}");
    }
}

#[test]
fn stopped_sync_shows_until_it_restarts() {
    let (mut app, _) = App::start(now(), Setup::default(), Session::default(), (80, 24));
    let offline = Status { phase: Phase::Offline, ..live() };
    app.update(now(), Message::Answer(Answer::Status(Ok(offline))));
    app.update(now(), Message::SyncEnded { reason: "the file was moved".into(), will_retry: false });
    let mut later = now();
    later.moment = later.moment.plus_millis(60_000);
    app.update(later, Message::Tick);
    assert_says(&screen(&mut app, 80, 24), &["! syncing stopped"]);
    letter(&mut app, 'S');
    assert_says(&screen(&mut app, 80, 24), &["! syncing stopped", "the file was moved"]);
    letter(&mut app, 'r');
    assert_says(&screen(&mut app, 80, 24), &["No process can try the server: syncing stopped."]);
    app.update(later, Message::SyncResumed);
    assert!(!screen(&mut app, 80, 24).contains("syncing stopped"));
}

#[test]
fn retry_without_server_explains_why() {
    let setup = Setup { serverless: true, ..Setup::default() };
    let (mut app, _) = App::start(now(), setup, Session::default(), (80, 24));
    app.update(now(), Message::Answer(Answer::Status(Ok(local()))));
    letter(&mut app, 'S');
    letter(&mut app, 'r');
    let text = screen(&mut app, 80, 24).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_says(&text, &["This home has no server."]);
    // Another process has connected the home since.
    let named = Status { phase: Phase::Offline, ..live() };
    app.update(now(), Message::Answer(Answer::Status(Ok(named.clone()))));
    letter(&mut app, 'r');
    let text = screen(&mut app, 80, 24).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_says(&text, &["No process can try the server: not synced.", "! not synced", "start it again"]);
    app.update(now(), Message::Answer(Answer::Status(Ok(Status { daemon_pid: Some(7), ..named }))));
    assert!(!screen(&mut app, 80, 24).contains("! not synced"));
}

#[test]
fn failing_sync_shows_until_contact() {
    let (mut app, _) = App::start(now(), Setup::default(), Session::default(), (80, 24));
    let status = |app: &mut App, phase: Phase| {
        app.update(now(), Message::Answer(Answer::Status(Ok(Status { phase, ..live() }))));
    };
    status(&mut app, Phase::Offline);
    app.update(now(), Message::SyncEnded { reason: "the lock is another user's".into(), will_retry: true });
    let mut later = now();
    later.moment = later.moment.plus_millis(60_000);
    app.update(later, Message::Tick);
    letter(&mut app, 'S');
    assert_says(&screen(&mut app, 80, 24), &["! syncing fails", "the lock is another user's"]);
    status(&mut app, Phase::Live);
    status(&mut app, Phase::Offline);
    let shown = screen(&mut app, 80, 24);
    assert!(!shown.contains("syncing fails") && !shown.contains("another user"), "{shown}");
}

#[test]
fn urgent_hint_leads_to_the_decision() {
    let (mut app, _) = App::start(now(), Setup::default(), Session::default(), (80, 24));
    for (deletions, edits, hint) in [(true, 0, "S what needs you"), (false, 1, "w what needs you")] {
        let status = Status { asks_about_deletions: deletions, needs_you: 1.max(edits), ..live() };
        app.update(now(), Message::Answer(Answer::Status(Ok(status))));
        let shown = screen(&mut app, 80, 24);
        assert!(shown.contains(hint), "{shown}");
    }
}

#[test]
fn needs_key_shows_the_command() {
    let command = "hearth-replica --profile cabin init --server http://home:8750, with another key";
    let setup = Setup { another_key: Some(command.into()), ..Setup::default() };
    let (mut app, _) = App::start(now(), setup, Session::default(), (80, 24));
    for (phase, is_told) in [(Phase::NeedsKey, true), (Phase::Live, false)] {
        app.update(now(), Message::Answer(Answer::Status(Ok(Status { phase, ..live() }))));
        letter(&mut app, 'S');
        let flat = screen(&mut app, 80, 24).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(flat.contains(&format!("To do {command}")), is_told, "{flat}");
        press(&mut app, KeyCode::Esc);
    }
}

#[test]
fn urgent_hint_shows_while_edits_need_a_person() {
    let mut app = household();
    for (needs_you, is_told) in [(0, false), (1, true)] {
        app.update(now(), Message::Answer(Answer::Status(Ok(Status { needs_you, ..live() }))));
        let screen = screen(&mut app, 120, 40);
        assert_eq!(screen.contains(" w what needs you   enter open"), is_told, "{screen}");
    }
}

#[test]
fn working_sign_respects_reduced_motion() {
    let mut later = now();
    later.moment = later.moment.plus_millis(1_000);
    for (reduced_motion, sign) in [(false, "◍ catching up"), (true, "◌ catching up")] {
        let mut app = household();
        app.setup.reduced_motion = reduced_motion;
        let status = Status { phase: Phase::CatchingUp, ..live() };
        app.update(later, Message::Answer(Answer::Status(Ok(status))));
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| draw(&app, later, &Theme::new(Colors::Mono), frame)).unwrap();
        let text: String = terminal.backend().buffer().content.iter().map(|cell| cell.symbol()).collect();
        assert!(text.contains(sign), "{sign}");
    }
}
