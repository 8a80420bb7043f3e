//! The stages of a release in one Cluster: what is wanted of each addon now.
//!
//! A Cluster that moves to a release runs through lists of stages: a new one through that of `AfterControlPlaneInitialized`,
//! any other one through that of `BeforeClusterUpgrade` and then that of `AfterClusterUpgrade`. All that a list applies up to
//! the next deletion moves at once; a deletion is a barrier. What no list names moves with the last one.

use std::ops::Range;

use crate::api::Reason;
use crate::api::cluster_addon::StageStatus;
use crate::foreign::capi::Cluster;
use crate::gate::Hold;
use crate::gate::upgrade::{self, Phase};
use crate::inputs::overrides::Requests;
use crate::inputs::platform::addons_of;
use crate::names::AddonName;
use crate::release::{Action, Addon, Hook, Release, Stage, last_action};

/// The state of a stage that waits for its turn, in the words of the Go operator.
const PENDING: &str = "Pending";
/// The state of a stage whose turn it is.
const RUNNING: &str = "applyingOrDeleting";
/// The state of a stage that has ended.
const DONE: &str = "done";

/// What a status has recorded of the way of a Cluster to a release.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recorded<'a> {
    /// Whether a release was delivered before, and whether it was this one.
    pub applied: Applied,
    /// The hook whose stages the status has, for this release.
    pub hook: Option<&'a str>,
    /// These stages.
    pub stages: &'a [StageStatus],
}

/// The release that was delivered last to a Cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Applied {
    /// None: the Cluster is new.
    #[default]
    None,
    /// The one that the Cluster is to have.
    This,
    /// Another one.
    Other,
}

/// How far a Cluster has come in the stages of its release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Course {
    /// The phase of the upgrade to another Kubernetes version.
    pub phase: Phase,
    /// The list that runs; `None` if all have ended.
    running: Option<Running>,
}

/// A list that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Running {
    hook: Hook,
    /// The number of its stages that have ended.
    done: usize,
}

/// What is wanted of an addon now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// It is as the release has it.
    Apply,
    /// The Cluster does not have it.
    Delete,
    /// It stays as it is until its turn.
    Stay,
}

impl Course {
    /// Returns the course of a Cluster for which all stages have ended.
    #[must_use]
    pub fn ended(phase: Phase) -> Self {
        Self { phase, running: None }
    }

    /// Returns the course of a Cluster to `release` in a phase of its upgrade.
    #[must_use]
    pub fn of(recorded: Recorded<'_>, release: &Release, phase: Phase) -> Self {
        let first = match recorded.applied {
            Applied::This => return Self::ended(phase),
            Applied::None if phase == Phase::Steady => Hook::AfterControlPlaneInitialized,
            Applied::None | Applied::Other => Hook::BeforeClusterUpgrade,
        };
        let known = Hook::ALL.into_iter().find(|hook| recorded.hook == Some(hook.as_str()));
        let is_known = |hook: &Hook| {
            *hook == first || (first == Hook::BeforeClusterUpgrade && *hook == Hook::AfterClusterUpgrade)
        };
        let running = known.filter(is_known).map_or(Running { hook: first, done: 0 }, |hook| {
            let is_done = |stage: &&StageStatus| stage.phase == DONE;
            let done = recorded.stages.iter().take_while(is_done).count();
            Running { hook, done: done.min(list(release, hook).len()) }
        });
        let course = Self { phase, running: Some(running) };
        let is_first_done = course.unlisted_first(release).next().is_none();
        if course.is_before_over(release, is_first_done) { course.after() } else { course }
    }

    /// Returns the list that runs; `None` if all have ended, or Cluster API does not wait yet.
    #[must_use]
    pub fn hook(&self) -> Option<Hook> {
        self.running.map(|running| running.hook)
    }

