//! The trailers of commits to stages, which `promote`, `rollback` and `publish` write and `history` reads.

/// The release that was promoted.
pub const PROMOTE: &str = "Stackflux-Promote";
/// The release that was rolled back.
pub const ROLLBACK: &str = "Stackflux-Rollback";
/// The source stage and its commit that has the content: `stage@<commit>`.
pub const FROM: &str = "Stackflux-From";
/// The stage that the commit changes.
pub const STAGE: &str = "Stackflux-Stage";
/// The digest of the release's directory, as `stackflux inspect` shows it.
pub const CONTENT_DIGEST: &str = "Stackflux-Content-Digest";
/// The result of the soak check, such as how long the clusters of the source stage were ready with this content.
pub const SOAK: &str = "Stackflux-Soak";
/// The reason of the hold that was lifted.
pub const LIFTED_HOLD: &str = "Stackflux-Lifted-Hold";
/// The commit that added the release that is rolled back.
pub const REVERTS: &str = "Stackflux-Reverts";
/// The source from which `stackflux publish` got the release, with digest or commit.
pub const SOURCE: &str = "Stackflux-Source";
/// The version of stackflux that made the commit.
pub const VERSION: &str = "Stackflux-Version";
