//! Answers of a reconcile that cannot be used at once: failed lists, answers ahead of the feed, answers of an earlier contact.

use super::*;

#[test]
fn answer_of_earlier_epoch_is_discarded() {
    let mut world = World::new(Some(new_reconcile(None)));
    let requests = world.start();
    let Some(Request::Reconcile { epoch, .. }) = requests.first().cloned() else { panic!("{requests:?}") };
    world.handle(1, Event::ReconcileStarted(Some(new_reconcile(None))));
    let found = ReconcileResponse { as_of: 3, ..ReconcileResponse::default() };
    assert!(world.handle(1, Event::ReconcileAnswered { epoch, answer: Ok(found) }).is_empty());
    assert_eq!(world.saved, Some(new_reconcile(None)));
}

#[test]
fn refused_list_respects_retry_after() {
    let mut world = World::new(Some(new_reconcile(None)));
    let requests = world.start();
    let Some(Request::Reconcile { epoch, query }) = requests.first().cloned() else { panic!("{requests:?}") };
    let limited = Refusal { retry_after: Some(30_000), ..refusal(429, "rate_limited") };
    assert!(world.handle(1, Event::ReconcileAnswered { epoch, answer: Err(Failure::Refused(limited)) }).is_empty());
    let at = next_due(&mut world.core);
    assert!((30_001..40_000).contains(&at), "{at}");
    let again = world.handle(at, Event::Timer);
    assert_eq!(again, [Request::Reconcile { epoch, query }]);
    let narrowed = refusal(403, "insufficient_scope");
    world.handle(at, Event::ReconcileAnswered { epoch, answer: Err(Failure::Refused(narrowed)) });
    assert_eq!((world.shown.last(), world.deleted), (Some(&Phase::NeedsKey), 0));
    assert!(next_due(&mut world.core) >= at + 60_000);
}

#[test]
fn failing_list_is_shown_as_reason() {
    let mut world = World::new(Some(new_reconcile(None)));
    let asked = world.start();
    let [Request::Reconcile { epoch, .. }] = asked[..] else { panic!("{asked:?}") };
    let reasons = |actions: Vec<Action>| -> Vec<Option<String>> {
        let reason = |action| match action {
            Action::ShowPhase { phase: Phase::Reconciling, reason, .. } | Action::ApplyBatch { reason, .. } => {
                Some(reason)
            }
            _ => None,
        };
        actions.into_iter().filter_map(reason).collect()
    };
    let broken = Failure::Refused(refusal(500, "the list is broken"));
    let shown = reasons(world.core.handle(0, Event::ReconcileAnswered { epoch, answer: Err(broken) }));
    let [Some(reason)] = &shown[..] else { panic!("{shown:?}") };
    assert!(reason.contains("the list is broken"), "{reason}");
    // A batch does not remove the reason.
    let heartbeat = Event::StreamBatch(FeedBatch { cursor: Some("c9".into()), ..FeedBatch::default() });
    assert_eq!(reasons(world.core.handle(1, heartbeat)), shown);
    let at = world.core.wake_at().unwrap();
    let again = world.handle(at, Event::Timer);
    let [Request::Reconcile { epoch, .. }] = again[..] else { panic!("{again:?}") };
    let lost = Failure::NoAnswer("cut".into());
    let shown = reasons(world.core.handle(at, Event::ReconcileAnswered { epoch, answer: Err(lost) }));
    assert!(matches!(&shown[..], [Some(reason)] if reason.contains("cut")), "{shown:?}");
    let at = world.core.wake_at().unwrap();
    let again = world.handle(at, Event::Timer);
    let [Request::Reconcile { epoch, ref query }] = again[..] else { panic!("{again:?}") };
    let found = world.answer(query);
    assert_eq!(reasons(world.core.handle(at, Event::ReconcileAnswered { epoch, answer: Ok(found) })), [None]);
}

#[test]
fn list_with_unknown_cursor_restarts() {
    let step = ReconcileStep::Ids { kind: Kind::Room, cursor: Some("2".into()), as_of: Some(4) };
    let mut world = World::new(Some(Reconcile { step, ..new_reconcile(None) }));
    let requests = world.start();
    let Some(Request::Reconcile { epoch, .. }) = requests.first().cloned() else { panic!("{requests:?}") };
    let unknown = Failure::Refused(refusal(400, "invalid_cursor"));
    world.handle(1, Event::ReconcileAnswered { epoch, answer: Err(unknown) });
    let at = world.core.wake_at().unwrap();
    let requests = world.handle(at, Event::Timer);
    let query = ReconcileQuery::Ids { kind: Kind::Room, cursor: None };
    assert_eq!(requests, [Request::Reconcile { epoch, query }]);
}

