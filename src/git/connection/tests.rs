use git2::{ErrorClass, ErrorCode};

use super::*;
use crate::git::Credentials;

/// What an error of libgit2 means on a connection to this URL, with a password for this user.
fn told(url: &str, user: &str, error: &git2::Error) -> String {
    let https = Some((user.to_owned(), SecretString::from("s3cret")));
    let access =
        Access { url: url.parse().unwrap(), credentials: Credentials { https, ..Credentials::default() } };
    let limits = CloneLimits::default();
    let connection = Connection::new(&access, &limits).unwrap();
    connection.error(error).to_string()
}

#[test]
fn a_user_in_the_url_may_be_a_token_and_is_not_named() {
    let error =
        git2::Error::new(ErrorCode::GenericError, ErrorClass::Http, "unexpected http status code: 401");
    let refuses = "https://host/a.git: the Git server refuses the password or token";
    assert_eq!(told("https://ghp_TOKEN@host/a.git", "ghp_TOKEN", &error), refuses);
    assert_eq!(told("https://host/a.git", "ann", &error), format!("{refuses} of user \"ann\""));
}

#[test]
fn words_of_a_directory_are_not_taken_for_those_of_a_server() {
    let directory = tempfile::TempDir::with_prefix("certificate-redirect-timed out-").unwrap();
    let path = directory.path().to_str().unwrap();
    let text = format!("could not open '{path}/objects': permission denied");
    let error = git2::Error::new(ErrorCode::GenericError, ErrorClass::Os, &text);
    assert_eq!(told(path, "ann", &error), format!("{path}: Git: {text}"));
    let error = git2::Error::new(ErrorCode::NotFound, ErrorClass::Repository, &text);
    assert!(told(path, "ann", &error).contains("no such repository"));
}
