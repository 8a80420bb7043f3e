//! The components of a `ClusterStack`: addons of the platform beside those of its releases.
//!
//! A release with them is planned as one: stages, dependencies, settings and statuses are those of addons. A component
//! that cannot be used keeps its place and holds what Clusters have, because without it they would lose the addon.

use std::borrow::Cow;
use std::collections::BTreeMap;

use gotemplate::Template;
use kube::core::Selector;
use serde_json::Value;

use crate::api::platform::{
    ComponentGit, ComponentHook, ComponentOci, ComponentRepository, PlatformComponent,
};
use crate::foreign::capi::Cluster;
use crate::inputs::components::SourceObject;
use crate::inputs::overrides::Requests;
use crate::inputs::stack::Stack;
use crate::names::{AddonName, ReleaseName};
use crate::release::{
    Action, Addon, AddonKind, Component, ComponentForm, ComponentSource, GitReference, Hook, OciReference,
    Platform, Release, RequestSchema, ValuesTemplate, check_path, leads,
};

/// Maximum number of patterns in the schemas of all components of a `ClusterStack`, and of the bytes that they need.
const MAX_PATTERNS: usize = 256;
const MAX_PATTERN_BYTES: usize = 4 * 1024 * 1024;

/// The place of a component in messages and in `inspect`.
pub const PLACE: &str = "spec.components of the ClusterStack";

/// Returns a release with the components of its `ClusterStack`. A component with the name of an addon of the release is left
/// out, unless it replaces that one.
#[must_use]
pub fn with_components<'a>(stack: &Stack, release: &'a Release) -> Cow<'a, Release> {
    if stack.components.repositories.is_empty() {
        return Cow::Borrowed(release);
    }
    let mut whole = release.clone();
    for (addon, replaces) in addons(stack) {
        match whole.addons.iter_mut().find(|known| known.name == addon.name) {
            Some(replaced) if replaces => *replaced = in_place_of(addon, release),
            Some(_) => {}
            None => whole.addons.push(addon),
        }
    }
    keep_own_stages(&mut whole);
    Cow::Owned(whole)
}

/// Leaves out the stages of a release that are about an addon in whose place a component of the `ClusterStack` is, and not at a
/// moment of that one: the release does not delete what the platform adds.
fn keep_own_stages(whole: &mut Release) {
    let own = whole.addons.iter().filter(|addon| addon.platform().is_some());
    let own: Vec<(AddonName, Vec<Hook>)> =
        own.map(|addon| (addon.name.clone(), whole.hooks_of(&addon.name).collect())).collect();
    for (hook, list) in &mut whole.stages {
        list.retain(|stage| match own.iter().find(|(name, _)| *name == stage.addon) {
            Some((_, hooks)) => stage.action == Action::Apply && hooks.contains(hook),
            None => true,
        });
    }
}

/// Returns the addons of a release that a Cluster has: those that are offered to it, as far as the requests for it do not switch
/// them off, or leave an optional component off.
pub fn addons_of<'a>(
    release: &'a Release,
    cluster: &Cluster,
    requests: &'a Requests,
) -> impl Iterator<Item = &'a Addon> + use<'a> {
    let labels = if release.selects() { cluster.labels() } else { BTreeMap::new() };
    release.addons.iter().filter(move |addon| addon.is_for(&labels) && requests.has(addon))
}

/// The state of the components of a `ClusterStack`, as its status reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComponentsState {
    /// The number of components.
    pub count: usize,
    /// What is wrong with components, each with the name of the component.
    pub problems: Vec<String>,
    /// Whether one of them is wrong beside any release.
    pub is_invalid: bool,
    /// The components whose content can change, each with what Flux follows.
    pub mutable: Vec<String>,
    /// The addons of releases that components take the place of, each with whether it keeps its form as far as that is known.
    pub replaced: BTreeMap<AddonName, bool>,
}

/// The addons of releases, each with its form as far as it is known.
pub type AddonsOfReleases<'a> = BTreeMap<&'a ReleaseName, BTreeMap<&'a AddonName, Option<ComponentForm>>>;

