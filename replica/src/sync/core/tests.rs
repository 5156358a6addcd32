//! Moments of a sync, each as inputs and the effects they must have. No runtime, no clock, no waiting.

use serde_json::json;

use super::*;

fn started(until: Until) -> Core {
    let mut core = Core::new(until, 7);
    let effects = core.handle(
        0,
        Input::Started { cursor: Some("c1".into()), filled: true, home: Some("home".into()), paused: false },
    );
    assert_eq!(effects, [Effect::Ask(Errand::Me), Effect::Ask(Errand::Feed)]);
    assert_eq!(greet(&mut core, 0), [Effect::OpenStream { cursor: Some("c1".into()) }]);
    core
}

fn met(home: &str) -> Input {
    Input::Met(Ok(Identity {
        home_id: home.into(),
        home_name: "Home".into(),
        environment: "live".into(),
        scopes: vec![],
    }))
}

fn greet(core: &mut Core, now: Millis) -> Vec<Effect> {
    let mut effects = core.handle(now, met("home"));
    effects.extend(core.handle(now, Input::FeedStands(Ok(Standing { head: Some(9), retention_seconds: None }))));
    effects
}

fn opened(until: Until) -> Core {
    let mut core = started(until);
    core.handle(0, Input::StreamOpened);
    core.handle(0, Input::Planned { ready: vec![], open: 0 });
    core
}

fn refusal(status: u16, kind: &str) -> Refusal {
    Refusal { status, kind: kind.into(), message: kind.into(), reason: None, problem: json!({}), retry_after: None }
}

fn ready(head: i64) -> Input {
    Input::Frames(Stretch { ready: Some(head), cursor: Some(format!("c{head}")), ..Stretch::default() })
}

fn phases(effects: &[Effect]) -> Vec<Phase> {
    effects.iter().filter_map(|e| if let Effect::Show { phase, .. } = e { Some(*phase) } else { None }).collect()
}

fn sent(effects: &[Effect]) -> Vec<i64> {
    effects.iter().filter_map(|e| if let Effect::Ask(Errand::Send { edit }) = e { Some(*edit) } else { None }).collect()
}

#[test]
fn live_is_claimed_with_what_proves_it() {
    let mut core = started(Until::Stopped);
    let effects = core.handle(0, Input::StreamOpened);
    assert_eq!(phases(&effects), [Phase::CatchingUp]);
    let effects = core.handle(1, ready(9));
    assert!(matches!(&effects[..], [Effect::Apply { phase: Phase::Live, .. }]), "{effects:?}");
}

#[test]
fn nothing_is_pushed_before_the_cursor_is_accepted() {
    let mut core = started(Until::Stopped);
    let effects = core.handle(0, Input::Planned { ready: vec![1, 2], open: 2 });
    assert!(sent(&effects).is_empty());
    let effects = core.handle(1, Input::StreamOpened);
    assert_eq!(sent(&effects), [1]);
    assert!(sent(&core.handle(1, Input::Planned { ready: vec![1, 2], open: 2 })).is_empty(), "one at a time");
}

#[test]
fn a_first_sync_pushes_beside_the_backfill() {
    let mut core = Core::new(Until::Stopped, 7);
    core.handle(0, Input::Started { cursor: None, filled: false, home: None, paused: false });
    greet(&mut core, 0);
    let effects = core.handle(0, Input::StreamOpened);
    assert_eq!(phases(&effects), [Phase::Backfilling]);
    let effects = core.handle(0, Input::Planned { ready: vec![1], open: 1 });
    assert_eq!(sent(&effects), [1]);
}

#[test]
fn a_lost_answer_is_asked_again_when_contact_is_back() {
    let mut core = opened(Until::Stopped);
    core.handle(0, Input::EditsChanged);
    core.handle(0, Input::Planned { ready: vec![1], open: 1 });
    let effects = core.handle(5, Input::Answered { edit: 1, outcome: Outcome::NoAnswer { reason: "cut".into() } });
    assert!(matches!(&effects[0], Effect::Record { edit: 1, ending: Ending::Later { .. } }), "{effects:?}");
    core.handle(6, Input::StreamEnded { reason: "cut".into() });
    let at = core.wake_at().unwrap();
    assert!(sent(&core.handle(at, Input::Timer)).is_empty());
    greet(&mut core, at);
    let effects = core.handle(at, Input::StreamOpened);
    assert_eq!(sent(&effects), [1], "at once, whatever the pause was");
}

