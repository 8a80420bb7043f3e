//! The committed cases, and random ones that Go answers in the same run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::case::Case;
use crate::tally::Tally;
use crate::{fields, oracle};

/// Number of lines that travel together from the reader to a worker.
const BATCH: usize = 256;

#[test]
fn conformance_files_pass() {
    let mut differences = Tally::default();
    for (name, path) in conformance_files(&committed()) {
        let mut tally = Tally::default();
        let text = fs::read_to_string(&path).expect("a readable conformance file");
        for line in text.lines() {
            tally.add(&Case::read(line));
        }
        println!("{name:28} {}", tally.counts());
        differences.join(tally);
    }
    println!("{:28} {}", "all", differences.counts());
    differences.expect_none("conformance");
}

#[test]
fn random_templates_give_the_output_of_go() {
    let seed = number_from("GOTEMPLATE_SEED", 20_261_120);
    let count = number_from("GOTEMPLATE_CASES", 100_000);
    println!("GOTEMPLATE_SEED={seed} GOTEMPLATE_CASES={count}");
    let mut process = oracle::random(seed, count);
    let output = process.stdout.take().expect("the output of the oracle");
    let tally = judge_stream(BufReader::new(output));
    assert!(process.wait().expect("the end of the oracle").success(), "the oracle failed");
    println!("{}", tally.counts());
    assert_eq!(tally.total(), count, "every case is compared");
    tally.expect_none("random");
}

#[test]
fn unread_data_does_not_change_the_output() {
    let mut process = oracle::random(number_from("GOTEMPLATE_SEED", 20_261_121), 3_000);
    let output = process.stdout.take().expect("the output of the oracle");
    let unseen: Vec<_> = BufReader::new(output)
        .lines()
        .filter_map(|line| fields::unseen_dependence(&Case::read(&line.expect("a line of the oracle"))))
        .collect();
    assert!(process.wait().expect("the end of the oracle").success(), "the oracle failed");
    assert!(unseen.is_empty(), "{} templates read more than they say:\n{}", unseen.len(), unseen.concat());
}

#[test]
fn oracle_passes_its_own_tests() {
    oracle::test();
}

#[test]
fn engine_has_the_functions_of_the_oracle() {
    let engine: BTreeSet<_> = gotemplate::functions().map(|function| function.name.to_owned()).collect();
    assert_eq!(engine, oracle::functions());
}

#[test]
fn regenerating_the_conformance_files_changes_nothing() {
    let fresh = oracle::conformance();
    let (committed, fresh) = (conformance_files(&committed()), conformance_files(&fresh));
    assert_eq!(
        committed.keys().collect::<Vec<_>>(),
        fresh.keys().collect::<Vec<_>>(),
        "the names of the files; `make conformance` writes them"
    );
    for (name, path) in &committed {
        let same = fs::read(path).expect("a committed file") == fs::read(&fresh[name]).expect("a fresh file");
        assert!(same, "{name} is not what the oracle says; `make conformance` writes it");
    }
}

/// Returns the directory of the committed files.
fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance")
}

/// Lists the conformance files of a directory by name, at least one.
fn conformance_files(directory: &Path) -> BTreeMap<String, PathBuf> {
    let files: BTreeMap<_, _> = fs::read_dir(directory)
        .expect("a directory of conformance files")
        .map(|entry| entry.expect("a directory entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .map(|path| (path.file_stem().expect("a name").to_string_lossy().into_owned(), path))
        .collect();
    assert!(!files.is_empty(), "no conformance file in {}", directory.display());
    files
}

fn number_from(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().expect("a number"))
}

/// Judges the answers of a stream on all processors, holding a few batches of lines at a time.
fn judge_stream(lines: impl BufRead) -> Tally {
    let workers = thread::available_parallelism().map_or(2, usize::from);
    let (sender, receiver) = mpsc::sync_channel::<Vec<String>>(2 * workers);
    let receiver = Arc::new(Mutex::new(receiver));
    let judges: Vec<_> = (0..workers)
        .map(|_| {
            let receiver = Arc::clone(&receiver);
            thread::spawn(move || judge_batches(&receiver))
        })
        .collect();
    send_batches(lines, &sender);
    drop(sender);
    let mut all = Tally::default();
    for judge in judges {
        all.join(judge.join().expect("a judge that ends"));
    }
    all
}

fn send_batches(lines: impl BufRead, sender: &SyncSender<Vec<String>>) {
    let mut batch = Vec::new();
    for line in lines.lines() {
        batch.push(line.expect("a line of the oracle"));
        if batch.len() == BATCH {
            sender.send(std::mem::take(&mut batch)).expect("a judge");
        }
    }
    sender.send(batch).expect("a judge");
}

fn judge_batches(receiver: &Mutex<Receiver<Vec<String>>>) -> Tally {
    let mut tally = Tally::default();
    loop {
        let batch = receiver.lock().expect("no judge panics").recv();
        let Ok(lines) = batch else { return tally };
        for line in lines {
            tally.add(&Case::read(&line));
        }
    }
}
