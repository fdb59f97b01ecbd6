//! Roles of the regions of an archive in the analysis.
//!
//! Archives written by Dwell state the role in the description of the region. For other archives, the tables of the
//! adapters and the names of functions decide; a function whose name does not decide counts as conditional.

use dwell_model::archive::{self, Meaning};
use dwell_model::layer::{Layer, Ranks, layer_of_region};
use dwell_model::operation::{Collective, Mode, Operation, Progress};
use dwell_model::registry;
use dwell_model::table::{Bytes, Hooks};
use otf2::Definition;
use otf2::enums::RegionRole;
use otf2::id::RegionRef;
use otf2::read::Definitions;
use serde::{Deserialize, Serialize, Serializer};

use crate::text;

/// Properties of a region that the replay needs at every enter and leave, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traits(pub u32);

impl Traits {
    /// A call of a runtime.
    pub const CALL: Self = Self(1);
    /// The call always makes progress for operations of other processes.
    pub const ALWAYS: Self = Self(1 << 1);
    /// The call makes progress for operations of other processes in some cases, or it is unknown whether it does.
    pub const CONDITIONAL: Self = Self(1 << 2);
    /// The call always or possibly makes progress for operations of other processes: [`Self::ALWAYS`] or
    /// [`Self::CONDITIONAL`].
    pub const SERVES: Self = Self(1 << 1 | 1 << 2);
    /// Acts on a single target.
    pub const ONE_SIDED: Self = Self(1 << 3);
    /// Completes earlier operations at their targets.
    pub const COMPLETES: Self = Self(1 << 4);
    /// A collective of a group.
    pub const COLLECTIVE: Self = Self(1 << 5);
    /// Opens or closes an epoch of a window.
    pub const EPOCH: Self = Self(1 << 11);
    /// Waits for other processes to arrive, not for their progress.
    pub const TOGETHER: Self = Self(1 << 5 | 1 << 11);
    /// Acquires a lock, or releases one that it may not have acquired yet.
    pub const LOCK: Self = Self(1 << 6);
    /// Waits for memory to change.
    pub const WAIT_CHANGE: Self = Self(1 << 7);
    /// The archive itself states the role, so it follows Dwell's rules of completion. For MPI and the layers above it,
    /// other tools follow the same rules.
    pub const STATED: Self = Self(1 << 8);
    /// The archive records when a lock was acquired.
    pub const SAYS_WHEN: Self = Self(1 << 15);
    /// Belongs to a layer that never writes records of operations.
    pub const SILENT: Self = Self(1 << 9);
    /// Acts on a window of MPI, whose fences and epochs need to know when the operation ended.
    pub const TOUCHES: Self = Self(1 << 12);
    /// Tests whether something has happened, or waits for a message without receiving it.
    pub const TESTS: Self = Self(1 << 13);
    /// Must be judged at its end for more than single operations.
    pub const ENDS: Self = Self(1 << 4 | 1 << 13);
    /// Begins a non-blocking collective.
    pub const BEGINS: Self = Self(1 << 14);
    /// Moves elements that are not contiguous, without a datatype that the runtime could use.
    pub const STRIDED: Self = Self(1 << 16);
    /// Ends rows of operations, because something else happens.
    pub const INTERRUPTS: Self = Self(1 << 17);
    /// Ends rows of operations, because it completes or orders them.
    pub const COMPLETION: Self = Self(1 << 18);
    /// Ends rows of operations, because it acquires an MPI lock for those that follow.
    pub const TAKES_LOCK: Self = Self(1 << 19);
    /// Ends rows of operations for any of these reasons.
    pub const ROWS: Self = Self(1 << 17 | 1 << 18 | 1 << 19);
    /// Sends an active message, whose payload nothing completes.
    pub const MESSAGE: Self = Self(1 << 20);
    /// Polls for active messages. Handlers that run in it are not part of it.
    pub const POLLS: Self = Self(1 << 21);
    /// A barrier of a team of threads, in which a thread may run functions of the program.
    pub const TEAM: Self = Self(1 << 22);
    /// Synchronises: orders or completes operations, or waits for others.
    pub const SYNCHRONISES: Self = Self(1 << 10);

    /// Returns `true` if at least one bit of `other` is set.
    #[inline]
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn with(self, other: Self, when: bool) -> Self {
        if when { Self(self.0 | other.0) } else { self }
    }