/// Checks the components of a `ClusterStack` against the addons of its releases.
#[must_use]
pub fn check(stack: &Stack, releases: &AddonsOfReleases<'_>) -> ComponentsState {
    let mut state = ComponentsState::default();
    let all = addons(stack);
    for (addon, replaces) in &all {
        state.count += 1;
        let (name, component) = (&addon.name, addon.component());
        let platform = addon.platform();
        if let Some(problem) = platform.and_then(|platform| platform.problem.as_ref()) {
            state.problems.push(format!("{name}: {problem}"));
            state.is_invalid = true;
        }
        if let Some(source) = component.map(|it| &it.source).filter(|source| source.exact().is_none()) {
            state.mutable.push(format!("{name} follows {} of {}", source.followed(), source.url()));
        }
        let problems = component.into_iter().flat_map(|component| dependencies(component, &all, releases));
        state.problems.extend(problems.map(|problem| format!("{name}: {problem}")));
        if leads_back(name, &all) {
            state.problems.push(format!("{name}: dependsOn leads back to the component itself"));
            state.is_invalid = true;
        }
        let taken = releases.iter().filter(|(_, addons)| addons.contains_key(name));
        let taken: Vec<String> = taken.map(|(release, _)| release.to_string()).collect();
        if *replaces && !taken.is_empty() {
            let forms = releases.values().filter_map(|addons| *addons.get(name)?);
            let form = component.map(|component| component.form);
            state.replaced.insert(name.clone(), forms.into_iter().all(|of| Some(of) == form));
        } else if !taken.is_empty() {
            let of = taken.join(", ");
            state.problems.push(format!(
                "{name}: {of} has an addon of this name, which stays: set replaces: true, or rename the component"
            ));
        }
    }
    state
}

/// Describes what is wrong with the components of a `ClusterStack` beside these releases, which may have them already.
pub fn problems<'a>(stack: &Stack, releases: impl Iterator<Item = &'a Release>) -> Vec<String> {
    let form = |addon: &Addon| if addon.is_chart() { ComponentForm::Chart } else { ComponentForm::Manifests };
    let own = |release: &'a Release| {
        let own = release.addons.iter().filter(|addon| addon.platform().is_none());
        (&release.name, own.map(|addon| (&addon.name, Some(form(addon)))).collect())
    };
    let problems = check(stack, &releases.map(own).collect()).problems;
    problems
        .iter()
        .map(|problem| format!("ClusterStack {}/{}: component {problem}", stack.namespace, stack.name))
        .collect()
}

/// Describes what a component waits for in vain.
fn dependencies(
    component: &Component,
    all: &[(Addon, bool)],
    releases: &AddonsOfReleases<'_>,
) -> Vec<String> {
    let problem = |needed: &AddonName| {
        if all.iter().any(|(addon, _)| addon.name == *needed) {
            return None;
        }
        let (release, _) = releases.iter().find(|(_, addons)| !addons.contains_key(needed))?;
        Some(format!("dependsOn: {release} has no addon {needed}, and the ClusterStack no component"))
    };
    component.depends_on.iter().filter_map(problem).collect()
}

/// Whether a component waits for itself, perhaps by way of others.
fn leads_back(name: &AddonName, all: &[(Addon, bool)]) -> bool {
    let needed = |name: &str| -> Vec<&str> {
        let found = all.iter().find(|(addon, _)| addon.name.as_str() == name);
        let found = found.and_then(|(addon, _)| addon.component());
        found.into_iter().flat_map(|component| &component.depends_on).map(AddonName::as_str).collect()
    };
    leads(needed(name.as_str()), name.as_str(), needed)
}

/// Reads the components of a `ClusterStack`: each with whether it replaces an addon of this name. Two with one name hold what
/// Clusters have of either, whichever of them it is.
fn addons(stack: &Stack) -> Vec<(Addon, bool)> {
    let mut found: Vec<(Addon, bool)> = Vec::new();
    let mut patterns = (0, 0);
    for repository in &stack.components.repositories {
        for item in &repository.components {
            // The API server refuses a name that is none.
            let Ok(name) = item.name.parse::<AddonName>() else { continue };
            let double = found.iter_mut().find(|(known, _)| known.name == name);
            if let Some((first, replaces)) = double {
                set_problem(first, "another component of the ClusterStack has this name");
                hold_everywhere(first);
                *replaces |= item.replaces;
                continue;
            }
            let mut addon = read(stack, repository, item, name);
            bound_patterns(&mut addon, &mut patterns);
            found.push((addon, item.replaces));
        }
    }
    found
}

