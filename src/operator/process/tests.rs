use super::*;

#[test]
fn two_identities_on_one_host_differ() {
    let (one, two) = (identity(), identity());
    assert_ne!(one, two);
    assert_eq!(one.split('_').next(), two.split('_').next());
}

#[tokio::test]
async fn unexpected_end_of_controllers_is_a_failure() {
    let (ender, _shutdown) = Ender::new();
    let (_tasks, first_end) = Tasks::new();
    let outcome = supervise(std::future::ready(()), first_end, None, &ender).await;
    assert!(matches!(outcome, Err(ProcessError::ControllersEnded)), "{outcome:?}");
}

#[tokio::test]
async fn connections_that_keep_a_shutdown_waiting_are_ended() {
    let (end, ended) = tokio::sync::oneshot::channel();
    let reconcile = Box::pin(async { ended.await.unwrap() });
    finish(reconcile, || end.send(()).unwrap()).await;
    finish(std::future::ready(()), || panic!("nothing waits for a connection")).await;
}

#[tokio::test]
async fn panicking_task_ends_the_process() {
    let (ender, _shutdown) = Ender::new();
    let (tasks, first_end) = Tasks::new();
    tasks.spawn("watch of Clusters", async { panic!("out of bounds") });
    let outcome = supervise(std::future::pending(), first_end, None, &ender).await;
    let error = outcome.unwrap_err().to_string();
    assert_eq!(error, "the task \"watch of Clusters\" panicked: out of bounds");
}
