use serde_json::json;

use super::fixture::Fixture;
use crate::foreign::capi::field;
use crate::foreign::flux::FluxKind;
use crate::plan::{self, ReleaseInputs};

/// With the commit alone, Flux clones the branches of all releases.
#[test]
fn pin_of_the_built_in_repository_has_the_branch_of_the_release() {
    let mut fixture = Fixture::new();
    let reference = |fixture: &Fixture| {
        let (release, contents) = (fixture.release("v1"), fixture.contents("v1"));
        let inputs = ReleaseInputs { stack: &fixture.stack, release: &release, contents: &contents };
        let plan = plan::release(&inputs).unwrap();
        let pinned = plan.objects().find(|object| object.kind() == Some(FluxKind::GitRepository)).unwrap();
        field(&pinned.value, &["spec", "ref"]).unwrap().clone()
    };
    let before = reference(&fixture);
    assert!(before["commit"].is_string() && before["branch"].is_null(), "{before}");
    fixture.stack.source.is_builtin = true;
    let branch = fixture.release("v1").name.to_string();
    assert_eq!(reference(&fixture), json!({"branch": branch, "commit": before["commit"]}));
}
