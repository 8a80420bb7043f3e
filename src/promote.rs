//! Promotion: copies the content of a release from one stage to the next, after a review of the changes there.
//!
//! ```text
//!  stackflux.yaml ─ stages ──┐
//!  status of the source ─ soak ─┤
//!  both stages' content ─ compare ─▶ report ─▶ text, JSON, Markdown of a pull request
//!                            │
//!                            ▼
//!               commit: the same tree under the next stage's path, with trailers that `history` reads
//! ```
//!
//! All of it is pure: what Git and the live cluster have is read, and written, by `cli::{promote, rollback, history}`.

pub mod compare;
pub mod document;
pub mod follow;
pub mod history;
pub mod holds;
pub mod refusal;
pub mod report;
pub mod rollback;
pub mod soak;
pub mod stages;
pub mod trailers;
pub mod yaml;
