use std::thread;

use super::*;

fn sleeping(supervisor: &Supervisor, name: &str) -> Process {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "echo started; sleep 600 & wait"]);
    supervisor.start(name, command).unwrap()
}

fn directory(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("stackflux-testbed-{name}-{}", std::process::id()))
}

fn ends(process: &Process) -> bool {
    probe::poll(Duration::from_secs(5), || Ok::<_, Error>(!process.is_running())).unwrap()
}

#[test]
fn closed_pipe_stops_processes_and_keeps_only_logs() {
    let run = directory("pipe");
    let supervisor = Supervisor::new(&run).unwrap();
    let process = sleeping(&supervisor, "sleeper");
    let log = log_path(&run.join("logs"), "sleeper");
    supervisor.wait(&process, move || tail(&log, 1).contains("started")).unwrap();
    assert!(process.is_running());
    drop(supervisor);
    assert!(ends(&process));
    assert!(probe::poll(Duration::from_secs(5), || Ok::<_, Error>(!run.join("data").exists())).unwrap());
    assert!(run.join("logs/sleeper.log").exists());
    fs::remove_dir_all(run).unwrap();
}

#[test]
fn left_process_is_stopped_by_id_and_start_time() {
    let run = directory("leave");
    let supervisor = Supervisor::new(&run).unwrap();
    let (ours, other) = (sleeping(&supervisor, "ours"), sleeping(&supervisor, "other"));
    supervisor.leave_running().unwrap();
    drop(supervisor);
    thread::sleep(Duration::from_millis(300));
    assert!(ours.is_running() && other.is_running());
    let reused = Process { start_time: other.start_time + 1, ..other.clone() };
    stop(&[ours.clone(), reused], &run.join("data")).unwrap();
    assert!(ends(&ours));
    assert!(other.is_running());
    stop(std::slice::from_ref(&other), &run.join("data")).unwrap();
    assert!(ends(&other));
    fs::remove_dir_all(run).unwrap();
}

#[test]
fn early_exit_of_component_is_reported_with_log() {
    let run = directory("early");
    let supervisor = Supervisor::new(&run).unwrap();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "echo the port is taken; sleep 0.3; exit 1"]);
    let error = supervisor.start("early", command).and_then(|process| supervisor.wait(&process, || false));
    let message = error.unwrap_err().to_string();
    assert!(
        message.contains("early ended before it was ready") && message.contains("the port is taken"),
        "{message}"
    );
    drop(supervisor);
    fs::remove_dir_all(run).unwrap();
}

#[test]
fn component_is_paused_killed_and_restarted() {
    let run = directory("again");
    let supervisor = Supervisor::new(&run).unwrap();
    let first = sleeping(&supervisor, "sleeper");
    let log = log_path(&run.join("logs"), "sleeper");
    let lines = log.clone();
    supervisor.wait(&first, move || tail(&lines, 1).contains("started")).unwrap();
    let state = || fs::read_to_string(format!("/proc/{}/stat", first.id)).unwrap();
    first.pause().unwrap();
    assert!(probe::poll(Duration::from_secs(5), || Ok::<_, Error>(state().contains(") T "))).unwrap());
    first.resume().unwrap();
    assert!(probe::poll(Duration::from_secs(5), || Ok::<_, Error>(!state().contains(") T "))).unwrap());
    assert!(first.cpu_seconds().unwrap() < 5.0);
    assert!(first.peak_memory_bytes().unwrap() > 100_000);
    assert!(supervisor.start_again("sleeper").unwrap_err().to_string().contains("runs already"));
    first.kill().unwrap();
    assert!(first.pause().unwrap_err().to_string().contains("does not run"));

    let second = supervisor.start_again("sleeper").unwrap();
    assert_ne!(first.id, second.id);
    assert_eq!(supervisor.process("sleeper").unwrap().id, second.id);
    assert!(
        probe::poll(Duration::from_secs(5), || Ok::<_, Error>(tail(&log, 9).matches("started").count() == 2))
            .unwrap()
    );
    second.terminate().unwrap();
    drop(supervisor);
    fs::remove_dir_all(run).unwrap();
}