    /// Returns the properties with all bits of `other` cleared.
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns the properties of a single call of which it is known whether it serves others.
    #[must_use]
    pub fn serving(self, serves: bool) -> Self {
        self.without(Self::SERVES).with(Self::ALWAYS, serves)
    }

    fn of(meaning: Option<Meaning>, stated: bool) -> Self {
        let Some(meaning) = meaning else { return Self::default() };
        let operation = meaning.operation;
        let synchronises = meaning.completes_remote
            || matches!(
                operation,
                Operation::Order
                    | Operation::CompleteLocal
                    | Operation::CompleteRemote
                    | Operation::WaitHandle
                    | Operation::Meet
                    | Operation::Lock
                    | Operation::Unlock
                    | Operation::WaitChange
            );
        let mpi = meaning.layer.has_messages();
        let collective = matches!(operation, Operation::Collective(_));
        let team = collective && meaning.layer.runs_program();
        let tests = matches!(
            operation,
            Operation::TestChange | Operation::TestHandle | Operation::TestProbe | Operation::Probe
        );
        // Some implementations of MPI acquire a lock as late as in the flush.
        let locks = matches!(operation, Operation::Lock | Operation::Unlock)
            || mpi && operation == Operation::CompleteRemote;
        Self::CALL
            .with(Self::ALWAYS, meaning.progress == Progress::Always)
            .with(Self::CONDITIONAL, meaning.progress == Progress::Conditional)
            .with(Self::ONE_SIDED, operation.is_one_sided())
            .with(Self::COMPLETES, meaning.completes_remote)
            .with(Self::COLLECTIVE, collective)
            .with(Self::BEGINS, collective && meaning.mode == Mode::NonBlocking)
            .with(Self::TOUCHES, mpi && operation.is_one_sided())
            .with(Self::TESTS, tests)
            .with(Self::LOCK, locks)
            .with(Self::WAIT_CHANGE, operation == Operation::WaitChange)
            .with(Self::STATED, stated && !is_numbered(meaning.layer))
            .with(Self::SAYS_WHEN, stated && !mpi)
            .with(Self::TEAM, team)
            .with(Self::SILENT, meaning.layer.ranks() == Ranks::None && !team)
            .with(Self::MESSAGE, operation == Operation::ActiveMessage)
            .with(Self::POLLS, operation == Operation::Poll)
            .with(Self::SYNCHRONISES, synchronises)
    }
}

/// Returns `true` if a completion record of this layer concerns the operations with its number, and `false` if it
/// concerns all operations of its window.
pub fn is_numbered(layer: Layer) -> bool {
    layer.ranks() == Ranks::Communicators
}

/// Role of a region in the analysis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// Properties that follow from the meaning and the name of the region.
    pub traits: Traits,
    /// Meaning that the archive states or the name implies; `None` for regions that are not calls of a runtime.
    #[serde(with = "text")]
    pub meaning: Option<Meaning>,
    /// Part of the call in general active target synchronisation; `None` for all other calls.
    pub epoch: Option<Epoch>,
    /// True for one-sided operations of MPI with a request. Some libraries wait in them until they have the lock.
    pub requests: bool,
    /// Size in bytes of an element, for calls that move elements which are not contiguous.
    pub element: Option<u8>,
}

/// A call that opens or closes an epoch of an MPI window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Epoch {
    /// Begins an access epoch at the origin.
    Start,
    /// Ends the access epoch, and completes its operations at the origin.
    Complete,
    /// Begins an exposure epoch for a group of origins.
    Post,
    /// Ends the exposure epoch as soon as all accesses have ended.
    Wait,
    /// Ends the exposure epoch if all accesses have ended.
    Test,
}

impl Epoch {
    fn of(name: &str) -> Option<Self> {
        Some(match name.strip_prefix('P').unwrap_or(name) {
            "MPI_Win_start" => Self::Start,
            "MPI_Win_complete" => Self::Complete,
            "MPI_Win_post" => Self::Post,
            "MPI_Win_wait" => Self::Wait,
            "MPI_Win_test" => Self::Test,
            _ => return None,
        })
    }
}

impl Role {
    const NONE: Self =
        Self { traits: Traits(0), meaning: None, epoch: None, requests: false, element: None };

    /// Returns the layer of the call, or `None` if the region is not a call of a runtime.
    pub fn layer(&self) -> Option<Layer> {
        self.meaning.map(|it| it.layer)
    }

