//! Asks the API server whether accounts have rights.

use std::collections::BTreeMap;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::{Api, PostParams};

use super::taken::taken;
use crate::cli::error::CliError;
use crate::cli::live::Session;
use crate::explain::doctor::facts::{Answer, Question, Read};
use crate::installation::rights::Right;

/// Number of questions at the same time.
const AT_ONCE: usize = 16;

/// Returns the answer to each question, or which right the reader lacks to ask.
pub(super) async fn answers(
    session: &Session,
    questions: Vec<Question>,
) -> Result<Read<BTreeMap<Question, Answer>>, CliError> {
    let reviews: Api<SubjectAccessReview> = Api::all(session.client());
    let asked = stream::iter(questions).map(|question| {
        let reviews = reviews.clone();
        async move {
            let review = reviews.create(&PostParams::default(), &review(&question)).await?;
            let answer = review.status.as_ref().map(Answer::of);
            Ok::<_, kube::Error>((question, answer.unwrap_or_default()))
        }
    });
    let answers = asked.buffer_unordered(AT_ONCE).try_collect().await;
    let right = Right::everywhere("create", "authorization.k8s.io", "subjectaccessreviews");
    taken(session, right, answers)
}

fn review(Question { account, right }: &Question) -> SubjectAccessReview {
    let (resource, subresource) = match right.resource.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
        None => (right.resource.as_str(), None),
    };
    let attributes = ResourceAttributes {
        namespace: right.namespace.clone(),
        verb: Some(right.verb.clone()),
        group: Some(right.group.clone()),
        resource: Some(resource.to_owned()),
        subresource,
        name: right.name.clone(),
        ..ResourceAttributes::default()
    };
    // The API server gives these groups to each service account.
    let groups = [
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{}", account.namespace),
        "system:authenticated".to_owned(),
    ];
    let spec = SubjectAccessReviewSpec {
        user: Some(format!("system:serviceaccount:{}:{}", account.namespace, account.name)),
        groups: Some(groups.into()),
        resource_attributes: Some(attributes),
        ..SubjectAccessReviewSpec::default()
    };
    SubjectAccessReview { spec, ..SubjectAccessReview::default() }
}
