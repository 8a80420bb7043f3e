//! Versions as labels, images and API servers have them.

/// Returns major, minor and patch of a version such as `v1.34.2+k3s1` or `0.1.0`; what is missing counts as 0. `None` if it does
/// not begin with two numbers.
#[must_use]
pub(super) fn parsed(version: &str) -> Option<(u64, u64, u64)> {
    let digits = version.strip_prefix('v').unwrap_or(version);
    let end = digits.find(['-', '+']).unwrap_or(digits.len());
    let mut parts = digits.get(..end)?.split('.');
    let (major, minor) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let patch = parts.next().map_or(Ok(0), str::parse).ok()?;
    Some((major, minor, patch))
}

/// Whether a version is older than a minor version; `None` if it cannot be compared.
#[must_use]
pub(super) fn is_older(version: &str, (major, minor): (u64, u64)) -> Option<bool> {
    parsed(version).map(|found| (found.0, found.1) < (major, minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_compared_by_its_minor() {
        for (version, expected) in [
            ("v1.30.0", Some(false)),
            ("v1.29.14+k3s1", Some(true)),
            ("v2.0.0", Some(false)),
            ("1.30", Some(false)),
            ("v1.30-rc.1", Some(false)),
            ("latest", None),
            ("v1", None),
            ("sha-0123", None),
            ("", None),
        ] {
            assert_eq!(is_older(version, (1, 30)), expected, "{version}");
        }
        assert_eq!(parsed("v1.34.2"), Some((1, 34, 2)));
    }
}