    /// Returns `true` if calls of the region may wait for messages.
    pub fn completes_messages(&self) -> bool {
        let operation = self.meaning.map(|it| it.operation);
        matches!(
            operation,
            Some(
                Operation::Send | Operation::Receive | Operation::Exchange | Operation::WaitHandle
            )
        )
    }
}

/// Roles of all regions of an archive. They travel to other ranks without the functions that were left out.
#[derive(Debug, Deserialize)]
#[serde(from = "Vec<Role>")]
pub struct Roles {
    roles: Vec<Role>,
    /// Copies in lists of their own, since every call needs them.
    traits: Vec<Traits>,
    layers: Vec<Option<Layer>>,
    wait_change: bool,
    left_out: Vec<LeftOut>,
}

/// A function that was called but never or not always recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Name of the region that the archive defines for the function.
    pub name: String,
    /// Meaning that the description of the region states.
    pub meaning: Meaning,
}

impl LeftOut {
    /// Returns `true` if calls of the function may have progressed operations of others.
    pub fn serves(&self) -> bool {
        self.meaning.progress != Progress::Never
    }

    /// Returns `true` if calls of the function send or receive messages.
    pub fn has_messages(&self) -> bool {
        matches!(
            self.meaning.operation,
            Operation::Send
                | Operation::Receive
                | Operation::Exchange
                | Operation::StartHandle
                | Operation::WaitHandle
                | Operation::TestHandle
        )
    }
}

/// Greatest region number that is kept. No intact archive has as many regions, but a damaged one may claim so.
const MOST: u32 = 1 << 24;

impl From<Vec<Role>> for Roles {
    fn from(roles: Vec<Role>) -> Self {
        let watches = |role: &Role| {
            let operation = role.meaning.map(|it| it.operation);
            role.traits.has(Traits::WAIT_CHANGE) || operation == Some(Operation::TestChange)
        };
        let wait_change = roles.iter().any(watches);
        let traits = roles.iter().map(|role| role.traits).collect();
        let layers = roles.iter().map(Role::layer).collect();
        Self { roles, traits, layers, wait_change, left_out: Vec::new() }
    }
}

impl Serialize for Roles {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.roles.serialize(to)
    }
}

impl Roles {
    /// Derives the roles from the descriptions of all regions, or from their names if no description states a role.
    pub fn of(defs: &Definitions) -> Self {
        let mut roles = Vec::new();
        let mut left_out = Vec::new();
        let text = |id| defs.string(id).and_then(otf2::Str::to_str).unwrap_or_default();
        let says = |definition: &Definition<'_>| match definition {
            Definition::Region(region) => Meaning::parse(text(region.description)).is_some(),
            _ => false,
        };
        // An archive that states roles states them for all regions: a program may be called mpi_heat.
        let by_names = !defs.iter().any(|definition| says(&definition));
        for definition in defs.iter() {
            let Definition::Region(region) = definition else { continue };
            if region.id.0 >= MOST {
                continue;
            }
            let at = region.id.0 as usize;
            if roles.len() <= at {
                roles.resize(at + 1, Role::NONE);
            }
            let stated = Meaning::parse(text(region.description));
            let is_partial = [archive::LEFT_OUT, archive::SAMPLED]
                .iter()
                .any(|words| text(region.description).ends_with(words));
            if let (true, Some(meaning)) = (is_partial, stated) {
                left_out.push(LeftOut { name: text(region.name).to_owned(), meaning });
            }
            let named = || by_name(text(region.name), region.region_role);
            let meaning = stated.or_else(|| by_names.then(named).flatten());
            if let Some(role) = roles.get_mut(at) {
                let epoch = Epoch::of(text(region.name));
                let traits = Traits::of(meaning, stated.is_some());
                let traits = traits.with(Traits::EPOCH, epoch.is_some());
                // A loop that waits for a change of a shared window calls this function.
                let traits = traits.with(Traits::TESTS, is_win_sync(text(region.name)));
                let one_sided = traits.has(Traits::TOUCHES);
                let name = text(region.name);
                let requests = one_sided && name.trim_start_matches('P').starts_with("MPI_R");
                let element = meaning.and_then(|_| strided(name));
                let traits = traits.with(Traits::STRIDED, element.is_some());
                let traits = traits.with(ends_rows(traits, meaning), true);
                *role = Role { traits, meaning, epoch, requests, element };
            }
        }
        Self { left_out, ..Self::from(roles) }
    }

    /// Returns the functions that were called but never or not always recorded.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Returns the properties of a region. Unknown regions have none.
    #[inline(always)]
    pub fn traits(&self, region: RegionRef) -> Traits {
        self.traits.get(region.0 as usize).copied().unwrap_or_default()
    }

    /// Returns the role of a region. Unknown regions have neither properties nor a meaning.
    #[inline]
    pub fn get(&self, region: RegionRef) -> Role {
        self.roles.get(region.0 as usize).copied().unwrap_or(Role::NONE)
    }

    /// Returns the layer of a region, or `None` if it is not a call of a runtime.
    #[inline(always)]
    pub fn layer(&self, region: RegionRef) -> Option<Layer> {
        self.layers.get(region.0 as usize).copied().flatten()
    }

    /// Returns `true` if some region waits for a change of memory or tests for one, so that puts can be signals.
    pub fn any_wait_change(&self) -> bool {
        self.wait_change
    }

    /// Returns `true` if some region may or may not progress, so that waits for progress have two bounds.
    pub fn any_conditional(&self) -> bool {
        self.roles.iter().any(|role| role.traits.has(Traits::CONDITIONAL))
    }

    /// Returns the layers that the archive has calls of, in the order of [`Layer`].
    pub fn layers(&self) -> Vec<Layer> {
        let mut layers: Vec<Layer> = self.roles.iter().filter_map(Role::layer).collect();
        layers.sort_unstable();
        layers.dedup();
        layers
    }
}

