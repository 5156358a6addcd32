//! The terminal UI on a terminal, as a person drives it: the real program, real keys, and what is then to be seen.

use std::path::{Path, PathBuf};

use hearth_replica::{Origin, Replica};
use hearth_tests::terminal::Terminal;
use rusqlite::Connection;

/// A replica in a directory, with what these statements make. They pass the gate as the sync does: what comes from a server is
/// not looked at twice, and a server may be a stranger's.
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
fn nothing_in_the_data_commands_the_terminal() {
    let title = "'evil ' || char(27) || ']0;pwned' || char(7) || char(27) || '[?1049l' || char(155) || '2J' || char(8238) || 'x'";
    let (_directory, db) = home(&format!(
        "INSERT INTO tasks (title, notes, due_on, rev) VALUES ({title}, {title} || char(10) || {title}, date('now'), 1);
         INSERT INTO rooms (name, rev) VALUES ({title}, 2)"
    ));
    let mut screen = hearth(&db, (80, 24));
    screen.shows("evil");
    for (keys, words) in
        [("2", "1 task"), ("\r", "Notes"), ("\x1b", "1 task"), ("e", "Change the task"), ("\x1b", "1 task")]
    {
        screen.types(keys);
        screen.shows(words);
    }
    screen.types("4");
    screen.shows("1 room");
    screen.types("/evil");
    screen.shows("Search");
    screen.types("\x1b");
    screen.shows("1 room");
    screen.types("d");
    screen.shows("Delete the room");
    let raw = String::from_utf8_lossy(&screen.raw()).into_owned();
    for bad in ["\x1b]0;", "pwned\x07", "\u{9b}", "\u{202e}", "\x07"] {
        assert!(!raw.contains(bad), "{bad:?} reached the terminal");
    }
    // Ours is the only one that leaves the screen, and that comes at the end.
    assert!(!raw.contains("\x1b[?1049l"));
    screen.types("n");
    screen.types("q");
    assert!(screen.ends());
}

#[test]
fn an_evening_without_a_network() {
    let (_directory, db) =
        home("INSERT INTO rooms (id, name, rev) VALUES ('0190a3b0-0000-7000-8000-000000000001', 'Garage', 1)");
    let mut screen = hearth(&db, (100, 30));
    screen.shows("a adds a task in one line");
    for number in 1..=20 {
        screen.types("a");
        screen.shows("New task");
        screen.types(&format!("Errand {number} !high due:tomorrow @garage"));
        screen.shows("about Garage");
        screen.types("\r");
        screen.shows_no_longer("such as");
        screen.shows(&format!("New task: Errand {number}"));
    }
    assert_eq!(count(&db, "tasks WHERE priority = 'high' AND due_on > date('now') AND subject_type = 'room'"), 20);
    assert_eq!(count(&db, "edits WHERE state = 'waiting'"), 20);
    screen.types("2");
    screen.shows("20 tasks");
    // A bulk change of three, and a mistake undone.
    screen.types("f");
    screen.types("Errand 1");
    screen.shows("11 of 20 tasks");
    screen.types("\r   ");
    screen.shows("3 marked");
    screen.types("x");
    screen.shows("Done: 3 tasks");
    assert_eq!(count(&db, "tasks WHERE status = 'done'"), 3);
    screen.types("u");
    screen.shows("Undone: 3 tasks");
    assert_eq!(count(&db, "tasks WHERE status = 'done'"), 0);
    screen.types("U");
    screen.shows("Done again: 3 tasks");
    assert_eq!(count(&db, "tasks WHERE status = 'done'"), 3);
    screen.types("q");
    assert!(screen.ends());
}

