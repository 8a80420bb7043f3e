//! The trailers of commits to stages: what `promote` and `rollback` write, and `history` reads.

/// The release that was promoted.
pub const PROMOTE: &str = "Stackflux-Promote";
/// The release that was rolled back.
pub const ROLLBACK: &str = "Stackflux-Rollback";
/// The stage that the content comes from and the commit that it has there: `stage@<commit>`.
pub const FROM: &str = "Stackflux-From";
/// The stage that a commit changes.
pub const STAGE: &str = "Stackflux-Stage";
/// The digest of the release's directory, as `stackflux inspect` shows it.
pub const CONTENT_DIGEST: &str = "Stackflux-Content-Digest";
/// How long the clusters of the source stage were ready with this content.
pub const SOAK: &str = "Stackflux-Soak";
/// The reason of the hold that was lifted.
pub const LIFTED_HOLD: &str = "Stackflux-Lifted-Hold";
/// The commit that had brought the release that is taken back.
pub const REVERTS: &str = "Stackflux-Reverts";
/// Where `stackflux publish` got the content of a release from, with digest or commit.
pub const SOURCE: &str = "Stackflux-Source";
/// Which stackflux made the commit.
pub const VERSION: &str = "Stackflux-Version";
