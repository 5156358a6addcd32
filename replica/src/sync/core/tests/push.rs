//! Moments of the push: what goes together and when, and what answers mean.

use super::*;
use crate::model::Phase;

/// Edits of one kind.
fn alike(edits: std::ops::Range<i64>) -> Input {
    let one = |edit| Ready { edits: vec![edit], kind: Kind::Task, frozen: false, bytes: 100 };
    Input::Planned { ready: edits.map(one).collect(), open: true }
}

fn refused(edit: i64, refusal: Refusal) -> Input {
    told(edit, Word::Refused(refusal))
}

/// The key does not do for it.
fn turned_away(edit: i64, kind: &str) -> Input {
    Input::Answered { sent: vec![edit], carried: vec![edit], outcome: Outcome::Refused(refusal(403, kind)) }
}

fn no_answer(edits: &[i64]) -> Input {
    let outcome = Outcome::NoAnswer { reason: "cut".into() };
    Input::Answered { sent: edits.to_vec(), carried: edits.to_vec(), outcome }
}

/// How the edits of an answer end.
fn endings(effects: &[Effect]) -> Vec<(i64, Ending)> {
    let endings = |e: &Effect| if let Effect::Record { endings } = e { endings.clone() } else { Vec::new() };
    effects.iter().flat_map(endings).collect()
}

/// An open core with these edits under way.
fn sending(edits: &[i64]) -> Core {
    let mut core = opened(Until::Stopped);
    core.handle(0, Input::EditsChanged);
    core.handle(0, planned(edits, true));
    core
}

#[test]
fn nothing_is_pushed_before_the_cursor_is_accepted() {
    let mut core = started(Until::Stopped);
    let effects = core.handle(0, planned(&[1, 2, 3], true));
    assert!(sent(&effects).is_empty());
    let effects = core.handle(1, Input::StreamOpened);
    assert_eq!(sent(&effects), [1, 2]);
    assert!(sent(&core.handle(1, planned(&[1, 2, 3], true))).is_empty(), "two at a time, and none of them twice");
    assert_eq!(sent(&core.handle(2, accepted(2, 5))), [3]);
}

#[test]
fn a_lost_answer_is_asked_again_when_contact_is_back() {
    let mut core = sending(&[1]);
    core.handle(1, ready(9));
    let effects = core.handle(5, no_answer(&[1]));
    assert!(matches!(endings(&effects)[..], [(1, Ending::Later { .. })]), "{effects:?}");
    let frozen = Ready { edits: vec![1], kind: Kind::Task, frozen: true, bytes: 100 };
    assert!(sent(&core.handle(5, Input::Planned { ready: vec![frozen], open: true })).is_empty());
    core.handle(6, Input::StreamEnded { reason: "cut".into() });
    let at = core.wake_at().unwrap();
    assert!(sent(&core.handle(at, Input::Timer)).is_empty());
    greet(&mut core, at);
    let effects = core.handle(at, Input::StreamOpened);
    assert!(sent(&effects).is_empty(), "whether it may go again depends on what was read since");
    assert!(effects.contains(&Effect::Plan));
    assert_eq!(sent(&core.handle(at, planned(&[1], true))), [1], "at once, whatever the pause was");
}

#[test]
fn a_refused_edit_lets_the_others_go_on() {
    let mut core = sending(&[1, 2, 3]);
    let effects = core.handle(1, refused(1, refusal(422, "validation_failed")));
    assert!(matches!(endings(&effects)[..], [(1, Ending::Rejected { .. })]));
    assert_eq!(sent(&effects), [3]);
}

#[test]
fn only_the_server_knows_that_a_record_was_deleted() {
    let ends = |kind: &str| endings(&sending(&[1]).handle(1, refused(1, refusal(404, kind)))).remove(0).1;
    assert!(matches!(ends("not_found"), Ending::Conflict { gone: true, .. }));
    for of_the_path in ["route_not_found", "not_here", ""] {
        assert!(matches!(ends(of_the_path), Ending::Rejected { .. }), "{of_the_path}");
    }
}

