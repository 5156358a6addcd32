//! The terminal UI on a pseudo-terminal: the built program, typed keys, and the screen.

use std::path::{Path, PathBuf};

use hearth_replica::{Origin, Replica};
use hearth_tests::terminal::Terminal;
use rusqlite::Connection;

/// A replica in a directory, filled by these statements. The statements pass the gate as the sync does, because rows from
/// a server are not checked again.
fn home(statements: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let db = directory.path().join("replica.db");
    drop(Replica::open(&db, Origin::Cli).unwrap());
    let connection = Connection::open(&db).unwrap();
    let text = format!(
        "BEGIN; UPDATE _gate SET open = 1, change_count = change_count + 1; {statements}; UPDATE _gate SET open = 0, change_count = change_count + 1; COMMIT;"
    );
    connection.execute_batch(&text).unwrap();
    (directory, db)
}

fn hearth(db: &Path, size: (u16, u16)) -> Terminal {
    Terminal::start("hearth", &["--db", db.to_str().unwrap()], db.parent().unwrap(), size)
}

fn signal(screen: &Terminal, name: &str) {
    let pid = screen.pid().unwrap().to_string();
    assert!(std::process::Command::new("kill").args([name, &pid]).status().unwrap().success());
}

fn count(db: &Path, only: &str) -> i64 {
    let connection = Connection::open(db).unwrap();
    connection.query_row(&format!("SELECT count(*) FROM {only}"), [], |row| row.get(0)).unwrap()
}

#[test]
fn data_sends_no_terminal_commands() {
    let title = "'evil ' || char(27) || ']0;pwned' || char(7) || char(27) || '[?1049l' || char(155) || '2J' || char(8238) || 'x'";
    let (_directory, db) = home(&format!(
        "INSERT INTO tasks (title, notes, due_on, rev) VALUES ({title}, {title} || char(10) || {title}, date('now'), 1);
         INSERT INTO rooms (name, rev) VALUES ({title}, 2)"
    ));
    let mut screen = hearth(&db, (80, 24));
    screen.wait_for_text("evil");
    for (keys, words) in
        [("2", "1 task"), ("\r", "Notes"), ("\x1b", "1 task"), ("e", "Change the task"), ("\x1b", "1 task")]
    {
        screen.type_keys(keys);
        screen.wait_for_text(words);
    }
    screen.type_keys("4");
    screen.wait_for_text("1 room");
    screen.type_keys("/evil");
    screen.wait_for_text("Search");
    screen.type_keys("\x1b");
    screen.wait_for_text("1 room");
    screen.type_keys("d");
    screen.wait_for_text("Delete the room");
    let raw = String::from_utf8_lossy(&screen.output()).into_owned();
    for bad in ["\x1b]0;", "pwned\x07", "\u{9b}", "\u{202e}", "\x07"] {
        assert!(!raw.contains(bad), "{bad:?} reached the terminal");
    }
    // Only the program itself leaves the alternate screen, at its exit.
    assert!(!raw.contains("\x1b[?1049l"));
    screen.type_keys("n");
    screen.type_keys("q");
    assert!(screen.wait_for_exit());
}

#[test]
fn offline_session_queues_all_changes() {
    let (_directory, db) =
        home("INSERT INTO rooms (id, name, rev) VALUES ('0190a3b0-0000-7000-8000-000000000001', 'Garage', 1)");
    let mut screen = hearth(&db, (100, 30));
    screen.wait_for_text("a adds a task in one line");
    for number in 1..=20 {
        screen.type_keys("a");
        screen.wait_for_text("New task");
        screen.type_keys(&format!("Errand {number} !high due:tomorrow @garage"));
        screen.wait_for_text("about Garage");
        screen.type_keys("\r");
        screen.wait_until_gone("such as");
        screen.wait_for_text(&format!("New task: Errand {number}"));
    }
    assert_eq!(count(&db, "tasks WHERE priority = 'high' AND due_on > date('now') AND subject_type = 'room'"), 20);
    assert_eq!(count(&db, "edits WHERE state = 'waiting'"), 20);
    screen.type_keys("2");
    screen.wait_for_text("20 tasks");
    // Change three tasks at once, and undo the change.
    screen.type_keys("f");
    screen.type_keys("Errand 1");
    screen.wait_for_text("11 of 20 tasks");
    screen.type_keys("\r   ");
    screen.wait_for_text("3 marked");
    screen.type_keys("x");
    screen.wait_for_text("Done: 3 tasks");
    assert_eq!(count(&db, "tasks WHERE status = 'done'"), 3);
    screen.type_keys("u");
    screen.wait_for_text("Undone: 3 tasks");
    assert_eq!(count(&db, "tasks WHERE status = 'done'"), 0);
    screen.type_keys("U");
    screen.wait_for_text("Done again: 3 tasks");
    assert_eq!(count(&db, "tasks WHERE status = 'done'"), 3);
    screen.type_keys("q");
    assert!(screen.wait_for_exit());
}

