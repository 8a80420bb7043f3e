//! `stackflux template`.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::error::CliError;
use super::releases::Releases;
use super::{CommandResult, Outcome, clusters, objects, terminal};
use crate::api::Reason;
use crate::gate::Hold;
use crate::inputs::ClusterInputs;
use crate::names::{AddonName, ObjectName};
use crate::plan::{self, canonical};
use crate::release::ValuesTemplate;
use gotemplate::{FieldPath, Seen, Template};

/// Try a values template against Clusters
///
/// Renders a values template (overwrite.yaml or cluster-addon-values.yaml), or those of a release's addons, with the
/// data of Clusters, and prints the values that Helm would get, not merged over other values. The fields that the
/// templates read go to stderr, each with its present value, or as missing.
///
/// Exits with 0 if everything was rendered, with 1 if a field or an object is missing, and with 2 on errors: a template
/// that cannot be parsed or fails, or values that are not a YAML mapping.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Render a template for a Cluster and the objects that it refers to
  stackflux template cluster-addon/ccm/overwrite.yaml --filename cluster.yaml
  # Render all addons of a release for one of the Clusters of a management cluster
  kubectl get clusters,openstackclusters,kubeadmcontrolplanes -A -o yaml |
    stackflux template stacks/releases/openstack-scs-1-32-v1 --filename - --cluster production
  # Print only the values, for a program
  stackflux template releases/openstack-scs-1-32-v1 --addon ccm --filename clusters/ --output json 2>/dev/null")]
pub(super) struct Arguments {
    /// Values template, or a release (directory or archive)
    source: PathBuf,
    /// Clusters and the objects that they refer to: files, directories, or - for standard input
    #[arg(short, long, value_name = "FILE", required = true)]
    filename: Vec<PathBuf>,
    /// Render only the template of this addon of a release
    #[arg(long, value_name = "NAME")]
    addon: Option<AddonName>,
    /// Render only for Clusters with this name
    #[arg(long, value_name = "NAME")]
    cluster: Option<ObjectName>,
    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value = "yaml")]
    output: Format,
}

/// The output format of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A document for each Cluster and template
    Yaml,
    /// A list with an item for each Cluster and template
    Json,
}

/// A values template, and the addon that it is for.
struct Source {
    /// The addon; `None` if the source is a single file.
    addon: Option<AddonName>,
    template: ValuesTemplate,
}

/// The values that a template renders for a Cluster.
#[derive(Serialize)]
struct Rendered<'a> {
    namespace: &'a str,
    cluster: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    addon: Option<&'a str>,
    values: Map<String, Value>,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let sources = sources(arguments)?;
    let clusters = chosen(arguments)?;
    let mut rendered = Vec::new();
    let mut holds = Vec::new();
    for cluster in &clusters {
        for source in &sources {
            print_fields(source, cluster);
            match plan::values(&source.template, cluster) {
                Ok(values) => rendered.push(Rendered {
                    namespace: cluster.cluster.namespace().as_str(),
                    cluster: cluster.cluster.name().as_str(),
                    addon: source.addon.as_ref().map(AddonName::as_str),
                    values,
                }),
                Err(hold) => {
                    print_hold(&hold);
                    holds.push(hold);
                }
            }
        }
    }
    print(&rendered, arguments.output)?;
    let failed = holds.iter().filter(|hold| is_failure(hold)).count();
    match (failed, holds.is_empty()) {
        (0, true) => Ok(Outcome::Done),
        (0, false) => Ok(Outcome::Differs),
        _ => Err(CliError::usage(format!("{failed} of {} failed", rendered.len() + holds.len()))),
    }
}

fn sources(arguments: &Arguments) -> Result<Vec<Source>, CliError> {
    let path = &arguments.source;
    let is_archive = path.extension().is_some_and(|extension| extension == "tgz");
    if path.is_dir() || is_archive {
        return of_release(path, arguments.addon.as_ref());
    }
    if arguments.addon.is_some() {
        return Err(CliError::usage("--addon selects an addon of a release, but the source is a file"));
    }
    let file = path.display().to_string();
    let text = objects::read_file(path)?;
    let template = Template::parse(&file, &text)?;
    Ok(vec![Source { addon: None, template: ValuesTemplate { file, template } }])
}

