//! The tree as a table.

use jiff::Timestamp;

use super::age;
use crate::cli::output::{Layout, NOTHING, object_name, table_in};
use crate::explain::tree::Node;

/// Formats the tree as text; empty if there are no nodes.
pub(in crate::cli) fn text(nodes: &[Node], now: Timestamp, layout: Layout) -> String {
    if nodes.is_empty() {
        return String::new();
    }
    let mut rows = Vec::new();
    for node in nodes {
        add(node, ("", ""), now, &mut rows);
    }
    table_in(layout, ["NAME", "READY", "REASON", "AGE", "MESSAGE"], rows)
}

/// Returns the names of the objects in the tree, as kubectl and stackflux take them. Leaves out addons and upgrades, which have no object of their own.
pub(in crate::cli) fn names(nodes: &[Node]) -> Vec<String> {
    let mut names = Vec::new();
    for node in nodes {
        if !matches!(node.kind.as_str(), "Addon" | "UpgradeGate") {
            names.push(object_name(&node.kind, &node.namespace, &node.name));
        }
        names.extend(self::names(&node.children));
    }
    names
}

/// Adds the rows of a node; `before` stands before its name, `below` before those of its children.
fn add(node: &Node, (before, below): (&str, &str), now: Timestamp, rows: &mut Vec<[String; 5]>) {
    let slash = if node.namespace.is_empty() { "" } else { "/" };
    let version = if node.version.is_empty() { String::new() } else { format!(" ({})", node.version) };
    let name = format!("{before}{} {}{slash}{}{version}", node.kind, node.namespace, node.name);
    let ready = node.ready.unwrap_or(NOTHING).to_owned();
    let reason = if node.reason.is_empty() { NOTHING.to_owned() } else { node.reason.clone() };
    rows.push([name, ready, reason, age(node.created, now), node.message.clone()]);
    for (number, child) in node.children.iter().enumerate() {
        let (branch, bar) =
            if number + 1 == node.children.len() { ("└─", "  ") } else { ("├─", "│ ") };
        add(child, (&format!("{below}{branch}"), &format!("{below}{bar}")), now, rows);
    }
}
