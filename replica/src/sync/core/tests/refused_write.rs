//! Writes that the disk refuses: the core loads the state on disk again and goes on from there.

use super::*;

#[test]
fn refused_write_reloads_the_state_on_disk() {
    let mut core = opened(Until::Stopped);
    core.handle(0, Event::EditsChanged);
    core.handle(0, planned(&[1], true));
    let actions = core.handle(1, Event::WriteFailed { reason: "full".into(), cause: BlockCause::DiskFull });
    assert_eq!((&actions[0], phases(&actions)), (&Action::CloseStream, vec![Phase::Blocked]));
    let at = core.wake_at().unwrap();
    assert_eq!(core.handle(at, Event::Timer), [Action::ReloadState]);
    core.handle(at, on_disk());
    assert_eq!(greet(&mut core, at), [Action::OpenStream { cursor: Some("c0".into()) }]);
    let actions = core.handle(at, Event::StreamOpened);
    assert!(actions.contains(&Action::PlanEdits), "{actions:?}");
    let actions = core.handle(at, planned(&[1], true));
    assert_eq!(sent(&actions), [1], "the same edit again");
}

#[test]
fn single_run_ends_after_a_refused_write() {
    let mut core = opened(Until::Current);
    let actions = core.handle(1, ready(9));
    assert!(matches!(actions[..], [Action::ApplyBatch { .. }]), "{actions:?}");
    core.handle(1, Event::WriteFailed { reason: "full".into(), cause: BlockCause::DiskFull });
    let at = core.wake_at().unwrap();
    core.handle(at, Event::Timer);
    core.handle(at, on_disk());
    greet(&mut core, at);
    core.handle(at, Event::StreamOpened);
    core.handle(at, ready(9));
    let actions = core.handle(at, applied(9));
    assert!(actions.contains(&Action::Finish(EndReason::Done)), "{actions:?}");
}

#[test]
fn refused_write_revives_an_ended_sync() {
    let mut core = opened(Until::Stopped);
    core.handle(1, Event::StopRequested);
    // The actions before the end were not saved, so the end was not reported.
    core.handle(1, Event::WriteFailed { reason: "full".into(), cause: BlockCause::DiskFull });
    let actions = core.handle(2, Event::StopRequested);
    assert!(actions.contains(&Action::Finish(EndReason::Done)), "{actions:?}");
}

#[test]
fn resume_after_a_refused_write_reloads() {
    let mut core = opened(Until::Stopped);
    core.handle(1, Event::WriteFailed { reason: "full".into(), cause: BlockCause::DiskFull });
    core.handle(2, pause(true));
    let actions = core.handle(3, pause(false));
    assert!(actions.contains(&Action::ReloadState), "{actions:?}");
    core.handle(3, on_disk());
    greet(&mut core, 3);
    core.handle(3, Event::StreamOpened);
    let actions = core.handle(4, ready(9));
    assert!(matches!(&actions[0], Action::ApplyBatch { phase: Phase::Live, .. }), "{actions:?}");
}
