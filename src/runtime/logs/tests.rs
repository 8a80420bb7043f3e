use std::sync::{Arc, Mutex};

use serde_json::Value;
use tracing::subscriber::with_default;
use tracing::{debug, error, info, info_span, warn};

use super::*;

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the log of a reconcile that logs at three levels.
fn written(level: LogLevel, encoding: LogEncoding) -> String {
    let written = Written::default();
    let writer = written.clone();
    with_default(subscriber(LogSettings { level, encoding }, move || writer.clone(), false), || {
        let cluster = info_span!("cluster", cluster = "demo/one", release = "docker-demo-1-34-v1");
        let _cluster = cluster.enter();
        let addon = info_span!("addon", addon = "cni");
        let _addon = addon.enter();
        debug!("compared");
        info!(reason = "Paused", "held");
        warn!("left");
        error!("refused");
        error!(target: "kube_client::client::builder", "unreachable");
    });
    let bytes = written.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn log_line_has_the_fields_of_its_spans() {
    for level in [LogLevel::Trace, LogLevel::Debug, LogLevel::Info, LogLevel::Warn, LogLevel::Error] {
        let lines = written(level, LogEncoding::Json);
        let line: Value =
            serde_json::from_str(lines.lines().find(|line| line.contains("refused")).unwrap()).unwrap();
        assert_eq!(line["message"], "refused", "{line}");
        assert_eq!(line["spans"][0]["cluster"], "demo/one", "{line}");
        assert_eq!(line["spans"][0]["release"], "docker-demo-1-34-v1", "{line}");
        assert_eq!(line["spans"][1]["addon"], "cni", "{line}");
        let text = written(level, LogEncoding::Console);
        let line = text.lines().find(|line| line.contains("refused")).unwrap();
        let fields =
            r#"cluster{cluster="demo/one" release="docker-demo-1-34-v1"}:addon{addon="cni"}: refused"#;
        assert!(line.ends_with(fields), "{line}");
    }
}

#[test]
fn log_level_selects_messages_by_crate() {
    let logged = |level| {
        let lines = written(level, LogEncoding::Json);
        ["compared", "held", "left", "refused", "unreachable"].map(|word| lines.contains(word))
    };
    assert_eq!(logged(LogLevel::Trace), [true, true, true, true, true]);
    assert_eq!(logged(LogLevel::Debug), [true, true, true, true, true]);
    assert_eq!(logged(LogLevel::Info), [false, true, true, true, false]);
    assert_eq!(logged(LogLevel::Warn), [false, false, true, true, false]);
    assert_eq!(logged(LogLevel::Error), [false, false, false, true, false]);
}

#[test]
fn fields_of_a_line_are_its_own() {
    let lines = written(LogLevel::Info, LogEncoding::Json);
    let line: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((&line["message"], &line["reason"]), (&"held".into(), &"Paused".into()));
}
