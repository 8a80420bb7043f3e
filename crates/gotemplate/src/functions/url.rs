//! URLs (slim-sprig's `url.go` over Go's `net/url`).

mod parse;

use super::super::fault::Fault;
use super::super::value::{Entries, MapType, Value};
use super::Parameter::{Map, Text};
use super::{Arguments, Context, Function, Outcome};
use parse::Url;

const GROUP: &str = "URLs";

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("urlParse", GROUP, "A map of the parts of a URL.", &[Text], url_parse),
    Function::new("urlJoin", GROUP, "The URL of a map of its parts.", &[Map], url_join),
];

fn url_parse<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let url = Url::parse(arguments.bytes(0)?)
        .map_err(|message| Fault::failed(format!("unable to parse url: {message}")))?;
    let mut entries = Entries::new();
    let hostname = url.hostname().to_vec();
    let userinfo = url.userinfo.as_ref().map(parse::UserInfo::encoded).unwrap_or_default();
    for (key, part) in [
        ("scheme", url.scheme),
        ("host", url.host),
        ("hostname", hostname),
        ("path", url.path),
        ("query", url.query),
        ("opaque", url.opaque),
        ("fragment", url.fragment),
        ("userinfo", userinfo),
    ] {
        let part = context.heap.text(part)?;
        entries.insert(key.into(), part);
    }
    context.heap.map(MapType::Any, entries)
}

fn url_join<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let entries = context.heap.entries(arguments.map(0)?);
    let part = |key: &str| match entries.get(key.as_bytes()) {
        None => Ok(Vec::new()),
        Some(Value::Text(text)) => Ok(text.bytes().to_vec()),
        Some(other) => {
            let kind = other.kind_name();
            Err(Fault::failed(format!("unable to parse {key} key, must be of type string, but {kind} found")))
        }
    };
    let mut url = Url {
        scheme: part("scheme")?,
        host: part("host")?,
        path: part("path")?,
        query: part("query")?,
        opaque: part("opaque")?,
        fragment: part("fragment")?,
        ..Url::default()
    };
    let userinfo = part("userinfo")?;
    if !userinfo.is_empty() {
        let with_userinfo = [b"proto://".as_slice(), &userinfo, b"@host"].concat();
        url.userinfo = Url::parse(&with_userinfo)
            .map_err(|message| Fault::failed(format!("unable to parse userinfo in dict: {message}")))?
            .userinfo;
    }
    context.heap.text(url.joined())
}
