//! Walks the table of states at the head of a machine's file: each state with each input that the table names. A row tells what
//! changes; without a row, the state stays and no action follows. Only for tests.

use std::collections::BTreeSet;

use super::action::Action;
use super::backoff::Backoff;
use super::clock::Millis;
use super::turn::Turn;

/// When the inputs arrive. The states were reached at 0.
const NOW: Millis = 1;

/// Gives each input to each state. `source`: the text of the machine's file. `make` makes a machine in a state, `give` gives an
/// input to the machine, and `state_of` names the machine's state.
pub(super) fn walk<M>(
    source: &'static str,
    make: impl Fn(&str) -> M,
    give: impl Fn(&mut M, &mut Turn, &str),
    state_of: impl Fn(&M, Millis) -> &'static str,
) {
    let rows = rows(source);
    let inputs: BTreeSet<&str> = rows.iter().map(|row| row[1]).collect();
    let states: BTreeSet<&str> = rows.iter().flat_map(|row| row[0].split(", ")).filter(|name| *name != "any").collect();
    let mut faults = Vec::new();
    let mut walked = BTreeSet::new();
    for state in states {
        for input in &inputs {
            let mut machine = make(state);
            assert_eq!(state_of(&machine, NOW), state, "the state as made");
            let mut turn = Turn::new(NOW, Backoff::new(7));
            give(&mut machine, &mut turn, input);
            let is_of = |from: &str| {
                rows.iter().position(|row| row[1] == *input && row[0].split(", ").any(|name| name == from))
            };
            let row = is_of(state).or_else(|| is_of("any"));
            walked.extend(row);
            let (next, results) = row.map_or(("same", "-"), |index| (rows[index][2], rows[index][3]));
            let expected = (if next == "same" { state } else { next }, results.to_owned());
            let found = (state_of(&machine, turn.now), results_of(&turn));
            if found != expected {
                faults.push(format!("{state}, {input}: {found:?}, and not {expected:?}"));
            }
        }
    }
    let unwalked = rows.iter().enumerate().filter(|(index, _)| !walked.contains(index));
    faults.extend(unwalked.map(|(_, row)| format!("never walked: {}", row.join(", "))));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The rows of the table: states, input, next state, actions.
fn rows(source: &'static str) -> Vec<[&'static str; 4]> {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!").map(str::trim));
    let table = lines.skip_while(|line| !line.starts_with("state  ")).skip(1).take_while(|line| *line != "```");
    let columns = |line: &'static str| line.split("  ").map(str::trim).filter(|text| !text.is_empty());
    table.map(|line| columns(line).collect::<Vec<_>>().try_into().expect("four columns")).collect()
}

/// The names of actions and facts, as the table writes them.
fn results_of(turn: &Turn) -> String {
    let name = |text: String| text.chars().take_while(char::is_ascii_alphanumeric).collect::<String>();
    let action = |action: &Action| match action {
        Action::Request(request) => name(format!("{request:?}")),
        Action::SaveOutcomes { outcomes } => {
            outcomes.iter().map(|(_, outcome)| "save ".to_owned() + &name(format!("{outcome:?}"))).collect()
        }
        action => name(format!("{action:?}")),
    };
    let facts = turn.facts.iter().map(|fact| "tell ".to_owned() + &name(format!("{fact:?}")));
    let all: Vec<String> = turn.actions.iter().map(action).chain(facts).collect();
    if all.is_empty() { "-".to_owned() } else { all.join(", ") }
}
