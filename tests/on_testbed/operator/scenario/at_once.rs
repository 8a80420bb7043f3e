//! Work for many items at a time.

use std::sync::Mutex;
use std::thread;

/// Number of threads: most of the work waits for an API server or for another process.
const THREADS: usize = 6;

/// Calls a function for each item, a few at a time, and returns the results in the order of the items. Fails if one of
/// the calls does.
pub(crate) fn at_once<'a, T: Sync, R: Send>(items: &'a [T], call: impl Fn(&'a T) -> R + Sync) -> Vec<R> {
    let (left, done) = (Mutex::new(items.iter().enumerate()), Mutex::new(Vec::new()));
    let next = || left.lock().unwrap().next();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some((at, item)) = next() {
                    let result = call(item);
                    done.lock().unwrap().push((at, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
