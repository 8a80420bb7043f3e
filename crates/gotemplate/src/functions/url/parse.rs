//! The parts of a URL, as Go's `net/url` reads and writes them.

use std::net::Ipv6Addr;

/// A URL in its parts. The path, host and fragment are decoded.
#[derive(Default)]
pub(super) struct Url {
    pub scheme: Vec<u8>,
    pub opaque: Vec<u8>,
    pub userinfo: Option<UserInfo>,
    pub host: Vec<u8>,
    pub path: Vec<u8>,
    pub query: Vec<u8>,
    pub fragment: Vec<u8>,
}

/// A user's name, and a password if there is one.
pub(super) struct UserInfo {
    name: Vec<u8>,
    password: Option<Vec<u8>>,
}

impl UserInfo {
    pub(super) fn encoded(&self) -> Vec<u8> {
        let mut text = encoded(&self.name, Part::UserInfo);
        if let Some(password) = &self.password {
            text.push(b':');
            text.extend(encoded(password, Part::UserInfo));
        }
        text
    }
}

/// The parts of a URL, which differ in the characters that need no escape.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Path,
    Host,
    Zone,
    UserInfo,
    Fragment,
}

fn is_plain(byte: u8, part: Part) -> bool {
    let in_host = matches!(part, Part::Host | Part::Zone);
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => true,
        b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':' | b'[' | b']'
        | b'<' | b'>' | b'"'
            if in_host =>
        {
            true
        }
        b'$' | b'&' | b'+' | b',' | b'/' | b':' | b';' | b'=' | b'?' | b'@' => match part {
            Part::Path => byte != b'?',
            Part::UserInfo => !matches!(byte, b'@' | b'/' | b'?' | b':'),
            Part::Fragment => true,
            Part::Host | Part::Zone => false,
        },
        b'!' | b'(' | b')' | b'*' => part == Part::Fragment,
        _ => false,
    }
}

fn encoded(text: &[u8], part: Part) -> Vec<u8> {
    let mut result = Vec::with_capacity(text.len());
    for byte in text {
        if is_plain(*byte, part) {
            result.push(*byte);
        } else {
            result.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    result
}

type Decoded<T = Vec<u8>> = Result<T, &'static str>;

fn decoded(text: &[u8], part: Part) -> Decoded {
    const INVALID: &str = "invalid URL escape";
    let mut result = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            if matches!(part, Part::Host | Part::Zone) && byte.is_ascii() && !is_plain(byte, part) {
                return Err("invalid character in host name");
            }
            result.push(byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2).ok_or(INVALID)?;
        if !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(INVALID);
        }
        rest = after;
        let code = std::str::from_utf8(digits).ok().and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let code = code.ok_or(INVALID)?;
        // A host escapes only characters beyond ASCII; a zone escapes nothing that a host may contain.
        let allowed = match part {
            Part::Host => !code.is_ascii() || code == b'%',
            Part::Zone => code == b'%' || code == b' ' || is_plain(code, Part::Host),
            Part::Path | Part::UserInfo | Part::Fragment => true,
        };
        if !allowed {
            return Err(INVALID);
        }
        result.push(code);
    }
    Ok(result)
}

/// Splits a text at the first separator; without a separator, all of it is before.
fn cut(text: &[u8], separator: u8) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|byte| *byte == separator) {
        Some(position) => {
            let (before, after) = text.split_at(position);
            (before, after.get(1..))
        }
        None => (text, None),
    }
}

/// Splits a URL into its scheme and the text after the colon.
fn scheme(text: &[u8]) -> Decoded<(&[u8], &[u8])> {
    for (index, byte) in text.iter().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            b':' if index == 0 => return Err("missing protocol scheme"),
            b':' => {
                return Ok((
                    text.get(..index).unwrap_or_default(),
                    text.get(index + 1..).unwrap_or_default(),
                ));
            }
            _ => break,
        }
    }
    Ok((b"", text))
}

impl Url {
    pub(super) fn parse(text: &[u8]) -> Decoded<Url> {
        let (before, fragment) = cut(text, b'#');
        let mut url = Self::without_fragment(before)?;
        url.fragment = decoded(fragment.unwrap_or_default(), Part::Fragment)?;
        Ok(url)
    }

    fn without_fragment(text: &[u8]) -> Decoded<Url> {
        if text.iter().any(u8::is_ascii_control) {
            return Err("net/url: invalid control character in URL");
        }
        let mut url = Url::default();
        if text == b"*" {
            url.path = b"*".to_vec();
            return Ok(url);
        }
        let (scheme, rest) = scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        let (rest, query) = cut(rest, b'?');
        url.query = query.unwrap_or_default().to_vec();
        if !rest.starts_with(b"/") {
            if !url.scheme.is_empty() {
                url.opaque = rest.to_vec();
                return Ok(url);
            }
            if cut(rest, b'/').0.contains(&b':') {
                return Err("first path segment in URL cannot contain colon");
            }
        }
        let has_authority = !url.scheme.is_empty() || !rest.starts_with(b"///");
        let path = match rest.strip_prefix(b"//") {
            Some(after) if has_authority => {
                let slash = after.iter().position(|byte| *byte == b'/').unwrap_or(after.len());
                let (authority, path) = after.split_at(slash);
                url.set_authority(authority)?;
                path
            }
            _ => rest,
        };
        url.path = decoded(path, Part::Path)?;
        Ok(url)
    }