#[test]
fn an_edit_the_server_stumbles_over_does_not_hold_the_others() {
    let mut core = sending(&[1, 2, 3]);
    let effects = core.handle(1, refused(1, refusal(500, "internal_error")));
    assert_eq!(sent(&effects), [3]);
    core.handle(1, accepted(2, 3));
    core.handle(1, planned(&[1, 3], true));
    let effects = core.handle(1, accepted(3, 4));
    assert!(effects.contains(&Effect::Plan), "what waited for these may go");
    core.handle(1, planned(&[1], true));
    let at = core.wake_at().unwrap();
    assert!(at > 1);
    assert_eq!(sent(&core.handle(at, Input::Timer)), [1]);
}

#[test]
fn what_breaks_the_connection_does_not_hold_the_others() {
    let mut core = sending(&[1, 2, 3]);
    core.handle(1, no_answer(&[1]));
    core.handle(1, no_answer(&[2]));
    let at = core.wake_at().unwrap();
    assert_eq!(sent(&core.handle(at, Input::Timer)), [3, 1]);
}

#[test]
fn what_gets_no_answer_time_after_time_waits_alone() {
    let mut core = sending(&[1]);
    let mut now = 1;
    core.handle(now, no_answer(&[1]));
    for others in 0..6 {
        core.handle(now, planned(&[1], true));
        core.handle(now, Input::Contact);
        let mut again = Vec::new();
        while again.is_empty() {
            now = core.wake_at().unwrap();
            again = sent(&core.handle(now, Input::Timer));
        }
        assert_eq!(again, [1]);
        // Meanwhile others come and are answered, and what waits is looked through.
        let other = 2 + others;
        core.handle(now, Input::EditsChanged);
        assert_eq!(sent(&core.handle(now, planned(&[1, other], true))), [other]);
        core.handle(now, no_answer(&[1]));
        core.handle(now, accepted(other, 5));
    }
    core.handle(now, planned(&[1], true));
    core.handle(now, Input::EditsChanged);
    assert_eq!(sent(&core.handle(now, planned(&[1, 10], true))), [10], "another goes at once");
    core.handle(now, accepted(10, 6));
    core.handle(now, planned(&[1], true));
    assert!(core.wake_at().unwrap() > now + BACKOFF_FIRST, "its own pauses grow");
}

/// Goes on to where something is sent.
fn next_sent(core: &mut Core, now: &mut Millis) -> Vec<i64> {
    loop {
        core.handle(*now, Input::Contact);
        *now = core.wake_at().unwrap();
        let edits = sent(&core.handle(*now, Input::Timer));
        if !edits.is_empty() {
            return edits;
        }
    }
}

#[test]
fn many_that_get_no_answer_hold_up_nothing_else() {
    let (mut core, mut now) = (sending(&[1, 2, 3, 4]), 1);
    for edits in [[1, 2], [3, 4]] {
        core.handle(now, no_answer(&edits[..1]));
        core.handle(now, no_answer(&edits[1..]));
        if edits[0] == 1 {
            assert_eq!(next_sent(&mut core, &mut now), [3, 4], "those that were not tried yet go first");
        }
    }
    for good in 10..30 {
        core.handle(now, Input::EditsChanged);
        let mut under_way = sent(&core.handle(now, planned(&[1, 2, 3, 4, good], true)));
        while !under_way.contains(&good) {
            assert_eq!(under_way, [] as [i64; 0], "a new one goes before those");
            under_way = next_sent(&mut core, &mut now);
        }
        under_way.extend(sent(&core.handle(now, accepted(good, good))));
        under_way.retain(|edit| *edit != good);
        assert!(under_way.len() <= 1, "one at a time of these: {under_way:?}");
        let mut waiting = vec![1, 2, 3, 4];
        while let [bad] = under_way[..] {
            core.handle(now, no_answer(&[bad]));
            under_way = sent(&core.handle(now, planned(&waiting, true)));
            waiting.rotate_left(1);
        }
        assert_eq!(under_way, [] as [i64; 0]);
    }
}

