//! Which file of the crate names what of which other file, through every `use` on the way.

use super::tokens::shipped;
use std::collections::{BTreeMap, BTreeSet};

/// The path of a module or of an item: `["plan", "delivery"]`.
pub(super) type Path = Vec<String>;

/// What a path leads to, or leads through: a module, or what a module calls by this name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) module: Path,
    pub(super) name: Option<String>,
}

/// What a module has. One that is written in braces belongs to the file around it.
#[derive(Default)]
struct Module {
    file: Path,
    items: BTreeSet<String>,
    /// A name, and the path that a `use` gives it; the name `*` is for all names of a module.
    uses: Vec<(String, Path)>,
    /// The paths in `use` lines, and those with a `::` in code.
    paths: BTreeSet<Path>,
}

/// The modules of the crate; that of `lib.rs` has the empty path.
pub(super) struct Modules(BTreeMap<Path, Module>);

impl Modules {
    /// Reads the text of each file, by the path of its module.
    pub(super) fn new(files: &BTreeMap<Path, String>) -> Self {
        let mut modules = Self(BTreeMap::from([(Path::new(), Module::default())]));
        for (file, text) in files {
            modules.read(file, &shipped(text));
        }
        modules
    }

    fn read(&mut self, file: &Path, tokens: &[String]) {
        const ITEMS: &[&str] = &["fn", "struct", "enum", "union", "trait", "type", "const", "static"];
        let is_name = |word: &str| word.starts_with(|first: char| first.is_alphabetic() || first == '_');
        let token = |at: usize| tokens.get(at).map_or("", |token| &**token);
        let module = || Module { file: file.clone(), ..Module::default() };
        let mut around = vec![file.clone()];
        // The braces that are open in each module.
        let mut depths = vec![0];
        self.0.entry(file.clone()).or_insert_with(module);
        let mut at = 0;
        while at < tokens.len() {
            let (path, depth) = (around.last().unwrap().clone(), depths.last_mut().unwrap());
            let own = self.0.get_mut(&path).unwrap();
            match token(at) {
                "mod" if token(at + 2) == "{" => {
                    let inner: Path = path.into_iter().chain([token(at + 1).to_owned()]).collect();
                    self.0.insert(inner.clone(), module());
                    around.push(inner);
                    depths.push(0);
                    at += 2;
                }
                // `impl Trait + use<'a>` is no import.
                "use" if token(at + 1) != "<" => {
                    let length = tokens[at..].iter().position(|token| token == ";");
                    let end = at + length.expect("`use` ends with a semicolon");
                    if token(at + 1) != "::" {
                        own.read_use(&[], &tokens[at + 1..end]);
                    }
                    at = end;
                }
                "{" => *depth += 1,
                "}" if *depth == 0 && around.len() > 1 => {
                    around.pop();
                    depths.pop();
                }
                "}" => *depth -= 1,
                word if ITEMS.contains(&word) && *depth == 0 => {
                    own.items.insert(token(at + 1).to_owned());
                }
                "macro_rules" => {
                    own.items.insert(token(at + 2).to_owned());
                }
                word if is_name(word) && token(at.wrapping_sub(1)) != "::" => {
                    let mut path = vec![word.to_owned()];
                    while token(at + 1) == "::" && is_name(token(at + 2)) {
                        path.push(token(at + 2).to_owned());
                        at += 2;
                    }
                    if path.len() > 1 {
                        own.paths.insert(path);
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// The other files that each file names, with the places.
    pub(super) fn imports(&self) -> BTreeMap<&Path, BTreeMap<&Path, BTreeSet<Place>>> {
        let mut imports: BTreeMap<_, BTreeMap<_, BTreeSet<_>>> = BTreeMap::new();
        for (path, module) in &self.0 {
            let targets = imports.entry(&module.file).or_default();
            let places = module.paths.iter().flat_map(|named| self.places(path, named));
            for place in places {
                let file = &self.0[&place.module].file;
                if *file != module.file {
                    targets.entry(file).or_default().insert(place);
                }
            }
        }
        imports
    }

    /// All places on the way of a path that a module names, and where it leads to.
    fn places(&self, from: &Path, path: &[String]) -> BTreeSet<Place> {
        let mut places = BTreeSet::new();
        self.follow(from, path, &mut BTreeSet::new(), &mut places);
        places
    }

    fn follow(
        &self,
        from: &Path,
        path: &[String],
        seen: &mut BTreeSet<(Path, Path)>,
        places: &mut BTreeSet<Place>,
    ) {
        let mut base = from.clone();
        let relative = path.iter().take_while(|part| ["crate", "self", "super"].contains(&&***part)).count();
        for part in &path[..relative] {
            match &**part {
                "crate" => base.clear(),
                "super" => drop(base.pop()),
                _ => {}
            }
        }
        self.walk(&base, &path[relative..], seen, places);
    }

    fn walk(
        &self,
        at: &Path,
        path: &[String],
        seen: &mut BTreeSet<(Path, Path)>,
        places: &mut BTreeSet<Place>,
    ) {
        let Some(module) = self.0.get(at) else { return };
        let Some((name, rest)) = path.split_first() else {
            places.insert(Place { module: at.clone(), name: None });
            return;
        };
        let inner: Path = at.iter().chain([name]).cloned().collect();
        let is_module = self.0.contains_key(&inner);
        if is_module {
            self.walk(&inner, rest, seen, places);
            if !rest.is_empty() {
                return;
            }
        }
        let bound = |wanted: &str| {
            let uses = module.uses.iter().filter(move |(name, _)| name == wanted);
            uses.map(|(_, path)| path.clone()).collect::<Vec<_>>()
        };
        let (named, globs) = (bound(name), bound("*"));
        if !is_module || !named.is_empty() {
            places.insert(Place { module: at.clone(), name: Some(name.clone()) });
        }
        // Not only a module may have this name, but also a function.
        for path in &named {
            // `use log::log` of another crate leads to itself.
            if seen.insert((at.clone(), path.clone())) {
                self.follow(at, &[path, rest].concat(), seen, places);
            }
        }
        let is_missing = !is_module && named.is_empty() && !module.items.contains(name);
        if is_missing && seen.insert((at.clone(), vec!["*".to_owned(), name.clone()])) {
            let known = self.known(at, &globs, name, seen);
            for glob in if known.is_empty() { globs } else { known } {
                self.follow(at, &[&*glob, path].concat(), seen, places);
            }
        }
    }

    /// Those modules of which all names are imported that have this name. A macro may make it in one of the others.
    fn known(&self, at: &Path, globs: &[Path], name: &str, seen: &mut BTreeSet<(Path, Path)>) -> Vec<Path> {
        let knows = |place: &Place| {
            let module = &self.0[&place.module];
            let inner: Path =
                place.module.iter().map(String::as_str).chain([name]).map(str::to_owned).collect();
            let is_bound = module.uses.iter().any(|(bound, _)| bound == "*" || bound == name);
            place.name.is_none() && (is_bound || module.items.contains(name) || self.0.contains_key(&inner))
        };
        let found = globs.iter().filter(|glob| {
            let mut places = BTreeSet::new();
            self.follow(at, glob, &mut seen.clone(), &mut places);
            places.iter().any(knows)
        });
        found.cloned().collect()
    }
}

impl Module {
    /// Reads what is behind `use`: `a::{self, b as c, d::*}`.
    fn read_use(&mut self, prefix: &[String], tree: &[String]) {
        let mut path = prefix.to_vec();
        let mut rest = tree;
        loop {
            rest = match rest {
                [open, inner @ .., _] if open == "{" => {
                    return branches(inner).into_iter().for_each(|branch| self.read_use(&path, branch));
                }
                [separator, rest @ ..] if ["::", "$"].contains(&&**separator) => rest,
                [own, rest @ ..] if own == "self" && !path.is_empty() => rest,
                [word, name] if word == "as" => return self.bind(name, path),
                [star] if star == "*" => return self.bind("*", path),
                [name, rest @ ..] => {
                    path.push(name.clone());
                    rest
                }
                [] => break,
            }
        }
        if let Some(name) = path.last().cloned() {
            self.bind(&name, path);
        }
    }

    fn bind(&mut self, name: &str, path: Path) {
        self.paths.insert(path.clone());
        self.uses.push((name.to_owned(), path));
    }
}

/// The parts between the commas of a group.
fn branches(tokens: &[String]) -> Vec<&[String]> {
    let mut depth = 0;
    let branches = tokens.split(|token| {
        depth += i32::from(token == "{") - i32::from(token == "}");
        depth == 0 && token == ","
    });
    branches.filter(|branch| !branch.is_empty()).collect()
}
