//! Tasks that run as long as the process does.
//!
//! The end of any task, also by a panic, ends the process: the operator would trust a cache that is no longer fed. Linkerd's
//! policy controller does the same.

use std::any::Any;
use std::borrow::Cow;
use std::future::Future;

use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use tokio::task::AbortHandle;

/// Starts tasks. Copies report to the same [`FirstEnd`].
#[derive(Clone, Debug)]
pub struct Tasks(UnboundedSender<TaskError>);

/// The end of the first task.
#[derive(Debug)]
pub struct FirstEnd(UnboundedReceiver<TaskError>);

/// A task ended that should run as long as the process.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    /// The task returned.
    #[error("the task {0:?} ended")]
    Ended(Cow<'static, str>),
    /// The task panicked.
    #[error("the task {name:?} panicked: {message}")]
    Panicked {
        /// The task.
        name: Cow<'static, str>,
        /// The message of the panic.
        message: String,
    },
}

impl Tasks {
    /// Creates the starter of tasks, and the receiver of the first end.
    #[must_use]
    pub fn new() -> (Self, FirstEnd) {
        let (sender, receiver) = unbounded();
        (Self(sender), FirstEnd(receiver))
    }

    /// Starts a task. A task that is aborted by its handle does not count as ended.
    pub fn spawn(
        &self,
        name: impl Into<Cow<'static, str>>,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> AbortHandle {
        let (name, ended, task) = (name.into(), self.0.clone(), tokio::spawn(task));
        let handle = task.abort_handle();
        tokio::spawn(async move {
            let error = match task.await {
                Ok(()) => TaskError::Ended(name),
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => TaskError::Panicked { name, message: message(&*panic) },
                    Err(_cancelled) => return,
                },
            };
            // If there is no receiver, the process is ending.
            _ = ended.unbounded_send(error);
        });
        handle
    }
}

impl FirstEnd {
    /// Waits until a task ends.
    pub async fn wait(&mut self) -> TaskError {
        match self.0.next().await {
            Some(error) => error,
            None => std::future::pending().await,
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn ended_or_panicking_task_is_reported() {
        let (tasks, mut first) = Tasks::new();
        tasks.spawn("forever", pending());
        let aborted = tasks.spawn("aborted", pending());
        aborted.abort();
        tasks.spawn("short", ready(()));
        assert_eq!(first.wait().await.to_string(), "the task \"short\" ended");
        tasks.spawn("watch", async { panic!("at {}", 1) });
        assert_eq!(first.wait().await.to_string(), "the task \"watch\" panicked: at 1");
    }
}
