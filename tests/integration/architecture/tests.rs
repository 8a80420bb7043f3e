//! Tests of the tests: imports are found in whatever form they are written.

use super::circles::circles;
use super::imports::{Modules, Path};
use std::collections::BTreeMap;

fn path(module: &str) -> Path {
    module.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

fn modules(files: &[(&str, &str)]) -> Modules {
    let files: BTreeMap<Path, String> =
        files.iter().map(|(module, text)| (path(module), (*text).to_owned())).collect();
    Modules::new(&files)
}

/// The files that `room::one` names, in a crate with these others.
fn imported(text: &str) -> String {
    let modules = modules(&[
        ("", "pub mod room; pub mod other; pub mod faced;"),
        (
            "room",
            "mod one; mod two; mod three;\n\
             pub use two::{Alpha, Beta as Renamed};\npub(super) use self::three::*;\n\
             use crate::other::Outer;\npub use log::log;\npub fn own() {}",
        ),
        ("room::one", text),
        ("room::one::below", "pub struct Deep;"),
        ("room::two", "pub struct Alpha; pub struct Beta; pub mod inline { pub struct Nested; }"),
        ("room::three", "pub struct Gamma; pub fn deep() {}"),
        (
            "other",
            "mod deep; pub use crate::room::three::deep; pub use deep::Kept; pub use self::deep as shallow; pub struct Outer;",
        ),
        ("other::deep", "pub struct Kept; pub struct Found;"),
        ("faced", "pub use crate::other::Kept as Shown; pub use crate::room;"),
    ]);
    let imports = modules.imports();
    let targets = imports[&path("room::one")].keys().map(|target| target.join("::"));
    targets.collect::<Vec<_>>().join(" ")
}

#[test]
fn names_of_the_parent_lead_to_the_file_that_has_them() {
    assert_eq!(imported("use super::Alpha;"), "room room::two");
    assert_eq!(imported("use crate::room::Alpha;"), "room room::two");
    assert_eq!(imported("use super::Renamed as Again;"), "room room::two");
    assert_eq!(imported("use super::Gamma;"), "room room::three");
    assert_eq!(imported("use super::{own, two::{self, Beta}};"), "room room::two");
    assert_eq!(imported("use super::own;"), "room");
    assert_eq!(imported("use super::Outer;"), "other room");
    assert_eq!(imported("use crate::faced::Shown;"), "faced other other::deep");
    assert_eq!(imported("use crate::faced::room::Alpha;"), "faced room room::two");
    assert_eq!(imported("use crate::other::shallow::Found;"), "other other::deep");
    assert_eq!(imported("use crate::other::deep;"), "other other::deep room::three");
}

#[test]
fn paths_in_code_are_found() {
    assert_eq!(imported("fn f() -> super::Alpha { super::two::Beta }"), "room room::two");
    assert_eq!(imported("fn f(a: Option<&super::super::other::deep::Found>) {}"), "other::deep");
    assert_eq!(imported("fn f() { crate::room::Alpha::new::<u8>() }"), "room room::two");
    assert_eq!(imported("fn f() { <super::Alpha as Default>::default() }"), "room room::two");
    assert_eq!(imported("fn f() { self::below::Deep }"), "room::one::below");
    assert_eq!(imported("mod below; fn f() { below::Deep }"), "room::one::below");
    assert_eq!(imported("use super::three; fn f() { three::Gamma }"), "room::three");
    assert_eq!(imported("use crate::other; fn f() { other::Kept }"), "other other::deep");
    assert_eq!(imported("use super as up; fn f() { up::Alpha }"), "room room::two");
    assert_eq!(imported("fn f() { use super::Alpha as A; A::new() }"), "room room::two");
    assert_eq!(imported("macro_rules! m { () => { $crate::room::Alpha } }"), "room room::two");
    assert_eq!(imported("macro_rules! m { () => { use $crate::room::Alpha; } }"), "room room::two");
    assert_eq!(imported("#[a(b![c[0]], with = \"super::Alpha\")] struct A;"), "room room::two");
    assert_eq!(imported("#[serde(with = \"super::two::inline\", default)] struct A;"), "room::two");
    assert_eq!(imported("fn f() { super\n    ::Alpha /* :: */ :: new() }"), "room room::two");
    assert_eq!(imported("fn f() { r#super::Alpha }"), "room room::two");
}

#[test]
fn modules_in_braces_belong_to_their_file() {
    assert_eq!(imported("use super::two::inline::Nested;"), "room::two");
    assert_eq!(imported("pub mod inner { use super::super::Alpha; }"), "room room::two");
    assert_eq!(imported("pub mod inner { pub fn f() {} } use super::Gamma;"), "room room::three");
    assert_eq!(imported("mod inner { pub use super::super::two::Beta; } use inner::Beta;"), "room::two");
}

#[test]
fn all_names_of_a_module_lead_to_all_it_may_have() {
    assert_eq!(imported("use super::*; fn f() { Alpha::new() }"), "room room::two");
    assert_eq!(imported("use super::two::*;"), "room::two");
    assert_eq!(imported("enum Kind { A } use Kind::*; fn f() { A::new() }"), "");
    // A macro may make it.
    assert_eq!(imported("use super::Made;"), "room room::three");
}

#[test]
fn what_is_no_code_is_no_import() {
    assert_eq!(imported("// use super::Alpha;\n/* super::Alpha /* */ super::Alpha */"), "");
    assert_eq!(imported("/// [`super::Alpha`]\n#[doc = \"as super::Alpha\"] fn f() {}"), "");
    assert_eq!(
        imported("const A: &str = \"\\\" super::Alpha\"; const B: &str = r#\"\" super::Alpha\"#;"),
        ""
    );
    assert_eq!(imported("use super::log; fn f() { log::info() }"), "room");
    assert_eq!(imported("use serde::Alpha; use ::room::Alpha as B; fn f() -> impl Sized + use<> {}"), "");
    assert_eq!(imported("fn f<Alpha>() { Alpha::new() }"), "");
}

#[test]
fn what_looks_like_a_text_hides_no_import() {
    assert_eq!(imported("fn f() { '\"'; super::Alpha }"), "room room::two");
    assert_eq!(imported("fn f() { '\\''; \"'\"; super::Alpha }"), "room room::two");
    assert_eq!(imported("fn f<'a>(a: &'a str) { b'\"'; super::Alpha; '\\u{22}' }"), "room room::two");
    assert_eq!(imported("const A: &str = \"// {\"; fn f() { super::Alpha }"), "room room::two");
    assert_eq!(imported("const A: &[u8] = br##\"\"# /*\"##; fn f() { super::Alpha }"), "room room::two");
    assert_eq!(imported("const A: &str = \"\\\\\"; fn f() { super::Alpha }"), "room room::two");
}

#[test]
fn only_tests_are_left_out() {
    assert_eq!(imported("#[cfg(test)]\nmod tests { use super::super::Alpha; fn f() { { } } }"), "");
    assert_eq!(imported("#[cfg(test)]\nmod tests; fn f() { super::Alpha }"), "room room::two");
    assert_eq!(imported("#[cfg(test)] use super::{Alpha, Gamma}; fn f() { super::own() }"), "room");
    assert_eq!(
        imported("#[cfg(test)] #[allow(unused)] impl A { fn f() {} } use super::Alpha;"),
        "room room::two"
    );
    assert_eq!(imported("struct A { #[cfg(test)] a: super::Gamma, b: super::Alpha }"), "room room::two");
    assert_eq!(imported("#[cfg(not(test))] use super::Alpha;"), "room room::two");
    assert_eq!(imported("#![cfg(test)] use super::Alpha;"), "");
}

#[test]
fn siblings_are_a_circle_through_their_parent() {
    let parent = ("room", "mod one; mod two; pub use one::One; pub use two::Two;");
    let one = ("room::one", "use super::Two; pub struct One;");
    let found = circles(&modules(&[parent, one, ("room::two", "pub struct Two(super::One);")]));
    assert_eq!(found, ["room::one imports room::two (Two)\nroom::two imports room::one (One)"]);
    let found = circles(&modules(&[parent, one, ("room::two", "pub struct Two;")]));
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn circles_are_found_apart_and_parents_are_in_none() {
    let found = circles(&modules(&[
        ("a", "mod child; pub use child::Child; use crate::b::B; pub struct A; fn f() { child::f() }"),
        ("a::child", "pub struct Child(super::A);"),
        ("b", "pub struct B(crate::c::C);"),
        ("c", "pub struct C(crate::a::A, crate::d::D);"),
        ("d", "pub struct D(crate::e::E);"),
        ("e", "pub struct E; use super::d;"),
        ("f", "use crate::d::D;"),
    ]));
    assert_eq!(
        found,
        ["a imports b (B)\nb imports c (C)\nc imports a (A)", "d imports e (E)\ne imports d (self)"]
    );
}