    fn set_authority(&mut self, authority: &[u8]) -> Decoded<()> {
        let Some(at) = authority.iter().rposition(|byte| *byte == b'@') else {
            self.host = host(&self.scheme, authority)?;
            return Ok(());
        };
        let (userinfo, after) = authority.split_at(at);
        self.host = host(&self.scheme, after.get(1..).unwrap_or_default())?;
        let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(byte);
        if !userinfo.iter().all(is_allowed) {
            return Err("net/url: invalid userinfo");
        }
        let (name, password) = cut(userinfo, b':');
        self.userinfo = Some(UserInfo {
            name: decoded(name, Part::UserInfo)?,
            password: password.map(|password| decoded(password, Part::UserInfo)).transpose()?,
        });
        Ok(())
    }

    /// Returns the host without its port and without the brackets of an address.
    pub(super) fn hostname(&self) -> &[u8] {
        let mut host = self.host.as_slice();
        if let Some(colon) = host.iter().rposition(|byte| *byte == b':') {
            let (name, port) = host.split_at(colon);
            if is_port(port) {
                host = name;
            }
        }
        host.strip_prefix(b"[").and_then(|inside| inside.strip_suffix(b"]")).unwrap_or(host)
    }

    /// Joins the parts to one text, as `URL.String` does.
    pub(super) fn joined(&self) -> Vec<u8> {
        let mut text = Vec::new();
        if !self.scheme.is_empty() {
            text.extend_from_slice(&self.scheme);
            text.push(b':');
        }
        if self.opaque.is_empty() {
            self.push_authority_and_path(&mut text);
        } else {
            text.extend_from_slice(&self.opaque);
        }
        if !self.query.is_empty() {
            text.push(b'?');
            text.extend_from_slice(&self.query);
        }
        if !self.fragment.is_empty() {
            text.push(b'#');
            text.extend(encoded(&self.fragment, Part::Fragment));
        }
        text
    }

    fn push_authority_and_path(&self, text: &mut Vec<u8>) {
        let has_authority = !self.host.is_empty() || self.userinfo.is_some();
        if has_authority || (!self.scheme.is_empty() && !self.path.is_empty()) {
            text.extend_from_slice(b"//");
            if let Some(userinfo) = &self.userinfo {
                text.extend(userinfo.encoded());
                text.push(b'@');
            }
            text.extend(encoded(&self.host, Part::Host));
        }
        let path = if self.path == b"*" { b"*".to_vec() } else { encoded(&self.path, Part::Path) };
        if !path.is_empty() && !path.starts_with(b"/") && !self.host.is_empty() {
            text.push(b'/');
        }
        // Without this the first segment would be taken for a scheme.
        if text.is_empty() && cut(&path, b'/').0.contains(&b':') {
            text.extend_from_slice(b"./");
        }
        text.extend(path);
    }
}

/// Whether a text is empty, or a colon and digits.
fn is_port(text: &[u8]) -> bool {
    text.is_empty() || text.strip_prefix(b":").is_some_and(|port| port.iter().all(u8::is_ascii_digit))
}

fn host(scheme: &[u8], text: &[u8]) -> Decoded {
    match text.iter().rposition(|byte| *byte == b'[') {
        Some(0) => return address(text),
        Some(_) => return Err("invalid IP-literal"),
        None => {}
    }
    let first = text.iter().position(|byte| *byte == b':');
    let last = text.iter().rposition(|byte| *byte == b':');
    // Colons inside of a host are refused if the scheme defines the form of a host.
    let colon = if matches!(scheme, b"http" | b"https") { first } else { last };
    if !colon.and_then(|colon| text.get(colon..)).is_none_or(is_port) {
        return Err("invalid port after host");
    }
    decoded(text, Part::Host)
}

/// Decodes a host that is an IPv6 address: `[fe80::1%25en0]:80`.
fn address(text: &[u8]) -> Decoded {
    let closing = text.iter().rposition(|byte| *byte == b']').ok_or("missing ']' in host")?;
    let inside = text.get(1..closing).unwrap_or_default();
    let port = text.get(closing + 1..).unwrap_or_default();
    if !is_port(port) {
        return Err("invalid port after host");
    }
    let zone = inside.windows(3).position(|window| window == b"%25").unwrap_or(inside.len());
    let (address, zone) = inside.split_at(zone);
    let address = decoded(address, Part::Host)?;
    let zone = decoded(zone, Part::Zone)?;
    let is_address = std::str::from_utf8(&address).is_ok_and(|text| text.parse::<Ipv6Addr>().is_ok());
    if !is_address || zone == b"%" {
        return Err("invalid host");
    }
    Ok([b"[".as_slice(), &address, &zone, b"]", port].concat())
}
