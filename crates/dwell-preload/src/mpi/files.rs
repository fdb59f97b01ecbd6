//! Hooks of collective calls on files.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use dwell_measure::hook::Hook;
use dwell_measure::mpi::{Collective, Comm};
use dwell_measure::process;
use dwell_measure::recorder::{self, Recorder};
use dwell_measure::thread::Call;
use dwell_model::operation;

use super::groups::comm_of;
use super::shape::{Args, Kind, Shape, Words};

/// A blocking call that all members of the communicator make that opened a file. The call that opens it names the
/// communicator.
pub(crate) struct Together;

/// Returns the communicator that a call belongs to. A file that is closed is forgotten, because its handle may be that of
/// another one afterwards.
fn comm(args: &Args<'_>, recorder: &mut Recorder) -> Option<&'static Comm> {
    if let Some(handle) = args.comm() {
        return comm_of(recorder, handle);
    }
    match args.places.context {
        Some(at) => recorder.process().file(args.handle(Kind::File, at)),
        None => recorder.process().forget_file(args.handle_at(Kind::File, args.places.ended)?),
    }
}

impl Shape for Together {
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
            let Some(comm) = comm(&args, recorder) else { return };
            let it = Collective {
                comm,
                which: operation::Collective::File,
                root: None,
                is_root: false,
                sent: 0,
                received: 0,
                sequence: comm.collective(),
                neighbours: None,
            };
            recorder.collective_begins(&it);
            what = Some(it);
        });
        // Calls of callbacks are not recorded, but the handle will be another's all the same.
        if call.is_none()
            && let Some(process) = process::current()
            && let Some(handle) = args.handle_at(Kind::File, args.places.ended)
        {
            process.forget_file(handle);
        }
        Some((call?, what))
    }

    fn end((call, what): Self::State, _: &'static Hook, words: &Words<'_>, result: c_int) {
        let args = Args::of(words);
        recorder::end(call, |recorder| {
            let Some(it) = what else { return };
            recorder.collective_end(&it);
            let opened = args.handle_at(Kind::File, args.places.created).filter(|_| result == 0);
            if let Some(handle) = opened {
                recorder.process().add_file(handle, it.comm);
            }
        });
    }
}
