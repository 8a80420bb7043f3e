//! The memory for the lists and maps of one render.
//!
//! A map can be put into itself (`set`), so containers are named by number instead of held by each other: nothing leaks,
//! and dropping a value never recurses. The data are taken over one level at a time, when a level is read.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::Value as Json;

use super::{FieldNames, ListType, MapType, Nil, Text, Value};
use crate::fault::Fault;
use crate::limits::{ELEMENTS, Limit, MEMORY_BYTES, NESTING, STEP_BYTES, STEPS, TEXT_BYTES};

/// Names a list of a [`Heap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListId(usize);

/// Names a map of a [`Heap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MapId(usize);

/// The entries of a map in the order of their keys' bytes, as Go prints them and ranges over them.
pub(crate) type Entries<'a> = BTreeMap<Text<'a>, Value<'a>>;

/// The size that an entry of a map counts.
const ENTRY_BYTES: usize = 2 * size_of::<Value<'_>>() + 16;

#[derive(Debug)]
struct List<'a> {
    kind: ListType,
    is_nil: bool,
    items: Rc<Vec<Value<'a>>>,
    unread: Option<&'a [Json]>,
    /// The path in the data, if it comes from there.
    path: Option<FieldNames<'a>>,
}

#[derive(Debug)]
struct Map<'a> {
    kind: MapType,
    is_nil: bool,
    entries: Rc<Entries<'a>>,
    unread: Option<&'a serde_json::Map<String, Json>>,
    /// The path in the data, if it comes from there.
    path: Option<FieldNames<'a>>,
}

/// All lists and maps of one render, and the count of what it used. Memory is given back when the render ends.
#[derive(Debug, Default)]
pub(crate) struct Heap<'a> {
    lists: Vec<List<'a>>,
    maps: Vec<Map<'a>>,
    memory: usize,
    steps: usize,
}

impl<'a> Heap<'a> {
    /// Returns the data as a value. A level is copied when it is first read.
    pub(crate) fn root(&mut self, data: &'a Json) -> Value<'a> {
        if data.is_null() { Value::NOTHING } else { self.adopt(data, FieldNames::default) }
    }

    fn adopt(&mut self, json: &'a Json, path: impl FnOnce() -> FieldNames<'a>) -> Value<'a> {
        match json {
            Json::Null => Value::Nil(Nil::Null(path())),
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(number) => match number.as_i64() {
                Some(integer) => Value::Int64(integer),
                None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Value::Text(Text::from(text.as_str())),
            Json::Array(items) => {
                let id = ListId(self.lists.len());
                self.lists.push(List {
                    kind: ListType::Any,
                    is_nil: false,
                    items: Rc::default(),
                    unread: Some(items),
                    path: Some(path()),
                });
                Value::List(id)
            }
            Json::Object(fields) => {
                let id = MapId(self.maps.len());
                self.maps.push(Map {
                    kind: MapType::Any,
                    is_nil: false,
                    entries: Rc::default(),
                    unread: Some(fields),
                    path: Some(path()),
                });
                Value::Map(id)
            }
        }
    }

    /// Counts work that was done.
    pub(crate) fn step(&mut self, count: usize) -> Result<(), Fault<'a>> {
        self.steps = self.steps.saturating_add(count);
        if self.steps > STEPS { Err(Fault::Limit(Limit::Steps)) } else { Ok(()) }
    }

