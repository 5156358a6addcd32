//! Citations of the API contract: each `contract N.M` in the tree names a section of `docs/contract.md`.
//! Must not know what a section says.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// File name endings of texts that cite the contract.
const CITING: [&str; 8] = ["rs", "sql", "md", "toml", "sh", "mjs", "py", "service"];
/// Directories of build results and tools; the tree does not keep them.
const SKIPPED: [&str; 3] = ["target", ".git", "node_modules"];
/// Marks that begin a line of a comment. A citation may continue after one on the next line.
const COMMENT_MARKS: [&str; 7] = ["///", "//!", "//", "#", "--", "*", "\\"];
/// The word that a citation begins with.
const WORD: &str = "contract";

/// One cited section: the line where its number stands, counted from 1, and the number, such as `9.3`.
#[derive(Debug, PartialEq, Eq)]
struct Citation {
    line: usize,
    section: String,
}

/// All citations in a text. A list (`6.5, 9.4, 12` or `3 and 12`) cites each of its sections.
fn citations(text: &str) -> Vec<Citation> {
    let words: Vec<(usize, &str)> = text
        .lines()
        .enumerate()
        .flat_map(|(index, line)| {
            let mut words = line.split_whitespace().peekable();
            words.next_if(|word| COMMENT_MARKS.contains(word));
            words.map(move |word| (index + 1, word))
        })
        .collect();
    let mut found = Vec::new();
    for (at, (_, word)) in words.iter().enumerate() {
        if word.trim_start_matches(['(', '`', '"', '[']) != WORD {
            continue;
        }
        let mut rest = words[at + 1..].iter();
        while let Some((line, word)) = rest.next() {
            let Some(section) = section_number(word) else { break };
            found.push(Citation { line: *line, section: section.to_owned() });
            let joins = word.ends_with(',') || rest.as_slice().first().is_some_and(|(_, word)| *word == "and");
            if !joins {
                break;
            }
            if !word.ends_with(',') {
                rest.next();
            }
        }
    }
    found
}

/// The section number at the start of a word: digits, perhaps a dot and digits, then punctuation only.
fn section_number(word: &str) -> Option<&str> {
    let number = word.trim_end_matches(|c: char| !c.is_ascii_digit());
    let is_count = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_section = match number.split_once('.') {
        Some((section, part)) => is_count(section) && is_count(part),
        None => is_count(number),
    };
    let is_alone = !word[number.len()..].contains(char::is_alphanumeric);
    (is_section && is_alone).then_some(number)
}

/// The numbers of a page's headings: `9` of `## 9 Change feed`, `9.3` of `### 9.3 Cursors and 410`.
fn sections(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter(|line| line.starts_with("## ") || line.starts_with("### "));
    headings.filter_map(|line| section_number(line.split_whitespace().nth(1)?)).map(str::to_owned).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

fn contract_sections() -> BTreeSet<String> {
    sections(&fs::read_to_string(root().join("docs/contract.md")).expect("docs/contract.md"))
}

/// The tree's texts that may cite the contract: path from the root, and content.
fn texts() -> Vec<(String, String)> {
    let (mut found, mut open) = (Vec::new(), vec![root()]);
    while let Some(path) = open.pop() {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() {
            if !SKIPPED.contains(&name.as_str()) {
                open.extend(fs::read_dir(&path).expect("a directory").map(|entry| entry.expect("an entry").path()));
            }
        } else if path.extension().is_some_and(|end| CITING.iter().any(|citing| end == *citing)) {
            let name = path.strip_prefix(root()).expect("inside").to_string_lossy().into_owned();
            found.push((name, fs::read_to_string(&path).expect("UTF-8")));
        }
    }
    found
}

#[test]
fn citations_are_found_in_comments() {
    // `§` stands for the word, so that this table cites nothing.
    for (text, expected) in [
        ("/// Sent once (§ 9.3).", &[(1, "9.3")][..]),
        ("// (§ 6.5, 9.4, 12)", &[(1, "6.5"), (1, "9.4"), (1, "12")]),
        ("-- § 3 and 12: why", &[(1, "3"), (1, "12")]),
        ("crc = 1 # the checksum (§ 11)", &[(1, "11")]),
        ("see `§ 9.3` and § 2.", &[(1, "9.3"), (1, "2")]),
        ("/// has another (§\n/// 3) here", &[(2, "3")]),
        ("//! a list (§ 6.2,\n//! 10)", &[(1, "6.2"), (2, "10")]),
        ("§ 9.1 allows 1000 events", &[(1, "9.1")]),
        ("the §'s 3 rules, a § of 3, § 3rd, hearth-§ 1", &[]),
    ] {
        let found = citations(&text.replace('§', WORD));
        let found: Vec<(usize, &str)> = found.iter().map(|found| (found.line, &*found.section)).collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn headings_give_section_numbers() {
    let page = "# Page 7\n## 9 Change feed\n### 9.3 Cursors and 410\n## Words\n#### 9.4 Too deep\ntext\n";
    assert_eq!(sections(page), BTreeSet::from(["9".to_owned(), "9.3".to_owned()]));
}

#[test]
fn citations_name_existing_sections() {
    let sections = contract_sections();
    let mut count = 0;
    let mut wrong = Vec::new();
    for (file, text) in texts() {
        for Citation { line, section } in citations(&text) {
            count += 1;
            if !sections.contains(&section) {
                wrong.push(format!("{file}:{line} cites {WORD} {section}"));
            }
        }
    }
    assert!(wrong.is_empty(), "docs/contract.md has no such section:\n{}", wrong.join("\n"));
    assert!(count >= 100, "only {count} citations found: does the extraction still work?");
}

#[test]
fn contract_table_names_existing_sections() {
    let sections = contract_sections();
    let table = fs::read_to_string(root().join("tests/suites/http/contract.md")).expect("the table");
    for (index, line) in table.lines().enumerate() {
        let cell = line.split('|').nth(1).map(str::trim).unwrap_or_default();
        if let Some(section) = section_number(cell) {
            assert!(sections.contains(section), "tests/suites/http/contract.md:{}: no section {section}", index + 1);
        }
    }
}