#[test]
fn what_was_typed_survives_a_crash_and_the_session_is_found_again() {
    let (_directory, db) = home("INSERT INTO tasks (title, rev) VALUES ('Bleed radiators', 1)");
    let mut screen = hearth(&db, (80, 24));
    screen.shows("1 Home");
    screen.types("2");
    screen.shows("by due day");
    screen.types("ssr");
    screen.shows("by priority");
    screen.types("n");
    screen.shows("New task");
    screen.types("Half a thought");
    screen.shows("Half a thought");
    let session = PathBuf::from(format!("{}.session", db.display()));
    hearth_tests::process::wait_until("the draft is kept", || {
        std::fs::read_to_string(&session).is_ok_and(|text| text.contains("Half a thought"))
    });
    // What one process has open is no matter of another.
    let mut second = hearth(&db, (80, 24));
    second.shows("by priority");
    assert!(!second.text().contains("Half a thought"), "{}", second.text());
    second.types("q");
    assert!(second.ends());
    screen.kill();
    let mut screen = hearth(&db, (80, 24));
    screen.shows("Half a thought");
    screen.shows("not saved last time");
    screen.types("\x13");
    screen.shows("by priority");
    screen.shows("Half a thought");
    assert_eq!(count(&db, "tasks WHERE title = 'Half a thought'"), 1);
    screen.types("q");
    assert!(screen.ends());
}

#[test]
fn a_ctrl_c_in_the_editor_is_the_editors() {
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
    screen.shows("1 Home");
    screen.types("2");
    screen.shows("1 task");
    screen.types("e");
    screen.shows("Change the task");
    screen.types("\t\t\t\x0f");
    screen.shows("editing");
    screen.types("\x03");
    screen.shows("interrupted");
    screen.types("\r");
    screen.shows("All the same");
    assert_eq!(std::fs::read_dir(&private).unwrap().count(), 0, "notes may be private");
    screen.types("\x03");
    assert!(screen.ends());
}

#[test]
fn a_program_that_was_stopped_from_outside_takes_the_terminal_again() {
    let (directory, db) = home("INSERT INTO tasks (title, rev) VALUES ('Bleed radiators', 1)");
    let mut screen = Terminal::start("hearth", &["--db", db.to_str().unwrap()], directory.path(), (80, 24));
    screen.shows("1 Home");
    signal(&screen, "-STOP");
    screen.is_the_shells();
    signal(&screen, "-CONT");
    // A shell's line would not come before enter.
    screen.types("2");
    screen.shows("1 task");
    screen.types("q");
    assert!(screen.ends());
}

#[test]
fn after_a_signal_too_a_ctrl_c_stops_what_is_still_being_written() {
    let (_directory, db) = home(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 12)
         INSERT INTO tasks (title, rev) SELECT 'Errand ' || i, i FROM n",
    );
    let mut screen = hearth(&db, (80, 24));
    screen.shows("1 Home");
    screen.types("2");
    screen.shows("12 tasks");
    screen.types("*");
    screen.shows("12 marked");
    // Each of the twelve waits seconds for somebody else's transaction.
    let other = Connection::open(&db).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    screen.types("x");
    screen.types("?");
    screen.shows("What to do in a list");
    signal(&screen, "-TERM");
    screen.shows("ctrl-c stops it where it is");
    // The second one of a system that stops is no reason to throw away what is still being written.
    signal(&screen, "-TERM");
    screen.types("\x03");
    assert!(!screen.ends());
    assert!(!screen.text().contains("not done"), "{}", screen.text());
}

#[test]
fn any_size_is_drawn_and_the_terminal_comes_back() {
    let (_directory, db) = home("INSERT INTO tasks (title, due_on, rev) VALUES ('Bleed radiators', date('now'), 1)");
    let mut screen = hearth(&db, (80, 24));
    screen.shows("Bleed radiators");
    for (columns, lines, words) in [
        (20, 5, "Bleed"),
        (300, 100, "Bleed radiators"),
        (12, 4, "12x4"),
        (50, 15, "Bleed radiators"),
        (1, 1, ""),
        (110, 8, "Bleed"),
    ] {
        screen.resize(columns, lines);
        screen.shows(words);
    }
    // What a key brings is waited for before the next: an escape and a letter that are read at once are another key. A frame
    // that was on its way for an earlier size may show what is beside a window, so the window must be gone as well.
    let mut window = "nothing was opened yet";
    for (key, words) in [
        ("2", "by due day"),
        ("?", "What to do in a list"),
        ("\x1b", "by due day"),
        ("n", "New task"),
        ("\x1b", "by due day"),
        ("S", "Waiting to be sent"),
        ("\x1b", "by due day"),
        ("w", "Nothing waits"),
        ("\x1b", "by due day"),
    ] {
        screen.resize(80, 24);
        screen.types(key);
        let closes = key == "\x1b";
        screen.waits(words, |text| text.contains(words) && !(closes && text.contains(window)));
        window = words;
        for (columns, lines) in [(33, 9), (140, 12), (20, 5)] {
            screen.resize(columns, lines);
        }
    }
    screen.resize(80, 24);
    screen.shows("1 task");
    assert!(screen.look(vt100_alternate));
    screen.types("q");
    assert!(screen.ends());
    assert!(!screen.look(vt100_alternate), "the shell's own screen is back");
}

