//! Maps (slim-sprig's `dict.go`). Go gives keys and values in random order; here they are in the order of the keys.

use super::super::fault::Fault;
use super::super::value::{Entries, ListType, MapType, Text, Value};
use super::Parameter::{Any, Map, Text as TextParameter};
use super::conversion::text_of;
use super::{Arguments, Context, Function, Outcome};

const GROUP: &str = "maps";

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("dict", GROUP, "A map of the keys and values that take turns.", &[], dict)
        .rest(Any)
        .allows_absence(),
    Function::new("get", GROUP, "The value of a key, or an empty text.", &[Map, TextParameter], get)
        .allows_absence(),
    Function::new("set", GROUP, "Sets a key of the map, and gives the map.", &[Map, TextParameter, Any], set)
        .allows_absence(),
    Function::new(
        "unset",
        GROUP,
        "Removes a key of the map, and gives the map.",
        &[Map, TextParameter],
        unset,
    )
    .allows_absence(),
    Function::new("hasKey", GROUP, "Whether the map has the key.", &[Map, TextParameter], has_key)
        .allows_absence(),
    Function::new("pluck", GROUP, "The values of a key in all maps that have it.", &[TextParameter], pluck)
        .rest(Map)
        .allows_absence(),
    Function::new("keys", GROUP, "The keys of the maps, in their order.", &[], keys).rest(Map),
    Function::new("values", GROUP, "The values of the map, in the order of the keys.", &[Map], values),
    Function::new("pick", GROUP, "A map of these keys only.", &[Map], pick)
        .rest(TextParameter)
        .allows_absence(),
    Function::new("omit", GROUP, "A map without these keys.", &[Map], omit)
        .rest(TextParameter)
        .allows_absence(),
    Function::new("dig", GROUP, "The value below these keys, or the last but one argument.", &[], dig)
        .rest(Any)
        .allows_absence(),
];

fn dict<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let mut entries = Entries::new();
    for pair in arguments.all().chunks(2) {
        let [key, value @ ..] = pair else { continue };
        if let Some(path) = key.missing_field() {
            return Err(Fault::Missing(path.clone()));
        }
        let value = value.first().cloned().unwrap_or(Value::Text(Text::from("")));
        entries.insert(text_of(&mut context.heap, key)?, value);
    }
    context.heap.map(MapType::Any, entries)
}

fn get<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let value = context.heap.entry(arguments.map(0)?, arguments.bytes(1)?);
    Ok(value.unwrap_or(Value::Text(Text::from(""))))
}

fn set<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let map = arguments.map(0)?;
    if context.heap.set(map, arguments.text(1)?.clone(), arguments.any(2)?.clone())? {
        Ok(Value::Map(map))
    } else {
        Err(Fault::failed("assignment to entry in nil map"))
    }
}

fn unset<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let map = arguments.map(0)?;
    context.heap.unset(map, arguments.bytes(1)?)?;
    Ok(Value::Map(map))
}

fn has_key<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let value = context.heap.entry(arguments.map(0)?, arguments.bytes(1)?);
    Ok(Value::Bool(value.is_some()))
}

fn pluck<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let mut found = Vec::new();
    for map in maps(arguments.from(1)) {
        found.extend(context.heap.entry(map, arguments.bytes(0)?));
    }
    context.heap.list(ListType::Any, found)
}

fn maps(values: &[Value<'_>]) -> impl Iterator<Item = super::super::value::MapId> {
    values.iter().filter_map(|value| match value {
        Value::Map(map) => Some(*map),
        _ => None,
    })
}

fn keys<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let mut keys: Vec<Text<'a>> = Vec::new();
    for map in maps(arguments.all()) {
        let entries = context.heap.entries(map);
        context.heap.step(entries.len())?;
        keys.extend(entries.keys().cloned());
    }
    context.heap.texts(keys)
}

fn values<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let entries = context.heap.entries(arguments.map(0)?);
    context.heap.list(ListType::Any, entries.values().cloned().collect())
}

fn pick<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let entries = context.heap.entries(arguments.map(0)?);
    let mut picked = Entries::new();
    for key in arguments.from(1) {
        if let Value::Text(key) = key
            && let Some(value) = entries.get(key)
        {
            picked.insert(key.clone(), value.clone());
        }
    }
    context.heap.map(MapType::Any, picked)
}

fn omit<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let entries = context.heap.entries(arguments.map(0)?);
    context.heap.step(entries.len())?;
    let mut left = Entries::clone(&entries);
    for key in arguments.from(1) {
        if let Value::Text(key) = key {
            left.remove(key);
        }
    }
    context.heap.map(MapType::Any, left)
}

fn dig<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let [keys @ .., default, start] = arguments.all() else {
        return Err(Fault::failed("dig needs at least three arguments"));
    };
    if keys.is_empty() {
        return Err(Fault::failed("dig needs at least three arguments"));
    }
    let mut value = start.clone();
    let mut names = Vec::with_capacity(keys.len());
    map_of(context, &value)?;
    for key in keys {
        match key {
            Value::Text(name) => names.push(name),
            other => return Err(conversion_fault(context, other, "string")),
        }
    }
    for name in names {
        let map = map_of(context, &value)?;
        match context.heap.entry(map, name.bytes()) {
            None => return Ok(default.clone()),
            Some(found) => value = found,
        }
    }
    Ok(value)
}

fn map_of<'a>(context: &Context<'a>, value: &Value<'a>) -> Result<super::super::value::MapId, Fault<'a>> {
    match value {
        Value::Map(map) if context.heap.map_type(*map) == MapType::Any => Ok(*map),
        other => Err(conversion_fault(context, other, "map[string]interface {}")),
    }
}

fn conversion_fault<'a>(context: &Context<'a>, value: &Value<'a>, expected: &str) -> Fault<'a> {
    if let Some(path) = value.missing_field() {
        return Fault::Missing(path.clone());
    }
    let found = value.type_name(&context.heap);
    Fault::failed(format!("interface conversion: interface {{}} is {found}, not {expected}"))
}
