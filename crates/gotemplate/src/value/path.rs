//! The path of a field in the data.

use std::rc::Rc;

use super::Text;

/// The keys from the root of the data to a field. The fields of one container share its path.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldNames<'a>(Option<Rc<Field<'a>>>);

#[derive(Debug)]
struct Field<'a> {
    name: Text<'a>,
    container: FieldNames<'a>,
    /// Number of keys from the root.
    depth: usize,
}

impl<'a> FieldNames<'a> {
    /// Returns the field of this name below.
    pub(crate) fn below(&self, name: Text<'a>) -> Self {
        let field = Field { name, container: self.clone(), depth: self.depth() + 1 };
        Self(Some(Rc::new(field)))
    }

    /// Counts the keys.
    pub(crate) fn depth(&self) -> usize {
        self.0.as_ref().map_or(0, |field| field.depth)
    }

    /// Returns the keys, from the root.
    pub(crate) fn names(&self) -> Vec<&Text<'a>> {
        let up = std::iter::successors(self.0.as_deref(), |field| field.container.0.as_deref());
        let mut names: Vec<_> = up.map(|field| &field.name).collect();
        names.reverse();
        names
    }
}

impl<'a> FromIterator<Text<'a>> for FieldNames<'a> {
    fn from_iter<I: IntoIterator<Item = Text<'a>>>(names: I) -> Self {
        names.into_iter().fold(Self::default(), |path, name| path.below(name))
    }
}

/// Drops one key at a time: data may be nested deeper than the stack.
impl Drop for FieldNames<'_> {
    fn drop(&mut self) {
        let mut next = self.0.take();
        while let Some(mut field) = next.and_then(Rc::into_inner) {
            next = field.container.0.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_of_any_depth_is_dropped() {
        let path: FieldNames<'_> = (0..1_000_000).map(|_| Text::from("a")).collect();
        let below = path.below(Text::from("b"));
        drop(path);
        assert_eq!((below.depth(), below.names().len()), (1_000_001, 1_000_001));
    }
}
