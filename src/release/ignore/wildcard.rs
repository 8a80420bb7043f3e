//! Wildcards of one part of a path, as in Go's `filepath.Match` on Unix.

/// A parsed wildcard.
#[derive(Clone, Debug)]
pub(in crate::release) struct Wildcard(Vec<Token>);

#[derive(Clone, Debug)]
enum Token {
    /// `*`
    Many,
    /// `?`
    One,
    Character(char),
    /// `[a-z]`, or `[^a-z]` if negated.
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl Wildcard {
    /// Parses a wildcard; `None` for a malformed pattern, which matches nothing.
    pub(in crate::release) fn parse(pattern: &str) -> Option<Self> {
        let mut tokens = Vec::new();
        let mut rest = pattern.chars();
        while let Some(character) = rest.next() {
            tokens.push(match character {
                // More of them match the same, and take time.
                '*' if matches!(tokens.last(), Some(Token::Many)) => continue,
                '*' => Token::Many,
                '?' => Token::One,
                '[' => parse_class(&mut rest)?,
                '\\' => Token::Character(rest.next()?),
                _ => Token::Character(character),
            });
        }
        Some(Self(tokens))
    }

    /// Whether the wildcard matches the whole name, which has no `/`. On a mismatch only the last `*` is extended: an
    /// earlier one could not reach further, so the time is at most pattern times name.
    pub(in crate::release) fn matches(&self, name: &str) -> bool {
        let mut tokens = self.0.as_slice();
        let mut name = name;
        let mut retry: Option<(&[Token], &str)> = None;
        loop {
            let mut characters = name.chars();
            match (tokens.split_first(), characters.next()) {
                (None, None) => return true,
                (Some((Token::Many, after)), _) => {
                    retry = Some((after, name));
                    tokens = after;
                    continue;
                }
                (Some((token, after)), Some(character)) if token.fits(character) => {
                    tokens = after;
                    name = characters.as_str();
                    continue;
                }
                _ => {}
            }
            let Some((after, from)) = retry else { return false };
            let mut from = from.chars();
            if from.next().is_none() {
                return false;
            }
            (tokens, name) = (after, from.as_str());
            retry = Some((after, name));
        }
    }
}

impl Token {
    fn fits(&self, character: char) -> bool {
        match self {
            Self::Many => false,
            Self::One => true,
            Self::Character(own) => *own == character,
            Self::Class { negated, ranges } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&character)) != *negated
            }
        }
    }
}

/// Parses the text after a `[`, up to its `]`.
fn parse_class(rest: &mut std::str::Chars<'_>) -> Option<Token> {
    let negated = rest.as_str().starts_with('^');
    if negated {
        rest.next();
    }
    let mut ranges = Vec::new();
    loop {
        if rest.as_str().starts_with(']') && !ranges.is_empty() {
            rest.next();
            return Some(Token::Class { negated, ranges });
        }
        let low = parse_bound(rest)?;
        let high = if rest.as_str().starts_with('-') {
            rest.next();
            parse_bound(rest)?
        } else {
            low
        };
        ranges.push((low, high));
    }
}

fn parse_bound(rest: &mut std::str::Chars<'_>) -> Option<char> {
    match rest.next()? {
        '-' | ']' => None,
        '\\' => rest.next(),
        character => Some(character),
    }
}
