//! The property test of the sync: after any sequence of edits, events, lost answers, restarts, trims and restores, the
//! invariants of `docs/architecture.md` hold. The engine with its three machines and the store run on a real database
//! against a server in memory. Operations are values, so a failing sequence is made shorter by the library.

mod effects;
mod invariants;
mod server;
mod world;

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use self::invariants::{check_end, check_questions, check_step};
use self::world::{Fate, World};

/// Sequences per run. A run in a debug build takes less than 20 s.
const CASES: u32 = 64;
/// The seed of the random sequences. It is fixed, so each run of one version tries the same sequences.
const SEED: u64 = 1;
/// Operations of one sequence, at most.
const OPERATIONS_MAX: usize = 40;

/// One step of a sequence. A row is chosen by an index into the rows at that moment.
#[derive(Debug, Clone)]
enum Operation {
    Create { item: bool },
    Patch { row: usize, second: bool },
    Refer { item: usize },
    Delete { row: usize },
    Undo,
    Decide { mine: bool },
    ByAnother { row: usize, write: Write },
    RefuseNext,
    Deliver { fate: Fate },
    Feed { events: usize },
    // The server answers a request, and the answer is still on the way.
    Serve { request: usize },
    // The stream brings this many events once more.
    Repeat { events: i64 },
    CutStream,
    Tick,
    Restart,
    Trim,
    ForgetKeys,
    // `tells_fork`: the server knows the last position that both histories share.
    Restore { back: i64, tells_fork: bool },
    // The process ends, `rebuild` reads the database again, and another process starts. `damaged`: a page of a typed table is
    // overwritten before.
    Rebuild { damaged: bool },
    // Everything arrives, until the replica is at the head. A reconcile ends, which single steps seldom reach.
    CatchUp,
}

/// A write of another client to the server. A kind has two fields that change.
#[derive(Debug, Clone, Copy)]
enum Write {
    Create,
    FirstField,
    SecondField,
    Delete,
}

fn operation() -> impl Strategy<Value = Operation> {
    let fate = prop_oneof![
        6 => Just(Fate::Answered), 1 => Just(Fate::LostBefore), 2 => Just(Fate::LostAfter), 1 => Just(Fate::Unavailable),
    ];
    let write = prop_oneof![
        1 => Just(Write::Create), 1 => Just(Write::FirstField), 2 => Just(Write::SecondField), 1 => Just(Write::Delete),
    ];
    prop_oneof![
        3 => any::<bool>().prop_map(|item| Operation::Create { item }),
        6 => (0..4_usize, any::<bool>()).prop_map(|(row, second)| Operation::Patch { row, second }),
        2 => (0..3_usize).prop_map(|item| Operation::Refer { item }),
        2 => (0..4_usize).prop_map(|row| Operation::Delete { row }),
        1 => Just(Operation::Undo),
        2 => any::<bool>().prop_map(|mine| Operation::Decide { mine }),
        5 => (0..4_usize, write).prop_map(|(row, write)| Operation::ByAnother { row, write }),
        1 => Just(Operation::RefuseNext),
        14 => fate.prop_map(|fate| Operation::Deliver { fate }),
        10 => (1..4_usize).prop_map(|events| Operation::Feed { events }),
        4 => (0..3_usize).prop_map(|request| Operation::Serve { request }),
        2 => (1..4_i64).prop_map(|events| Operation::Repeat { events }),
        1 => Just(Operation::CutStream),
        4 => Just(Operation::Tick),
        2 => Just(Operation::Restart),
        1 => Just(Operation::Trim),
        1 => Just(Operation::ForgetKeys),
        4 => (1..4_i64, any::<bool>()).prop_map(|(back, tells_fork)| Operation::Restore { back, tells_fork }),
        1 => any::<bool>().prop_map(|damaged| Operation::Rebuild { damaged }),
        2 => Just(Operation::CatchUp),
    ]
}

/// Few kinds of steps, so that restores meet edits of one record that are sent, confirmed and overwritten.
fn operation_with_restores() -> impl Strategy<Value = Operation> {
    prop_oneof![
        1 => any::<bool>().prop_map(|item| Operation::Create { item }),
        8 => (0..2_usize, any::<bool>()).prop_map(|(row, second)| Operation::Patch { row, second }),
        1 => (0..3_usize).prop_map(|row| Operation::Delete { row }),
        1 => any::<bool>().prop_map(|mine| Operation::Decide { mine }),
        1 => (0..2_usize).prop_map(|row| Operation::ByAnother { row, write: Write::FirstField }),
        14 => Just(Operation::Deliver { fate: Fate::Answered }),
        6 => (1..3_usize).prop_map(|events| Operation::Feed { events }),
        1 => Just(Operation::Tick),
        3 => (1..4_i64, any::<bool>()).prop_map(|(back, tells_fork)| Operation::Restore { back, tells_fork }),
        1 => any::<bool>().prop_map(|damaged| Operation::Rebuild { damaged }),
        3 => Just(Operation::CatchUp),
    ]
}