#[test]
fn escape_and_next_key_in_one_read_both_act() {
    let (_directory, db) = home("INSERT INTO tasks (title, rev) VALUES ('Bleed radiators', 1), ('Clean gutters', 2)");
    let mut screen = hearth(&db, (80, 24));
    screen.wait_for_text("1 Home");
    // tmux and slow connections send the bytes of both keys at once.
    screen.type_keys("2fgutters");
    screen.wait_for_text("1 of 2 tasks");
    screen.type_keys("\x1bn");
    screen.wait_for_text("Title *");
    screen.type_keys("\x1b\x1b[B\r");
    screen.wait_for_text("Clean gutters  ");
    screen.wait_until_gone("2 tasks");
    screen.type_keys("\x1b\x1b");
    screen.wait_for_text("2 tasks");
    // AltGr on terminals that report it as Alt, alone or with Ctrl.
    screen.type_keys("f\x1b@\x1b[8364;7u");
    screen.wait_for_text("filter @€");
    screen.type_keys("\x1bq");
    assert!(screen.wait_for_exit());
}

#[test]
fn crash_keeps_draft_and_session() {
    let (_directory, db) = home("INSERT INTO tasks (title, rev) VALUES ('Bleed radiators', 1)");
    let mut screen = hearth(&db, (80, 24));
    screen.wait_for_text("1 Home");
    screen.type_keys("2");
    screen.wait_for_text("by due day");
    screen.type_keys("ssr");
    screen.wait_for_text("by priority");
    screen.type_keys("n");
    screen.wait_for_text("New task");
    screen.type_keys("Half a thought");
    screen.wait_for_text("Half a thought");
    let session = PathBuf::from(format!("{}.session", db.display()));
    hearth_tests::process::wait_until("the draft is kept", || {
        std::fs::read_to_string(&session).is_ok_and(|text| text.contains("Half a thought"))
    });
    // A second process does not see the draft of the first.
    let mut second = hearth(&db, (80, 24));
    second.wait_for_text("by priority");
    assert!(!second.text().contains("Half a thought"), "{}", second.text());
    second.type_keys("q");
    assert!(second.wait_for_exit());
    screen.kill();
    let mut screen = hearth(&db, (80, 24));
    screen.wait_for_text("Half a thought");
    screen.wait_for_text("not saved last time");
    screen.type_keys("\x13");
    screen.wait_for_text("by priority");
    screen.wait_for_text("Half a thought");
    assert_eq!(count(&db, "tasks WHERE title = 'Half a thought'"), 1);
    screen.type_keys("q");
    assert!(screen.wait_for_exit());
}

#[test]
fn ctrl_c_in_editor_reaches_only_editor() {
    let (directory, db) = home("INSERT INTO tasks (title, rev) VALUES ('Bleed radiators', 1)");
    let script = directory.path().join("editor.sh");
    let text =
        "trap 'echo interrupted' INT\necho editing\nuntil read line; do :; done\nprintf 'All the same' > \"$1\"\n";
    std::fs::write(&script, text).unwrap();
    let editor = format!("sh {}", script.display());
    let private = directory.path().join("private");
    std::fs::create_dir(&private).unwrap();
    let environment = [("EDITOR", editor.as_str()), ("TMPDIR", private.to_str().unwrap())];
    let arguments = ["--db", db.to_str().unwrap()];
    let mut screen = Terminal::start_with("hearth", &arguments, directory.path(), (80, 24), &environment);
    screen.wait_for_text("1 Home");
    screen.type_keys("2");
    screen.wait_for_text("1 task");
    screen.type_keys("e");
    screen.wait_for_text("Change the task");
    screen.type_keys("\t\t\t\x0f");
    screen.wait_for_text("editing");
    screen.type_keys("\x03");
    screen.wait_for_text("interrupted");
    screen.type_keys("\r");
    screen.wait_for_text("All the same");
    assert_eq!(std::fs::read_dir(&private).unwrap().count(), 0, "notes may be private");
    screen.type_keys("\x03");
    assert!(screen.wait_for_exit());
}

