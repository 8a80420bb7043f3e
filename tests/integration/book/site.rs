//! What is wrong with a built site: links and files that lead nowhere, and whatever a browser would fetch from another server.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use percent_encoding::percent_decode_str;
use regex::Regex;

use crate::language::files;

/// mdBook's script asks the Rust playground, but only for pages with code of this class.
const PLAYGROUND: (&str, &str) = ("https://play.rust-lang.org/", "playground");

static SCHEME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^([a-z][a-z0-9+.-]*:|//)").unwrap());
static TAG: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"<([a-zA-Z][\w-]*)((?:[^<>"']|"[^"]*"|'[^']*')*)>"#).unwrap());
static ATTRIBUTE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"([a-zA-Z_][\w:.-]*)\s*=\s*(?:"([^"]*)"|'([^']*)')"#).unwrap());
static SCRIPT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?s)(<script\b[^>]*>)(.*?)</script>").unwrap());
static SHEET: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?s)<style\b[^>]*>(.*?)</style>").unwrap());
/// What a style fetches.
static STYLE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"(?:\burl\(\s*["']?|@import\s+["'])([^"')\s]*)"#).unwrap());
/// What a script fetches from an address that is written there.
static FETCH: LazyLock<Regex> = LazyLock::new(|| {
    let calls = r"(?:fetch\w*|import|importScripts|Worker|WebSocket|EventSource|sendBeacon)\s*\(\s*";
    let opens = r#"\.open\s*\(\s*["'`]\w+["'`]\s*,\s*"#;
    let fields = r#"(?:\.(?:src|href)\s*=|\bimport\b[^;"'`]*|\bfrom)\s*"#;
    Regex::new(&format!(r#"(?:{calls}|{opens}|{fields})["'`]((?:(?:https?|wss?):)?//[^"'`]*)"#)).unwrap()
});

/// A page of the site, or a picture.
#[derive(Default)]
struct Page {
    ids: BTreeSet<String>,
    /// Addresses, each with whether a browser fetches it by itself.
    addresses: Vec<(String, bool)>,
}

impl Page {
    fn of(text: &str) -> Self {
        let mut page = Self::default();
        for script in SCRIPT.captures_iter(text) {
            page.addresses.extend(fetched(&FETCH, &script[2]));
        }
        for sheet in SHEET.captures_iter(text) {
            page.addresses.extend(fetched(&STYLE, &sheet[1]));
        }
        for tag in TAG.captures_iter(&SCRIPT.replace_all(text, "$1")) {
            page.addresses.extend(fetched(&STYLE, &tag[2]));
            for found in ATTRIBUTE.captures_iter(&tag[2]) {
                let value = found.get(2).or(found.get(3)).unwrap().as_str().replace("&amp;", "&");
                match &found[1] {
                    "id" => _ = page.ids.insert(value),
                    "href" if &tag[1] == "a" => page.addresses.push((value, false)),
                    "href" | "xlink:href" | "src" | "srcset" | "poster" | "data" | "action" => {
                        page.addresses.push((value, true));
                    }
                    _ => {}
                }
            }
        }
        page
    }
}

/// What a style or script fetches.
fn fetched(pattern: &Regex, text: &str) -> Vec<(String, bool)> {
    pattern.captures_iter(text).map(|found| (found[1].to_owned(), true)).collect()
}

/// The files of a site with what is in them, by their paths there.
fn site(directory: &Path) -> BTreeMap<PathBuf, Page> {
    let read = |kind: &str, page: &dyn Fn(&str) -> Page| {
        let pages = files(directory, kind).into_iter().map(|file| {
            let text = fs::read_to_string(&file).unwrap();
            (file.strip_prefix(directory).unwrap().to_owned(), page(&text))
        });
        pages.collect::<Vec<_>>()
    };
    let of_addresses = |addresses| Page { addresses, ..Page::default() };
    let pages = ["html", "svg"].into_iter().flat_map(|kind| read(kind, &Page::of));
    let styles = read("css", &|text| of_addresses(fetched(&STYLE, text)));
    let scripts = read("js", &|text| of_addresses(fetched(&FETCH, text)));
    pages.chain(styles).chain(scripts).collect()
}

/// Why an address of a file is wrong; `None` if it is right.
fn complaint(
    directory: &Path,
    pages: &BTreeMap<PathBuf, Page>,
    file: &Path,
    (address, is_fetched): &(String, bool),
) -> Option<&'static str> {
    if SCHEME.is_match(address) {
        let is_inline = address.starts_with("data:");
        return (*is_fetched && !is_inline).then_some("is fetched from another server");
    }
    let (path, anchor) = address.split_once('#').unwrap_or((address, ""));
    let path = path.split('?').next().unwrap_or_default();
    let path = percent_decode_str(path).decode_utf8().unwrap();
    let anchor = percent_decode_str(anchor).decode_utf8().unwrap();
    let place = if path.is_empty() { file.to_owned() } else { normal(&file.parent().unwrap().join(&*path)) };
    let is_inside = place.components().all(|part| matches!(part, Component::Normal(_)));
    if !is_inside || !directory.join(&place).is_file() {
        return Some("is not a file of the site");
    }
    let lacks = |page: &Page| !anchor.is_empty() && !page.ids.contains(&*anchor);
    pages.get(&place).is_some_and(lacks).then_some("leads to a missing anchor")
}

/// A path without `.` and `..`; one that leaves the site stays wrong.
fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut normal, part| {
        match part {
            Component::CurDir => {}
            Component::ParentDir if normal.pop() => {}
            part => normal.push(part),
        }
        normal
    })
}

/// What is wrong with a site of these pages.
pub(super) fn complaints(directory: &Path, sources: &[String]) -> Vec<String> {
    let pages = site(directory);
    let mut wrong = Vec::new();
    let text = |file: &Path| fs::read_to_string(directory.join(file)).unwrap_or_default();
    let has_playground = pages.keys().any(|file| text(file).contains(&format!("class=\"{}\"", PLAYGROUND.1)));
    for (file, page) in &pages {
        let is_unused = |address: &str| address.starts_with(PLAYGROUND.0) && !has_playground;
        for address in page.addresses.iter().filter(|(address, _)| !is_unused(address)) {
            let found = complaint(directory, &pages, file, address);
            wrong.extend(found.map(|found| format!("{}: {} {found}", file.display(), address.0)));
        }
    }
    for source in sources {
        let page = source.replace("README.md", "index.md").replace(".md", ".html");
        let text = text(Path::new(&page));
        if !text.contains("</html>") {
            wrong.push(format!("{page} is missing"));
        }
        if text.contains("[!WARNING]") || text.contains("[!CAUTION]") || text.contains("[!NOTE]") {
            wrong.push(format!("{page}: a callout is not rendered"));
        }
    }
    let index = text(Path::new("index.html"));
    for (what, sign) in [("a search", "searchindex"), ("a dark theme", "navy")] {
        if !index.contains(sign) {
            wrong.push(format!("index.html lacks {what}"));
        }
    }
    wrong
}

/// What is wrong with a site whose page `a/x.html` has this body.
fn complaints_about(body: &str) -> Vec<String> {
    let around = tempfile::tempdir().unwrap();
    let site = around.path().join("site");
    let write = |file: &str, text: &str| {
        fs::create_dir_all(site.join(file).parent().unwrap()).unwrap();
        fs::write(site.join(file), text).unwrap();
    };
    fs::write(around.path().join("outside.html"), "<html></html>").unwrap();
    write("index.html", "<html searchindex navy><h2 id=\"a-b\">A</h2></html>");
    write("a/x.html", &format!("<html>{body}</html>"));
    write("a/picture.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>");
    complaints(&site, &["README.md".to_owned(), "a/x.md".to_owned()])
}

#[test]
fn site_without_defects_is_accepted() {
    let good = "<a href=\"../index.html#a-b\">a</a><a href=\"#é\" id='é'>b</a><a href=\"https://example.org\">c</a>\
        <a href=\"#%C3%A9\">d</a><img src=\"picture.svg?v=1\"><img src=\"data:image/png;base64,AA==\">\
        <script>if (a < b) fetch(path + \"/x\");</script><p>src=\"https://example.org\" &lt;img src=\"no\"&gt; url(no)</p>\
        <script>fetch_with_timeout('https://play.rust-lang.org/meta/crates')</script>\
        <style>a { fill: url(#tip); background: url('picture.svg') }</style><i id=\"tip\"></i>";
    assert_eq!(complaints_about(good), [""; 0]);
}

#[test]
fn each_defect_of_a_site_is_found() {
    for (body, found) in [
        ("<a href=\"../none.html\">a</a>", "is not a file"),
        ("<a href=\"../../outside.html\">a</a>", "is not a file"),
        ("<a href=\"/etc/passwd\">a</a>", "is not a file"),
        ("<a href=\"../a\">a</a>", "is not a file"),
        ("<a href=\"../index.html#b\">a</a>", "missing anchor"),
        ("<a href=\"#b\">a</a>", "missing anchor"),
        ("<img src='none.png'>", "is not a file"),
        ("<img src=\"https://example.org/x.png\">", "another server"),
        ("<link rel=\"stylesheet\" href=\"//example.org/x.css\">", "another server"),
        ("<script async src=\"https://example.org/x.js\"></script>", "another server"),
        ("<script>fetch('https://example.org/x')</script>", "another server"),
        ("<script>import x from \"https://example.org/x\"</script>", "another server"),
        ("<script>let r; r.open(\"GET\", 'https://example.org/x')</script>", "another server"),
        ("<script>image.src = `http://example.org/x`</script>", "another server"),
        ("<style>@import \"https://example.org/x.css\"</style>", "another server"),
        ("<style>a { src: url(https://example.org/x.woff) }</style>", "another server"),
        ("<p style=\"background: url('http://example.org/x.png')\">", "another server"),
        ("<form action=\"https://example.org\">", "another server"),
        (
            "<pre class=\"playground\"></pre><script>fetch('https://play.rust-lang.org/x')</script>",
            "another server",
        ),
        ("<p>[!WARNING]</p>", "callout"),
    ] {
        let wrong = complaints_about(body);
        assert!(
            wrong.len() == 1 && wrong[0].starts_with("a/x.html") && wrong[0].contains(found),
            "{body}: {wrong:?}"
        );
    }
    let empty = tempfile::tempdir().unwrap();
    let wrong = complaints(empty.path(), &["a/x.md".to_owned()]).join("\n");
    for what in ["a/x.html is missing", "a search", "a dark theme"] {
        assert!(wrong.contains(what), "{wrong}");
    }
}
