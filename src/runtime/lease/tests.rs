use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::task::Poll;

use futures::poll;
use hyper::rt::Executor as _;
use tokio::sync::{Notify, oneshot};

use super::fence::Leadership;
use super::*;

const ME: &str = "me";
const HOUR: Duration = Duration::from_hours(1);

fn observed(holder: Option<&str>, seconds: Option<u64>, since: Instant) -> Observation {
    Observation { holder: holder.map(str::to_owned), duration: seconds.map(Duration::from_secs), since }
}

#[test]
fn lease_action_follows_holder_and_age() {
    let settings = LeaseSettings::default();
    let since = Instant::now();
    let after = |seconds| since + Duration::from_secs(seconds);
    let wait = |seconds| Decision::Wait { holder: "other".to_owned(), until: after(seconds) };
    let table = [
        // The Lease has no holder.
        (None, 0, Decision::Create),
        (Some(observed(None, None, since)), 0, Decision::TakeOver),
        (Some(observed(Some(""), Some(15), since)), 0, Decision::TakeOver),
        // The candidate itself holds it, however old it is.
        (Some(observed(Some(ME), Some(15), since)), 1, Decision::Renew),
        (Some(observed(Some(ME), Some(15), since)), 3600, Decision::Renew),
        // Another process holds it: until it has not changed for the duration that the holder announced, not for the
        // candidate's own.
        (Some(observed(Some("other"), Some(15), since)), 0, wait(15)),
        (Some(observed(Some("other"), Some(15), since)), 14, wait(15)),
        (Some(observed(Some("other"), Some(15), since)), 15, Decision::TakeOver),
        (Some(observed(Some("other"), Some(60), since)), 16, wait(60)),
        (Some(observed(Some("other"), Some(3), since)), 3, Decision::TakeOver),
        // It announces no duration: the candidate's own counts.
        (Some(observed(Some("other"), None, since)), 14, wait(15)),
        (Some(observed(Some("other"), None, since)), 15, Decision::TakeOver),
        (Some(observed(Some("other"), Some(0), since)), 0, Decision::TakeOver),
    ];
    for (lease, seconds, expected) in table {
        assert_eq!(
            decide(lease.as_ref(), ME, after(seconds), &settings),
            expected,
            "{lease:?} after {seconds} s"
        );
    }
    let mine_with_suffix = observed(Some("me_2"), Some(15), since);
    assert!(matches!(decide(Some(&mine_with_suffix), ME, since, &settings), Decision::Wait { .. }));
}

#[test]
fn announced_duration_is_at_least_the_own() {
    let announced = |millis| {
        LeaseSettings { duration: Duration::from_millis(millis), ..LeaseSettings::default() }
            .announced_seconds()
    };
    assert_eq!([15_000, 14_001, 1, 1000].map(announced), [15, 15, 1, 1]);
}

#[test]
fn when_a_write_may_be_sent() {
    let now = Instant::now();
    let table = [
        (Leadership::Candidate, false),
        (Leadership::LeaderUntil(now + Duration::from_nanos(1)), true),
        (Leadership::LeaderUntil(now), false),
        (Leadership::LeaderUntil(now.checked_sub(HOUR).unwrap()), false),
        (Leadership::Alone, true),
        (Leadership::Closed, false),
    ];
    for (leadership, expected) in table {
        assert_eq!(leadership.allows(now), expected, "{leadership:?}");
    }
}

#[tokio::test]
async fn fence_is_open_while_leading() {
    assert_eq!(Fence::open().leading().await, Ok(()));
    let (leadership, fence) = Fence::new();
    let copy = fence.clone();
    let mut leading = Box::pin(copy.leading());
    assert_eq!(poll!(&mut leading), Poll::Pending);
    assert_eq!(fence.check(), Err(NotLeader));
    leadership.send_replace(Leadership::LeaderUntil(Instant::now() + HOUR));
    assert_eq!(leading.await, Ok(()));
    assert_eq!(fence.check(), Ok(()));
    leadership.send_replace(Leadership::Closed);
    assert_eq!(fence.check(), Err(NotLeader));
    assert_eq!(fence.leading().await, Err(NotLeader));
}

#[tokio::test]
async fn write_waits_for_an_open_fence() {
    let (leadership, fence) = Fence::new();
    for closed in [Leadership::Candidate, Leadership::LeaderUntil(Instant::now()), Leadership::Closed] {
        leadership.send_replace(closed);
        let write = async { panic!("sent") };
        assert_eq!(fence.guard(write).await, Err::<(), _>(NotLeader), "{closed:?}");
    }
}

#[tokio::test]
async fn write_survives_renewal_but_not_expiry() {
    let (leadership, fence) = Fence::new();
    leadership.send_replace(Leadership::LeaderUntil(Instant::now() + HOUR));
    let (answer, answered) = oneshot::channel();
    let mut write = Box::pin(fence.guard(answered));
    assert!(poll!(&mut write).is_pending());
    leadership.send_replace(Leadership::LeaderUntil(Instant::now() + 2 * HOUR));
    assert!(poll!(&mut write).is_pending());
    answer.send("written").unwrap();
    assert_eq!(write.await, Ok(Ok("written")));

    let mut write = Box::pin(fence.guard(pending::<()>()));
    assert!(poll!(&mut write).is_pending());
    leadership.send_replace(Leadership::Closed);
    assert_eq!(write.await, Err(NotLeader));
}

#[tokio::test]
async fn write_is_aborted_at_lease_expiry() {
    let (leadership, fence) = Fence::new();
    leadership.send_replace(Leadership::LeaderUntil(Instant::now() + Duration::from_millis(20)));
    assert_eq!(fence.guard(pending::<()>()).await, Err(NotLeader));
}

#[tokio::test]
async fn started_write_stops_at_closed_fence() {
    let (leadership, fence) = Fence::new();
    leadership.send_replace(Leadership::LeaderUntil(Instant::now() + HOUR));
    let mut steps = 0;
    let write = poll_fn(|_| {
        steps += 1;
        Poll::<()>::Pending
    });
    let mut guarded = Box::pin(fence.guard(write));
    assert!(poll!(&mut guarded).is_pending());
    // Like after a pause: the time is over, and no task has noticed yet.
    leadership.send_replace(Leadership::LeaderUntil(Instant::now()));
    assert_eq!(poll!(&mut guarded), Poll::Ready(Err(NotLeader)));
    drop(guarded);
    assert_eq!(steps, 1);
}

#[tokio::test]
async fn connection_closes_with_the_leadership() {
    for lost in [Leadership::LeaderUntil(Instant::now()), Leadership::Closed] {
        let (leadership, fence) = Fence::new();
        let (given, (sender, mut sent)) = (Arc::new(Notify::new()), tokio::sync::mpsc::unbounded_channel());
        let write = given.clone();
        fence.execute(async move {
            while !sender.is_closed() {
                write.notified().await;
                sender.send(()).unwrap();
            }
        });
        // A candidate reads.
        given.notify_one();
        assert_eq!(sent.recv().await, Some(()));
        leadership.send_replace(Leadership::LeaderUntil(Instant::now() + HOUR));
        given.notify_one();
        assert_eq!(sent.recv().await, Some(()));
        leadership.send_replace(lost);
        given.notify_one();
        assert_eq!(sent.recv().await, None, "{lost:?}");
    }
}
