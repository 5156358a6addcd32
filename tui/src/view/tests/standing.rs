//! How syncing stands, in the bars and on its screen: in plain words, and what to type where something is wanted.

use super::*;
use hearth_replica::Phase;

#[test]
fn the_way_back_on_the_sync_screen_begins_at_once() {
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

#[test]
fn the_status_is_said_in_plain_words() {
    let phase = |phase: Phase| Status { phase, ..live() };
    for (status, words) in [
        (live(), "● live"),
        (Status { server: None, ..phase(Phase::New) }, "○ not connected"),
        (
            Status { offline_since: Some("2026-11-21T13:02:00.000Z".into()), ..phase(Phase::Offline) },
            "○ offline since 13:02",
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
fn where_there_is_no_server_nothing_is_said_of_what_it_has() {
    for (server, is_said) in [(live().server, true), (None, false)] {
        let mut app = household();
        app.update(now(), Message::Answer(Answer::Status(Ok(Status { server, ..live() }))));
        letter(&mut app, 'w');
        let Some(Layer::Edits(edits)) = app.layers.last_mut() else { panic!("{:?}", app.layers) };
        edits.set_edits(Vec::new());
        let text = screen(&mut app, 80, 24);
        assert_says(&text, &["Nothing waits"]);
        assert_eq!(text.contains("the server has everything that stands here"), is_said, "{text}");
    }
}

#[test]
fn a_key_that_cannot_be_read_is_said_where_syncing_is_until_another_process_syncs() {
    let why = "the key's file /home/ada/home.key: Permission denied; next: ls -l /home/ada/home.key";
    let setup = Setup { keyless: Some(why.into()), ..Setup::default() };
    let (mut app, _) = App::start(now(), setup, Session::default(), (80, 24));
    let offline = Status { phase: Phase::Offline, ..live() };
    app.update(now(), Message::Answer(Answer::Status(Ok(offline.clone()))));
    let first = screen(&mut app, 80, 24);
    assert_says(&first, &["! no key to sync with", "Changes stay here for now; S says why and what to do."]);
    // The sentence goes, the sign stays, and the whole of it is found behind the key.
    let mut later = now();
    later.moment = later.moment.plus_millis(60_000);
    app.update(later, Message::Tick);
    letter(&mut app, 'S');
    let flat = screen(&mut app, 80, 24).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_says(&flat, &["! no key to sync with", "next: ls -l /home/ada/home.key"]);
    // A daemon has a key of its own.
    app.update(now(), Message::Answer(Answer::Status(Ok(Status { daemon_pid: Some(7), ..offline }))));
    let synced = screen(&mut app, 80, 24);
    assert!(!synced.contains("no key") && !synced.contains("ls -l"), "{synced}");
}

#[test]
fn a_notice_is_read_to_its_end() {
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
fn syncing_that_has_stopped_is_said_as_long_as_it_is_so() {
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
fn where_nobody_would_try_a_server_none_is_said_to_be_tried() {
    let setup = Setup { serverless: true, ..Setup::default() };
    let (mut app, _) = App::start(now(), setup, Session::default(), (80, 24));
    let alone = Status { phase: Phase::Offline, server: None, ..live() };
    app.update(now(), Message::Answer(Answer::Status(Ok(alone.clone()))));
    letter(&mut app, 'S');
    letter(&mut app, 'r');
    let said = screen(&mut app, 80, 24).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_says(&said, &["No server is configured; hearth-replica init connects this home with one."]);
    // Somebody has done so since.
    let named = Status { server: Some("http://127.0.0.1:8750".into()), ..alone };
    app.update(now(), Message::Answer(Answer::Status(Ok(named.clone()))));
    letter(&mut app, 'r');
    let said = screen(&mut app, 80, 24).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_says(&said, &["No process can try the server: not synced.", "! not synced", "start it again"]);
    app.update(now(), Message::Answer(Answer::Status(Ok(Status { daemon_pid: Some(7), ..named }))));
    assert!(!screen(&mut app, 80, 24).contains("! not synced"));
}

#[test]
fn syncing_that_fails_again_and_again_is_said_until_there_is_contact() {
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
fn what_needs_somebody_is_led_to_where_it_is_decided() {
    let (mut app, _) = App::start(now(), Setup::default(), Session::default(), (80, 24));
    for (deletions, edits, hint) in [(true, 0, "S what needs you"), (false, 1, "w what needs you")] {
        let status = Status { asks_about_deletions: deletions, needs_you: 1.max(edits), ..live() };
        app.update(now(), Message::Answer(Answer::Status(Ok(status))));
        let shown = screen(&mut app, 80, 24);
        assert!(shown.contains(hint), "{shown}");
    }
}

#[test]
fn where_the_server_wants_another_key_it_is_said_what_to_type() {
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
fn the_footer_leads_to_what_needs_somebody_as_long_as_something_does() {
    let mut app = household();
    for (needs_you, is_told) in [(0, false), (1, true)] {
        app.update(now(), Message::Answer(Answer::Status(Ok(Status { needs_you, ..live() }))));
        let screen = screen(&mut app, 120, 40);
        assert_eq!(screen.contains(" w what needs you   enter open"), is_told, "{screen}");
    }
}

#[test]
fn work_under_way_breathes_unless_nothing_shall_move() {
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