/// Counts the patterns in the schema of a component. The schema is left out if there are too many in the `ClusterStack`.
fn bound_patterns(addon: &mut Addon, sum: &mut (usize, usize)) {
    let schema = addon.platform().and_then(|platform| platform.schema.as_ref());
    let (count, bytes) = schema.map_or((0, 0), RequestSchema::patterns);
    let (count, bytes) = (sum.0 + count, sum.1 + bytes);
    if count <= MAX_PATTERNS && bytes <= MAX_PATTERN_BYTES {
        *sum = (count, bytes);
        return;
    }
    let problem = format!(
        "schema: the components of a ClusterStack must have at most {MAX_PATTERNS} patterns together, which need at most \
         {MAX_PATTERN_BYTES} bytes"
    );
    set_problem(addon, &problem);
    if let AddonKind::Component(component) = &mut addon.kind
        && let Some(platform) = &mut component.platform
    {
        platform.schema = None;
    }
}

/// Returns a component in the place of an addon of the release. One whose content can change is in no upgrade of Kubernetes.
fn in_place_of(mut addon: Addon, release: &Release) -> Addon {
    let name = addon.name.clone();
    if let AddonKind::Component(component) = &mut addon.kind {
        let is_exact = component.source.exact().is_some();
        if let Some(platform) = component.platform.as_mut().filter(|_| is_exact) {
            let own = platform.hooks.take().unwrap_or_default();
            let before = own.into_iter().filter(|hook| *hook == Hook::BeforeClusterUpgrade);
            let hooks: Vec<Hook> = release.hooks_of(&name).chain(before).collect();
            // The chart of the single-chart form is of no hook, and of a component in its place all are.
            platform.hooks = Some(if hooks.is_empty() { Hook::ALL.to_vec() } else { hooks });
        }
    }
    addon
}

/// Lets all Clusters have a component that cannot be used: its labels may be those of another one, which need not be optional.
fn hold_everywhere(addon: &mut Addon) {
    if let AddonKind::Component(component) = &mut addon.kind
        && let Some(platform) = &mut component.platform
    {
        platform.selector = None;
        platform.optional = false;
    }
}

fn set_problem(addon: &mut Addon, problem: &str) {
    if let AddonKind::Component(component) = &mut addon.kind
        && let Some(platform) = &mut component.platform
    {
        platform.problem.get_or_insert_with(|| problem.to_owned());
    }
}

/// Reads a component. With a problem it is one whose objects stay as they are.
fn read(stack: &Stack, repository: &ComponentRepository, item: &PlatformComponent, name: AddonName) -> Addon {
    let (form, path) = match (&item.chart, &item.manifests) {
        (Some(chart), _) => (ComponentForm::Chart, chart.as_str()),
        (None, manifests) => (ComponentForm::Manifests, manifests.as_deref().unwrap_or_default()),
    };
    let path = path.strip_prefix("./").unwrap_or(path).trim_end_matches('/');
    let (selector, template, schema) = (selector(item), template(item), schema(item));
    let path_error = (path != ".").then(|| check_path(path).err()).flatten();
    let path_problem = path_error.map(|error| format!("{path}: {error}"));
    let problem = path_problem.or_else(|| selector.clone().err()).or_else(|| template.clone().err());
    let problem = problem.or_else(|| schema.clone().err());
    let component = Component {
        repository: repository.name.clone(),
        source: source(repository),
        form,
        path: path.to_owned(),
        values: item.values.clone(),
        depends_on: item.depends_on.iter().filter_map(|of| of.parse().ok()).collect(),
        platform: Some(Platform {
            selector: selector.unwrap_or_default(),
            optional: item.optional,
            description: item.description.clone(),
            homepage: item.homepage.clone(),
            schema: schema.unwrap_or_default(),
            hooks: Some(hooks(item)),
            target_namespace: item.target_namespace.clone(),
            creates_namespace: item.create_namespace,
            interval: repository.interval.to_string(),
            problem,
        }),
    };
    let values = (!item.values.is_empty()).then(|| Value::Object(item.values.clone()).to_string());
    let files = [("template", &item.template), ("substitute", &item.substitute), ("values", &values)];
    let files = files.into_iter().filter_map(|(field, text)| Some((field, text.as_ref()?.as_bytes())));
    let digest = component.digest(files);
    let unusable = SourceObject::of(stack, &component).err();
    let kind = AddonKind::Component(Box::new(component));
    let template = template.unwrap_or_default();
    let mut addon = Addon { name, kind, path: PLACE.to_owned(), digest, template };
    if let Some(error) = unusable {
        set_problem(&mut addon, &error.to_string());
    }
    addon
}