#[test]
fn restarting_list_slows_down() {
    let mut world = World::new(Some(new_reconcile(None)));
    let mut requests = world.start();
    let (mut now, mut begun) = (0, 0);
    while now < 120_000 {
        while let [Request::Reconcile { epoch, query }] = &requests[..] {
            let (epoch, query) = (*epoch, query.clone());
            begun += u32::from(query == ReconcileQuery::Ids { kind: Kind::Room, cursor: None });
            let answer = match &query {
                ReconcileQuery::Ids { cursor: Some(_), .. } => Err(Failure::Refused(refusal(400, "invalid_cursor"))),
                query => Ok(world.answer(query)),
            };
            requests = world.handle(now, Event::ReconcileAnswered { epoch, answer });
        }
        world.handle(now, Event::StreamActive);
        now = world.core.wake_at().unwrap();
        requests = world.handle(now, Event::Timer);
        requests.retain(|request| matches!(request, Request::Reconcile { .. }));
    }
    assert!((3..30).contains(&begun), "{begun}");
}

/// A reconcile whose first answer was read at position 12, with the feed at 9.
fn ahead_of_feed() -> (World, u64, ReconcileResponse) {
    let mut world = World::new(Some(new_reconcile(None)));
    let requests = world.start();
    let [Request::Reconcile { epoch, query: ReconcileQuery::Property }] = requests[..] else { panic!("{requests:?}") };
    let found = ReconcileResponse { as_of: 12, ..ReconcileResponse::default() };
    let asked = world.handle(1, Event::ReconcileAnswered { epoch, answer: Ok(found.clone()) });
    assert!(asked.is_empty(), "{asked:?}");
    assert_eq!(world.saved, Some(new_reconcile(None)), "no answer is saved");
    (world, epoch, found)
}

#[test]
fn answer_ahead_of_feed_waits() {
    let (mut world, ..) = ahead_of_feed();
    let up_to = |head| Event::StreamBatch(FeedBatch { end: present(head), ..FeedBatch::default() });
    assert!(world.handle(2, up_to(11)).is_empty());
    let asked = world.handle(3, up_to(12));
    assert!(matches!(asked[..], [Request::Reconcile { query: ReconcileQuery::Changes { .. }, .. }]), "{asked:?}");
    assert_ne!(world.saved, Some(new_reconcile(None)));
}

#[test]
fn id_gap_discards_answer_ahead_of_feed() {
    let (mut world, ..) = ahead_of_feed();
    world.has_id_gap = true;
    let asked = world.handle(2, Event::StreamBatch(FeedBatch { end: present(1_000_012), ..FeedBatch::default() }));
    assert!(matches!(asked[..], [Request::Reconcile { query: ReconcileQuery::Property, .. }]), "{asked:?}");
    assert_eq!(world.saved, Some(new_reconcile(None)));
}

#[test]
fn contact_discards_answer_ahead_of_feed() {
    let (mut world, epoch, found) = ahead_of_feed();
    world.handle(2, Event::StreamEnded { reason: "cut".into() });
    let at = world.core.wake_at().unwrap();
    let mut asked = world.handle(at, Event::Timer);
    // The server may have been restored in between, and have reached position 12 again.
    for event in [
        Event::IdentityReceived(Ok(identity(&[]))),
        Event::FeedHeadReceived(Ok(FeedHead::default())),
        Event::StreamOpened,
        Event::StreamBatch(FeedBatch { end: present(14), ..FeedBatch::default() }),
    ] {
        asked.extend(world.handle(at, event));
    }
    let recovers = |request: &&Request| matches!(request, Request::Reconcile { .. });
    let again: Vec<_> = asked.iter().filter(recovers).collect();
    assert!(matches!(again[..], [Request::Reconcile { query: ReconcileQuery::Property, .. }]), "{asked:?}");
    assert!(
        world.handle(at, Event::ReconcileAnswered { epoch, answer: Ok(found) }).is_empty(),
        "an answer of an earlier epoch"
    );
    assert_eq!(world.saved, Some(new_reconcile(None)));
}