fn of_release(path: &Path, wanted: Option<&AddonName>) -> Result<Vec<Source>, CliError> {
    let releases = Releases::open(path)?;
    let release = releases.load(&releases.single()?)?.release;
    let chosen = release.addons.iter().filter(|addon| wanted.is_none_or(|name| addon.name == *name));
    let with_template = chosen.filter_map(|addon| {
        Some(Source { addon: Some(addon.name.clone()), template: addon.template.clone()? })
    });
    let sources: Vec<Source> = with_template.collect();
    if !sources.is_empty() {
        return Ok(sources);
    }
    let names: Vec<&str> = release.addons.iter().map(|addon| addon.name.as_str()).collect();
    Err(match wanted {
        Some(name) if release.addon(name).is_none() => {
            let hint = format!("its addons are {}", names.join(", "));
            CliError::usage(format!("release {} has no addon {name}", release.name)).hint(hint)
        }
        Some(name) => {
            CliError::usage(format!("addon {name} of release {} has no values template", release.name))
        }
        None => CliError::usage(format!("no addon of release {} has a values template", release.name)),
    })
}

/// Returns the Clusters to render for.
fn chosen(arguments: &Arguments) -> Result<Vec<ClusterInputs>, CliError> {
    let mut clusters = clusters::among(&objects::read(&arguments.filename)?)?;
    let Some(name) = &arguments.cluster else {
        let none = CliError::usage("no Cluster found in the files given");
        return if clusters.is_empty() { Err(none) } else { Ok(clusters) };
    };
    clusters.retain(|cluster| cluster.cluster.name() == name);
    let none = CliError::usage(format!("Cluster {name} not found in the files given"));
    if clusters.is_empty() { Err(none) } else { Ok(clusters) }
}

/// Reports every field that the template reads, with its present value.
fn print_fields(source: &Source, cluster: &ClusterInputs) {
    let fields = source.template.template.fields();
    let names: Vec<String> = fields.iter().map(ToString::to_string).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    let addon = source.addon.as_ref().map(|addon| format!(" addon {addon}")).unwrap_or_default();
    let of = format!("Cluster {}/{}{addon}", cluster.cluster.namespace(), cluster.cluster.name());
    if fields.is_empty() {
        terminal::note(format!("{of}: {} reads no field", source.template.file));
        return;
    }
    terminal::note(format!("{of}: {} reads", source.template.file));
    for (name, field) in names.iter().zip(fields) {
        let value = shown(field, cluster.data());
        terminal::detail(format!("{name:width$}  {value}"));
    }
}

/// Maximum length of a shown value, in characters.
const MAX_VALUE_CHARACTERS: usize = 60;

/// Formats the value of a field as JSON, shortened if it is long. If the template only tests for presence, returns
/// whether the field is set.
fn shown(field: &FieldPath, data: &Value) -> String {
    let value = match field.select(data) {
        Seen::Presence(true) => return "set".to_owned(),
        Seen::Presence(false) => return "empty".to_owned(),
        Seen::NoField(name, value) => json!({ format!("no field {name}"): value }).to_string(),
        Seen::Value(value) => value.to_string(),
        _ => return "missing".to_owned(),
    };
    match value.char_indices().nth(MAX_VALUE_CHARACTERS) {
        Some((end, _)) => format!("{}…", value.get(..end).unwrap_or_default()),
        None => value,
    }
}

fn is_failure(hold: &Hold) -> bool {
    !matches!(hold.reason, Reason::WaitingForField | Reason::WaitingForObject)
}

fn print_hold(hold: &Hold) {
    if is_failure(hold) {
        terminal::failure(&CliError::usage(format!("{}: {}", hold.reason, hold.message)));
    } else {
        terminal::waiting(format!("{}: {}", hold.reason, hold.message));
    }
}

fn print(rendered: &[Rendered], format: Format) -> Result<(), CliError> {
    let text = match format {
        Format::Json => serde_json::to_string_pretty(rendered)? + "\n",
        Format::Yaml => documents(rendered),
    };
    Ok(terminal::data(&text)?)
}

/// Writes a document for each, with a comment that names the Cluster and the addon.
fn documents(rendered: &[Rendered]) -> String {
    let document = |rendered: &Rendered| {
        let addon = rendered.addon.map(|addon| format!(", addon {addon}")).unwrap_or_default();
        let values = canonical::to_yaml(&Value::Object(rendered.values.clone()));
        format!("# Cluster {}/{}{addon}\n{values}", rendered.namespace, rendered.cluster)
    };
    rendered.iter().map(document).collect::<Vec<_>>().join("---\n")
}
