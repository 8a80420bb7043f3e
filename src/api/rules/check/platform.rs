//! The check of the components of a `ClusterStack`.

use super::super::{
    ADDON_NAME, ADDON_NAMES, CHART_ALONE, COMMIT, COMPONENT_REFERENCE, EITHER_CONTENT, EITHER_REPOSITORY,
    EXACT_HOOK, GIT_COMPONENT, HOMEPAGE, MANIFEST_DIGEST, MAX_COMPONENTS, MAX_DESCRIPTION, MAX_HOMEPAGE,
    MAX_NEEDED, MAX_REPOSITORIES, MAX_TEMPLATE, NAMESPACE, OCI_CHART, OCI_COMPONENT, OCI_REFERENCE,
    OPTIONAL_ALONE, PATH, REPLACES_ALL, SUBSTITUTE_ALONE,
};
use super::{MAX_URL, Violations, is_inside};
use crate::api::platform::{ComponentGit, ComponentOci, ComponentRepository, PlatformComponent};
use crate::names::{AddonName, Namespace};

impl Violations {
    pub(super) fn repositories(&mut self, repositories: &[ComponentRepository]) {
        let are_few = repositories.len() <= MAX_REPOSITORIES
            && repositories.iter().all(|repository| repository.components.len() <= MAX_COMPONENTS);
        self.check(are_few, "spec.components.repositories", EITHER_REPOSITORY);
        for (at, repository) in repositories.iter().enumerate() {
            self.repository(repository, &format!("spec.components.repositories[{at}]"));
        }
    }

    fn repository(&mut self, repository: &ComponentRepository, field: &str) {
        self.check(repository.name.parse::<Namespace>().is_ok(), &format!("{field}.name"), NAMESPACE);
        self.check(repository.git.is_some() != repository.oci.is_some(), field, EITHER_REPOSITORY);
        let are_whole = repository.components.iter().all(|it| it.chart.as_deref().is_none_or(|of| of == "."));
        self.check(repository.oci.is_none() || are_whole, field, OCI_CHART);
        let is_exact = match (&repository.git, &repository.oci) {
            (Some(git), _) => git.reference.as_ref().is_some_and(|of| of.commit.is_some()),
            (None, oci) => oci.as_ref().is_some_and(|of| of.digest.is_some()),
        };
        let has_hook = repository.components.iter().any(|it| it.hook.is_some());
        self.check(is_exact || !has_hook, field, EXACT_HOOK);
        if let Some(git) = &repository.git {
            self.component_git(git, &format!("{field}.git"));
        }
        if let Some(oci) = &repository.oci {
            self.component_oci(oci, &format!("{field}.oci"));
        }
        for (at, component) in repository.components.iter().enumerate() {
            self.component(component, &format!("{field}.components[{at}]"));
        }
    }

    fn component_git(&mut self, git: &ComponentGit, field: &str) {
        self.check(GIT_COMPONENT.fits(&git.url, MAX_URL), &format!("{field}.url"), GIT_COMPONENT);
        let Some(of) = &git.reference else { return };
        let others = [&of.tag, &of.semver, &of.name, &of.commit].into_iter().flatten().count();
        let most = usize::from(of.branch.is_none() || of.commit.is_some());
        self.check(others <= most, &format!("{field}.ref"), COMPONENT_REFERENCE);
        let is_commit = of.commit.as_ref().is_none_or(|commit| COMMIT.fits(commit, 64));
        self.check(is_commit, &format!("{field}.ref.commit"), COMMIT);
    }

    fn component_oci(&mut self, oci: &ComponentOci, field: &str) {
        self.check(OCI_COMPONENT.fits(&oci.url, MAX_URL), &format!("{field}.url"), OCI_COMPONENT);
        let given = [&oci.digest, &oci.tag, &oci.semver].into_iter().flatten().count();
        self.check(given <= 1, field, OCI_REFERENCE);
        let is_digest = oci.digest.as_ref().is_none_or(|digest| MANIFEST_DIGEST.fits(digest, 71));
        self.check(is_digest, &format!("{field}.digest"), MANIFEST_DIGEST);
    }

    fn component(&mut self, component: &PlatformComponent, field: &str) {
        let is_addon = |text: &String| text.parse::<AddonName>().is_ok();
        self.check(is_addon(&component.name), &format!("{field}.name"), ADDON_NAME);
        self.check(component.chart.is_some() != component.manifests.is_some(), field, EITHER_CONTENT);
        let of_charts = [
            component.template.is_some(),
            !component.values.is_empty(),
            !component.depends_on.is_empty(),
            component.target_namespace.is_some(),
            component.create_namespace,
            !component.schema.is_empty(),
        ];
        self.check(component.chart.is_some() || !of_charts.contains(&true), field, CHART_ALONE);
        let substitutes = component.substitute.is_some();
        self.check(component.manifests.is_some() || !substitutes, field, SUBSTITUTE_ALONE);
        let is_everywhere = component.cluster_selector.is_none();
        self.check(!component.replaces || is_everywhere, field, REPLACES_ALL);
        self.check(!component.optional || !component.replaces, field, OPTIONAL_ALONE);
        let is_page = component.homepage.as_deref().is_none_or(|page| HOMEPAGE.fits(page, MAX_HOMEPAGE));
        self.check(is_page, &format!("{field}.homepage"), HOMEPAGE);
        let length = component.description.as_deref().map_or(0, |text| text.chars().count());
        self.check(length <= MAX_DESCRIPTION, &format!("{field}.description"), EITHER_CONTENT);
        for (name, path) in [("chart", &component.chart), ("manifests", &component.manifests)] {
            let is_path = path.as_deref().is_none_or(is_inside);
            self.check(is_path, &format!("{field}.{name}"), PATH);
        }
        let names = component.depends_on.len() <= MAX_NEEDED && component.depends_on.iter().all(is_addon);
        self.check(names, &format!("{field}.dependsOn"), ADDON_NAMES);
        let namespace = component.target_namespace.as_ref();
        let is_namespace = namespace.is_none_or(|name| name.parse::<Namespace>().is_ok());
        self.check(is_namespace, &format!("{field}.targetNamespace"), NAMESPACE);
        let mut templates = [&component.template, &component.substitute].into_iter().flatten();
        let are_short = templates.all(|template| template.chars().count() <= MAX_TEMPLATE);
        self.check(are_short, field, EITHER_CONTENT);
    }
}
