//! Hooks of collective operations.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use dwell_measure::hook::{Hook, Role};
use dwell_measure::mpi::{Collective, Comm, NOBODY, Neighbours, What};
use dwell_measure::recorder::{self, Recorder};
use dwell_measure::thread::Call;
use dwell_model::operation::{self, Mode, Operation, Shape as Way};
use dwell_model::table::{Arg, Bytes};

use super::groups::comm_of;
use super::messages::{Started, begin_request, remember};
use super::pmpi;
use super::shape::{Args, Shape, Words};

/// A blocking collective.
pub(crate) struct Blocking;

impl Shape for Blocking {
    type Room = ();
    type State = (Call, Option<Collective>);

    fn begin(
        hook: &'static Hook,
        words: &Words<'_>,
        _: &mut MaybeUninit<()>,
    ) -> Option<Self::State> {
        let args = Args::of(words);
        let mut what = None;
        let call = recorder::begin(hook, |recorder| {
            what = described(&args, recorder, hook.row.operation);
            if let Some(it) = &mut what {
                it.sequence = it.comm.collective();
                recorder.collective_begins(it);
            }
        })?;
        Some((call, what))
    }

    fn end((call, what): Self::State, _: &'static Hook, _: &Words<'_>, _: c_int) {
        recorder::end(call, |recorder| {
            if let Some(it) = what {
                recorder.collective_end(&it);
            }
        });
    }
}

/// A non-blocking or persistent collective, which returns a request.
pub(crate) struct Start;

impl Shape for Start {
    type Room = ();
    type State = (Call, Started);

    fn begin(
        hook: &'static Hook,
        words: &Words<'_>,
        _: &mut MaybeUninit<()>,
    ) -> Option<Self::State> {
        let args = Args::of(words);
        let mut started = None;
        let call = recorder::begin(hook, |recorder| {
            let Some(mut it) = described(&args, recorder, hook.row.operation) else { return };
            if hook.row.mode != Mode::Persistent {
                it.sequence = it.comm.collective();
            }
            started = Some(begin_request(recorder, What::Collective(it), hook.row.mode));
        })?;
        Some((call, started))
    }

    fn end((call, started): Self::State, _: &'static Hook, words: &Words<'_>, result: c_int) {
        remember(&Args::of(words), started, result);
        recorder::end(call, |_| ());
    }
}

/// Describes a collective: its communicator and root, the bytes that this process sends from its buffer, and those that
/// it receives. Arguments that are significant only at the root are read only there. Returns `None` for calls that the
/// library will refuse.
fn described(args: &Args<'_>, recorder: &mut Recorder, operation: Operation) -> Option<Collective> {
    let Operation::Collective(which) = operation else { return None };
    let handle = args.comm()?;
    let comm = comm_of(recorder, handle)?;
    let root = args.places.root.map(|at| args.int(at));
    // The root of one that connects two groups is on the other side, or says that it is itself.
    let is_root = match root {
        Some(root) if comm.inter => root == args.abi.root,
        Some(root) => u32::try_from(root) == Ok(comm.rank),
        None => false,
    };
    let idle = comm.inter && root == Some(args.abi.no_process);
    let neighbours = (which.shape() == Way::Neighbours)
        .then(|| comm.neighbours(recorder.process(), || neighbours(args, handle, comm.rank)));
    let role = if is_root { Role::Root } else { Role::Member };
    let (sent, received) = if idle { (0, 0) } else { bytes(args, which, comm, neighbours, role) };
    let root = root.and_then(|root| u32::try_from(root).ok());
    if root.is_some_and(|root| root >= comm.size) {
        return None; // The library will refuse it, so it is not counted.
    }
    Some(Collective { comm, which, root, is_root, sent, received, sequence: 0, neighbours })
}

