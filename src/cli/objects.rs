//! Reads Kubernetes objects from YAML or JSON files, directories of them, and standard input.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::CliError;
use crate::foreign::capi::{field, text};
use crate::yaml;

/// Maximum size of one file, in bytes: a Kubernetes object has at most 1.5 MiB, and a file may have a list of
/// thousands.
const MAX_FILE: u64 = 256 * 1024 * 1024;

/// An object, with the file that it was read from.
#[derive(Debug)]
pub(super) struct Sourced {
    pub(super) file: PathBuf,
    pub(super) object: Value,
}

/// Reads all objects in `paths`: files with one or more documents, directories (their `.yaml`, `.yml` and `.json`
/// files, recursively), and `-` for standard input. Lists are split into their items.
pub(super) fn read(paths: &[PathBuf]) -> Result<Vec<Sourced>, CliError> {
    let mut objects = Vec::new();
    for path in paths {
        let mut documents = 0;
        for file in files(path)? {
            let content = read_file(&file)?;
            documents += parse(&file, &content, &mut objects)?;
        }
        // A list without items means that there are no objects; no documents at all mean that a preceding `kubectl get`
        // failed.
        if documents == 0 {
            let message = format!("{}: no Kubernetes object found, not even an empty list", path.display());
            return Err(CliError::usage(message).hint("did the command that writes it fail?"));
        }
    }
    Ok(objects)
}

fn files(path: &Path) -> Result<Vec<PathBuf>, CliError> {
    if path == Path::new("-") || !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let failed = |source| CliError::io(path, source);
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        entries.push(entry.map_err(failed)?.path());
    }
    entries.sort();
    let mut found = Vec::new();
    for entry in entries {
        let extension = entry.extension().and_then(|extension| extension.to_str());
        if entry.is_dir() {
            found.extend(files(&entry)?);
        } else if matches!(extension, Some("yaml" | "yml" | "json")) {
            found.push(entry);
        }
    }
    Ok(found)
}

/// Reads the text of a file, or of standard input for `-`.
pub(super) fn read_file(path: &Path) -> Result<String, CliError> {
    let failed = |source| CliError::io(path, source);
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(MAX_FILE + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).map_err(failed)?.take(MAX_FILE + 1).read_to_end(&mut bytes)
    };
    if read.map_err(failed)? as u64 > MAX_FILE {
        return Err(CliError::usage(format!("{}: exceeds the limit of {MAX_FILE} bytes", path.display())));
    }
    String::from_utf8(bytes)
        .map_err(|_| CliError::usage(format!("{}: the file is not UTF-8", path.display())))
}

/// Returns the limits of a document: the nesting of a CRD, and few aliases, so that they cannot multiply its size.
fn options() -> serde_yaml::Options {
    serde_yaml::options! {
        budget: serde_yaml::budget! {
            max_depth: 128, max_nodes: 50_000_000, max_events: 100_000_000, max_total_scalar_bytes: 1 << 28,
            max_documents: 1_000_000, max_aliases: 10_000,
        },
        legacy_octal_numbers: true,
    }
}

/// Adds the objects of a file of a repository. Skips documents that are not objects, such as Kustomize's.
pub(super) fn add_file(file: &Path, content: &[u8], objects: &mut Vec<Sourced>) -> Result<(), CliError> {
    let content = std::str::from_utf8(content);
    let content =
        content.map_err(|_| CliError::usage(format!("{}: the file is not UTF-8", file.display())))?;
    let is_object = |document: &Value| {
        !text(document, &["kind"]).is_empty() && !text(document, &["apiVersion"]).is_empty()
    };
    let documents = documents(file, content)?.into_iter();
    documents.filter(is_object).try_for_each(|document| take(file, document, objects))
}

fn documents(file: &Path, content: &str) -> Result<Vec<Value>, CliError> {
    serde_yaml::from_multiple_with_options(content, options()).map_err(|error| {
        let line = error.location().map(|place| format!(":{}", place.line())).unwrap_or_default();
        CliError::usage(format!("{}{line}: {}", file.display(), yaml::message(&error, &options())))
    })
}

/// Adds the objects of a file, and returns the number of its documents.
fn parse(file: &Path, content: &str, objects: &mut Vec<Sourced>) -> Result<usize, CliError> {
    let mut count = 0;
    for document in documents(file, content)? {
        count += usize::from(!document.is_null());
        match document {
            Value::Null => {}
            Value::Object(_) => take(file, document, objects)?,
            _ => {
                return Err(CliError::usage(format!(
                    "{}: a document is not a Kubernetes object",
                    file.display()
                )));
            }
        }
    }
    Ok(count)
}

fn take(file: &Path, mut object: Value, objects: &mut Vec<Sourced>) -> Result<(), CliError> {
    if text(&object, &["kind"]).is_empty() || text(&object, &["apiVersion"]).is_empty() {
        let message = format!("{}: a document is missing apiVersion or kind", file.display());
        return Err(CliError::usage(message));
    }
    let is_list = text(&object, &["kind"]).ends_with("List") && field(&object, &["items"]).is_some();
    if let Some(Value::Array(items)) = object.get_mut("items").filter(|_| is_list).map(Value::take) {
        return items.into_iter().try_for_each(|item| take(file, item, objects));
    }
    objects.push(Sourced { file: file.to_owned(), object });
    Ok(())
}
