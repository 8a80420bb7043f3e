//! The tokens of a Rust file that can name something: no comments, no texts, no tests.

/// The tokens of the code that is shipped: words, `::`, and every other character for itself.
pub(super) fn shipped(text: &str) -> Vec<String> {
    without_tests(&tokens(text))
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn tokens(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let starts =
        |at: usize, with: &str| with.chars().zip(at..).all(|(one, at)| characters.get(at) == Some(&one));
    let mut tokens: Vec<String> = Vec::new();
    // The brackets that are open since an attribute began.
    let (mut at, mut attribute) = (0, 0);
    while at < characters.len() {
        if characters[at].is_whitespace() {
            at += 1;
        } else if starts(at, "//") {
            at += characters[at..].iter().take_while(|character| **character != '\n').count();
        } else if starts(at, "/*") {
            at = after_comment(&characters, at);
        } else if let Some((open, hashes, is_raw)) = text_opens(&characters, at) {
            let (content, after) = content(&characters, open, hashes, is_raw);
            // `#[serde(with = "super::form")]` names a module.
            if attribute > 0 && content.chars().all(|one| is_of_word(one) || one == ':') {
                tokens.extend(self::tokens(&content));
            }
            at = after;
        } else if characters[at] == '\'' {
            at = after_quote(&characters, at);
        } else if starts(at, "r#") {
            at += 2;
        } else if is_of_word(characters[at]) {
            let word: String = characters[at..].iter().take_while(|one| is_of_word(**one)).collect();
            at += word.chars().count();
            tokens.push(word);
        } else if starts(at, "::") {
            tokens.push("::".to_owned());
            at += 2;
        } else {
            let opens =
                || tokens.ends_with(&["#".to_owned()]) || tokens.ends_with(&["#", "!"].map(str::to_owned));
            match characters[at] {
                '[' if attribute > 0 || opens() => attribute += 1,
                ']' if attribute > 0 => attribute -= 1,
                _ => {}
            }
            tokens.push(characters[at].to_string());
            at += 1;
        }
    }
    tokens
}

/// Comments nest.
fn after_comment(characters: &[char], at: usize) -> usize {
    let (mut at, mut depth) = (at, 0);
    loop {
        match characters[at..] {
            ['/', '*', ..] => (at, depth) = (at + 2, depth + 1),
            ['*', '/', ..] if depth == 1 => return at + 2,
            ['*', '/', ..] => (at, depth) = (at + 2, depth - 1),
            [] => return at,
            _ => at += 1,
        }
    }
}

/// Where the content of `"…"`, `b"…"` or `r#"…"#` begins, with the number of its `#`, and whether it has no escapes.
fn text_opens(characters: &[char], at: usize) -> Option<(usize, usize, bool)> {
    let prefix: String = characters[at..].iter().take_while(|one| is_of_word(**one)).collect();
    let is_raw = prefix.ends_with('r');
    if !["", "b", "c", "r", "br", "cr"].contains(&&*prefix) {
        return None;
    }
    let at = at + prefix.len();
    let hashes = characters[at..].iter().take_while(|one| is_raw && **one == '#').count();
    (characters.get(at + hashes) == Some(&'"')).then_some((at + hashes + 1, hashes, is_raw))
}

/// The content of a text, and where the code goes on.
fn content(characters: &[char], open: usize, hashes: usize, is_raw: bool) -> (String, usize) {
    let mut at = open;
    while at < characters.len() {
        match characters[at] {
            '\\' if !is_raw => at += 2,
            '"' if characters[at + 1..].iter().take_while(|one| **one == '#').count() >= hashes => break,
            _ => at += 1,
        }
    }
    (characters[open..at.min(characters.len())].iter().collect(), at + 1 + hashes)
}

/// Behind `'x'`, `'\''`, or the mark of a lifetime.
fn after_quote(characters: &[char], at: usize) -> usize {
    match characters[at + 1..] {
        ['\\', _, ref rest @ ..] => at + 4 + rest.iter().take_while(|one| **one != '\'').count(),
        [_, '\'', ..] => at + 3,
        _ => at + 1,
    }
}

/// Leaves out what is below `#[cfg(test)]`.
fn without_tests(tokens: &[String]) -> Vec<String> {
    let is_next = |at: usize, words: &str| {
        let mut words = words.split(' ').zip(tokens.iter().skip(at).map(Some).chain(std::iter::repeat(None)));
        words.all(|(word, token)| token.is_some_and(|token| token == word))
    };
    let (mut shipped, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        if is_next(at, "# ! [ cfg ( test ) ]") {
            break;
        } else if is_next(at, "# [ cfg ( test ) ]") {
            at = after_item(tokens, at + 7);
        } else {
            shipped.push(tokens[at].clone());
            at += 1;
        }
    }
    shipped
}

/// Behind an item, a field or a statement.
fn after_item(tokens: &[String], at: usize) -> usize {
    const ITEMS: &[&str] =
        &["fn", "impl", "mod", "use", "struct", "enum", "trait", "type", "const", "static"];
    let (mut depth, mut is_item) = (0, false);
    for (at, token) in tokens.iter().enumerate().skip(at) {
        match &**token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" if depth == 0 => return at,
            ")" | "]" => depth -= 1,
            "}" => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            ";" if depth == 0 => return at + 1,
            "," if depth == 0 && !is_item => return at + 1,
            word => is_item |= depth == 0 && ITEMS.contains(&word),
        }
    }
    tokens.len()
}
