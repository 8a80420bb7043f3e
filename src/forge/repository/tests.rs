use super::*;

fn of(url: &str, kind: Option<ForgeKind>, api: Option<&str>) -> Result<Repository, ForgeError> {
    Repository::of(&url.parse().unwrap(), kind, api)
}

/// Returns the kind, and the URL of the pull requests.
fn pulls(url: &str, kind: Option<ForgeKind>, api: Option<&str>) -> (ForgeKind, String) {
    let repository = of(url, kind, api).unwrap();
    (repository.kind(), repository.endpoint(&["pulls"]).unwrap().to_string())
}

fn refused(url: &str, kind: Option<ForgeKind>, api: Option<&str>) -> String {
    of(url, kind, api).unwrap_err().to_string()
}

#[test]
fn public_forges_are_known_by_host() {
    use ForgeKind::{GitHub, GitLab, Gitea};
    let table = [
        ("https://github.com/acme/stacks.git", GitHub, "https://api.github.com/repos/acme/stacks/pulls"),
        ("git@github.com:acme/stacks.git", GitHub, "https://api.github.com/repos/acme/stacks/pulls"),
        (
            "ssh://git@ssh.github.com:443/acme/stacks",
            GitHub,
            "https://api.github.com/repos/acme/stacks/pulls",
        ),
        ("https://GitHub.com/acme/stacks/", GitHub, "https://api.github.com/repos/acme/stacks/pulls"),
        ("https://acme.ghe.com/acme/stacks", GitHub, "https://api.acme.ghe.com/repos/acme/stacks/pulls"),
        ("https://gitlab.com/acme/stacks", GitLab, "https://gitlab.com/api/v4/projects/acme%2Fstacks/pulls"),
        (
            "git@gitlab.com:acme/platform/a.b/stacks.git",
            GitLab,
            "https://gitlab.com/api/v4/projects/acme%2Fplatform%2Fa.b%2Fstacks/pulls",
        ),
        ("ssh://git@codeberg.org/acme/stacks", Gitea, "https://codeberg.org/api/v1/repos/acme/stacks/pulls"),
        ("https://gitea.com/acme/stacks", Gitea, "https://gitea.com/api/v1/repos/acme/stacks/pulls"),
    ];
    for (url, kind, expected) in table {
        assert_eq!(pulls(url, None, None), (kind, expected.to_owned()), "{url}");
    }
}

#[test]
fn forge_kind_of_unknown_host_is_required() {
    let url = "https://git.example.com:8443/acme/stacks";
    let expected = "unknown forge for the host git.example.com: name it (github, gitlab or gitea)";
    assert_eq!(refused(url, None, None), expected);
    let place = |kind| pulls(url, Some(kind), None).1;
    assert_eq!(place(ForgeKind::Gitea), "https://git.example.com:8443/api/v1/repos/acme/stacks/pulls");
    assert_eq!(place(ForgeKind::GitHub), "https://git.example.com:8443/api/v3/repos/acme/stacks/pulls");
    assert_eq!(place(ForgeKind::GitLab), "https://git.example.com:8443/api/v4/projects/acme%2Fstacks/pulls");
    // Hosts that only resemble a well-known one.
    for url in ["https://github.com.example.org/a/b", "https://notgithub.com/a/b", "https://ghe.com/a/b"] {
        assert!(refused(url, None, None).starts_with("unknown forge for the host "), "{url}");
    }
}

#[test]
fn ssh_port_is_not_used_for_the_api() {
    let place = pulls("ssh://git@git.example.com:2222/acme/stacks", Some(ForgeKind::Gitea), None).1;
    assert_eq!(place, "https://git.example.com/api/v1/repos/acme/stacks/pulls");
}

#[test]
fn forge_below_a_path_of_its_host_is_supported() {
    let api = Some("https://example.com/git/api/v1/");
    let expected = "https://example.com/git/api/v1/repos/acme/stacks/pulls";
    for url in ["https://example.com/git/acme/stacks.git", "ssh://git@example.com/acme/stacks.git"] {
        assert_eq!(pulls(url, Some(ForgeKind::Gitea), api).1, expected);
    }
    let api = Some("https://example.com/lab/api/v4");
    let place = pulls("https://example.com/lab/acme/platform/stacks", Some(ForgeKind::GitLab), api).1;
    assert_eq!(place, "https://example.com/lab/api/v4/projects/acme%2Fplatform%2Fstacks/pulls");
}

#[test]
fn path_without_repository_is_refused() {
    for url in
        ["https://github.com/acme", "https://github.com/acme/stacks/tree/main", "https://codeberg.org/a/b/c"]
    {
        assert!(refused(url, None, None).contains("expected a path of an owner and a repository"), "{url}");
    }
    assert!(
        refused("https://gitlab.com/stacks", None, None).contains("expected a path of groups and a project")
    );
    for url in
        ["https://github.com/acme/..", "https://gitlab.com/acme//stacks", "https://gitlab.com/a/../b/c"]
    {
        assert!(refused(url, None, None).contains("its path has an empty part, or one of dots"), "{url}");
    }
    let refused = refused("/srv/stacks.git", Some(ForgeKind::Gitea), None);
    assert_eq!(refused, "/srv/stacks.git is not a repository on a forge: it is a directory of this machine");
}

#[test]
fn reserved_url_characters_are_escaped() {
    let place = pulls("https://codeberg.org/ac%2Fme/sta cks".replace(' ', "%20").as_str(), None, None).1;
    assert_eq!(place, "https://codeberg.org/api/v1/repos/ac%252Fme/sta%2520cks/pulls");
}

#[test]
fn token_is_never_sent_in_clear_text() {
    let refused = |api: &str| refused("https://git.example.com/a/b", Some(ForgeKind::Gitea), Some(api));
    assert!(refused("http://git.example.com/api/v1").contains("plain HTTP would send the token unencrypted"));
    assert!(
        refused("https://user:secret@git.example.com/api/v1")
            .contains("it has a user name or password in it")
    );
    assert!(!refused("https://user:secret@git.example.com/api/v1").contains("secret"));
    assert!(refused("git.example.com").contains("it cannot be parsed"));
    assert!(refused("ssh://git.example.com/api/v1").contains("it is not https"));
    assert!(refused("https://git.example.com").contains("Gitea's ends with /api/v1"));
    assert!(refused("https://git.example.com/api/v1?token=secret").contains("it has a query or a fragment"));
    assert!(
        pulls("http://127.0.0.1:3000/a/b", Some(ForgeKind::Gitea), None)
            .1
            .starts_with("http://127.0.0.1:3000/api/v1/")
    );
    let plain = of("http://git.example.com/a/b", Some(ForgeKind::Gitea), None).unwrap_err().to_string();
    assert!(plain.contains("plain HTTP would send the token unencrypted"), "{plain}");
}