#[test]
fn continued_program_restores_raw_terminal() {
    let (directory, db) = home("INSERT INTO tasks (title, rev) VALUES ('Bleed radiators', 1)");
    let mut screen = Terminal::start("hearth", &["--db", db.to_str().unwrap()], directory.path(), (80, 24));
    screen.wait_for_text("1 Home");
    signal(&screen, "-STOP");
    screen.reset_with_stty();
    signal(&screen, "-CONT");
    // A shell in line mode would deliver the key only after enter.
    screen.type_keys("2");
    screen.wait_for_text("1 task");
    screen.type_keys("q");
    assert!(screen.wait_for_exit());
}

#[test]
fn ctrl_c_after_signal_stops_pending_writes() {
    let (_directory, db) = home(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 12)
         INSERT INTO tasks (title, rev) SELECT 'Errand ' || i, i FROM n",
    );
    let mut screen = hearth(&db, (80, 24));
    screen.wait_for_text("1 Home");
    screen.type_keys("2");
    screen.wait_for_text("12 tasks");
    screen.type_keys("*");
    screen.wait_for_text("12 marked");
    // Each of the twelve writes waits seconds for a foreign transaction.
    let other = Connection::open(&db).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    screen.type_keys("x");
    screen.type_keys("?");
    screen.wait_for_text("What to do in a list");
    signal(&screen, "-TERM");
    screen.wait_for_text("ctrl-c stops the program at once");
    // A system shutdown sends SIGTERM twice; the second must not discard pending writes.
    signal(&screen, "-TERM");
    screen.type_keys("\x03");
    assert!(!screen.wait_for_exit());
    assert!(!screen.text().contains("not done"), "{}", screen.text());
}

#[test]
fn any_size_draws_and_exit_restores_terminal() {
    let (_directory, db) = home("INSERT INTO tasks (title, due_on, rev) VALUES ('Bleed radiators', date('now'), 1)");
    let mut screen = hearth(&db, (80, 24));
    screen.wait_for_text("Bleed radiators");
    for (columns, lines, words) in [
        (20, 5, "Bleed"),
        (300, 100, "Bleed radiators"),
        (12, 4, "12x4"),
        (50, 15, "Bleed radiators"),
        (1, 1, ""),
        (110, 8, "Bleed"),
    ] {
        screen.resize(columns, lines);
        screen.wait_for_text(words);
    }
    // Wait for the effect of each key: an escape and a letter in one read are another key. A frame for an earlier size
    // may still show the window, so also wait until the window is gone.
    let mut window = "nothing was opened yet";
    for (key, words) in [
        ("2", "by due day"),
        ("?", "What to do in a list"),
        ("\x1b", "by due day"),
        ("n", "New task"),
        ("\x1b", "by due day"),
        ("S", "none: all data"),
        ("\x1b", "by due day"),
        ("w", "Nothing waits"),
        ("\x1b", "by due day"),
    ] {
        screen.resize(80, 24);
        screen.type_keys(key);
        let closes = key == "\x1b";
        screen.wait_until(words, |text| text.contains(words) && !(closes && text.contains(window)));
        window = words;
        for (columns, lines) in [(33, 9), (140, 12), (20, 5)] {
            screen.resize(columns, lines);
        }
    }
    screen.resize(80, 24);
    screen.wait_for_text("1 task");
    assert!(screen.with_screen(vt100_alternate));
    screen.type_keys("q");
    assert!(screen.wait_for_exit());
    assert!(!screen.with_screen(vt100_alternate), "the shell's own screen is back");
}

fn vt100_alternate(screen: &vt100::Screen) -> bool {
    screen.alternate_screen()
}

#[test]
fn first_run_explains_and_begins() {
    let directory = tempfile::tempdir().unwrap();
    let mut screen = Terminal::start("hearth", &[], directory.path(), (80, 24));
    screen.wait_for_text("No home is set up on this machine yet.");
    screen.type_keys("2");
    screen.wait_for_text("API key");
    screen.type_keys("\r");
    screen.type_keys("nonsense\r");
    screen.wait_for_text("This is no API key");
    screen.type_keys("\x1b");
    screen.wait_for_text("Begin without a server");
    screen.type_keys("3");
    screen.wait_for_text("This home is empty so far.");
    screen.wait_for_text("on this machine only");
    screen.type_keys("q");
    assert!(screen.wait_for_exit());
}

