//! Walks the table of states at the head of a machine's file: each state with each input that the table names. A row tells what
//! changes; without a row, the state stays and no action follows. Only for tests.

use std::collections::{BTreeSet, VecDeque};

use super::super::turn::Turn;
use super::super::{Action, Backoff, Millis};

/// When the inputs arrive.
const NOW: Millis = 1;

/// Gives each input to each state. `source`: the text of the machine's file. `base` makes a machine in a state that no row leads
/// to; the other states are reached by the rows. `give` gives an input to the machine, and `state_of` names its state.
pub(in super::super) fn walk<M>(
    source: &'static str,
    base: impl Fn(&str) -> Option<M>,
    give: impl Fn(&mut M, &mut Turn, &str),
    state_of: impl Fn(&M, Millis) -> &'static str,
) {
    let rows = rows(source);
    let inputs: BTreeSet<&str> = rows.iter().map(|row| row[1]).collect();
    let states: BTreeSet<&str> = rows.iter().flat_map(|row| row[0].split(", ")).filter(|name| *name != "any").collect();
    let row_of = |state: &str, input: &str| {
        let is_of =
            |from: &str| rows.iter().position(|row| row[1] == input && row[0].split(", ").any(|name| name == from));
        is_of(state).or_else(|| is_of("any"))
    };
    // Each state, the base, and the inputs that lead from the base to the state.
    let has_base = |state: &&&str| base(state).is_some();
    let mut paths: Vec<(&str, &str, Vec<&str>)> =
        states.iter().filter(has_base).map(|state| (*state, *state, Vec::new())).collect();
    let (mut faults, mut walked) = (Vec::new(), BTreeSet::new());
    let mut index = 0;
    while let Some((state, root, path)) = paths.get(index).cloned() {
        index += 1;
        for input in &inputs {
            let mut machine = base(root).expect("a base");
            let mut turn = Turn::new(NOW, Backoff::new(7));
            path.iter().for_each(|input| give(&mut machine, &mut turn, input));
            (turn.actions, turn.facts) = (Vec::new(), VecDeque::new());
            assert_eq!(state_of(&machine, turn.now), state, "{root}, {path:?}");
            give(&mut machine, &mut turn, input);
            let found = (state_of(&machine, turn.now), results_of(&turn));
            let row = row_of(state, input);
            let (next, results) = row.map_or(("same", "-"), |row| (rows[row][2], rows[row][3]));
            let expected = (if next == "same" { state } else { next }, results.to_owned());
            if found != expected {
                faults.push(format!("{state}, {input}: {found:?}, and not {expected:?}"));
            } else if states.contains(found.0) && paths.iter().all(|(known, ..)| *known != found.0) {
                paths.push((found.0, root, path.iter().copied().chain([*input]).collect()));
            }
            walked.extend(row);
        }
    }
    let unreached = states.iter().filter(|state| paths.iter().all(|(known, ..)| known != *state));
    faults.extend(unreached.map(|state| format!("never reached: {state}")));
    let unwalked = rows.iter().enumerate().filter(|(row, _)| !walked.contains(row));
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
