use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::*;

impl QueueObserver for () {
    fn observe(&self, _: usize, _: usize) {}
}

/// The maximum reported numbers of waiting and running keys.
#[derive(Default)]
struct Most(Rc<Cell<(usize, usize)>>);

impl QueueObserver for Most {
    fn observe(&self, waiting: usize, running: usize) {
        let (most_waiting, most_running) = self.0.get();
        self.0.set((most_waiting.max(waiting), most_running.max(running)));
    }
}

#[tokio::test]
async fn depth_counts_waiting_not_running_items() {
    let (trigger, requests) = queue();
    (0..20).for_each(|key| trigger.now(key));
    trigger.after(99, Duration::from_mins(1));
    let (done, finished) = tokio::sync::oneshot::channel::<()>();
    let (done, left, most) = (Cell::new(Some(done)), Cell::new(20), Most::default());
    let observed = most.0.clone();
    let stop = async {
        _ = finished.await;
    };
    run(requests, trigger.clone(), 3, stop, most, |_| async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        left.set(left.get() - 1);
        if left.get() == 0
            && let Some(done) = done.take()
        {
            _ = done.send(());
        }
        Next::Await
    })
    .await;
    let (waiting, running) = observed.get();
    assert!((4..=18).contains(&waiting), "{waiting}: one that is due in a minute does not wait");
    assert_eq!(running, 3);
}

/// Runs a queue until it has reconciled `count` times.
async fn reconciled(
    trigger: &Trigger<u32>,
    requests: Requests<u32>,
    concurrent: usize,
    count: usize,
    reconcile: impl AsyncFn(u32) -> Next,
) -> Vec<u32> {
    let (done, finished) = tokio::sync::oneshot::channel::<()>();
    let (done, seen) = (Cell::new(Some(done)), Rc::new(RefCell::new(Vec::new())));
    let stop = async {
        _ = finished.await;
    };
    run(requests, trigger.clone(), concurrent, stop, (), |key| {
        let (seen, done, reconcile) = (&seen, &done, &reconcile);
        async move {
            let next = reconcile(key).await;
            seen.borrow_mut().push(key);
            if seen.borrow().len() == count
                && let Some(done) = done.take()
            {
                _ = done.send(());
            }
            next
        }
    })
    .await;
    seen.take()
}

#[tokio::test]
async fn duplicate_request_runs_once() {
    let (trigger, requests) = queue();
    for key in [1, 1, 2, 1] {
        trigger.now(key);
    }
    trigger.after(3, Duration::from_millis(50));
    let seen = reconciled(&trigger, requests, 1, 3, async |_| Next::Await).await;
    assert_eq!(seen.last(), Some(&3));
    assert_eq!(seen.len(), 3);
}

#[tokio::test]
async fn key_changed_while_running_runs_again_afterwards() {
    let (trigger, requests) = queue();
    trigger.now(1);
    let (running, most, again) = (Cell::new(0), Cell::new(0), trigger.clone());
    let seen = reconciled(&trigger, requests, 8, 2, async |key| {
        running.set(running.get() + 1);
        most.set(most.get().max(running.get()));
        again.now(key);
        tokio::time::sleep(Duration::from_millis(20)).await;
        running.set(running.get() - 1);
        Next::Await
    });
    assert_eq!(seen.await, [1, 1]);
    assert_eq!(most.get(), 1);
}

#[tokio::test]
async fn concurrency_limit_is_enforced() {
    let (trigger, requests) = queue();
    (0..20).for_each(|key| trigger.now(key));
    let (running, most) = (Cell::new(0), Cell::new(0));
    let seen = reconciled(&trigger, requests, 3, 20, async |_| {
        running.set(running.get() + 1);
        most.set(most.get().max(running.get()));
        tokio::time::sleep(Duration::from_millis(2)).await;
        running.set(running.get() - 1);
        Next::Await
    });
    assert_eq!(seen.await.len(), 20);
    assert_eq!(most.get(), 3);
}

#[tokio::test]
async fn failure_is_retried_and_others_continue() {
    let (trigger, requests) = queue();
    trigger.now(1);
    trigger.now(2);
    let failures = Cell::new(0);
    let seen = reconciled(&trigger, requests, 1, 4, async |key| {
        if key == 1 && failures.get() < 2 {
            failures.set(failures.get() + 1);
            return Next::Retry;
        }
        Next::Await
    });
    let seen = seen.await;
    assert_eq!(seen.iter().filter(|key| **key == 1).count(), 3);
    assert!(seen.iter().position(|key| *key == 2) < Some(3), "{seen:?}");
}

#[tokio::test]
async fn running_items_finish_at_shutdown() {
    let (trigger, requests) = queue();
    trigger.now(1);
    let finished = Cell::new(false);
    let (started, has_started) = tokio::sync::oneshot::channel::<()>();
    let started = Cell::new(Some(started));
    let stop = async {
        _ = has_started.await;
    };
    run(requests, trigger.clone(), 1, stop, (), |_| async {
        if let Some(started) = started.take() {
            _ = started.send(());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        finished.set(true);
        Next::Await
    })
    .await;
    assert!(finished.get());
}

#[test]
fn pauses_grow_to_the_longest_and_go_on() {
    let pauses: Vec<Duration> = pauses().take(40).collect();
    assert_eq!(pauses.len(), 40);
    assert!(pauses[0] < Duration::from_secs(1) && pauses[39] >= BACKOFF.1, "{pauses:?}");
}