#[test]
fn retries_spread_out_and_keep_the_servers_floor() {
    let mut core = opened(Until::Stopped);
    let mut longest = 0;
    let mut now = 0;
    for _ in 0..40 {
        core.handle(now, Input::StreamEnded { reason: "cut".into() });
        let at = core.wake_at().unwrap();
        assert!(at - now < BACKOFF_MAX);
        longest = longest.max(at - now);
        now = at;
        core.handle(now, Input::Timer);
    }
    assert!(longest > 10_000, "{longest}");

    let floor = Refusal { retry_after: Some(70_000), ..refusal(429, "rate_limited") };
    core.handle(now, Input::StreamRefused(floor));
    assert!(core.wake_at().unwrap() >= now + 70_000);
}

#[test]
fn a_refused_edit_lets_the_others_go_on() {
    let mut core = opened(Until::Stopped);
    core.handle(0, Input::EditsChanged);
    core.handle(0, Input::Planned { ready: vec![1, 2], open: 2 });
    let outcome = Outcome::Refused(refusal(422, "validation_failed"));
    let effects = core.handle(1, Input::Answered { edit: 1, outcome });
    assert!(matches!(&effects[0], Effect::Record { edit: 1, ending: Ending::Rejected { .. } }));
    assert_eq!(sent(&effects), [2]);
}

#[test]
fn an_edit_the_server_stumbles_over_does_not_hold_the_others() {
    let mut core = opened(Until::Stopped);
    core.handle(0, Input::EditsChanged);
    core.handle(0, Input::Planned { ready: vec![1, 2], open: 2 });
    let effects =
        core.handle(1, Input::Answered { edit: 1, outcome: Outcome::Refused(refusal(500, "internal_error")) });
    assert_eq!(sent(&effects), [2]);
    let effects = core.handle(1, Input::Answered { edit: 2, outcome: Outcome::Accepted { rev: Some(3) } });
    assert!(effects.contains(&Effect::Plan), "what waited for the second may go");
    core.handle(1, Input::Planned { ready: vec![1], open: 1 });
    let at = core.wake_at().unwrap();
    assert!(at > 1);
    assert_eq!(sent(&core.handle(at, Input::Timer)), [1]);
}

#[test]
fn a_refused_key_loses_nothing_and_is_tried_again() {
    let mut core = opened(Until::Stopped);
    core.handle(0, Input::EditsChanged);
    core.handle(0, Input::Planned { ready: vec![1], open: 1 });
    let effects =
        core.handle(1, Input::Answered { edit: 1, outcome: Outcome::Refused(refusal(403, "insufficient_scope")) });
    assert_eq!(phases(&effects), [Phase::NeedsKey]);
    assert!(sent(&effects).is_empty());
    let at = core.wake_at().unwrap();
    assert_eq!(sent(&core.handle(at, Input::Timer)), [1]);
    let effects = core.handle(at, Input::Answered { edit: 1, outcome: Outcome::Accepted { rev: Some(3) } });
    assert_eq!(phases(&effects), [Phase::CatchingUp]);
}

#[test]
fn an_expired_cursor_starts_over() {
    let mut core = started(Until::Stopped);
    let expired = Refusal { reason: Some("restored".into()), ..refusal(410, "cursor_expired") };
    let effects = core.handle(0, Input::StreamRefused(expired));
    assert_eq!(
        effects,
        [Effect::CloseStream, Effect::StartOver { restored: true }, Effect::Ask(Errand::Me), Effect::Ask(Errand::Feed)]
    );
    assert_eq!(greet(&mut core, 1), [Effect::OpenStream { cursor: None }]);
    let effects = core.handle(1, Input::StreamOpened);
    assert_eq!(phases(&effects), [Phase::Backfilling]);
}

#[test]
fn another_home_behind_the_address_is_refused() {
    let mut core = started(Until::Stopped);
    core.handle(0, Input::StreamEnded { reason: "cut".into() });
    let at = core.wake_at().unwrap();
    core.handle(at, Input::Timer);
    core.handle(at, Input::FeedStands(Ok(Standing::default())));
    let effects = core.handle(at, met("other"));
    assert!(effects.iter().any(|e| matches!(e, Effect::Finish(Verdict::Blocked(_)))), "{effects:?}");
    assert_eq!(phases(&effects), [Phase::Blocked]);
    assert!(core.handle(1, ready(9)).is_empty(), "nothing of it is applied");
}

