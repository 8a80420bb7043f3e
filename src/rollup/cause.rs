//! Causes of a failure in the messages of Flux and Helm, as far as they change the action to take.

use crate::api::conditions::Reason;

/// Parts of messages, by their cause. The texts are those of Helm, `client-go` and Go's YAML.
const TEXTS: [(Reason, &[&str]); 9] = [
    (Reason::KindNotInstalled, &["no matches for kind"]),
    (Reason::KindNotInstalled, &["ensure CRDs are installed first"]),
    (Reason::ManifestInvalid, &["mapping key", "already defined"]),
    (Reason::ManifestInvalid, &["post render"]),
    (Reason::RefusedByChart, &["execution error at ("]),
    (Reason::RefusedByChart, &["don't meet the specifications of the schema"]),
    (Reason::TemplateFailed, &["executing \"", "at <"]),
    (Reason::TemplateFailed, &["parse error at ("]),
    (Reason::TemplateFailed, &["YAML parse error on"]),
];

/// Finds the cause that a message names, if a retry alone does not fix it.
pub(super) fn reason(message: &str) -> Option<Reason> {
    let has_all = |texts: &&[&str]| texts.iter().all(|text| message.contains(text));
    TEXTS.iter().find(|(_, texts)| has_all(texts)).map(|(reason, _)| *reason)
}

/// The beginnings of messages of helm-controller and kustomize-controller about an unreadable Secret with a kubeconfig.
const KUBECONFIG: [&str; 2] = ["could not get KubeConfig secret '", "unable to read KubeConfig secret '"];

/// Returns the message about a missing Secret with the kubeconfig: the same for every controller that misses it.
pub(super) fn missing_kubeconfig(message: &str) -> Option<String> {
    let rest = KUBECONFIG.iter().find_map(|start| message.strip_prefix(start))?;
    let (secret, why) = rest.split_once('\'')?;
    why.ends_with("not found")
        .then(|| format!("Secret {secret} with the kubeconfig of the cluster is missing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_gives_its_cause() {
        let helm = "Helm install failed for release kube-system/a with chart a@1.0.0";
        let rows = [
            (
                "unable to build kubernetes objects from release manifest: resource mapping not found for name: \"c\" \
                 namespace: \"\" from \"\": no matches for kind \"OpenStackClusterTemplate\" in version \
                 \"infrastructure.cluster.x-k8s.io/v1beta1\" ensure CRDs are installed first",
                Some(Reason::KindNotInstalled),
            ),
            (
                "error while running post render on files: map[string]interface {}(nil): yaml: unmarshal errors: line 9: \
                 mapping key \"name\" already defined at line 8",
                Some(Reason::ManifestInvalid),
            ),
            (
                "yaml: unmarshal errors: line 9: mapping key \"name\" already defined at line 8",
                Some(Reason::ManifestInvalid),
            ),
            ("execution error at (a/templates/all.yaml:1:3): set a subnet", Some(Reason::RefusedByChart)),
            (
                "a/templates/more.yaml:1:10 executing \"a/templates/more.yaml\" at <.Values.b.c>: nil pointer evaluating \
                 interface {}.c",
                Some(Reason::TemplateFailed),
            ),
            ("timeout waiting for: [Deployment/kube-system/a status: 'InProgress']", None),
            ("mapping is not what it was", None),
        ];
        for (message, cause) in rows {
            assert_eq!(reason(&format!("{helm}: {message}")), cause, "{message}");
        }
    }

    #[test]
    fn missing_kubeconfig_is_recognized_for_both() {
        let expected =
            Some("Secret demo/a-kubeconfig with the kubeconfig of the cluster is missing".to_owned());
        let helm = "could not get KubeConfig secret 'demo/a-kubeconfig': secrets \"a-kubeconfig\" not found";
        let kustomize =
            "unable to read KubeConfig secret 'demo/a-kubeconfig' error: secrets \"a-kubeconfig\" not found";
        assert_eq!(missing_kubeconfig(helm), expected);
        assert_eq!(missing_kubeconfig(kustomize), expected);
        let forbidden = "could not get KubeConfig secret 'demo/a-kubeconfig': secrets \"a\" is forbidden";
        assert_eq!(missing_kubeconfig(forbidden), None);
    }
}
