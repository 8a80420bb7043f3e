//! Checks that a template's output depends on no fields other than those that it reports to read.

use gotemplate::Template;
use serde_json::{Value, json};

use super::case::{Case, NAME};

/// Finds a change to the data that no field of the template sees, and that nevertheless changes its output.
pub(crate) fn unseen_dependence(case: &Case) -> Option<String> {
    let template = Template::parse(NAME, &case.template).ok()?;
    let is_unseen =
        |data: &Value| template.fields().iter().all(|field| field.select(data) == field.select(&case.data));
    let usual = template.render(&case.data);
    changed(&case.data).into_iter().filter(is_unseen).find_map(|data| {
        let rendered = template.render(&data);
        (rendered != usual).then(|| {
            let fields: Vec<_> = template.fields().iter().map(ToString::to_string).collect();
            format!(
                "{}\n  template {:?}\n  fields {fields:?}\n  with {} gives {usual:?}\n  with {data} gives {rendered:?}\n",
                case.id, case.template, case.data
            )
        })
    })
}

/// Copies the data with one place changed, for every place and a few changes of each.
fn changed(data: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    for pointer in pointers(data, "") {
        for replacement in [Value::Null, json!("other"), json!({ "a": "other" }), json!(5), json!([])] {
            let mut copy = data.clone();
            *copy.pointer_mut(&pointer).expect("a pointer into the data") = replacement;
            all.push(copy);
        }
        let mut copy = data.clone();
        let (parent, name) = pointer.rsplit_once('/').expect("a pointer below the root");
        if let Some(Value::Object(fields)) = copy.pointer_mut(parent) {
            fields.remove(&name.replace("~1", "/").replace("~0", "~"));
            all.push(copy);
        }
    }
    all
}

/// Lists JSON pointers to everything below the root.
fn pointers(value: &Value, at: &str) -> Vec<String> {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.replace('~', "~0").replace('/', "~1"), value)).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect()
        }
        _ => Vec::new(),
    };
    children
        .into_iter()
        .flat_map(|(name, child)| {
            let pointer = format!("{at}/{name}");
            let below = pointers(child, &pointer);
            std::iter::once(pointer).chain(below)
        })
        .collect()
}
