//! Where the lists and maps of one render live.
//!
//! A map can be put into itself (`set`), so containers are named by number rather than held by each other: nothing
//! leaks, and dropping a value never recurses. The data are taken over one level at a time, when a level is looked at.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::Value as Json;

use super::{ListType, MapType, Nil, Text, Value};
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

#[derive(Debug)]
struct List<'a> {
    kind: ListType,
    is_nil: bool,
    items: Rc<Vec<Value<'a>>>,
    unread: Option<&'a [Json]>,
    origin: Option<Origin<'a>>,
}

#[derive(Debug)]
struct Map<'a> {
    kind: MapType,
    is_nil: bool,
    entries: Rc<Entries<'a>>,
    unread: Option<&'a serde_json::Map<String, Json>>,
    origin: Option<Origin<'a>>,
}

/// Where in the data a container stands.
#[derive(Clone, Debug)]
enum Origin<'a> {
    Root,
    InMap(MapId, Text<'a>),
    InList(ListId, usize),
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
    /// The data as a value. Nothing is copied before it is looked at.
    pub(crate) fn root(&mut self, data: &'a Json) -> Value<'a> {
        if data.is_null() { Value::NOTHING } else { self.adopt(data, Origin::Root) }
    }

    fn adopt(&mut self, json: &'a Json, origin: Origin<'a>) -> Value<'a> {
        match json {
            Json::Null => Value::Nil(Nil::Null(Rc::new(self.path(Some(&origin)).unwrap_or_default()))),
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
                    origin: Some(origin),
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
                    origin: Some(origin),
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
        self.lists.push(List { kind, is_nil: false, items, unread: None, origin: None });
        Ok(Value::List(id))
    }

    /// Makes a list that is nil: empty, but not the same as an empty one.
    pub(crate) fn nil_list(&mut self, kind: ListType) -> Result<Value<'a>, Fault<'a>> {
        self.charge(128)?;
        let id = ListId(self.lists.len());
        self.lists.push(List { kind, is_nil: true, items: Rc::default(), unread: None, origin: None });
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
        self.charge_elements(entries.len(), 2 * size_of::<Value<'_>>() + 16)?;
        let entries = Rc::new(entries.into_iter().map(|(key, value)| (key, value.into_element())).collect());
        let id = MapId(self.maps.len());
        self.maps.push(Map { kind, is_nil: false, entries, unread: None, origin: None });
        Ok(Value::Map(id))
    }

    /// Makes a map that is nil: empty, and nothing can be set in it.
    pub(crate) fn nil_map(&mut self) -> Result<MapId, Fault<'a>> {
        self.charge(128)?;
        let id = MapId(self.maps.len());
        let entries = Rc::default();
        self.maps.push(Map { kind: MapType::Any, is_nil: true, entries, unread: None, origin: None });
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

    /// The items of a list, as they are now.
    pub(crate) fn items(&mut self, id: ListId) -> Rc<Vec<Value<'a>>> {
        if let Some(unread) = self.lists.get_mut(id.0).and_then(|list| list.unread.take()) {
            let items: Vec<_> = unread
                .iter()
                .enumerate()
                .map(|(index, item)| self.adopt(item, Origin::InList(id, index)))
                .collect();
            if let Some(list) = self.lists.get_mut(id.0) {
                list.items = Rc::new(items);
            }
        }
        self.lists.get(id.0).map(|list| Rc::clone(&list.items)).unwrap_or_default()
    }

    /// The entries of a map, as they are now.
    pub(crate) fn entries(&mut self, id: MapId) -> Rc<Entries<'a>> {
        self.read(id);
        self.maps.get(id.0).map(|map| Rc::clone(&map.entries)).unwrap_or_default()
    }

    fn read(&mut self, id: MapId) {
        let Some(unread) = self.maps.get_mut(id.0).and_then(|map| map.unread.take()) else {
            return;
        };
        let entries = unread
            .iter()
            .map(|(key, value)| {
                let key = Text::from(key.as_str());
                let origin = Origin::InMap(id, key.clone());
                (key, self.adopt(value, origin))
            })
            .collect();
        if let Some(map) = self.maps.get_mut(id.0) {
            map.entries = Rc::new(entries);
        }
    }

    /// The value of a key, if the map has it.
    pub(crate) fn entry(&mut self, id: MapId, key: &[u8]) -> Option<Value<'a>> {
        self.read(id);
        self.maps.get(id.0)?.entries.get(key).cloned()
    }

    /// The value of a key; a key that the data do not have is an absent field, any other is nothing.
    pub(crate) fn field(&mut self, id: MapId, key: &Text<'a>) -> Value<'a> {
        if let Some(value) = self.entry(id, key.bytes()) {
            return value;
        }
        let origin = self.maps.get(id.0).and_then(|map| map.origin.as_ref());
        match self.path(origin) {
            Some(mut path) => {
                path.push(key.clone());
                Value::Nil(Nil::Absent(Rc::new(path)))
            }
            None => Value::NOTHING,
        }
    }

    /// Sets a key; `false` when the map is nil.
    pub(crate) fn set(&mut self, id: MapId, key: Text<'a>, value: Value<'a>) -> Result<bool, Fault<'a>> {
        self.read(id);
        self.charge_elements(self.map_length(id), 0)?;
        self.charge(2 * size_of::<Value<'_>>() + 16)?;
        let Some(map) = self.maps.get_mut(id.0).filter(|map| !map.is_nil) else {
            return Ok(false);
        };
        Rc::make_mut(&mut map.entries).insert(key, value.into_element());
        Ok(true)
    }

    pub(crate) fn unset(&mut self, id: MapId, key: &[u8]) {
        self.read(id);
        if let Some(map) = self.maps.get_mut(id.0) {
            Rc::make_mut(&mut map.entries).remove(key);
        }
    }

    /// The path of a place in the data, from the root.
    fn path(&self, origin: Option<&Origin<'a>>) -> Option<Vec<Text<'a>>> {
        let mut path = Vec::new();
        let mut next = origin?;
        loop {
            let (segment, container) = match next {
                Origin::Root => break,
                Origin::InMap(map, key) => {
                    (key.clone(), self.maps.get(map.0).and_then(|map| map.origin.as_ref()))
                }
                Origin::InList(list, index) => (
                    Text::from(index.to_string()),
                    self.lists.get(list.0).and_then(|list| list.origin.as_ref()),
                ),
            };
            path.push(segment);
            next = container?;
        }
        path.reverse();
        Some(path)
    }
}

/// Goes one container deeper while walking a value.
pub(crate) fn deeper<'a>(depth: usize) -> Result<usize, Fault<'a>> {
    if depth >= NESTING { Err(Fault::Limit(Limit::ValueDepth)) } else { Ok(depth + 1) }
}
