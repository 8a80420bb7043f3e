//! Reads the facts: a fixed number of requests, all at the same time, and one question for each right of an operator.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::{join_all, try_join_all};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIGroup;
use kube::api::Api;
use kube::{Client, Error, discovery};
use serde_json::Value;

use super::rights::answers;
use super::taken::taken;
use crate::api;
use crate::cli::error::CliError;
use crate::cli::live::lists::{self, Listed};
use crate::cli::live::{Scope, Session};
use crate::explain::doctor::facts::{Extension, Facts, Kind, Own, Program, Read, Webhook, class_kinds};
use crate::explain::doctor::rights::{kinds, questions};
use crate::foreign::capi::{self, Cluster};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::definition::HELM_RELEASES;
use crate::installation::rights::Right;
use crate::runtime::watches::in_a_version;

/// The API group of `ExtensionConfig`s.
const RUNTIME: &str = "runtime.cluster.x-k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";
const DEFINITIONS: &str = "apiextensions.k8s.io";

/// Reads everything that the checks need. Before an installation, there is no account to ask about.
pub(super) async fn read(session: &Session, before_install: bool) -> Result<Facts, CliError> {
    let client = &session.client();
    let helm = FluxKind::HelmRelease;
    let helm_releases = Listed::new(helm.group(), helm.version(), &helm.plural());
    let own = |plural| listed(session, api::GROUP, Version::Is(api::VERSION), plural);
    let (kubernetes, groups, definitions, deployments, leases) = tokio::join!(
        client.apiserver_version(),
        client.list_api_groups(),
        definitions(session, client),
        listed(session, "apps", Version::Is("v1"), "deployments"),
        lists::operators(client),
    );
    let (stacks, releases, addons, clusters, classes, helm_releases, webhooks, extensions) = tokio::join!(
        own("clusterstacks"),
        own("clusterstackreleases"),
        own("clusteraddons"),
        listed(session, capi::GROUP, Version::Preferred, "clusters"),
        listed(session, capi::GROUP, Version::Preferred, "clusterclasses"),
        lists::number(client, &helm_releases),
        webhooks(session),
        listed(session, RUNTIME, Version::Preferred, "extensionconfigs"),
    );
    let all = |objects: Vec<Value>| objects.iter().map(Own::of).collect::<Vec<_>>();
    let list = |group, resource| Right::everywhere("list", group, resource);
    let get = |path| Right::everywhere("get", "", path);
    let mut facts = Facts {
        now: jiff::Timestamp::now(),
        kubernetes: taken(session, get("/version"), kubernetes)?.map(|info| info.git_version),
        groups: taken(session, get("/apis"), groups)?
            .map(|all| all.groups.into_iter().map(versions).collect()),
        definitions: definitions?,
        programs: deployments?.map(|found| found.iter().map(Program::of).collect()),
        leases: taken(session, list("coordination.k8s.io", "leases"), leases)?,
        stacks: stacks?.map(all),
        releases: releases?.map(all),
        addons: addons?.map(all),
        clusters: clusters?
            .map(|found| found.into_iter().filter_map(|cluster| Cluster::new(cluster).ok()).collect()),
        class_kinds: classes?.map(|found| class_kinds(&found)),
        helm_releases: taken(session, list(helm.group(), &helm.plural()), helm_releases)?,
        webhooks: webhooks?,
        extensions: extensions?.map(|found| found.iter().map(Extension::of).collect()),
        resources: BTreeMap::new(),
        answers: Ok(BTreeMap::new()),
    };
    if !before_install {
        facts.resources = resources(session, &facts).await?;
        facts.answers = answers(session, questions(&facts)).await?;
    }
    Ok(facts)
}

/// Returns the name of a group, and the versions that the API server serves.
fn versions(group: APIGroup) -> (String, BTreeSet<String>) {
    (group.name, group.versions.into_iter().map(|version| version.version).collect())
}

/// The version in which a kind is listed.
#[derive(Clone, Copy)]
enum Version {
    /// This one.
    Is(&'static str),
    /// The one that the API server prefers.
    Preferred,
}

/// Lists all objects of a kind.
async fn listed(
    session: &Session,
    group: &str,
    version: Version,
    plural: &str,
) -> Result<Read<Vec<Value>>, CliError> {
    let client = &session.client();
    let found = async {
        let version = match version {
            Version::Is(version) => version.to_owned(),
            Version::Preferred => lists::preferred_version(client, group).await?,
        };
        lists::list(client, &Listed::new(group, &version, plural), &Scope { namespace: None, selector: None })
            .await
    };
    taken(session, Right::everywhere("list", group, plural), found.await)
}

/// Reads the definitions of stackflux's kinds, and that of `HelmRelease`s.
async fn definitions(
    session: &Session,
    client: &Client,
) -> Result<BTreeMap<String, Read<Option<CustomResourceDefinition>>>, CliError> {
    let ours =
        api::custom_resource_definitions().into_iter().filter_map(|definition| definition.metadata.name);
    let names: Vec<String> = ours.chain([HELM_RELEASES.to_owned()]).collect();
    let all: Api<CustomResourceDefinition> = Api::all(client.clone());
    let found = join_all(names.iter().map(|name| all.get_opt(name))).await;
    let right = |name: &String| {
        let all = Right::everywhere("get", DEFINITIONS, "customresourcedefinitions");
        Right { name: Some(name.clone()), ..all }
    };
    let read = names.into_iter().zip(found);
    read.map(|(name, found)| Ok((name.clone(), taken(session, right(&name), found)?))).collect()
}

/// Lists the webhooks of both kinds.
async fn webhooks(session: &Session) -> Result<Read<Vec<Webhook>>, CliError> {
    let kinds = [
        ("ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
        ("MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
    ];
    let lists = kinds.map(|(_, plural)| listed(session, ADMISSION, Version::Is("v1"), plural));
    let mut webhooks = Vec::new();
    for ((kind, _), found) in kinds.into_iter().zip(try_join_all(lists).await?) {
        match found {
            Ok(found) => {
                webhooks.extend(found.iter().flat_map(|configuration| Webhook::of(kind, configuration)));
            }
            Err(why) => return Ok(Err(why)),
        }
    }
    Ok(Ok(webhooks))
}

/// Returns the resources of the kinds in use: one discovery for each of their groups.
async fn resources(session: &Session, facts: &Facts) -> Result<BTreeMap<Kind, Option<String>>, CliError> {
    let (client, kinds) = (&session.client(), kinds(facts));
    let known = |group: &&str| facts.groups.as_ref().is_ok_and(|groups| groups.contains_key(*group));
    let groups: BTreeSet<&str> = kinds.iter().map(|kind| kind.group.as_str()).filter(known).collect();
    let found = join_all(groups.iter().map(|group| discovery::group(client, group))).await;
    let found: BTreeMap<&str, _> = groups.into_iter().zip(found).collect();
    let mut resources = BTreeMap::new();
    for kind in &kinds {
        let resource = match found.get(kind.group.as_str()) {
            Some(Ok(group)) => in_a_version(group, &kind.kind).map(|resource| resource.plural),
            Some(Err(Error::Discovery(_))) | None => None,
            Some(Err(error)) => return Err(session.failed(error)),
        };
        resources.insert(kind.clone(), resource);
    }
    Ok(resources)
}