/// Returns the numbers of bytes that a process of a communicator sends and receives in its role.
fn bytes(
    args: &Args<'_>,
    which: operation::Collective,
    comm: &Comm,
    neighbours: Option<Neighbours>,
    role: Role,
) -> (u64, u64) {
    use operation::Collective as C;
    let places = args.places;
    let (members, is_root) = (u64::from(comm.size), role == Role::Root);
    let is_in_place = |at: Option<Arg>| at.is_some_and(|at| args.is_in_place(at));
    // The buffer that is sent from comes first, the one received into before its count or counts.
    let gives = !is_in_place(Some(Arg(0)));
    let before = |at: Arg| at.0.checked_sub(1).map(Arg);
    let buffer = match places.received {
        Bytes::Typed { count, .. } => before(count),
        Bytes::Listed { counts, .. } | Bytes::ListedTypes { counts, .. } => before(counts),
        _ => None,
    };
    let gets = !is_in_place(buffer);
    let sent = |members| args.bytes(places.bytes, members);
    let received = |members| args.bytes(places.received, members);
    let when = |yes: bool, bytes: &dyn Fn() -> u64| if yes { bytes() } else { 0 };
    match which {
        C::Broadcast if is_root => (sent(0), 0),
        C::Broadcast => (0, sent(0)),
        C::Reduce => {
            let all = sent(0);
            (if comm.inter && is_root { 0 } else { all }, if is_root { all } else { 0 })
        }
        C::AllReduce | C::Scan | C::ExclusiveScan => {
            let all = sent(0);
            (all, all)
        }
        C::Gather => (
            when(gives && !(comm.inter && is_root), &|| sent(0)),
            when(is_root, &|| members.saturating_mul(received(0))),
        ),
        C::GatherVarying => (
            when(gives && !(comm.inter && is_root), &|| sent(0)),
            when(is_root, &|| received(comm.size)),
        ),
        C::Scatter => (
            when(is_root, &|| members.saturating_mul(sent(0))),
            when(gets && !(comm.inter && is_root), &|| received(0)),
        ),
        C::ScatterVarying => (
            when(is_root, &|| sent(comm.size)),
            when(gets && !(comm.inter && is_root), &|| received(0)),
        ),
        C::AllGather => (when(gives, &|| sent(0)), members.saturating_mul(received(0))),
        C::AllGatherVarying => (when(gives, &|| sent(0)), received(comm.size)),
        C::AllToAll => {
            (when(gives, &|| members.saturating_mul(sent(0))), members.saturating_mul(received(0)))
        }
        C::AllToAllVarying | C::AllToAllTyped => {
            (when(gives, &|| sent(comm.size)), received(comm.size))
        }
        // The result is divided, so what goes in is all parts.
        C::ReduceScatter => {
            let own = match places.received {
                Bytes::Listed { counts, datatype } => args.part(counts, datatype, comm.rank),
                _ => 0,
            };
            (received(comm.size), own)
        }
        C::ReduceScatterBlock => {
            let part = received(0);
            (members.saturating_mul(part), part)
        }
        _ => {
            let Some(Neighbours { sources, targets, .. }) = neighbours else { return (0, 0) };
            let times = |count: u32, bytes: u64| u64::from(count).saturating_mul(bytes);
            match which {
                C::NeighbourAllGather => (sent(0), times(sources, received(0))),
                C::NeighbourAllGatherVarying => (sent(0), received(sources)),
                C::NeighbourAllToAll => (times(targets, sent(0)), times(sources, received(0))),
                _ => (sent(targets), received(sources)),
            }
        }
    }
}

/// Returns the ranks of the neighbours that send to this process, and the number of neighbours that receive from it. A
/// rank may occur several times. At the border of a Cartesian topology [`NOBODY`] stands for the missing neighbour, for
/// which the program nevertheless has a place in its buffers.
fn neighbours(args: &Args<'_>, comm: usize, rank: u32) -> (Vec<u32>, u32) {
    let (mut kind, mut first, mut second, mut weighted) = (0, 0, 0, 0);
    let [grid, graph, distributed] = args.abi.topologies;
    let list = |count: c_int| vec![0; usize::try_from(count).unwrap_or(0)];
    let mut sources: Vec<c_int> = Vec::new();
    // SAFETY: the program is using this communicator, and each list has as many elements as are asked for.
    unsafe {
        if pmpi::topo_test(comm, &raw mut kind) != 0 {
            return (Vec::new(), 0);
        }
        if kind == grid {
            let mut dimensions = 0;
            pmpi::cartdim_get(comm, &raw mut dimensions);
            for dimension in 0..dimensions {
                pmpi::cart_shift(comm, dimension, 1, &raw mut first, &raw mut second);
                sources.extend([first, second]);
            }
            second = 2 * dimensions;
        } else if kind == graph {
            pmpi::graph_neighbors_count(comm, rank.cast_signed(), &raw mut second);
            sources = list(second);
            pmpi::graph_neighbors(comm, rank.cast_signed(), second, sources.as_mut_ptr());
        } else if kind == distributed {
            let places = (&raw mut first, &raw mut second, &raw mut weighted);
            pmpi::dist_graph_neighbors_count(comm, places.0, places.1, places.2);
            sources = list(first);
            let (mut targets, mut weights) = (list(second), (list(first), list(second)));
            let (from, to) = ((sources.as_mut_ptr(), weights.0.as_mut_ptr()), targets.as_mut_ptr());
            let of_targets = weights.1.as_mut_ptr();
            pmpi::dist_graph_neighbors(comm, first, from.0, from.1, second, to, of_targets);
        }
    }
    let sources = sources.into_iter().map(|rank| u32::try_from(rank).unwrap_or(NOBODY));
    (sources.collect(), u32::try_from(second).unwrap_or(0))
}
