//! A mutation, and how it is put into a file.

/// A change of the source that takes a guard out, or makes a decision wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mutation {
    /// The name, which switches it on.
    pub(crate) name: &'static str,
    /// What it does to a user, in one line.
    pub(crate) breaks: &'static str,
    /// The file, below `src`.
    pub(crate) file: &'static str,
    /// The text to replace, which the file has exactly once.
    pub(crate) old: &'static str,
    /// The text in its place: `MUTANT` is whether the mutation is switched on. Without it, the code does what it did before.
    pub(crate) new: &'static str,
    /// The test that notices it.
    pub(crate) noticed: Noticed,
}

/// The test that notices a mutation. It is run first; if it does not fail, all others are run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Noticed {
    /// A test beside the code.
    ByTest(&'static str),
    /// A scenario of the simulations.
    ByScenario(&'static str),
    /// None, which has this reason.
    Nowhere(&'static str),
}

/// The text of a file with all its mutations, switched off.
pub(crate) fn with_mutations(text: &str, mutations: &[&Mutation]) -> Result<String, String> {
    let mut places = Vec::new();
    for mutation in mutations {
        let found: Vec<usize> = text.match_indices(mutation.old).map(|(place, _)| place).collect();
        let [place] = *found else {
            return Err(format!(
                "mutation {}: src/{} has its old text {} times instead of once: follow the code, or name the type \
                 that makes it impossible, and take it off the list",
                mutation.name,
                mutation.file,
                found.len()
            ));
        };
        places.push((place, *mutation));
    }
    places.sort_by_key(|(place, _)| *place);
    let (mut mutated, mut end) = (String::new(), 0);
    for (place, mutation) in places {
        let Some(between) = text.get(end..place) else {
            return Err(format!(
                "mutation {}: its old text overlaps with that of another one",
                mutation.name
            ));
        };
        let condition = format!("crate::mutant(\"{}\")", mutation.name);
        mutated.push_str(between);
        mutated.push_str(&mutation.new.replace("MUTANT", &condition));
        end = place + mutation.old.len();
    }
    mutated.push_str(text.get(end..).unwrap_or_default());
    Ok(mutated)
}

#[cfg(test)]
mod tests {
    use super::{Mutation, Noticed, with_mutations};

    const FIRST: Mutation = Mutation {
        name: "first",
        breaks: "",
        file: "lib.rs",
        old: "if a {",
        new: "if a && !MUTANT {",
        noticed: Noticed::Nowhere(""),
    };
    const SECOND: Mutation = Mutation { name: "second", old: "a {", new: "a || MUTANT {", ..FIRST };

    #[test]
    fn each_mutation_replaces_its_text() {
        let other = Mutation { old: "else", ..SECOND };
        let mutated = with_mutations("if a { b } else { c }", &[&other, &FIRST]).unwrap();
        let expected = "if a && !crate::mutant(\"first\") { b } a || crate::mutant(\"second\") { { c }";
        assert_eq!(mutated, expected);
    }

    #[test]
    fn old_text_is_there_once_and_in_one_mutation() {
        assert!(with_mutations("if b {", &[&FIRST]).unwrap_err().contains("0 times"));
        assert!(with_mutations("if a { if a {", &[&FIRST]).unwrap_err().contains("2 times"));
        assert!(with_mutations("if a {", &[&FIRST, &SECOND]).unwrap_err().contains("overlaps"));
    }
}
