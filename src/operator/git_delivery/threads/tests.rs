use std::sync::mpsc;

use super::*;

const SHORT: Duration = Duration::from_millis(20);

#[tokio::test]
async fn hanging_thread_blocks_only_its_clone() {
    let threads = Threads::default();
    let url: GitUrl = "https://host/a.git".parse().unwrap();
    let (mine, other) = ((&url, Path::new("mine")), (&url, Path::new("other")));
    assert_eq!(threads.run(mine, THREAD_TIMEOUT, || 1).await.unwrap(), 1);

    let (end, ended) = mpsc::channel::<()>();
    let error = threads.run(mine, SHORT, move || ended.recv().is_ok()).await.unwrap_err();
    assert!(matches!(error, ThreadError::TooLong { .. }), "{error}");
    let error = threads.run(mine, THREAD_TIMEOUT, || ()).await.unwrap_err();
    assert!(
        error.to_string().starts_with("https://host/a.git: an earlier connection that timed out"),
        "{error}"
    );
    assert_eq!(threads.run(other, THREAD_TIMEOUT, || 2).await.unwrap(), 2);

    end.send(()).unwrap();
    while threads.hangs(mine.1) {
        tokio::task::yield_now().await;
    }
    assert_eq!(threads.run(mine, THREAD_TIMEOUT, || 3).await.unwrap(), 3, "it has ended");
    assert!(threads.at_work().is_empty(), "nothing is kept of threads that have ended");
}

#[tokio::test]
async fn panicking_work_is_reported() {
    let (threads, url) = (Threads::default(), "https://host/a.git".parse().unwrap());
    let ended = threads.run::<()>((&url, Path::new("mine")), THREAD_TIMEOUT, || panic!("a defect")).await;
    assert!(matches!(ended, Err(ThreadError::Ended { .. })), "{ended:?}");
    assert!(!threads.hangs(Path::new("mine")));
}

#[test]
fn process_exit_does_not_wait_for_hanging_thread() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let url: GitUrl = "https://host/a.git".parse().unwrap();
    let (_never, ended) = mpsc::channel::<()>();
    let error = runtime.block_on(async {
        let threads = Threads::default();
        threads.run((&url, Path::new("mine")), SHORT, move || ended.recv().is_ok()).await
    });
    assert!(matches!(error, Err(ThreadError::TooLong { .. })));
    crate::runtime::shutdown::end_threads(runtime);
}