#[test]
fn what_the_server_asks_for_is_a_floor_that_neither_another_answer_nor_contact_nor_hurry_lowers() {
    let mut core = sending(&[1, 2]);
    core.handle(0, ready(9));
    let busy = |retry_after| Refusal { retry_after, ..refusal(503, "unavailable") };
    core.handle(1, refused(1, busy(Some(30_000))));
    core.handle(2, refused(2, busy(None)));
    core.handle(3, Input::Wished { paused: false, reconcile: None, hurry: true });
    core.handle(6, Input::StreamEnded { reason: "cut".into() });
    let at = core.wake_at().unwrap();
    core.handle(at, Input::Timer);
    greet(&mut core, at);
    core.handle(at, Input::StreamOpened);
    assert!(sent(&core.handle(at, planned(&[1, 2], true))).is_empty());
    assert_eq!(sent(&core.handle(30_001, Input::Timer)), [1, 2]);
}

#[test]
fn who_is_in_a_hurry_ends_our_own_pause() {
    let mut core = sending(&[1]);
    for now in 1..20 {
        core.handle(now, refused(1, refusal(503, "unavailable")));
        core.handle(now, planned(&[1], true));
        let wish = Input::Wished { paused: false, reconcile: None, hurry: true };
        assert_eq!(sent(&core.handle(now, wish)), [1]);
    }
}

#[test]
fn an_answer_of_an_earlier_contact_makes_nothing_wait() {
    let mut core = sending(&[1, 2, 3]);
    let outcome = Outcome::TooLate { reason: "late".into() };
    core.handle(5, Input::Answered { sent: vec![1], carried: vec![1], outcome });
    assert_eq!(sent(&core.handle(5, planned(&[1, 2, 3], true))), [] as [i64; 0], "two at a time: 2 and 3");
    assert_eq!(sent(&core.handle(5, accepted(2, 5))), [1]);
}

#[test]
fn a_refused_key_loses_nothing_and_is_tried_again() {
    let mut core = sending(&[1, 2, 3]);
    let effects = core.handle(1, turned_away(1, "plan_required"));
    assert_eq!(endings(&effects), [(1, Ending::TurnedAway { reason: "plan_required".into() })]);
    assert_eq!(phases(&effects), [Phase::NeedsKey]);
    assert!(sent(&effects).is_empty(), "no other would fare better");
    core.handle(1, turned_away(2, "plan_required"));
    core.handle(40_000, Input::Frames(Stretch { cursor: Some("c9".into()), ..Stretch::default() }));
    let at = core.wake_at().unwrap();
    assert_eq!(sent(&core.handle(at, Input::Timer)), [3]);
    let effects = core.handle(at, accepted(3, 3));
    assert_eq!(phases(&effects), [Phase::CatchingUp]);
    assert!(effects.contains(&Effect::Plan), "the others go now");
}

#[test]
fn an_edit_that_something_on_the_way_does_not_let_through_holds_no_other_up() {
    let mut core = sending(&[1, 2, 3]);
    core.handle(0, ready(9));
    let page = || Refusal { message: "something between".into(), ..refusal(403, "") };
    let forbidden = |edits: &[i64]| Input::Answered {
        sent: edits.to_vec(),
        carried: edits.to_vec(),
        outcome: Outcome::Refused(page()),
    };
    let effects = core.handle(1, forbidden(&[1]));
    let [(1, Ending::Later { at: Some(again), reason })] = &endings(&effects)[..] else { panic!("{effects:?}") };
    assert_eq!((reason.as_str(), sent(&effects)), ("something between", vec![3]));
    assert!(phases(&effects).is_empty(), "no key is refused: {effects:?}");
    core.handle(1, accepted(2, 10));
    core.handle(1, accepted(3, 11));
    core.handle(1, planned(&[1], true));
    assert_eq!(sent(&core.handle(*again, Input::Timer)), [1], "its time comes again");

    // What is refused together is tried with the same bytes first, and then each by itself. No answer, after which it may
    // be in, counts for nothing.
    let unanswered = |edits: &[i64]| Input::Answered {
        sent: edits.to_vec(),
        carried: edits.to_vec(),
        outcome: Outcome::NoAnswer { reason: "none".into() },
    };
    let mut core = sending(&[]);
    core.handle(0, ready(9));
    let all: Vec<i64> = (1..11).collect();
    let mut now = 1;
    let mut effects = core.handle(now, alike(1..11));
    for input in [unanswered(&all), forbidden(&all), unanswered(&all), forbidden(&all), forbidden(&all)] {
        assert_eq!(calls(&effects), std::slice::from_ref(&all));
        effects = core.handle(now, input);
        assert!(endings(&effects).iter().all(|(_, ending)| matches!(ending, Ending::Later { .. })), "{effects:?}");
        let frozen = Ready { edits: all.clone(), kind: Kind::Task, frozen: true, bytes: 1000 };
        core.handle(now, Input::Planned { ready: vec![frozen], open: true });
        now = core.wake_at().unwrap();
        effects = core.handle(now, Input::Timer);
    }
    let effects = core.handle(now, forbidden(&all));
    assert!(endings(&effects).iter().all(|(_, ending)| *ending == Ending::Apart), "{effects:?}");
    assert_eq!(calls(&core.handle(now, alike(1..11))), [[1], [2]]);
}