fn run(operations: &[Operation]) -> Result<(), String> {
    let (mut world, mut seen) = (World::new(), BTreeSet::new());
    world.settle(check_questions)?;
    for operation in operations {
        world.perform(operation);
        check_step(&world, &mut seen)?;
    }
    world.settle(check_questions)?;
    check_step(&world, &mut seen)?;
    check_end(&world)
}

/// The same sequences in each run. The variable PROPTEST_CASES asks for that many new sequences.
fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_some() {
        return config;
    }
    ProptestConfig { cases: CASES, rng_seed: RngSeed::Fixed(SEED), ..config }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_sequence_keeps_the_invariants(operations in prop::collection::vec(operation(), 1..OPERATIONS_MAX)) {
        run(&operations).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn any_restores_keep_the_invariants(
        operations in prop::collection::vec(operation_with_restores(), 1..OPERATIONS_MAX)
    ) {
        run(&operations).map_err(TestCaseError::fail)?;
    }
}

/// Sequences that random ones seldom contain.
#[test]
fn known_sequences_keep_the_invariants() {
    let answered = || Operation::Deliver { fate: Fate::Answered };
    let create = || Operation::Create { item: false };
    let patch = || Operation::Patch { row: 0, second: false };
    let theirs = || Operation::ByAnother { row: 0, write: Write::FirstField };
    let delete = || Operation::Delete { row: 2 };
    let feed = || Operation::Feed { events: 1 };
    let restore = |back, tells_fork| Operation::Restore { back, tells_fork };
    let (tick, cut, catch_up) = (|| Operation::Tick, || Operation::CutStream, || Operation::CatchUp);
    for (what, operations) in [
        (
            "an edit gets 412 because another client changed the record; a restore whose fork the server does not tell \
             takes that change back, and the edit must still be sent",
            vec![
                create(),
                tick(),
                answered(),
                answered(),
                answered(),
                tick(),
                patch(),
                theirs(),
                answered(),
                restore(1, false),
            ],
        ),
        (
            "a restore takes back a create and a delete that the feed has shown; the create must not be offered",
            vec![create(), answered(), feed(), delete(), answered(), feed(), cut(), restore(3, true)],
        ),
        (
            "the same when the feed has shown the create only: the device has deleted the record",
            vec![create(), answered(), delete(), feed(), answered(), cut(), restore(2, true), create()],
        ),
        (
            "a restore that the cursor survives takes back an accepted edit that the feed has not shown, and the server \
             accepts the next edit of the field; the first must not be offered",
            vec![create(), answered(), patch(), answered(), restore(2, false), patch(), theirs(), theirs()],
        ),
        (
            "a restore takes back a record with a confirmed edit whose undo still waits; the create that a person \
             chooses has no field for the null of the undo",
            vec![
                Operation::Patch { row: 2, second: true },
                Operation::Undo,
                Operation::Deliver { fate: Fate::LostAfter },
                feed(),
                restore(2, false),
            ],
        ),
        (
            "a restore that the cursor survives takes back a delete, and the feed has not shown the record yet",
            vec![
                create(),
                Operation::Create { item: true },
                create(),
                answered(),
                answered(),
                create(),
                answered(),
                answered(),
                Operation::Delete { row: 1 },
                answered(),
                restore(1, false),
            ],
        ),
        (
            "a restore that the cursor survives takes back the change for which the reconcile waits",
            vec![
                create(),
                answered(),
                restore(1, false),
                catch_up(),
                restore(1, false),
                answered(),
                answered(),
                answered(),
                answered(),
                theirs(),
                answered(),
                restore(1, false),
            ],
        ),
        (
            "a restore takes back an accepted edit, the database is read again from the beginning, and the last event is \
             another change of the record",
            vec![patch(), answered(), restore(1, false), Operation::Rebuild { damaged: true }],
        ),
    ] {
        run(&operations).unwrap_or_else(|broken| panic!("{what}: {broken}"));
    }
}
