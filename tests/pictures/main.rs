//! Pictures of the terminal UI, made from the real program: it runs the demo on a terminal, drives it, and writes what is to be
//! seen as SVG. `cargo run -p hearth-tests --bin pictures` (after `cargo build -p hearth`); must not draw anything itself.
#![expect(clippy::print_stdout, reason = "it says what it wrote")]

mod svg;

use std::path::{Path, PathBuf};

use clap::Parser;
use hearth_tests::terminal::Terminal;

/// Writes the pictures of the documentation.
#[derive(Parser)]
struct Args {
    /// Where they go
    #[arg(long, default_value = "docs/screens")]
    out: PathBuf,
}

/// A picture: its name, the size of the terminal, the program's arguments, and on the way there what is typed and then seen.
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
        steps: &[("2", "tasks  ·"), ("a", "New task"), ("Buy filter !high due:fri @gas", "about")],
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
    Ok(())
}

fn take(picture: &Picture, path: &Path) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let truecolor = [("COLORTERM", "truecolor")];
    let mut screen = Terminal::start_with("hearth", picture.arguments, directory.path(), picture.size, &truecolor);
    screen.shows("live");
    for (keys, words) in picture.steps {
        screen.types(keys);
        screen.shows(words);
    }
    std::fs::write(path, screen.look(svg::of))?;
    screen.types("\x03");
    screen.ends();
    Ok(())
}