#[test]
fn a_key_that_may_not_write_one_collection_does_for_the_others() {
    let mut core = sending(&[1, 2, 3]);
    core.handle(1, ready(9));
    let effects = core.handle(1, turned_away(1, "insufficient_scope"));
    assert_eq!((phases(&effects), sent(&effects)), (vec![Phase::NeedsKey], vec![3]));
    let effects = core.handle(1, accepted(2, 10));
    assert!(phases(&effects).is_empty(), "what is in of another collection says nothing of this one");
    core.handle(1, accepted(3, 11));
    let effects = core.handle(1, ready(11));
    let [Effect::Apply { phase: Phase::NeedsKey, reason: Some(reason), .. }, ..] = &effects[..] else {
        panic!("what the feed brings says nothing of it either: {effects:?}")
    };
    assert_eq!((reason.as_str(), phases(&effects).len()), ("insufficient_scope", 0));
    // Another of the same collection waits as well; contact alone gives no right.
    assert!(sent(&core.handle(2, planned(&[1, 4], true))).is_empty());
    core.handle(40_000, Input::Contact);
    let at = core.wake_at().unwrap();
    assert_eq!(sent(&core.handle(at, Input::Timer)), [1, 4]);
    assert!(phases(&core.handle(at, turned_away(1, "insufficient_scope"))).is_empty());
    assert_eq!(phases(&core.handle(at, accepted(4, 12))), [Phase::Live], "now it may");
}

#[test]
fn a_key_that_may_not_write_one_collection_ends_a_single_sync_after_all_else() {
    let mut core = opened(Until::Pushed);
    core.handle(0, Input::EditsChanged);
    core.handle(0, planned(&[1, 2], true));
    let ended = |effects: &[Effect]| effects.iter().any(|e| matches!(e, Effect::Finish(Verdict::NeedsKey(_))));
    assert!(!ended(&core.handle(1, turned_away(1, "insufficient_scope"))));
    assert!(!ended(&core.handle(1, accepted(2, 10))));
    core.handle(1, planned(&[1], true));
    assert!(!ended(&core.handle(1, planned(&[1], true))), "the present is not reached yet");
    core.handle(2, ready(10));
    let applied = Input::Applied { cursor: None, tail: 10, leapt: false, touched_edits: false, found_edits: false };
    assert!(ended(&core.handle(2, applied)));
}

#[test]
fn a_key_that_is_too_weak_for_an_edit_does_for_reaching_the_present() {
    let mut core = opened(Until::Current);
    core.handle(0, Input::EditsChanged);
    core.handle(0, planned(&[1], true));
    core.handle(1, turned_away(1, "insufficient_scope"));
    core.handle(1, planned(&[1], true));
    core.handle(2, ready(10));
    let applied = Input::Applied { cursor: None, tail: 10, leapt: false, touched_edits: false, found_edits: false };
    let effects = core.handle(2, applied);
    assert!(effects.contains(&Effect::Finish(Verdict::Done)), "{effects:?}");
}

#[test]
fn a_key_that_was_too_weak_for_an_edit_is_good_again_once_the_edit_does_not_go_any_more() {
    let mut core = sending(&[1, 2]);
    core.handle(1, turned_away(1, "insufficient_scope"));
    core.handle(2, Input::EditsChanged);
    assert_eq!(phases(&core.handle(2, planned(&[3], true))), [Phase::CatchingUp], "though others are on their way");
}

