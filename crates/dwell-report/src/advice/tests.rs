//! Facts of runs, and the remedies that follow from them.

#![allow(clippy::unwrap_used)]

use super::*;

const NOTHING: Facts<'_> = Facts {
    pattern: "wait_for_progress",
    call: "",
    layer: Layer::Shmem,
    runtime: "",
    settings: "",
    nodes: 1,
    window: "",
    is_message: false,
    partner: "PE 0",
    cause: "",
    meanwhile: None,
    serving_threads: None,
};

const COMPUTED: Meanwhile<'_> =
    Meanwhile { computing: 1.0, call: "", same: false, finding: None, on_itself: "" };

#[test]
fn a_target_that_called_itself_is_not_told_to_make_calls() {
    let on_itself = "57 calls of shmem_long_atomic_fetch_inc at queue.c:9";
    let meanwhile = Some(Meanwhile { on_itself, ..COMPUTED });
    let said = advice(&Facts { meanwhile, ..NOTHING });
    assert!(said.contains("PE 0 entered the runtime meanwhile (57 calls of"), "{said}");
    assert!(!said.contains("more often"), "{said}");
}

#[test]
fn memory_and_transport_decide() {
    let open_mpi = Facts { runtime: "Open MPI 4.1.4", ..NOTHING };
    let said = |settings, window| advice(&Facts { settings, window, ..open_mpi });
    let still = said("UCX_TLS=sm,self", "static data of all PEs");
    assert!(still.contains("shmem_malloc") && !still.contains("UCX_TLS"), "{still}");
    let tcp = said("UCX_TLS=tcp,self", "static data of all PEs");
    assert!(tcp.contains("shmem_malloc") && tcp.contains("UCX_TLS=sm,self"), "{tcp}");
    let heap = said("UCX_TLS=tcp,self", "all PEs");
    assert!(!heap.contains("shmem_malloc") && heap.contains("UCX_TLS=sm,self"), "{heap}");
    let other = said("UCX_TLS=sm,self", "all PEs");
    assert!(!other.contains("UCX_TLS"), "{other}");
}

#[test]
fn advice_does_not_contradict_a_prediction() {
    let mpi = Facts { layer: Layer::Mpi, runtime: "MPICH 4.0.2", ..NOTHING };
    let said = |serving_threads| advice(&Facts { serving_threads, ..mpi });
    assert!(said(Some(0.2)).starts_with("MPIR_CVAR_ASYNC_PROGRESS=1 makes MPICH start"));
    let longer = said(Some(-0.56));
    assert!(!longer.contains("makes MPICH start"), "{longer}");
    assert!(longer.contains("does not pay here: the run would be 56 % longer"), "{longer}");
    // Nothing is said where the runtime has no such threads.
    assert!(!advice(&Facts { serving_threads: Some(-0.56), ..NOTHING }).contains("pay"));
}

#[test]
fn settings_are_those_of_the_runtime() {
    let mpi = Facts { layer: Layer::Mpi, ..NOTHING };
    let said = |runtime, settings| advice(&Facts { runtime, settings, ..mpi });
    assert!(said("MPICH 4.0.2", "").contains("MPIR_CVAR_ASYNC_PROGRESS=1"));
    assert!(said("Intel(R) MPI Library 2021.19", "").contains("I_MPI_ASYNC_PROGRESS=1"));
    let open_mpi = said("Open MPI 4.1.4", "OMPI_MCA_osc=pt2pt");
    assert!(open_mpi.contains("OMPI_MCA_osc=sm") && !open_mpi.contains("MPIR"), "{open_mpi}");
    assert!(!said("Open MPI 4.1.4", "OMPI_MCA_osc=^pt2pt").contains("OMPI_MCA_osc=sm"));
    let (runtime, settings) = ("Open MPI 4.1.4", "OMPI_MCA_osc=pt2pt");
    let message = advice(&Facts { is_message: true, runtime, settings, ..mpi });
    assert!(message.starts_with("A large message") && !message.contains("osc"), "{message}");
    let armci = advice(&Facts { layer: Layer::Armci, runtime: "Open MPI 4.1.4", ..NOTHING });
    assert!(armci.contains("ARMCI_PROGRESS_THREAD=1"), "{armci}");
    // Nothing is known of this one.
    let general = Wait::WaitForProgress.about().remedy;
    assert_eq!(said("Telegraph 1.0", ""), general);
}