/// Returns the labels of the Clusters that have a component; `None` for all Clusters. As in Kubernetes, a list of values is not
/// empty: no Cluster would have the component.
fn selector(item: &PlatformComponent) -> Result<Option<Selector>, String> {
    let wanted = item.cluster_selector.clone();
    let expressions = wanted.iter().flat_map(|wanted| wanted.match_expressions.iter().flatten());
    for expression in expressions {
        let has_values = expression.values.as_ref().is_some_and(|values| !values.is_empty());
        if ["In", "NotIn"].contains(&expression.operator.as_str()) && !has_values {
            return Err(format!("clusterSelector: {} {} has no values", expression.key, expression.operator));
        }
    }
    wanted.map(|wanted| wanted.try_into().map_err(|error| format!("clusterSelector: {error}"))).transpose()
}

/// Reads the schema of the values that the owner of a Cluster may set.
fn schema(item: &PlatformComponent) -> Result<Option<RequestSchema>, String> {
    if item.schema.is_empty() {
        return Ok(None);
    }
    RequestSchema::read(&item.schema).map(Some).map_err(|error| format!("schema: {error}"))
}

fn hooks(item: &PlatformComponent) -> Vec<Hook> {
    let before = item.hook.map(|ComponentHook::BeforeClusterUpgrade| Hook::BeforeClusterUpgrade);
    [Hook::AfterControlPlaneInitialized].into_iter().chain(before).collect()
}

/// Parses the template of a component. Its name in messages is that of its field.
fn template(item: &PlatformComponent) -> Result<Option<ValuesTemplate>, String> {
    let fields = [("template", &item.template), ("substitute", &item.substitute)];
    let Some((field, text)) = fields.into_iter().find_map(|(field, text)| Some((field, text.as_ref()?)))
    else {
        return Ok(None);
    };
    let file = format!("{field} of component {}", item.name);
    match Template::parse(&file, text) {
        Ok(template) => Ok(Some(ValuesTemplate { file, template })),
        Err(error) => {
            let at = error.place.position;
            Err(format!("{field}, line {}, column {}: {}", at.line, at.column, error.message))
        }
    }
}

fn source(repository: &ComponentRepository) -> ComponentSource {
    match (&repository.git, &repository.oci) {
        (Some(git), _) => of_git(git),
        (None, oci) => oci.as_ref().map_or_else(|| of_oci(&ComponentOci::default()), of_oci),
    }
}

fn of_git(git: &ComponentGit) -> ComponentSource {
    let of = git.reference.clone().unwrap_or_default();
    let mut reference = GitReference {
        branch: of.branch,
        tag: of.tag,
        semver: of.semver,
        name: of.name,
        // The API server refuses a commit that is none.
        commit: of.commit.and_then(|commit| commit.parse().ok()),
    };
    if reference == GitReference::default() {
        reference.branch = Some("master".to_owned());
    }
    ComponentSource::Git { url: git.url.clone(), reference }
}

fn of_oci(oci: &ComponentOci) -> ComponentSource {
    let ComponentOci { url, digest, tag, semver } = oci.clone();
    let mut reference = OciReference { digest, tag, semver };
    if reference == OciReference::default() {
        reference.tag = Some("latest".to_owned());
    }
    ComponentSource::Oci { url, reference }
}