    /// Counts the work of reading or making this many bytes.
    pub(crate) fn step_bytes(&mut self, bytes: usize) -> Result<(), Fault<'a>> {
        self.step(bytes / STEP_BYTES)
    }

    /// Makes a text value.
    pub(crate) fn text(&mut self, text: impl Into<Text<'a>>) -> Result<Value<'a>, Fault<'a>> {
        let text = text.into();
        let length = text.bytes().len();
        if length > TEXT_BYTES {
            return Err(Fault::Limit(Limit::ValueSize));
        }
        self.charge(length)?;
        Ok(Value::Text(text))
    }

    /// Counts the bytes of a value that was made.
    pub(crate) fn charge(&mut self, bytes: usize) -> Result<(), Fault<'a>> {
        self.memory = self.memory.saturating_add(bytes);
        if self.memory > MEMORY_BYTES { Err(Fault::Limit(Limit::Memory)) } else { Ok(()) }
    }

    fn charge_elements(&mut self, count: usize, each: usize) -> Result<(), Fault<'a>> {
        if count > ELEMENTS {
            return Err(Fault::Limit(Limit::ValueSize));
        }
        self.step(count / 8)?;
        self.charge(count * each + 128)
    }

    /// Makes a list.
    pub(crate) fn list(&mut self, kind: ListType, items: Vec<Value<'a>>) -> Result<Value<'a>, Fault<'a>> {
        self.charge_elements(items.len(), size_of::<Value<'_>>())?;
        let items = Rc::new(items.into_iter().map(Value::into_element).collect());
        let id = ListId(self.lists.len());
        self.lists.push(List { kind, is_nil: false, items, unread: None, path: None });
        Ok(Value::List(id))
    }

    /// Makes a list that is nil: empty, but not the same as an empty one.
    pub(crate) fn nil_list(&mut self, kind: ListType) -> Result<Value<'a>, Fault<'a>> {
        self.charge(128)?;
        let id = ListId(self.lists.len());
        self.lists.push(List { kind, is_nil: true, items: Rc::default(), unread: None, path: None });
        Ok(Value::List(id))
    }

    /// Makes a list of texts.
    pub(crate) fn texts(
        &mut self,
        texts: impl IntoIterator<Item = Text<'a>>,
    ) -> Result<Value<'a>, Fault<'a>> {
        self.list(ListType::Text, texts.into_iter().map(Value::Text).collect())
    }

    /// Makes a map.
    pub(crate) fn map(&mut self, kind: MapType, entries: Entries<'a>) -> Result<Value<'a>, Fault<'a>> {
        self.charge_elements(entries.len(), ENTRY_BYTES)?;
        let entries = Rc::new(entries.into_iter().map(|(key, value)| (key, value.into_element())).collect());
        let id = MapId(self.maps.len());
        self.maps.push(Map { kind, is_nil: false, entries, unread: None, path: None });
        Ok(Value::Map(id))
    }

    /// Makes a map that is nil: empty, and nothing can be set in it.
    pub(crate) fn nil_map(&mut self) -> Result<MapId, Fault<'a>> {
        self.charge(128)?;
        let id = MapId(self.maps.len());
        let entries = Rc::default();
        self.maps.push(Map { kind: MapType::Any, is_nil: true, entries, unread: None, path: None });
        Ok(id)
    }

    pub(crate) fn list_type(&self, id: ListId) -> ListType {
        self.lists.get(id.0).map_or(ListType::Any, |list| list.kind)
    }

    pub(crate) fn map_type(&self, id: MapId) -> MapType {
        self.maps.get(id.0).map_or(MapType::Any, |map| map.kind)
    }

    pub(crate) fn list_is_nil(&self, id: ListId) -> bool {
        self.lists.get(id.0).is_some_and(|list| list.is_nil)
    }

    pub(crate) fn map_is_nil(&self, id: MapId) -> bool {
        self.maps.get(id.0).is_some_and(|map| map.is_nil)
    }

    pub(crate) fn list_length(&self, id: ListId) -> usize {
        self.lists.get(id.0).map_or(0, |list| list.unread.map_or(list.items.len(), <[Json]>::len))
    }

    pub(crate) fn map_length(&self, id: MapId) -> usize {
        self.maps.get(id.0).map_or(0, |map| map.unread.map_or(map.entries.len(), serde_json::Map::len))
    }

    /// Returns the items of a list, as they are now.
    pub(crate) fn items(&mut self, id: ListId) -> Rc<Vec<Value<'a>>> {
        if let Some(unread) = self.lists.get_mut(id.0).and_then(|list| list.unread.take()) {
            let path = self.lists.get(id.0).and_then(|list| list.path.clone()).unwrap_or_default();
            let item =
                |(index, item): (usize, _)| self.adopt(item, || path.below(Text::from(index.to_string())));
            let items: Vec<_> = unread.iter().enumerate().map(item).collect();
            if let Some(list) = self.lists.get_mut(id.0) {
                list.items = Rc::new(items);
            }
        }
        self.lists.get(id.0).map(|list| Rc::clone(&list.items)).unwrap_or_default()
    }

    /// Returns the entries of a map, as they are now.
    pub(crate) fn entries(&mut self, id: MapId) -> Rc<Entries<'a>> {
        self.read(id);
        self.maps.get(id.0).map(|map| Rc::clone(&map.entries)).unwrap_or_default()
    }

    fn read(&mut self, id: MapId) {
        let Some(unread) = self.maps.get_mut(id.0).and_then(|map| map.unread.take()) else {
            return;
        };
        let path = self.maps.get(id.0).and_then(|map| map.path.clone()).unwrap_or_default();
        let entries = unread.iter().map(|(key, value)| {
            let key = Text::from(key.as_str());
            (key.clone(), self.adopt(value, || path.below(key)))
        });
        let entries = entries.collect();
        if let Some(map) = self.maps.get_mut(id.0) {
            map.entries = Rc::new(entries);
        }
    }

    /// Returns the value of a key, if the map has it.
    pub(crate) fn entry(&mut self, id: MapId, key: &[u8]) -> Option<Value<'a>> {
        self.read(id);
        self.maps.get(id.0)?.entries.get(key).cloned()
    }

    /// Returns the value of a key; a key that the data do not have is an absent field, any other is nothing.
    pub(crate) fn field(&mut self, id: MapId, key: &Text<'a>) -> Value<'a> {
        if let Some(value) = self.entry(id, key.bytes()) {
            return value;
        }
        match self.maps.get(id.0).and_then(|map| map.path.as_ref()) {
            Some(path) => Value::Nil(Nil::Absent(path.below(key.clone()))),
            None => Value::NOTHING,
        }
    }

    /// Sets a key; `false` when the map is nil.
    pub(crate) fn set(&mut self, id: MapId, key: Text<'a>, value: Value<'a>) -> Result<bool, Fault<'a>> {
        self.charge_elements(self.map_length(id), 0)?;
        self.charge(ENTRY_BYTES)?;
        let Some(entries) = self.changed(id)? else { return Ok(false) };
        entries.insert(key, value.into_element());
        Ok(true)
    }

    /// Removes a key, if the map has it.
    pub(crate) fn unset(&mut self, id: MapId, key: &[u8]) -> Result<(), Fault<'a>> {
        if let Some(entries) = self.changed(id)? {
            entries.remove(key);
        }
        Ok(())
    }

    /// Returns the entries of a map that is not nil, for changes. While an iteration holds them they are copied, which
    /// counts.
    fn changed(&mut self, id: MapId) -> Result<Option<&mut Entries<'a>>, Fault<'a>> {
        self.read(id);
        let is_shared = self.maps.get(id.0).is_some_and(|map| Rc::strong_count(&map.entries) > 1);
        if is_shared {
            self.charge_elements(self.map_length(id), ENTRY_BYTES)?;
        }
        let map = self.maps.get_mut(id.0).filter(|map| !map.is_nil);
        Ok(map.map(|map| Rc::make_mut(&mut map.entries)))
    }
}

/// Counts one container more while walking a value.
pub(crate) fn deeper<'a>(depth: usize) -> Result<usize, Fault<'a>> {
    if depth >= NESTING { Err(Fault::Limit(Limit::ValueDepth)) } else { Ok(depth + 1) }
}