fn is_win_sync(name: &str) -> bool {
    name.strip_prefix('P').unwrap_or(name) == "MPI_Win_sync"
}

/// Returns the size in bytes of an element that a strided put or get of OpenSHMEM moves. Only the name of a function
/// tells that it is one.
fn strided(name: &str) -> Option<u8> {
    let (_, row) = registry::find(name.strip_prefix('p').unwrap_or(name))?;
    match row.places.bytes {
        Bytes::Counted { size, .. } if row.operation.is_one_sided() => {
            row.places.strides.map(|_| size)
        }
        _ => None,
    }
}

/// Returns the meaning of a function in an archive of another tool, derived from its name.
fn by_name(name: &str, role: RegionRole) -> Option<Meaning> {
    let layer = layer_of_region(name).filter(|layer| !layer.runs_program())?;
    // Regions that Dwell records on request only are named by no other tool.
    let known = registry::find(name).filter(|(table, _)| table.hooks != Hooks::Regions);
    if let Some((table, row)) = known {
        return Some(Meaning::of(table, row));
    }
    let (mode, completes_remote) = (Mode::Blocking, false);
    let meaning =
        |operation, progress| Some(Meaning { layer, operation, mode, progress, completes_remote });
    if !layer.has_messages() {
        return meaning(Operation::Other, Progress::Conditional);
    }
    // Fortran names, and functions that only test.
    let operation = match role {
        RegionRole::Barrier => Operation::Collective(Collective::Barrier),
        RegionRole::CollOne2all => Operation::Collective(Collective::Broadcast),
        RegionRole::CollAll2one => Operation::Collective(Collective::Reduce),
        RegionRole::CollAll2all => Operation::Collective(Collective::AllReduce),
        RegionRole::Point2point => Operation::Send,
        _ => return meaning(Operation::Query, Progress::Never),
    };
    meaning(operation, Progress::Always)
}

/// Returns the way in which calls end rows of operations: one of [`Traits::ROWS`], or none.
fn ends_rows(traits: Traits, meaning: Option<Meaning>) -> Traits {
    let Some(meaning) = meaning.filter(|_| !traits.has(Traits::ONE_SIDED)) else {
        return Traits::default();
    };
    let together = Traits(Traits::TOGETHER.0 | Traits::TESTS.0 | Traits::WAIT_CHANGE.0);
    let locks = traits.has(Traits::LOCK);
    let mpi = meaning.layer.has_messages();
    if traits.has(together) || meaning.operation == Operation::Meet || locks && !mpi {
        Traits::INTERRUPTS
    } else if locks && !traits.has(Traits::COMPLETES) {
        Traits::TAKES_LOCK
    } else if traits.has(Traits::SYNCHRONISES) {
        Traits::COMPLETION
    } else {
        Traits::default()
    }
}