fn vt100_alternate(screen: &vt100::Screen) -> bool {
    screen.alternate_screen()
}

#[test]
fn a_first_run_explains_itself_and_begins() {
    let directory = tempfile::tempdir().unwrap();
    let mut screen = Terminal::start("hearth", &[], directory.path(), (80, 24));
    screen.shows("No home is set up on this machine yet.");
    screen.types("2");
    screen.shows("API key");
    screen.types("\r");
    screen.types("nonsense\r");
    screen.shows("This is no API key");
    screen.types("\x1b");
    screen.shows("Begin without a server");
    screen.types("3");
    screen.shows("This home is empty so far.");
    screen.shows("not connected");
    screen.types("q");
    assert!(screen.ends());
}

#[test]
fn a_first_run_gives_the_terminal_back_when_it_is_told_to_end_and_takes_it_again_when_it_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let mut screen = Terminal::start("hearth", &[], directory.path(), (80, 24));
    screen.shows("No home is set up on this machine yet.");
    signal(&screen, "-STOP");
    screen.is_the_shells();
    signal(&screen, "-CONT");
    // A shell's line would not come before enter.
    screen.types("2");
    screen.shows("API key");
    for name in ["-TERM", "-HUP"] {
        let mut screen = Terminal::start("hearth", &[], directory.path(), (80, 24));
        screen.shows("No home is set up on this machine yet.");
        screen.types("2");
        screen.shows("API key");
        signal(&screen, name);
        assert!(screen.ends(), "{name}");
        assert!(!screen.look(vt100_alternate), "{name}: the shell's own screen is back");
    }
}

#[test]
fn settings_with_a_mistake_are_refused_before_the_screen_is_taken() {
    let (_directory, db) = home("SELECT 1");
    std::fs::write(format!("{}.toml", db.display()), "").unwrap();
    std::fs::write(format!("{}.tui.toml", db.display()), "[keys]\ndoen = \"D\"\n").unwrap();
    let mut screen = hearth(&db, (120, 24));
    screen.shows("\"doen\" is no action; the nearest is \"done\"");
    assert!(!screen.ends());
    std::fs::write(format!("{}.tui.toml", db.display()), "[keys]\nquit = \"Q\"\n").unwrap();
    let mut screen = hearth(&db, (120, 24));
    screen.shows("Q quit");
    screen.types("Q");
    assert!(screen.ends());
}

/// The directory of the profiles on a machine whose home directory this is.
fn profiles(home: &Path) -> PathBuf {
    let profiles = home.join(".config/hearth/profiles");
    std::fs::create_dir_all(&profiles).unwrap();
    profiles
}

#[test]
fn a_database_that_is_not_there_is_asked_about_whatever_server_the_profile_has() {
    let directory = tempfile::tempdir().unwrap();
    let profiles = profiles(directory.path());
    std::fs::write(profiles.join("home.toml"), "server = \"http://127.0.0.1:9\"\n").unwrap();
    std::fs::write(profiles.join("home.key"), "svc_test_x\n").unwrap();
    let db = directory.path().join("elsewhere.db");
    let mut screen = hearth(&db, (160, 24));
    screen.shows("There is no database at");
    screen.shows("http://127.0.0.1:9");
    screen.types("n\r");
    assert!(!screen.ends());
    assert!(!db.exists());
    let unseen = hearth_tests::process::command("hearth", &["--db", db.to_str().unwrap()])
        .env("HOME", directory.path())
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&unseen.stderr).into_owned();
    assert!(said.contains("there is no database at"), "{said}");
    let mut screen = hearth(&db, (160, 24));
    screen.shows("There is no database at");
    screen.types("y\r");
    screen.shows("q quit");
    screen.types("q");
    assert!(screen.ends());
    assert!(db.exists());
}