#[test]
fn a_create_that_meets_its_own_id_is_looked_at() {
    let mut core = sending(&[1, 2]);
    let taken = || refusal(409, "already_exists");
    let effects = core.handle(1, refused(1, taken()));
    assert!(effects.contains(&Effect::Ask(Errand::Look { edit: 1 })), "{effects:?}");
    assert!(sent(&core.handle(1, planned(&[1, 2], true))).is_empty(), "its answer is awaited");
    let effects = core.handle(1, Input::Looked { edit: 1, there: There::Same { rev: 4 } });
    assert_eq!(endings(&effects), [(1, Ending::There { rev: 4 })]);
    core.handle(1, refused(2, taken()));
    let effects = core.handle(1, Input::Looked { edit: 2, there: There::Other });
    assert!(matches!(endings(&effects)[..], [(2, Ending::Conflict { .. })]), "{effects:?}");
}

#[test]
fn what_a_create_has_met_counts_no_more_in_the_next_contact() {
    let mut core = sending(&[1, 2]);
    for edit in [1, 2] {
        core.handle(1, refused(edit, refusal(409, "already_exists")));
    }
    core.handle(1, ready(9));
    core.handle(2, Input::StreamEnded { reason: "cut".into() });
    let at = core.wake_at().unwrap();
    core.handle(at, Input::Timer);
    greet(&mut core, at);
    core.handle(at, Input::StreamOpened);
    assert_eq!(sent(&core.handle(at, planned(&[1, 2], true))), [2], "it goes again");
    let nothing = There::Unknown(Failure::NoAnswer("too late".into()));
    let effects = core.handle(at, Input::Looked { edit: 1, there: nothing });
    assert!(!effects.contains(&Effect::Ask(Errand::Look { edit: 2 })), "{effects:?}");
}

#[test]
fn what_the_record_has_outrun_waits_for_the_feed() {
    let mut core = sending(&[1]);
    let effects = core.handle(1, refused(1, refusal(412, "precondition_failed")));
    assert_eq!(endings(&effects), [(1, Ending::Overtaken)]);
    core.handle(1, planned(&[], true));
    assert_eq!(core.wake_at(), Some(45_000), "only the feed can help, or its silence");
    let effects =
        core.handle(2, Input::Applied { cursor: None, tail: 0, leapt: false, touched_edits: true, found_edits: false });
    assert!(effects.contains(&Effect::Plan));
    assert_eq!(sent(&core.handle(2, planned(&[1], true))), [1]);
}

#[test]
fn what_is_outrun_again_and_again_is_sent_less_and_less_often() {
    let mut core = sending(&[1]);
    let (mut now, mut times) = (1, 0);
    while now < 8_000 {
        times += 1;
        assert!(times < 30, "without end");
        let effects = core.handle(now, refused(1, refusal(412, "precondition_failed")));
        assert_eq!(endings(&effects), [(1, Ending::Overtaken)], "judged anew each time");
        // As a create: it insists on nothing, so there is nothing for it to wait for.
        if sent(&core.handle(now, planned(&[1], true))).is_empty() {
            core.handle(now, Input::Contact);
            now = core.wake_at().unwrap();
            assert_eq!(sent(&core.handle(now, Input::Timer)), [1]);
        }
    }
    assert!(times < 15, "{times}");
    // Another does not wait for it, and what is in has no past.
    core.handle(now, Input::EditsChanged);
    assert_eq!(sent(&core.handle(now, planned(&[1, 2], true))), [2]);
    core.handle(now, accepted(1, 9));
    assert_eq!(sent(&core.handle(now, planned(&[1], true))), [1]);
}

#[test]
fn many_that_are_outrun_again_and_again_are_sent_less_and_less_often() {
    let mut core = sending(&[]);
    let mut under_way = calls(&core.handle(1, alike(1..9)));
    let (mut now, mut times) = (1, 0);
    while now < 8_000 {
        let Some(edits) = under_way.pop() else {
            core.handle(now, Input::Contact);
            now = core.wake_at().unwrap();
            under_way = calls(&core.handle(now, Input::Timer));
            continue;
        };
        times += 1;
        assert!(times < 100, "without end");
        let moved_on = refusal(412, "precondition_failed");
        let input = match edits[..] {
            [edit] => refused(edit, moved_on),
            _ => Input::Answered { sent: edits.clone(), carried: edits, outcome: Outcome::Refused(moved_on) },
        };
        under_way.extend(calls(&core.handle(now, input)));
        under_way.extend(calls(&core.handle(now, alike(1..9))));
    }
    assert!(times < 40, "{times}");
}

