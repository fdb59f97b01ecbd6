//! Every remedy that depends on facts of a run, in the order in which [`advice`](super::advice) joins those that apply.

use dwell_model::operation::Atomic;

use super::layers::HasLayer;
use super::{MANY, NOT_TRIED, Row, Tried};

/// All remedies that depend on facts. Related rows exclude one another by their conditions.
pub(super) const ROWS: &[Row] = &[
    // The process that was waited for was itself held up.
    Row {
        applies: |it| {
            it.was_in_calls() && it.meanwhile.is_some_and(|it| it.same) && !it.cause.is_empty()
        },
        when: "the process that was waited for waited in the same call, and a cause is known",
        tried: NOT_TRIED,
        text: "{partner} itself spent most of that time in the same call, so the delay is passed on from process to \
               process: it begins at cause {cause}.",
    },
    Row {
        applies: |it| {
            it.was_in_calls() && it.meanwhile.is_some_and(|it| it.same) && it.cause.is_empty()
        },
        when: "the process that was waited for waited in the same call, and no cause is known",
        tried: NOT_TRIED,
        text: "{partner} itself spent most of that time in the same call, so the delay is passed on from process to \
               process: look for the one that comes late without having waited.",
    },
    Row {
        applies: |it| {
            it.was_in_calls() && it.meanwhile.is_some_and(|it| !it.same && it.finding.is_some())
        },
        when: "the process that was waited for was in a call that has a finding",
        tried: NOT_TRIED,
        text: "{partner} itself spent most of that time in {call}: see finding {finding} first.",
    },
    Row {
        applies: |it| {
            it.was_in_calls()
                && !it.was_in_recorder()
                && it.meanwhile.is_some_and(|it| !it.same && it.finding.is_none())
        },
        when: "the process that was waited for was in another call",
        tried: NOT_TRIED,
        text: "{partner} itself spent most of that time in {call}: make these calls shorter or fewer.",
    },
    Row {
        applies: |it| it.was_in_calls() && it.was_in_recorder(),
        when: "the process that was waited for was starting the recording or comparing clocks",
        tried: NOT_TRIED,
        text: "{partner} was busy with the recording, and not with the program ({call}): without Dwell there is no such wait.",
    },
    // Memory.
    Row {
        applies: |it| {
            it.is_progress() && it.is_static() && it.runs_on("Open MPI") && it.is_tcp_only()
        },
        when: "wait for progress, OpenSHMEM of Open MPI over TCP, static data",
        tried: NOT_TRIED,
        text: "What is accessed is static data, which needs its owner on every transport of Open MPI. Memory of \
               shmem_malloc needs it over TCP as well, but not over shared memory or RDMA: change both the memory and the \
               transport (UCX_TLS=sm,self on one node).",
    },
    Row {
        applies: |it| {
            it.is_progress() && it.is_static() && it.runs_on("Open MPI") && !it.is_tcp_only()
        },
        when: "wait for progress, OpenSHMEM of Open MPI, static data",
        tried: NOT_TRIED,
        text: "What is accessed is static data, which needs its owner on every transport of Open MPI: use memory of \
               shmem_malloc, which needs nobody over shared memory or RDMA.",
    },
    // Runtime and transport.
    Row {
        applies: |it| {
            it.is_progress()
                && it.is_shmem()
                && !it.is_static()
                && it.runs_on("Open MPI")
                && it.is_tcp_only()
        },
        when: "wait for progress, OpenSHMEM of Open MPI over TCP, symmetric heap",
        tried: NOT_TRIED,
        text: "Over TCP every operation needs its target: on one node set UCX_TLS=sm,self, between nodes use a network \
               with RDMA.",
    },
    Row {
        applies: |it| it.is_progress() && it.is_pt2pt() && it.nodes == 1,
        when: "wait for progress, Open MPI with osc/pt2pt, one node",
        tried: Some(Tried {
            program: "Open MPI, one-sided over messages or shared memory",
            change: "−40.6 %",
        }),
        text: "The component osc/pt2pt of Open MPI needs the target for every operation: on one node osc/sm \
               (OMPI_MCA_osc=sm) does not, for windows that MPI_Win_allocate made.",
    },
    Row {
        applies: |it| it.is_progress() && it.is_pt2pt() && it.nodes > 1,
        when: "wait for progress, Open MPI with osc/pt2pt, several nodes",
        tried: NOT_TRIED,
        text: "The component osc/pt2pt of Open MPI needs the target for every operation: osc/rdma or osc/ucx do not, on a \
               network with RDMA.",
    },
    Row {
        applies: |it| it.may_have_threads() && it.is_armci() && it.runtime.contains("MPI"),
        when: "wait for progress, ARMCI-MPI; not if predicted to lose",
        tried: NOT_TRIED,
        text: "ARMCI_PROGRESS_THREAD=1 makes ARMCI-MPI start a thread that serves requests. It needs \
               MPI_THREAD_MULTIPLE, and a core of its own in every process.",
    },
    Row {
        applies: |it| it.may_have_threads() && it.runs_on("MPICH"),
        when: "wait for progress, MPICH; not if predicted to lose",
        tried: Some(Tried {
            program: "MPICH, asynchronous progress, no core is idle",
            change: "+34.7 %",
        }),
        text: "MPIR_CVAR_ASYNC_PROGRESS=1 makes MPICH start a thread that serves requests. It needs a core of its own \
               in every process, and makes every call slower, because calls then lock.",
    },
    Row {
        applies: |it| it.may_have_threads() && it.runs_on("Intel"),
        when: "wait for progress, Intel MPI; not if predicted to lose",
        tried: NOT_TRIED,
        text: "I_MPI_ASYNC_PROGRESS=1 makes Intel MPI start a thread that serves requests. It needs a core of its own in \
               every process.",
    },
    // What the target did.
    Row {
        applies: |it| it.is_progress() && it.is_message,
        when: "wait for progress of a message of MPI",
        tried: NOT_TRIED,
        text: "A large message moves on only while both sides are in calls of MPI, unless the network carries it alone: let \
               {partner} complete the message before it computes, or test it now and then.",
    },
    Row {
        applies: |it| it.is_progress() && it.calls_itself(),
        when: "wait for progress, the target called only itself",
        tried: NOT_TRIED,
        text: "{partner} entered the runtime meanwhile ({on_itself}), but only to act on itself, which serves nobody: \
               let a process that does not compute own what others access, or access it less often, more at once.",
    },
    Row {
        applies: |it| it.computes() && it.is_shmem() && !it.is_static(),
        when: "wait for progress, OpenSHMEM, the target computed",
        tried: NOT_TRIED,
        text: "Let {partner} enter the runtime more often while it computes: a get from another PE, or an atomic with a result on \
               it, serves others; shmem_fence, shmem_test and calls on itself do not.",
    },
    Row {
        applies: |it| {
            it.computes()
                && it.is_mpi()
                && !it.is_message
                && (it.runs_on("MPICH") || it.runs_on("Open MPI"))
        },
        when: "wait for progress, MPI, the target computed",
        tried: NOT_TRIED,
        text: "Let {partner} enter the runtime more often while it computes: MPI_Iprobe serves others; \
               MPI_Comm_rank, MPI_Put and a test of nothing do not.",
    },
    Row {
        applies: |it| it.computes() && it.is_coarrays(),
        when: "wait for progress, coarrays, the target computed",
        tried: NOT_TRIED,
        text: "Let {partner} access another image now and then while it computes: such an access calls MPI, which serves \
               others, and computing does not.",
    },
    Row {
        applies: |it| it.is_progress() && !it.may_have_threads() && it.thread().is_some(),
        when: "wait for progress, a thread is predicted to lose",
        tried: NOT_TRIED,
        text: "A thread that serves requests ({thread}) does not pay here: the run would be {longer} longer, because the threads \
               take cores from the processes.",
    },
    // Inefficient communication: calls of the layer that do the same in less time.
    Row {
        applies: |it| it.pattern == "strided_elements" && it.is_shmem(),
        when: "`strided_elements`, OpenSHMEM",
        tried: Some(Tried {
            program: "OpenSHMEM over TCP, columns copied into one piece",
            change: "−99.9 %",
        }),
        text: "Let the owner of the data copy the elements into one piece of symmetric memory before the synchronisation that \
               precedes these calls, and move that with one shmem_getmem or shmem_putmem; or start the elements with \
               shmem_getmem_nbi or shmem_putmem_nbi and complete all of them with one shmem_quiet.",
    },
    Row {
        applies: |it| it.pattern == "small_transfers" && it.is_shmem(),
        when: "`small_transfers`, OpenSHMEM",
        tried: Some(Tried {
            program: "OpenSHMEM over TCP, small gets joined", change: "−93.7 %"
        }),
        text: "Move what a row moves with one shmem_getmem or shmem_putmem. If it does not lie in one piece at the target, \
               let the target copy it together first, or start the transfers with shmem_getmem_nbi or shmem_putmem_nbi and \
               complete all of them with one shmem_quiet.",
    },
    Row {
        applies: |it| it.pattern == "small_transfers" && it.is_mpi(),
        when: "`small_transfers`, MPI",
        tried: NOT_TRIED,
        text: "One MPI_Get or MPI_Put with a derived datatype (MPI_Type_vector, MPI_Type_indexed) moves what a row moves.",
    },
    Row {
        applies: |it| it.pattern == "small_transfers" && it.is_armci(),
        when: "`small_transfers`, ARMCI",
        tried: NOT_TRIED,
        text: "ARMCI_GetS and ARMCI_PutS move a section of an array with one call, ARMCI_GetV and ARMCI_PutV a list of \
               pieces.",
    },
    Row {
        applies: |it| it.pattern == "small_transfers" && it.is_coarrays(),
        when: "`small_transfers`, coarrays",
        tried: NOT_TRIED,
        text: "Access an array section, as in a(1:n)[k], and not one element after the other in a loop: each access of another \
               image is a transfer of its own.",
    },
    Row {
        applies: |it| it.pattern == "completion_after_each" && it.is_shmem(),
        when: "`completion_after_each`, OpenSHMEM",
        tried: Some(Tried {
            program: "OpenSHMEM over TCP, one quiet after 512 puts",
            change: "−31 %",
        }),
        text: "Call shmem_quiet once after the last operation of a row. Where only the order on one target matters, shmem_fence \
               does not wait for the network; shmem_putmem_signal tells the target that its data is there without either.",
    },
    Row {
        applies: |it| it.pattern == "completion_after_each" && it.is_mpi(),
        when: "`completion_after_each`, MPI",
        tried: Some(Tried {
            program: "Open MPI with osc/pt2pt, a lock for each of 400 puts, then one flush",
            change: "−89 %",
        }),
        text: "Lock the window once (MPI_Win_lock_all after it was made), start all operations of a row, and complete them with \
               one MPI_Win_flush for each target or one MPI_Win_flush_all. MPI_Win_flush_local suffices where buffers are to \
               be used again; MPI_Rput and MPI_Rget with one MPI_Waitall complete some operations and not others.",
    },
    Row {
        applies: |it| it.pattern == "completion_after_each" && it.is_armci(),
        when: "`completion_after_each`, ARMCI",
        tried: NOT_TRIED,
        text: "Start all operations of a row (ARMCI_NbPut, ARMCI_NbGet) and complete them with one ARMCI_WaitAll, and at their \
               targets with one ARMCI_Fence for each target or one ARMCI_AllFence.",
    },
    Row {
        applies: |it| it.pattern == "completion_after_each" && it.is_coarrays(),
        when: "`completion_after_each`, coarrays",
        tried: NOT_TRIED,
        text: "One sync memory after the last access of a row completes all of them.",
    },
    Row {
        applies: |it| it.is_row() && it.is_shmem() && it.atomic().is_none(),
        when: "`blocking_in_a_row`, OpenSHMEM, puts and gets",
        tried: Some(Tried {
            program: "OpenSHMEM over TCP, two gets of 64 KiB at once",
            change: "+6 %",
        }),
        text: "If none of them needs what another returns: start them with shmem_getmem_nbi or shmem_putmem_nbi, and \
               complete all of them with one shmem_quiet.",
    },
    Row {
        applies: |it| it.is_row() && it.is_shmem() && it.atomic().is_some_and(|it| !it.fetches()),
        when: "`blocking_in_a_row`, OpenSHMEM, atomics without a result",
        tried: NOT_TRIED,
        text: "OpenSHMEM has no form of {name} that returns earlier. Gather the updates by target and send each target all \
               of its updates with one shmem_putmem, so that it applies them itself; or add up those of one element first.",
    },
    Row {
        applies: |it| {
            it.is_row()
                && it.is_shmem()
                && it.atomic().is_some_and(Atomic::fetches)
                && !it.runs_on("Open MPI")
        },
        when: "`blocking_in_a_row`, OpenSHMEM other than that of Open MPI, atomics with a result",
        tried: NOT_TRIED,
        text: "If none of them needs what another returns: start them with the atomics of OpenSHMEM 1.5 that end in _nbi, and \
               complete all of them with one shmem_quiet.",
    },
    Row {
        applies: |it| {
            it.is_row()
                && it.is_shmem()
                && it.atomic().is_some_and(Atomic::fetches)
                && it.runs_on("Open MPI")
        },
        when: "`blocking_in_a_row`, OpenSHMEM of Open MPI, atomics with a result",
        tried: NOT_TRIED,
        text: "The OpenSHMEM of Open MPI has no atomics that end in _nbi. Gather the requests by target and send each target \
               all of its requests at once, so that it answers them itself; or ask for several items with one atomic.",
    },
    Row {
        applies: |it| it.is_row() && it.is_mpi() && it.atomic().is_none(),
        when: "`blocking_in_a_row`, MPI, puts and gets",
        tried: NOT_TRIED,
        text: "If none of them needs what another returns: start them with MPI_Rget or MPI_Rput and complete all of them with \
               one MPI_Waitall.",
    },
    Row {
        applies: |it| it.is_row() && it.is_mpi() && it.atomic().is_some(),
        when: "`blocking_in_a_row`, MPI, atomics",
        tried: NOT_TRIED,
        text: "If none of them needs what another returns: start all of them and complete them with one MPI_Win_flush for \
               each target. MPI_Accumulate and MPI_Get_accumulate update many elements of a target with one call.",
    },
    Row {
        applies: |it| it.is_row() && it.is_armci() && !it.is_rmw(),
        when: "`blocking_in_a_row`, ARMCI, puts, gets and accumulates",
        tried: NOT_TRIED,
        text: "If none of them needs what another returns: start them with ARMCI_NbGet, ARMCI_NbPut or ARMCI_NbAcc and \
               complete all of them with one ARMCI_WaitAll.",
    },
    Row {
        applies: |it| it.is_row() && it.is_armci() && it.is_rmw(),
        when: "`blocking_in_a_row`, ARMCI, `ARMCI_Rmw`",
        tried: NOT_TRIED,
        text: "ARMCI_Rmw has no form that does not block: take several items with one call (add the number of items, not 1).",
    },
    Row {
        applies: |it| it.is_row() && it.is_coarrays() && it.atomic().is_none(),
        when: "`blocking_in_a_row`, coarrays, reads and writes",
        tried: NOT_TRIED,
        text: "Fortran has no access to another image that does not block: let a collective (co_sum, co_broadcast) do what the \
               row does, or let each image write what others need (a(:)[k] = b) instead of reading it.",
    },
    Row {
        applies: |it| it.is_row() && it.is_coarrays() && it.atomic().is_some(),
        when: "`blocking_in_a_row`, coarrays, atomics",
        tried: NOT_TRIED,
        text: "Fortran has no atomic that does not block: add up in a variable of the own image and join the sums with co_sum, \
               or send each image all of its updates as one array section and let it apply them.",
    },
    Row {
        applies: |it| it.pattern == "static_data" && it.runs_on("Open MPI"),
        when: "`static_data`, Open MPI",
        tried: Some(Tried {
            program: "OpenSHMEM over shared memory, static data moved to the heap",
            change: "−90 %",
        }),
        text: "Use memory of shmem_malloc. Open MPI lets the owner of static data carry out every operation on it; memory of \
               shmem_malloc needs nobody over shared memory or RDMA.",
    },
    Row {
        applies: |it| it.pattern == "hot_target" && it.is_armci(),
        when: "`hot_target`, ARMCI",
        tried: NOT_TRIED,
        text: "Take several items with one ARMCI_Rmw (add the number of items, not 1), or give each group of processes a counter \
               of its own.",
    },
    // Polling: calls that wait for the same without asking again and again.
    Row {
        applies: |it| it.pattern == "polling" && it.is_shmem() && !it.is_one_sided(),
        when: "`polling`, OpenSHMEM, tests of the own memory",
        tried: NOT_TRIED,
        text: "Find out why {partner} is late. shmem_wait_until, or shmem_wait_until_any for several flags, waits for the same \
               with one call.",
    },
    Row {
        applies: |it| it.pattern == "polling" && it.is_shmem() && it.is_one_sided(),
        when: "`polling`, OpenSHMEM, reads of memory of another PE",
        tried: NOT_TRIED,
        text: "Find out why {partner} is late. Let it write a flag into the memory of the PE that waits, which then calls \
               shmem_wait_until: each look at the memory of another PE loads the network and that PE.",
    },
    Row {
        applies: |it| it.pattern == "polling" && it.is_mpi() && !it.is_one_sided(),
        when: "`polling`, MPI, tests and probes",
        tried: NOT_TRIED,
        text: "Find out why {partner} is late. MPI_Wait, MPI_Waitany, MPI_Probe or MPI_Recv waits for the same with one call.",
    },
    Row {
        applies: |it| it.pattern == "polling" && it.is_mpi() && it.is_one_sided(),
        when: "`polling`, MPI, one-sided operations",
        tried: NOT_TRIED,
        text: "Find out why {partner} is late. Let it send a message (of no bytes) when it is done, for which MPI_Recv waits with \
               one call: each look at a window of another rank loads the network and that rank.",
    },
    // Calls of one layer that become many calls of the layer below.
    Row {
        applies: |it| it.pattern == MANY && it.call.ends_with("_get_by_ref"),
        when: "`many_calls_below`, coarrays of gfortran, reads into an allocatable array",
        tried: NOT_TRIED,
        text: "Read into an array of explicit shape, such as a dummy argument into(n), or let the image that has the data write \
               it, as in b(:)[k] = a(:): gfortran reads into an allocatable array element by element, also if the section is \
               contiguous.",
    },
    Row {
        applies: |it| it.pattern == MANY && it.is_coarrays() && !it.call.ends_with("_get_by_ref"),
        when: "`many_calls_below`, coarrays",
        tried: Some(Tried {
            program: "coarrays, blocks copied into one piece by their owners",
            change: "−98 %",
        }),
        text: "Let the image that has the data copy it into a contiguous coarray before the synchronisation that precedes this \
               access, and read that into an array of explicit shape, such as a dummy argument into(n), in a statement of its \
               own: gfortran reads a section that is not contiguous element by element, and any section that goes into an \
               allocatable array.",
    },
    Row {
        applies: |it| it.pattern == MANY && it.is_shmem(),
        when: "`many_calls_below`, OpenSHMEM over another library",
        tried: NOT_TRIED,
        text: "Move the data in one piece with shmem_getmem or shmem_putmem. If it does not lie in one piece at the target, \
               let the target copy it together before the synchronisation that precedes this call.",
    },
    Row {
        applies: |it| it.pattern == MANY && it.is_arrays(),
        when: "`many_calls_below`, Global Arrays and ARMCI",
        tried: NOT_TRIED,
        text: "Access a patch that is contiguous at its owner (whole columns in Fortran, whole rows in C) and not scattered \
               elements. ARMCI_STRIDED_METHOD=DIRECT and ARMCI_IOV_METHOD=DIRECT let ARMCI-MPI move a section with one \
               datatype.",
    },
];