    /// Returns the stages whose turn it is: those that apply up to the next that deletes, or one that deletes.
    #[must_use]
    pub fn step<'a>(&self, release: &'a Release) -> &'a [Stage] {
        let Some(running) = self.running else { return &[] };
        let range = self.range(running, release);
        list(release, running.hook).get(range).unwrap_or_default()
    }

    fn range(&self, Running { hook, done }: Running, release: &Release) -> Range<usize> {
        let is_open = match self.phase {
            // What was deleted comes back even if Cluster API does not wait any longer.
            Phase::Requested => has_deleted(list(release, hook), done),
            Phase::Steady => true,
            Phase::Waiting | Phase::Open | Phase::Upgrading => hook == Hook::BeforeClusterUpgrade,
        };
        let rest = rest(release, Running { hook, done });
        let length = match rest.first().map(|stage| stage.action) {
            _ if !is_open => 0,
            None => 0,
            Some(Action::Delete) => 1,
            Some(Action::Apply) => rest.iter().take_while(|stage| stage.action == Action::Apply).count(),
        };
        done..done + length
    }

    /// Returns what is wanted of an addon now, whatever the gate holds.
    #[must_use]
    pub fn want(&self, release: &Release, addon: &AddonName) -> Want {
        let Some(running) = self.running else { return finally(release, addon) };
        let list = list(release, running.hook);
        let end = self.range(running, release).end;
        let (until, ahead) = list.split_at(end);
        if let Some(action) = last_action(until, addon) {
            return action.into();
        }
        let is_ahead = last_action(ahead, addon).is_some();
        match running.hook {
            Hook::BeforeClusterUpgrade if !is_ahead && moves_first(release, addon) => Want::Apply,
            Hook::BeforeClusterUpgrade => Want::Stay,
            Hook::AfterClusterUpgrade => {
                match last_action(self::list(release, Hook::BeforeClusterUpgrade), addon) {
                    Some(action) => action.into(),
                    None if is_ahead => Want::Stay,
                    None => finally(release, addon),
                }
            }
            Hook::AfterControlPlaneInitialized if is_ahead => Want::Stay,
            Hook::AfterControlPlaneInitialized => finally(release, addon),
        }
    }

    /// Whether a Cluster does not have an addon now, or will not have it in the end.
    #[must_use]
    pub fn is_absent(&self, release: &Release, addon: &AddonName) -> bool {
        self.want(release, addon) == Want::Delete
    }

    /// Returns the addons of a release that a Cluster has or keeps now.
    pub fn addons<'a>(
        &self,
        release: &'a Release,
        cluster: &Cluster,
        requests: &'a Requests,
    ) -> impl Iterator<Item = &'a Addon> + use<'a> {
        let course = *self;
        addons_of(release, cluster, requests)
            .filter(move |addon| course.want(release, &addon.name) != Want::Delete)
    }

    /// Whether a stage whose turn it is or was deletes an addon.
    #[must_use]
    pub fn deletes(&self, release: &Release, addon: &AddonName) -> bool {
        let Some(running) = self.running else { return false };
        let until = ..self.range(running, release).end;
        let stages = list(release, running.hook).get(until).unwrap_or_default();
        last_action(stages, addon) == Some(Action::Delete)
    }

    /// Returns the first stage before the upgrade that deletes an addon and has not ended.
    #[must_use]
    pub fn deletes_before_upgrade<'a>(&self, release: &'a Release) -> Option<&'a Stage> {
        let running = self.running.filter(|running| running.hook == Hook::BeforeClusterUpgrade)?;
        rest(release, running).iter().find(|stage| stage.action == Action::Delete)
    }

    /// Whether all that is to move moves now: no stage deletes an addon, and nothing moves after the list that runs.
    #[must_use]
    pub fn is_ending(&self, release: &Release) -> bool {
        let Some(running) = self.running else { return true };
        let is_first = running.hook == Hook::BeforeClusterUpgrade;
        let next = if is_first { list(release, Hook::AfterClusterUpgrade) } else { &[] };
        let deletes = rest(release, running).iter().chain(next).any(|stage| stage.action == Action::Delete);
        let mut all = release.addons.iter().map(|addon| &addon.name);
        let is_last = !is_first || all.all(|addon| self.want(release, addon) == finally(release, addon));
        self.phase == Phase::Steady && is_last && !deletes
    }

    /// Returns the addons that move before the rest and that no stage names.
    pub fn unlisted_first<'a>(&self, release: &'a Release) -> impl Iterator<Item = &'a AddonName> {
        let is_before = self.hook() == Some(Hook::BeforeClusterUpgrade);
        let list = list(release, Hook::BeforeClusterUpgrade);
        let names = release.addons.iter().map(|addon| &addon.name);
        names.filter(move |name| is_before && last_action(list, name).is_none() && moves_first(release, name))
    }

    /// Returns the course without stages that apply addons, all of which are applied; `None` if nothing is to be left behind.
    ///
    /// A stage that deletes an addon is left behind only when a status has recorded that it has ended: what follows may install
    /// the addon again.
    #[must_use]
    pub fn next(&self, release: &Release, is_applied: impl Fn(&AddonName) -> bool) -> Option<Self> {
        let running = self.running?;
        let step = self.step(release);
        if !step.is_empty() {
            let is_done = |stage: &Stage| stage.action == Action::Apply && is_applied(&stage.addon);
            let done = running.done + step.len();
            return step
                .iter()
                .all(is_done)
                .then_some(Self { running: Some(Running { done, ..running }), ..*self });
        }
        let is_first_done = self.unlisted_first(release).all(is_applied);
        self.is_before_over(release, is_first_done).then(|| self.after())
    }

    /// Returns the stages of the list that runs for a status. `is_deleted` is whether an addon is gone that a stage deletes whose
    /// turn it is.
    #[must_use]
    pub fn statuses(
        &self,
        release: &Release,
        is_deleted: impl Fn(&AddonName) -> bool,
    ) -> (Option<Hook>, Vec<StageStatus>) {
        let is_idle = |running: &Running| self.phase == Phase::Requested && running.done == 0;
        let Some(running) = self.running.filter(|running| !is_idle(running)) else {
            return (None, Vec::new());
        };
        let (range, list) = (self.range(running, release), list(release, running.hook));
        let is_done = |stage: &Stage| stage.action == Action::Delete && is_deleted(&stage.addon);
        let phase = |(at, stage): (usize, &Stage)| match at {
            _ if at < running.done || (range.contains(&at) && is_done(stage)) => DONE,
            _ if range.contains(&at) => RUNNING,
            _ => PENDING,
        };
        let status = |(at, stage): (usize, &Stage)| StageStatus {
            name: stage.addon.to_string(),
            action: Some(stage.action.as_str().to_owned()),
            phase: phase((at, stage)).to_owned(),
        };
        (Some(running.hook), list.iter().enumerate().map(status).collect())
    }

    /// Returns the hold of an addon that stays as it is until its turn; `None` if it may move, or is not wanted.
    #[must_use]
    pub fn hold(&self, release: &Release, addon: &Addon) -> Option<Hold> {
        if let Some(hold) = upgrade::hold(self.phase, release, &addon.name)
            && !self.comes_back(release, &addon.name)
        {
            return Some(hold);
        }
        let hook = self.hook().filter(|_| self.want(release, &addon.name) == Want::Stay)?;
        let message = match self.step(release) {
            [Stage { addon, action: Action::Delete, .. }] => {
                format!("stays as it is until {} deletes {addon}, and Flux has uninstalled it", hook.as_str())
            }
            _ => {
                format!("stays as it is until all addons that move first, at {}, are applied", hook.as_str())
            }
        };
        Some(Hold { reason: Reason::WaitingForStage, message })
    }

    /// Whether it is the turn of an addon to be installed that the list has deleted before.
    fn comes_back(&self, release: &Release, addon: &AddonName) -> bool {
        let Some(running) = self.running else { return false };
        let (end, list) = (self.range(running, release).end, list(release, running.hook));
        let until = list.get(..end).unwrap_or_default();
        let is_deleted = until.iter().any(|stage| stage.addon == *addon && stage.action == Action::Delete);
        is_deleted && last_action(until, addon) == Some(Action::Apply)
    }

    /// Returns the addons that a stage deletes or has deleted, and that a later one installs again.
    pub fn coming_back<'a>(
        &self,
        release: &'a Release,
        cluster: &Cluster,
        requests: &'a Requests,
    ) -> impl Iterator<Item = &'a Addon> + use<'a> {
        let course = *self;
        addons_of(release, cluster, requests).filter(move |addon| {
            let is_absent = course.want(release, &addon.name) == Want::Delete;
            is_absent && finally(release, &addon.name) == Want::Apply
        })
    }

    /// Whether all of `BeforeClusterUpgrade` has ended. `is_first_done` is whether those addons are applied that
    /// [no stage names](Self::unlisted_first).
    fn is_before_over(&self, release: &Release, is_first_done: bool) -> bool {
        let end = list(release, Hook::BeforeClusterUpgrade).len();
        let is_at_end = self.running == Some(Running { hook: Hook::BeforeClusterUpgrade, done: end });
        is_at_end && is_first_done && self.phase == Phase::Steady
    }

    fn after(self) -> Self {
        Self { running: Some(Running { hook: Hook::AfterClusterUpgrade, done: 0 }), ..self }
    }
}

impl From<Action> for Want {
    fn from(action: Action) -> Self {
        match action {
            Action::Apply => Self::Apply,
            Action::Delete => Self::Delete,
        }
    }
}

fn list(release: &Release, hook: Hook) -> &[Stage] {
    release.stages.get(&hook).map(Vec::as_slice).unwrap_or_default()
}

fn rest(release: &Release, running: Running) -> &[Stage] {
    list(release, running.hook).get(running.done..).unwrap_or_default()
}

/// Whether the first stages of a list, which have ended, have deleted an addon.
fn has_deleted(list: &[Stage], done: usize) -> bool {
    list.iter().take(done).any(|stage| stage.action == Action::Delete)
}

/// Whether an addon moves before the rest.
fn moves_first(release: &Release, addon: &AddonName) -> bool {
    let hooks: Vec<Hook> = release.hooks_of(addon).collect();
    Phase::Waiting.lets_move(&hooks)
}

/// Returns what is wanted of an addon when all stages have ended. New and upgraded clusters end alike.
fn finally(release: &Release, addon: &AddonName) -> Want {
    if release.is_deleted_in_the_end(addon) { Want::Delete } else { Want::Apply }
}