#[test]
fn victims_are_not_told_to_balance_their_work() {
    let barrier = Facts { pattern: "barrier_wait", partner: "Rank 1", ..NOTHING };
    let balanced = |meanwhile| advice(&Facts { meanwhile, ..barrier });
    assert!(balanced(Some(COMPUTED)).starts_with("Balance the work"));
    let call = "MPI_Win_unlock at rma.c:20";
    let held = Meanwhile { computing: 0.2, call, same: false, finding: Some(1), on_itself: "" };
    let said = balanced(Some(held));
    assert!(said.contains("MPI_Win_unlock at rma.c:20: see finding 1 first"), "{said}");
    assert!(!said.contains("Balance"), "{said}");
    let recorder = Meanwhile { call: STARTS_RECORDING, finding: None, ..held };
    let said = balanced(Some(recorder));
    assert!(said.contains("without Dwell there is no such wait"), "{said}");
    assert!(!said.contains("fewer") && !said.contains("Balance"), "{said}");
    let said = balanced(Some(Meanwhile { same: true, finding: None, ..held }));
    assert!(said.contains("passed on") && !said.contains("Balance"), "{said}");
    assert!(said.contains("look for the one that comes late"), "{said}");
    let meanwhile = Some(Meanwhile { same: true, finding: None, ..held });
    let said = advice(&Facts { meanwhile, cause: "B", ..barrier });
    assert!(said.contains("it begins at cause B") && !said.contains("look for"), "{said}");
}

#[test]
fn inefficient_communication_is_told_calls_of_its_layer() {
    for (layer, prefix) in
        [(Layer::Shmem, "shmem_"), (Layer::Mpi, "MPI_"), (Layer::Armci, "ARMCI_")]
    {
        for pattern in ["small_transfers", "completion_after_each", "blocking_in_a_row"] {
            let said = advice(&Facts { pattern, layer, ..NOTHING });
            assert!(said.contains(prefix), "{pattern}: {said}");
            let others = ["shmem_", "MPI_", "ARMCI_"].into_iter().filter(|it| *it != prefix);
            assert!(others.into_iter().all(|it| !said.contains(it)), "{pattern}: {said}");
        }
    }
    // Whatever the layer, there is something to do.
    for about in crate::inefficient::INEFFICIENT {
        let said = advice(&Facts { pattern: about.pattern, layer: Layer::Gasnet, ..NOTHING });
        assert!(said.len() > 20 && about.meaning.len() > 20, "{}", about.pattern);
    }
    let memory = Facts { pattern: "static_data", runtime: "Open MPI 4.1.4", ..NOTHING };
    assert!(advice(&memory).contains("shmem_malloc"));
}

#[test]
fn every_place_of_a_text_is_filled() {
    let meanwhile = Some(Meanwhile {
        computing: 0.1,
        call: "c",
        same: false,
        finding: Some(7),
        on_itself: "i",
    });
    let facts = Facts { meanwhile, ..NOTHING };
    for row in table::ROWS {
        let text = filled(row.text, &facts);
        assert!(!text.contains(['{', '}']) && text.ends_with('.'), "{text}");
        for place in row.text.split('{').skip(1) {
            let name = place.split_once('}').unwrap().0;
            let known =
                ["partner", "call", "cause", "name", "finding", "on_itself", "thread", "longer"];
            assert!(known.contains(&name), "{name}");
        }
    }
    // A name that looks like a place stays as it is.
    let facts = Facts { partner: "{call}", meanwhile, ..NOTHING };
    assert!(filled("{partner} and {call}", &facts) == "{call} and c");
    let facts = Facts { partner: "Rank 0", ..NOTHING };
    assert!(filled("Let {partner} do it.", &facts) == "Let rank 0 do it.");
    assert!(filled("{partner} does it.", &facts) == "Rank 0 does it.");
}