#[test]
fn an_edit_that_the_feed_is_quicker_to_tell_of_is_looked_up_after_its_answer() {
    let mut core = sending(&[1]);
    let found = || Input::Applied { cursor: None, tail: 0, leapt: false, touched_edits: false, found_edits: true };
    let effects = core.handle(1, found());
    assert!(!effects.contains(&Effect::Plan), "{effects:?}");
    let effects = core.handle(2, accepted(1, 9));
    assert!(effects.contains(&Effect::Plan), "what waited for it may go");
    core.handle(2, planned(&[], true));
    // Of an edit that nobody awaits an answer for, the feed alone tells.
    assert!(core.handle(3, found()).contains(&Effect::Plan));
}

#[test]
fn many_edits_of_a_collection_go_as_one_call() {
    let mut core = sending(&[]);
    let effects = core.handle(1, alike(1..121));
    assert_eq!(calls(&effects).iter().map(Vec::len).collect::<Vec<_>>(), [50, 50, 20]);
    let first: Vec<i64> = (1..51).collect();
    let words = first.iter().map(|edit| match edit {
        7 => (7, Word::Refused(refusal(422, "validation_failed"))),
        9 => (9, Word::Refused(refusal(412, "precondition_failed"))),
        edit => (*edit, Word::Accepted { rev: Some(100 + edit) }),
    });
    let outcome = Outcome::Told(words.collect());
    let effects = core.handle(2, Input::Answered { sent: first.clone(), carried: first, outcome });
    let ends = endings(&effects);
    assert_eq!(ends[0], (1, Ending::Sent { rev: Some(101) }));
    assert!(matches!(ends[6], (7, Ending::Rejected { .. })));
    assert_eq!(ends[8], (9, Ending::Overtaken));
}

#[test]
fn calls_are_written_down_several_at_a_time() {
    let mut core = sending(&[]);
    let first = calls(&core.handle(1, alike(1..961)));
    assert_eq!(first.iter().map(Vec::len).collect::<Vec<_>>(), [50; 16]);
    for (number, call) in first.iter().take(8).enumerate() {
        let words = call.iter().map(|edit| (*edit, Word::Accepted { rev: Some(*edit) })).collect();
        let outcome = Outcome::Told(words);
        let effects = core.handle(2, Input::Answered { sent: call.clone(), carried: call.clone(), outcome });
        assert!(!effects.contains(&Effect::Plan), "nothing is looked up while enough is known");
        let more: Vec<usize> = calls(&effects).iter().map(Vec::len).collect();
        assert_eq!(more, if number < 7 { vec![] } else { vec![50, 50, 50, 10] }, "once half of them are answered");
    }
}

#[test]
fn a_backlog_of_long_texts_fits_a_slow_line() {
    let mut core = sending(&[]);
    let long = |edit| Ready { edits: vec![edit], kind: Kind::Room, frozen: false, bytes: 9_100 };
    let planned = Input::Planned { ready: (1..43).map(long).collect(), open: true };
    let first = calls(&core.handle(1, planned));
    // At 10 kB a second this is 38 s, and the server waits for 30.
    assert_eq!(first.iter().map(Vec::len).collect::<Vec<_>>(), [7; 6]);
    // They keep their bytes, but not so many go at once again.
    for call in &first {
        core.handle(2, no_answer(call));
    }
    let at = core.wake_at().unwrap();
    assert_eq!(calls(&core.handle(at, Input::Timer)).iter().map(Vec::len).collect::<Vec<_>>(), [7]);
    // Nor do others beside it.
    let more = (50..100).map(long).collect();
    let more = calls(&core.handle(at, Input::Planned { ready: more, open: true }));
    assert_eq!(more.iter().map(Vec::len).collect::<Vec<_>>(), [7]);
    // What is larger by itself goes alone.
    let mut core = sending(&[]);
    let huge = |edit| Ready { edits: vec![edit], kind: Kind::Room, frozen: false, bytes: 200_000 };
    let planned = Input::Planned { ready: (1..9).map(huge).collect(), open: true };
    assert_eq!(calls(&core.handle(1, planned)), [[1]]);
    assert_eq!(calls(&core.handle(2, accepted(1, 9))), [[2]]);
}

