//! Pictures of the terminal UI for the documentation: types keys into the demo on a pseudo-terminal and writes the screen as
//! SVG. Run `cargo run -p hearth-tests --bin pictures` after `cargo build`. Must not draw a screen itself.
#![expect(clippy::print_stdout, reason = "the program lists the written files")]

mod svg;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use hearth_tests::home::{Home, UNLIMITED};
use hearth_tests::process::{run, stdout};
use hearth_tests::terminal::Terminal;
use rusqlite::Connection;

/// A screen that has not changed for this long is drawn to its end.
const STILL: Duration = Duration::from_millis(700);

/// Writes the pictures of the documentation.
#[derive(Parser)]
struct Args {
    /// Directory of the pictures
    #[arg(long, default_value = "docs/screens")]
    out: PathBuf,
}

/// A picture: its name, the terminal's columns and lines, the program's arguments, and steps of keys and expected text.
struct Picture {
    name: &'static str,
    size: (u16, u16),
    arguments: &'static [&'static str],
    steps: &'static [(&'static str, &'static str)],
}

const PICTURES: [Picture; 7] = [
    Picture {
        name: "home",
        size: (140, 34),
        arguments: &["demo", "--theme", "dark"],
        steps: &[("", "Worth by category")],
    },
    Picture {
        name: "tasks",
        size: (104, 28),
        arguments: &["demo", "--theme", "dark"],
        steps: &[("2", "tasks  ·"), ("jj  ", "2 marked")],
    },
    Picture {
        name: "inventory",
        size: (104, 28),
        arguments: &["demo", "--theme", "dark"],
        steps: &[("3", "items"), ("v", "Attic"), ("f", "filter"), ("value>200 category:electronics\r", "of 156 items")],
    },
    Picture {
        name: "quick-add",
        size: (104, 28),
        arguments: &["demo", "--theme", "dark"],
        steps: &[("2", "tasks  ·"), ("a", "New task"), ("Buy filter !high due:fri @gas", "about Gas")],
    },
    Picture {
        name: "search",
        size: (104, 28),
        arguments: &["demo", "--theme", "dark"],
        steps: &[("/", "Search"), ("furn fil", "task")],
    },
    Picture {
        name: "actions",
        size: (104, 28),
        arguments: &["demo", "--theme", "light"],
        steps: &[("2", "tasks  ·"), ("?", "What to do"), ("exp", "a list  exp")],
    },
    Picture { name: "small", size: (50, 15), arguments: &["demo", "--theme", "light"], steps: &[("2", "tasks  ·")] },
];

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    std::fs::create_dir_all(&args.out)?;
    for picture in &PICTURES {
        let path = args.out.join(format!("{}.svg", picture.name));
        take(picture, &path)?;
        println!("{}", path.display());
    }
    let path = args.out.join("conflict.svg");
    conflict(&path)?;
    println!("{}", path.display());
    Ok(())
}

/// The picture of a conflict, which needs a server and two replicas with different changes.
fn conflict(path: &Path) -> anyhow::Result<()> {
    let home = Home::new();
    let (_server, _) = home.serve(&UNLIMITED);
    let key = home.create_key("Lola's phone", "all");
    let (here, there) = (home.create_replica("here.db"), home.create_replica_with_key("there.db", &key));
    let sql = |db: &str, text: &str| Connection::open(db)?.execute_batch(text);
    sql(&here, "INSERT INTO tasks (title, due_on, assignee) VALUES ('Service the boiler', '2026-11-27', 'Nora')")?;
    stdout("hearth-replica", &["--db", &here, "sync"]);
    stdout("hearth-replica", &["--db", &there, "sync"]);
    sql(&here, "UPDATE tasks SET due_on = '2026-12-04', assignee = 'Mateo', estimated_cost = '180'")?;
    sql(&there, "UPDATE tasks SET due_on = '2026-12-11', assignee = 'Lola', estimated_cost = '220'")?;
    stdout("hearth-replica", &["--db", &there, "sync"]);
    // This sync exits with the code of an edit that needs a person.
    run("hearth-replica", &["--db", &here, "sync"]);
    let arguments = ["--db", &here, "--theme", "dark"];
    let directory = home.path("");
    let truecolor = [("COLORTERM", "truecolor")];
    let mut screen = Terminal::start_with("hearth", &arguments, Path::new(&directory), (96, 16), &truecolor);
    screen.wait_for_text("1 needs you");
    let steps = [("w", "in conflict"), ("\r", "Theirs"), ("m", "✓ mine"), ("t", "✓ theirs")];
    save(&mut screen, &steps, path)
}

/// The picture of a screen of the demo.
fn take(picture: &Picture, path: &Path) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let truecolor = [("COLORTERM", "truecolor")];
    let mut screen = Terminal::start_with("hearth", picture.arguments, directory.path(), picture.size, &truecolor);
    screen.wait_for_text("live");
    save(&mut screen, picture.steps, path)
}

/// Types the keys of each step, waits for its text, writes the screen as SVG, and ends the program.
fn save(screen: &mut Terminal, steps: &[(&str, &str)], path: &Path) -> anyhow::Result<()> {
    for (keys, text) in steps {
        screen.type_keys(keys);
        screen.wait_for_text(text);
        screen.wait_until_still(STILL);
    }
    std::fs::write(path, screen.with_screen(svg::draw))?;
    screen.type_keys("\x03");
    screen.wait_for_exit();
    Ok(())
}