#[test]
fn first_run_restores_terminal_on_exit() {
    let directory = tempfile::tempdir().unwrap();
    let mut screen = Terminal::start("hearth", &[], directory.path(), (80, 24));
    screen.wait_for_text("No home is set up on this machine yet.");
    signal(&screen, "-STOP");
    screen.reset_with_stty();
    signal(&screen, "-CONT");
    // A shell in line mode would deliver the key only after enter.
    screen.type_keys("2");
    screen.wait_for_text("API key");
    for name in ["-TERM", "-HUP"] {
        let mut screen = Terminal::start("hearth", &[], directory.path(), (80, 24));
        screen.wait_for_text("No home is set up on this machine yet.");
        screen.type_keys("2");
        screen.wait_for_text("API key");
        signal(&screen, name);
        assert!(screen.wait_for_exit(), "{name}");
        assert!(!screen.with_screen(vt100_alternate), "{name}: the shell's own screen is back");
    }
}

#[test]
fn invalid_settings_fail_before_first_screen() {
    let (_directory, db) = home("SELECT 1");
    std::fs::write(format!("{}.toml", db.display()), "").unwrap();
    std::fs::write(format!("{}.tui.toml", db.display()), "[keys]\ndoen = \"D\"\n").unwrap();
    let mut screen = hearth(&db, (120, 24));
    screen.wait_for_text("\"doen\" is not an action; the nearest is \"done\"");
    assert!(!screen.wait_for_exit());
    std::fs::write(format!("{}.tui.toml", db.display()), "[keys]\nquit = \"Q\"\n").unwrap();
    let mut screen = hearth(&db, (120, 24));
    screen.wait_for_text("Q quit");
    screen.type_keys("Q");
    assert!(screen.wait_for_exit());
}

/// Creates the profile directory below a home directory.
fn profiles(home: &Path) -> PathBuf {
    let profiles = home.join(".config/hearth/profiles");
    std::fs::create_dir_all(&profiles).unwrap();
    profiles
}

#[test]
fn missing_database_is_created_only_after_yes() {
    let directory = tempfile::tempdir().unwrap();
    let profiles = profiles(directory.path());
    std::fs::write(profiles.join("home.toml"), "server = \"http://127.0.0.1:9\"\n").unwrap();
    std::fs::write(profiles.join("home.key"), "svc_test_x\n").unwrap();
    let db = directory.path().join("elsewhere.db");
    let mut screen = hearth(&db, (160, 24));
    screen.wait_for_text("There is no database at");
    screen.wait_for_text("http://127.0.0.1:9");
    screen.type_keys("n\r");
    assert!(!screen.wait_for_exit());
    assert!(!db.exists());
    let unseen = hearth_tests::process::command("hearth", &["--db", db.to_str().unwrap()])
        .env("HOME", directory.path())
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&unseen.stderr).into_owned();
    assert!(text.contains("there is no database at"), "{text}");
    let mut screen = hearth(&db, (160, 24));
    screen.wait_for_text("There is no database at");
    screen.type_keys("y\r");
    screen.wait_for_text("q quit");
    screen.type_keys("q");
    assert!(screen.wait_for_exit());
    assert!(db.exists());
}

#[test]
fn unreadable_key_is_shown_and_edits_work() {
    let (_directory, db) = home("INSERT INTO tasks (title, rev) VALUES ('Bleed radiators', 1)");
    std::fs::write(format!("{}.toml", db.display()), "server = \"http://127.0.0.1:9\"\n").unwrap();
    std::fs::create_dir(format!("{}.key", db.display())).unwrap();
    let mut screen = hearth(&db, (120, 30));
    screen.wait_for_text("Changes stay here for now; S says why and what to do.");
    screen.wait_for_text("! no key to sync with");
    screen.type_keys("S");
    screen.wait_for_text("replica.db.key: Is a directory");
    screen.wait_for_text(&format!("hearth-replica --db {} init with", db.display()));
    screen.type_keys("\x1b");
    screen.wait_until_gone("Verified");
    screen.type_keys("2");
    screen.wait_for_text("Bleed radiators");
    screen.type_keys("x");
    screen.wait_for_text("1 waiting");
    screen.type_keys("q");
    assert!(screen.wait_for_exit());
    assert!(
        !String::from_utf8_lossy(&screen.output()).contains("hearth: "),
        "the program writes no message beside the screen"
    );

    // A home without a key shows the missing key, too.
    std::fs::remove_dir(format!("{}.key", db.display())).unwrap();
    let mut screen = hearth(&db, (120, 30));
    screen.wait_for_text("! no key to sync with");
    screen.type_keys("S");
    screen.wait_for_text("there is no key for http://127.0.0.1:9");
    screen.type_keys("\x1b");
    screen.wait_until_gone("Verified");
    screen.type_keys("q");
    assert!(screen.wait_for_exit());
}