#[test]
fn a_few_edits_go_one_by_one() {
    let mut core = sending(&[]);
    assert_eq!(calls(&core.handle(1, alike(1..5))), [[1], [2]]);
}

#[test]
fn a_call_that_is_refused_as_a_whole_is_taken_apart() {
    let mut core = sending(&[]);
    core.handle(1, alike(1..11));
    let all: Vec<i64> = (1..11).collect();
    let outcome = Outcome::Refused(refusal(422, "validation_failed"));
    let effects = core.handle(2, Input::Answered { sent: all.clone(), carried: all.clone(), outcome });
    assert!(endings(&effects).iter().all(|(_, ending)| *ending == Ending::Apart));
    assert!(effects.contains(&Effect::Plan));
    assert_eq!(calls(&core.handle(2, alike(1..11))), [[1], [2]]);
    assert_eq!(calls(&core.handle(3, accepted(1, 9))), [[3]]);
}

#[test]
fn a_call_without_an_answer_goes_again_as_it_was() {
    let mut core = sending(&[]);
    core.handle(1, alike(1..11));
    let all: Vec<i64> = (1..11).collect();
    core.handle(2, no_answer(&all));
    let at = core.wake_at().unwrap();
    let effects = core.handle(at, Input::Timer);
    assert_eq!(calls(&effects), std::slice::from_ref(&all));
    // The server may still hold the first: only its window is waited for, and single edits go on.
    let limited = Refusal { retry_after: Some(30_000), ..refusal(429, "rate_limited") };
    core.handle(at, Input::Answered { sent: all.clone(), carried: all.clone(), outcome: Outcome::Refused(limited) });
    let wake = core.wake_at().unwrap();
    assert!(wake >= at + 30_000, "{wake}");
    core.handle(at, Input::EditsChanged);
    let mut ready: Vec<Ready> = vec![Ready { edits: all.clone(), kind: Kind::Task, frozen: true, bytes: 1000 }];
    ready.push(Ready { edits: vec![11], kind: Kind::Task, frozen: false, bytes: 100 });
    assert_eq!(calls(&core.handle(at, Input::Planned { ready, open: true })), [[11]]);
    core.handle(at, accepted(11, 5));
    assert_eq!(calls(&core.handle(wake, Input::Timer)), [all]);
}

#[test]
fn a_backlog_stays_within_the_servers_windows() {
    let mut core = Core::new(Until::Stopped, 7);
    core.handle(0, Input::Started { cursor: None, backfilled: false, home: None, recovery: None, paused: false });
    let limits = Some(Limits { reads: 300, writes: 60, bulk: 2 });
    let identity = Identity {
        home_id: "home".into(),
        home_name: "Home".into(),
        environment: "live".into(),
        scopes: vec![],
        limits,
    };
    core.handle(0, Input::Met(Ok(identity)));
    core.handle(0, Input::FeedStands(Ok(Standing::default())));
    core.handle(0, Input::StreamOpened);
    assert_eq!(calls(&core.handle(1, alike(1..201))).len(), 2);
    for first in [1, 51] {
        let edits: Vec<i64> = (first..first + 50).collect();
        let words = edits.iter().map(|edit| (*edit, Word::Accepted { rev: Some(*edit) })).collect();
        let effects =
            core.handle(2, Input::Answered { sent: edits.clone(), carried: edits, outcome: Outcome::Told(words) });
        assert!(calls(&effects).is_empty(), "single writes are left for others");
    }
    core.handle(30_000, ready(9));
    let at = core.wake_at().unwrap();
    assert!((60_000..62_000).contains(&at), "{at}");
    assert_eq!(calls(&core.handle(at, Input::Timer)).len(), 2);
}
