//! Flags that a command would ignore.

use super::error::CliError;

/// A flag, and whether it is given.
pub(super) type Flag = (&'static str, bool);

/// Refuses the first given flag: the command would ignore it, and its user would believe that it had an effect.
pub(super) fn refuse(flags: impl IntoIterator<Item = Flag>, why: &str) -> Result<(), CliError> {
    match flags.into_iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => {
            Err(CliError::usage(format!("{flag} has no effect: {why}")).hint(format!("remove {flag}")))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::super::{Cli, refuse_unused};

    /// Returns the error of a command line; `None` if it is accepted.
    fn refused(line: &str) -> Option<String> {
        let words = std::iter::once("stackflux").chain(line.split(' '));
        match Cli::try_parse_from(words) {
            Ok(Cli { command }) => refuse_unused(&command).err().map(|error| error.message),
            Err(error) => Some(error.to_string()),
        }
    }

    #[test]
    fn ignored_flags_are_refused() {
        for (flag, line) in [
            ("--dry-run", "generate s --dry-run"),
            ("--branch", "generate s --branch b"),
            ("--path", "generate s --path p"),
            ("--branch", "generate s --output-dir d --branch b"),
            ("--path", "generate s --output-dir d --path p"),
            ("--path", "generate s --output-dir d --dry-run --path p"),
            ("--to-git", "generate s --output-dir d --to-git https://h/r"),
            ("--git-username", "generate s --output-dir d --git-username u"),
            ("--known-hosts-file", "generate s --known-hosts-file f"),
            ("--author", "generate s --output-dir d --author a"),
            ("--signing-key", "generate s --signing-key k"),
            ("--overwrite", "generate s --overwrite ."),
            ("--allow-prune", "generate s --allow-prune d"),
            ("--allow-prune", "generate s --output-dir d --allow-prune d"),
            ("--branch", "publish s --to d --branch b"),
            ("--author", "publish s --to d --author a"),
            ("--signing-key", "publish s --to ./d --signing-key k"),
            ("--git-password-file", "publish s --to d --git-password-file f"),
            ("--title", "publish s --to https://h/r --title t"),
            ("--mirror", "publish s --to d --mirror h=https://m"),
            ("--github-token-file", "publish oci://h/r --to d --github-token-file f"),
            ("--github-api", "releases oci://h/r --github-api https://h/v3"),
            ("--plain-http", "releases git+https://h/r --plain-http"),
            ("--docker-config", "releases github://o/r --docker-config d"),
            ("--git-username", "releases oci://h/r --git-username u"),
            ("--git-ca-file", "releases s --git-ca-file f"),
            ("--all", "releases oci://h/r:openstack-scs-1-32-v1 --all"),
            ("--all", "inspect s openstack-scs-1-32-v1 --all"),
            ("--all-namespaces", "diff a b --all-namespaces"),
            ("--selector", "diff a b -l x=y"),
            ("--context", "diff a b --context c"),
            ("--default-service-account", "diff a b --default-service-account a"),
            ("--default-source-url", "diff a b --default-source-url https://h/r"),
            ("--settings", "diff a b --settings f"),
            ("--namespace", "diff a b --namespace n"),
            ("--url", "diff --live s --url https://h/r"),
            ("--offline", "promote openstack-scs-1-32-v1 --to s --offline --context c"),
            ("--offline", "promote openstack-scs-1-32-v1 --to s --offline -A"),
            ("--forge", "promote openstack-scs-1-32-v1 --to s --push --forge gitea"),
            ("--signing-format", "rollback s --reason r --signing-format ssh"),
            ("--timeout", "status --timeout 1m"),
            ("--timeout", "tree -w --timeout 1m"),
            ("--default-source-branch", "operator --default-source-branch b"),
            ("--default-source-path", "operator --default-source-path p"),
            (
                "--default-source-git-repository",
                "operator --default-source-git-repository n/r --default-source-branch b",
            ),
            (
                "--default-source-git-repository",
                "inputs export s --default-source-git-repository n/r --default-source-interval 1m",
            ),
        ] {
            let refused = refused(line).unwrap_or_else(|| panic!("accepted: {line}"));
            assert!(refused.contains(flag), "{line}: {refused}");
        }
    }

    #[test]
    fn used_flags_are_accepted() {
        for line in [
            "generate s --output-dir d --dry-run --overwrite .",
            "generate s --to-git https://h/r --dry-run --branch b --path p --git-username u --author a --allow-prune d",
            "publish s --to https://h/r --branch b --author a --git-username u --dry-run",
            "publish git+https://h/r --to d --git-username u",
            "publish s --to d --vendor --docker-config d --plain-http --ca-file f",
            "releases oci://h/r --plain-http --mirror h=https://m --all",
            "releases github://o/r --github-token-file f --ca-file f",
            "diff --live s --context c -A -l x=y --default-source-git-repository n/r --default-source-path p",
            "diff --live s --namespace n",
            "diff a b --settings f --filename f",
            "promote openstack-scs-1-32-v1 --to s --context c",
            "promote openstack-scs-1-32-v1 --to s --author a --signing-key k",
            "status --wait --timeout 1m",
            "operator --default-source-url https://h/r --default-source-branch b --default-source-path p",
            "operator",
        ] {
            assert_eq!(refused(line), None, "{line}");
        }
    }
}