#[test]
fn a_single_run_ends_when_everything_is_confirmed() {
    let done = |effects: &[Effect]| effects.contains(&Effect::Finish(Verdict::Done));
    let mut core = opened(Until::Pushed);
    core.handle(0, Input::EditsChanged);
    core.handle(0, Input::Planned { ready: vec![1], open: 1 });
    core.handle(1, ready(9));
    assert!(!done(&core.handle(1, Input::Applied { touched_edits: false })));
    let effects = core.handle(2, Input::Answered { edit: 1, outcome: Outcome::Accepted { rev: Some(10) } });
    assert!(!done(&effects) && effects.contains(&Effect::Plan));
    assert!(!done(&core.handle(2, Input::Planned { ready: vec![], open: 1 })), "sent, but not yet passed");
    core.handle(3, Input::Frames(Stretch { cursor: Some("c10".into()), ..Stretch::default() }));
    let effects = core.handle(3, Input::Applied { touched_edits: true });
    assert_eq!(effects, [Effect::Plan]);
    assert!(done(&core.handle(3, Input::Planned { ready: vec![], open: 0 })));

    let mut core = opened(Until::Current);
    core.handle(0, ready(9));
    assert!(done(&core.handle(0, Input::Applied { touched_edits: false })));
}

#[test]
fn contact_is_written_down_now_and_then() {
    let mut core = opened(Until::Stopped);
    core.handle(0, ready(9));
    assert_eq!(core.handle(5_000, Input::Contact), []);
    assert_eq!(core.handle(10_000, Input::Contact), [Effect::Touch]);
    assert_eq!(core.handle(15_000, Input::Contact), []);
}

#[test]
fn a_create_that_meets_its_own_id_is_looked_at() {
    let mut core = opened(Until::Stopped);
    core.handle(0, Input::EditsChanged);
    core.handle(0, Input::Planned { ready: vec![1, 2], open: 2 });
    let taken = || Outcome::Refused(refusal(409, "already_exists"));
    let effects = core.handle(1, Input::Answered { edit: 1, outcome: taken() });
    assert_eq!(effects, [Effect::Ask(Errand::Look { edit: 1 })]);
    let effects = core.handle(1, Input::Looked { edit: 1, there: There::Same { rev: 4 } });
    assert_eq!(effects[0], Effect::Record { edit: 1, ending: Ending::Sent { rev: Some(4) } });
    core.handle(1, Input::Planned { ready: vec![2], open: 2 });
    core.handle(1, Input::Answered { edit: 2, outcome: taken() });
    let effects = core.handle(1, Input::Looked { edit: 2, there: There::Other });
    assert!(matches!(&effects[0], Effect::Record { edit: 2, ending: Ending::Conflict { .. } }), "{effects:?}");
}

#[test]
fn a_pause_lets_go_and_a_resume_goes_on_at_once() {
    let mut core = opened(Until::Stopped);
    let effects = core.handle(1, Input::Paused(true));
    assert_eq!((&effects[0], phases(&effects)), (&Effect::CloseStream, vec![Phase::Paused]));
    assert_eq!(core.handle(2, Input::Paused(true)), []);
    assert_eq!(core.wake_at(), None);
    core.handle(3, Input::EditsChanged);
    assert!(sent(&core.handle(3, Input::Planned { ready: vec![1], open: 1 })).is_empty());
    let effects = core.handle(4, Input::Paused(false));
    assert_eq!(effects, [Effect::Ask(Errand::Me), Effect::Ask(Errand::Feed)]);
    greet(&mut core, 5);
    assert_eq!(sent(&core.handle(5, Input::StreamOpened)), [1]);
}

#[test]
fn a_pause_outlives_the_process() {
    let began = |until| {
        let mut core = Core::new(until, 7);
        core.handle(0, Input::Started { cursor: None, filled: false, home: None, paused: true })
    };
    assert_eq!(phases(&began(Until::Stopped)), [Phase::Paused]);
    assert!(began(Until::Pushed).contains(&Effect::Finish(Verdict::Paused)));
}