#[test]
fn home_is_named_by_option_or_environment() {
    let directory = tempfile::tempdir().unwrap();
    let settings = |key: &str| format!("[keys]\nquit = \"{key}\"\n");
    std::fs::write(profiles(directory.path()).join("two.tui.toml"), settings("Q")).unwrap();
    let db = directory.path().join("three.db");
    std::fs::write(format!("{}.toml", db.display()), "").unwrap();
    std::fs::write(format!("{}.tui.toml", db.display()), settings("Z")).unwrap();
    let db = db.to_str().unwrap();
    for (arguments, profile, key) in [
        (&["keys"][..], "home", "q"),
        (&["keys", "--profile", "two"], "home", "Q"),
        (&["--profile", "two", "keys"], "home", "Q"),
        (&["keys"], "two", "Q"),
        (&["keys", "--profile", "home"], "two", "q"),
        (&["--db", db, "keys"], "home", "Z"),
        (&["keys", "--db", db], "two", "Z"),
    ] {
        let output = hearth_tests::process::command("hearth", arguments)
            .env("HOME", directory.path())
            .env("HEARTH_PROFILE", profile)
            .env_remove("XDG_CONFIG_HOME")
            .output()
            .unwrap();
        let (table, text) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let quit = table.lines().find_map(|line| line.strip_prefix("quit ")).map(str::trim_start);
        assert!(quit.is_some_and(|quit| quit.starts_with(&format!("{key} "))), "{arguments:?}: {quit:?} {text}");
    }
    let demo = hearth_tests::process::run("hearth", &["demo", "--plain", "--db", db]);
    let text = String::from_utf8_lossy(&demo.stderr);
    assert!(demo.status.code() == Some(2) && text.contains("the demo has a database of its own"), "{text}");
}

#[test]
fn no_color_removes_colours() {
    let (_directory, db) = home("INSERT INTO tasks (title, due_on, rev) VALUES ('Late', '2020-01-01', 1)");
    let arguments = ["--db", db.to_str().unwrap()];
    let coloured = |environment: &[(&str, &str)]| {
        let screen = Terminal::start_with("hearth", &arguments, db.parent().unwrap(), (80, 24), environment);
        screen.wait_for_text("Late");
        screen.with_screen(|screen| {
            let cells = (0..24).flat_map(|row| (0..80).filter_map(move |column| screen.cell(row, column)));
            cells
                .filter(|cell| cell.fgcolor() != vt100::Color::Default || cell.bgcolor() != vt100::Color::Default)
                .count()
        })
    };
    assert!(coloured(&[]) > 0);
    assert_eq!(coloured(&[("NO_COLOR", "1")]), 0);
}

#[test]
fn late_change_counts_for_local_day() {
    // 23:30 in a zone twelve hours behind UTC is 11:30 UTC of the next day.
    let late = "strftime('%Y-%m-%dT%H:%M:%fZ', date('now', '-12 hours'), '+35 hours', '+30 minutes')";
    let (directory, db) =
        home(&format!("INSERT INTO tasks (title, updated_at, rev) VALUES ('Bleed radiators', {late}, 1)"));
    let arguments = ["--db", db.to_str().unwrap()];
    let screen = Terminal::start_with("hearth", &arguments, directory.path(), (80, 24), &[("TZ", "AAA12")]);
    screen.wait_for_text(&format!("Changed in 30 days{:>12}", 1));
}

#[test]
fn documented_key_table_matches_program() {
    let directory = tempfile::tempdir().unwrap();
    let output = hearth_tests::process::command("hearth", &["keys"]).env("HOME", directory.path()).output().unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/terminal.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, _) = text.split_once("<!-- keys: `hearth keys` -->").unwrap();
    let expected = format!("{before}<!-- keys: `hearth keys` -->\n```text\n{table}```\n");
    if text != expected {
        std::fs::write(&path, expected).unwrap();
        panic!("docs/terminal.md was stale and is written anew; commit it");
    }
}
