//! A Service: passes connections on to replicas that are ready.

use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use stackflux_testbed::answers;

/// A port that passes connections on. It stays open as long as the process.
pub(super) struct Service {
    backends: Arc<Vec<Backend>>,
}

struct Backend {
    port: u16,
    health: u16,
}

impl Service {
    /// Listens at a port. `backends` have the ports of replicas, each with that of its readiness.
    pub(super) fn start(port: u16, backends: Vec<(u16, u16)>) -> Self {
        let backends: Vec<Backend> =
            backends.into_iter().map(|(port, health)| Backend { port, health }).collect();
        let (backends, turn) = (Arc::new(backends), AtomicUsize::new(0));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        let service = Self { backends: backends.clone() };
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let ready: Vec<u16> = backends
                    .iter()
                    .filter(|backend| answers(backend.health, "/readyz"))
                    .map(|it| it.port)
                    .collect();
                if let Some(port) = ready.get(turn.fetch_add(1, Ordering::Relaxed) % ready.len().max(1)) {
                    pass_on(client, *port);
                }
            }
        });
        service
    }

    /// Returns the ports of the replicas.
    pub(super) fn backends(&self) -> impl Iterator<Item = u16> {
        self.backends.iter().map(|backend| backend.port)
    }
}

fn pass_on(client: TcpStream, port: u16) {
    let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { return };
    let (Ok(other_client), Ok(other_server)) = (client.try_clone(), server.try_clone()) else { return };
    for (mut from, mut to) in [(client, server), (other_server, other_client)] {
        thread::spawn(move || {
            // The other side may be gone.
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
    }
}
