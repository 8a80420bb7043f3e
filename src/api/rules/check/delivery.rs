//! The rules of delivery through Git and of upstream sources.

use super::super::{AUTHOR, BRANCH, CREDENTIALS, GIT_DELIVERY, HTTP_URL, PATH, UPSTREAM_URL, URL};
use super::{Violations, is_inside, is_url};
use crate::api::delivery::{Delivery, DeliveryMode, GitDelivery};
use crate::api::git_commit::{GitCommit, LocalReference};
use crate::api::upstream::Upstream;
use crate::names::credentials::has_credentials;

impl Violations {
    pub(super) fn delivery(&mut self, delivery: &Delivery) {
        let has_target = delivery.mode != DeliveryMode::Git || delivery.git.is_some();
        self.check(has_target, "spec.delivery", GIT_DELIVERY);
        if let Some(git) = &delivery.git {
            self.git_delivery(git);
        }
    }

    fn git_delivery(&mut self, git: &GitDelivery) {
        self.check(is_url(&git.url), "spec.delivery.git.url", URL);
        self.check(!has_credentials(&git.url), "spec.delivery.git.url", CREDENTIALS);
        self.check(is_branch(&git.branch), "spec.delivery.git.branch", BRANCH);
        self.check(is_inside(&git.path), "spec.delivery.git.path", PATH);
        self.secret(git.secret_ref.as_ref(), "spec.delivery.git.secretRef");
        self.commit(&git.commit, "spec.delivery.git.commit");
        if let Some(pull_request) = &git.pull_request {
            let is_api = pull_request.api.as_deref().is_none_or(is_http_url);
            self.check(is_api, "spec.delivery.git.pullRequest.api", HTTP_URL);
            let is_plain = !pull_request.api.as_deref().is_some_and(has_credentials);
            self.check(is_plain, "spec.delivery.git.pullRequest.api", CREDENTIALS);
            self.secret(Some(&pull_request.secret_ref), "spec.delivery.git.pullRequest.secretRef");
        }
    }

    pub(super) fn upstream(&mut self, upstream: &Upstream) {
        self.check(is_upstream_url(&upstream.url), "spec.source.upstream.url", UPSTREAM_URL);
        let verified = upstream.verify.as_ref().map(|verify| &verify.secret_ref);
        for (reference, field) in [
            (upstream.secret_ref.as_ref(), "secretRef"),
            (upstream.cert_secret_ref.as_ref(), "certSecretRef"),
            (verified, "verify.secretRef"),
            (upstream.push_secret_ref.as_ref(), "pushSecretRef"),
        ] {
            self.secret(reference, &format!("spec.source.upstream.{field}"));
        }
        self.commit(&upstream.commit, "spec.source.upstream.commit");
    }

    fn commit(&mut self, commit: &GitCommit, field: &str) {
        self.check(is_author(&commit.author.name), &format!("{field}.author.name"), AUTHOR);
        self.check(is_author(&commit.author.email), &format!("{field}.author.email"), AUTHOR);
        let key = commit.signing_key.as_ref().map(|key| &key.secret_ref);
        self.secret(key, &format!("{field}.signingKey.secretRef"));
    }

    fn secret(&mut self, reference: Option<&LocalReference>, field: &str) {
        if let Some(LocalReference { name }) = reference {
            self.object_name(name, &format!("{field}.name"));
        }
    }
}

pub(in super::super) fn is_branch(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let (Some(first), Some(last)) = (text.bytes().next(), text.bytes().last()) else { return false };
    text.len() <= 255
        && word(first)
        && (word(last) || last == b'-')
        && text.bytes().all(|byte| word(byte) || b"-./".contains(&byte))
        && ["..", "//", "/."].iter().all(|part| !text.contains(part))
        && text.rsplit_once('.').is_none_or(|(_, last)| last != "lock")
}

pub(in super::super) fn is_author(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= 255 && !text.contains(['<', '>', '\n', '\r'])
}

pub(in super::super) fn is_upstream_url(text: &str) -> bool {
    let is_place = match text.split_once("://") {
        Some(("oci", rest)) => rest.split_once('/').is_some_and(|(host, repository)| {
            !host.is_empty() && !repository.is_empty() && !repository.contains(':')
        }),
        Some(("github", rest)) => !rest.is_empty(),
        _ => false,
    };
    is_place && !text.contains('@') && text.chars().count() <= 2048
}

pub(in super::super) fn is_http_url(text: &str) -> bool {
    begins_with_one_of(text, &["https://", "http://"])
}

/// Whether a text of at most 2,048 characters begins with one of `beginnings` and continues with any character but a
/// line break, like `.` in CEL.
pub(super) fn begins_with_one_of(text: &str, beginnings: &[&str]) -> bool {
    let rest = beginnings.iter().find_map(|beginning| text.strip_prefix(beginning));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('\n')) && text.chars().count() <= 2048
}