#[test]
fn a_key_that_cannot_be_read_is_told_on_the_screen_and_what_is_here_can_be_changed() {
    let (_directory, db) = home("INSERT INTO tasks (title, rev) VALUES ('Bleed radiators', 1)");
    std::fs::write(format!("{}.toml", db.display()), "server = \"http://127.0.0.1:9\"\n").unwrap();
    std::fs::create_dir(format!("{}.key", db.display())).unwrap();
    let mut screen = hearth(&db, (120, 30));
    screen.shows("Changes stay here for now; S says why and what to do.");
    screen.shows("! no key to sync with");
    screen.types("S");
    screen.shows("replica.db.key: Is a directory");
    screen.shows(&format!("hearth-replica --db {} init with", db.display()));
    screen.types("\x1b");
    screen.shows_no_longer("Verified");
    screen.types("2");
    screen.shows("Bleed radiators");
    screen.types("x");
    screen.shows("1 waiting");
    screen.types("q");
    assert!(screen.ends());
    assert!(!String::from_utf8_lossy(&screen.raw()).contains("hearth: "), "nothing is said beside the screen");

    // Nor does a home whose key was never set stay out of step in silence.
    std::fs::remove_dir(format!("{}.key", db.display())).unwrap();
    let mut screen = hearth(&db, (120, 30));
    screen.shows("! no key to sync with");
    screen.types("S");
    screen.shows("there is no key for http://127.0.0.1:9");
    screen.types("\x1b");
    screen.shows_no_longer("Verified");
    screen.types("q");
    assert!(screen.ends());
}

#[test]
fn a_home_can_be_named_before_a_command_after_it_and_in_the_environment() {
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
        let (table, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let quit = table.lines().find_map(|line| line.strip_prefix("quit ")).map(str::trim_start);
        assert!(quit.is_some_and(|quit| quit.starts_with(&format!("{key} "))), "{arguments:?}: {quit:?} {said}");
    }
    let demo = hearth_tests::process::run("hearth", &["demo", "--plain", "--db", db]);
    let said = String::from_utf8_lossy(&demo.stderr);
    assert!(demo.status.code() == Some(2) && said.contains("the demo has a database of its own"), "{said}");
}

#[test]
fn colours_are_left_out_where_they_are_not_wanted() {
    let (_directory, db) = home("INSERT INTO tasks (title, due_on, rev) VALUES ('Late', '2020-01-01', 1)");
    let arguments = ["--db", db.to_str().unwrap()];
    let coloured = |environment: &[(&str, &str)]| {
        let screen = Terminal::start_with("hearth", &arguments, db.parent().unwrap(), (80, 24), environment);
        screen.shows("Late");
        screen.look(|screen| {
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
fn what_changed_late_in_the_evening_counts_for_that_day() {
    // Half past eleven, twelve hours behind UTC, where it is noon of the next day.
    let late = "strftime('%Y-%m-%dT%H:%M:%fZ', date('now', '-12 hours'), '+35 hours', '+30 minutes')";
    let (directory, db) =
        home(&format!("INSERT INTO tasks (title, updated_at, rev) VALUES ('Bleed radiators', {late}, 1)"));
    let arguments = ["--db", db.to_str().unwrap()];
    let screen = Terminal::start_with("hearth", &arguments, directory.path(), (80, 24), &[("TZ", "AAA12")]);
    screen.shows(&format!("Changed in 30 days{:>12}", 1));
}

#[test]
fn the_table_of_keys_in_the_documentation_is_the_programs_own() {
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