/// No remedy names a call that does not exist: there are no forms of atomics without a result that return earlier.
#[test]
fn operations_decide() {
    let said = |layer, call, runtime| {
        advice(&Facts { pattern: "blocking_in_a_row", layer, call, runtime, ..NOTHING })
    };
    let shmem = |call, runtime| said(Layer::Shmem, call, runtime);
    assert!(shmem("shmem_double_get", "").contains("shmem_getmem_nbi"));
    for call in ["shmem_long_atomic_add", "shmem_int_atomic_inc", "shmem_long_atomic_set"] {
        let text = shmem(call, "Open MPI 4.1.4");
        assert!(text.contains("Gather the updates by target"), "{text}");
        assert!(text.contains(&format!("no form of {call}")) && !text.contains("_nbi"), "{text}");
    }
    let text = shmem("shmem_long_atomic_fetch_add", "Open MPI 4.1.4");
    assert!(text.contains("has no atomics that end in _nbi"), "{text}");
    let text = shmem("shmem_long_atomic_fetch_add", "SOS 1.5");
    assert!(text.contains("start them with the atomics of OpenSHMEM 1.5"), "{text}");
    let text = said(Layer::Armci, "ARMCI_Rmw", "");
    assert!(text.contains("no form that does not block") && !text.contains("ARMCI_Nb"), "{text}");
    assert!(said(Layer::Armci, "ARMCI_Acc", "").contains("ARMCI_NbAcc"));
    let text = said(Layer::Mpi, "MPI_Fetch_and_op", "");
    assert!(text.contains("MPI_Get_accumulate") && !text.contains("MPI_Rget"), "{text}");
    let text = said(Layer::Caf, "_gfortran_caf_atomic_op", "");
    assert!(text.contains("co_sum") && !text.contains("a(:)[k]"), "{text}");

    let below =
        |call| advice(&Facts { pattern: "many_calls_below", layer: Layer::Caf, call, ..NOTHING });
    assert!(below("_gfortran_caf_get_by_ref").starts_with("Read into an array of explicit shape"));
    assert!(below("_gfortran_caf_get").starts_with("Let the image that has the data copy it"));

    let polling = |layer, call| advice(&Facts { pattern: "polling", layer, call, ..NOTHING });
    assert!(polling(Layer::Shmem, "shmem_test").contains("shmem_wait_until, or"));
    assert!(polling(Layer::Shmem, "shmem_long_g").contains("write a flag"));
    assert!(polling(Layer::Mpi, "MPI_Iprobe").contains("MPI_Probe"));
    let text = polling(Layer::Mpi, "MPI_Win_flush");
    assert!(text.contains("send a message") && !text.contains("shmem"), "{text}");
}

/// Every text for a program of one layer names calls of that layer only.
#[test]
fn a_program_is_offered_what_it_has() {
    let choices = |layer, runtime, settings| {
        let of = Settings { layer, runtime, settings, nodes: 1, is_static: false };
        serving(&of).map(|it| it.how).collect::<Vec<_>>().join("\n")
    };
    for runtime in ["Open MPI 4.1.4", "MPICH 4.0.2", "Intel(R) MPI Library 2021.19"] {
        let said = choices(Layer::Shmem, runtime, "UCX_TLS=tcp,self OMPI_MCA_osc=pt2pt");
        assert!(said.contains("shmem_long_g") && said.contains("UCX_TLS=sm,self"), "{said}");
        for other in ["MPI_Iprobe", "Casper", "OMPI_MCA_osc", "ASYNC_PROGRESS", "shmem_fence"] {
            assert!(!said.contains(other), "{said}");
        }
        let said = choices(Layer::Mpi, runtime, "OMPI_MCA_osc=pt2pt");
        assert!(said.contains("MPI_Iprobe") && said.contains("Casper"), "{said}");
        assert!(!said.contains("shmem"), "{said}");
        assert_eq!(said.contains("OMPI_MCA_osc=sm"), runtime.starts_with("Open"), "{said}");
        let said = choices(Layer::Caf, runtime, "");
        assert!(said.contains("another image") && !said.contains("MPI_Iprobe"), "{said}");
    }
    assert!(!choices(Layer::Gasnet, "GASNet-EX 2024.5", "").contains("MPI"));
}

/// The book lists everything, and each row once.
#[test]
fn all_remedies_are_listed() {
    let all = remedies();
    let count = |printed| all.iter().filter(|it| it.printed == printed).count();
    assert_eq!(count(Printed::ByFacts), table::ROWS.len());
    assert_eq!(count(Printed::InGeneral), Wait::ALL.len() + crate::inefficient::INEFFICIENT.len());
    let mut rows: Vec<(&str, &str)> =
        all.iter().map(|it| (it.when.as_str(), it.text.as_str())).collect();
    rows.sort_unstable();
    rows.dedup();
    assert_eq!(rows.len(), all.len());
    assert!(all.iter().all(|it| !it.when.is_empty() && !it.text.is_empty()));
}
