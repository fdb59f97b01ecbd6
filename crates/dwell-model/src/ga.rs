//! The table of Global Arrays: the functions of its interfaces for C and Fortran.
//!
//! Global Arrays communicate through calls of ARMCI, which have the records of operations; their own calls are regions
//! around these and no more. The operation of a row only classifies time.
//!
//! Like ARMCI they are linked statically: see `dwell-link`. Signatures are those of `ga.h` of Global Arrays 5.8, and a
//! test compares them with it.

mod fortran;

use crate::layer::Layer;
use crate::operation::{Atomic, Collective, Operation, Progress};
use crate::table::{self, CType, Family, Hooks, Row, Shape, Symbol, Table};

const fn row(symbol: Symbol, operation: Operation, returns: CType, arguments: &[CType]) -> Row {
    let row = Row::new(symbol, operation, returns, arguments).assumed(Progress::Never);
    let row = row.shape(Shape::Region);
    Row { completes_remote: false, ..row }
}

const fn now(row: Row) -> Row {
    row
}

const fn later(row: Row) -> Row {
    row.non_blocking()
}

/// Families of functions, one on each line: blocking or not, the operation, the signature, and the names that share it.
macro_rules! functions {
    ($( $when:ident $operation:expr, $returns:ident $arguments:tt: $($name:literal)+; )*) => {
        &[$( Family {
            name: stringify!($operation),
            rows: &[$( $when(row(
                Symbol::terminated(concat!($name, "\0")),
                $operation,
                CType::$returns,
                functions!(@types $arguments),
            )), )+],
        }, )*]
    };
    (@types [$($argument:ident)*]) => { &[$( CType::$argument, )*] };
}

const CHAPTERS: &[&[Family]] = &[
    functions! {
        now Operation::Allocate, Int [Int]: "GA_Allocate" "NGA_Allocate";
        now Operation::Allocate, Int [Int Int Pointer Pointer Pointer]: "NGA_Create" "NGA_Create64";
        now Operation::Allocate, Int [Int Int Pointer Pointer Pointer Int]:
            "NGA_Create_config" "NGA_Create_config64";
        now Operation::Allocate, Int [Int Int Pointer Pointer Pointer Pointer]:
            "NGA_Create_ghosts" "NGA_Create_ghosts64" "NGA_Create_irreg" "NGA_Create_irreg64";
        now Operation::Allocate, Int [Int Int Pointer Pointer Pointer Pointer Int]:
            "NGA_Create_ghosts_config" "NGA_Create_ghosts_config64" "NGA_Create_irreg_config"
            "NGA_Create_irreg_config64";
        now Operation::Allocate, Int [Int Int Pointer Pointer Pointer Pointer Pointer]:
            "NGA_Create_ghosts_irreg" "NGA_Create_ghosts_irreg64";
        now Operation::Allocate, Int [Int Int Pointer Pointer Pointer Pointer Pointer Int]:
            "NGA_Create_ghosts_irreg_config" "NGA_Create_ghosts_irreg_config64";
        now Operation::Allocate, Int [Int Pointer]: "GA_Duplicate" "NGA_Duplicate";
        now Operation::Atomic(Atomic::Accumulate), Void [Int Pointer Pointer Int Pointer]:
            "NGA_Scatter_acc" "NGA_Scatter_acc_flat";
        now Operation::Atomic(Atomic::Accumulate), Void [Int Pointer Pointer Int64 Pointer]:
            "NGA_Scatter_acc64" "NGA_Scatter_acc_flat64";
        now Operation::Atomic(Atomic::Accumulate), Void [Int Pointer Pointer Pointer Pointer Pointer]:
            "NGA_Acc" "NGA_Acc64";
        later Operation::Atomic(Atomic::Accumulate), Void [Int Pointer Pointer Pointer Pointer Pointer Pointer]:
            "NGA_NbAcc" "NGA_NbAcc64";
        now Operation::Atomic(Atomic::Accumulate), Void [Int Pointer Pointer Pointer Pointer Pointer Pointer]:
            "NGA_Strided_acc" "NGA_Strided_acc64";
        now Operation::Atomic(Atomic::FetchAdd), Long [Int Pointer Long]: "NGA_Read_inc" "NGA_Read_inc64";
        now Operation::Collective(Collective::AllReduce), Void [Int Pointer Int Pointer]:
            "GA_Pgroup_cgop" "GA_Pgroup_dgop" "GA_Pgroup_fgop" "GA_Pgroup_igop" "GA_Pgroup_lgop"
            "GA_Pgroup_llgop" "GA_Pgroup_zgop" "NGA_Pgroup_dgop" "NGA_Pgroup_fgop" "NGA_Pgroup_igop"
            "NGA_Pgroup_lgop" "NGA_Pgroup_llgop" "NGA_Pgroup_zgop";
        now Operation::Collective(Collective::AllReduce), Void [Pointer Int Pointer]:
            "GA_Cgop" "GA_Dgop" "GA_Fgop" "GA_Igop" "GA_Lgop" "GA_Llgop" "GA_Zgop" "NGA_Dgop" "NGA_Igop";
        now Operation::Collective(Collective::Barrier), Void []: "GA_Sync" "NGA_Sync";
        now Operation::Collective(Collective::Barrier), Void [Int]: "GA_Pgroup_sync" "NGA_Pgroup_sync";
        now Operation::Collective(Collective::Broadcast), Void [Int Pointer Int Int]: "GA_Pgroup_brdcst";
        now Operation::Collective(Collective::Broadcast), Void [Pointer Int Int]: "GA_Brdcst";
        now Operation::CompleteRemote, Void []: "GA_Fence" "NGA_Fence";
        now Operation::CreateGroup, Int [Int Int]:
            "GA_Pgroup_split" "GA_Pgroup_split_irreg" "NGA_Pgroup_split" "NGA_Pgroup_split_irreg";
        now Operation::CreateGroup, Int [Pointer Int]: "GA_Pgroup_create" "NGA_Pgroup_create";
        now Operation::Deallocate, Int [Int]: "GA_Deallocate" "NGA_Deallocate";
        now Operation::Deallocate, Void [Int]: "GA_Destroy" "NGA_Destroy";
        now Operation::DestroyGroup, Int [Int]: "GA_Pgroup_destroy" "NGA_Pgroup_destroy";
        now Operation::Finalise, Void []: "GA_Terminate" "NGA_Terminate";
        later Operation::Get, Void [Int Pointer Pointer]: "NGA_NbGet_ghost_dir" "NGA_NbGet_ghost_dir64";
        now Operation::Get, Void [Int Pointer Pointer Int]: "NGA_Gather" "NGA_Gather_flat";
        now Operation::Get, Void [Int Pointer Pointer Int Int Pointer Pointer]: "NGA_Get_field";
        now Operation::Get, Void [Int Pointer Pointer Int64]: "NGA_Gather64" "NGA_Gather_flat64";
        now Operation::Get, Void [Int Pointer Pointer Pointer Pointer]:
            "NGA_Get" "NGA_Get64" "NGA_Get_ghost_block" "NGA_Get_ghost_block64";
        later Operation::Get, Void [Int Pointer Pointer Pointer Pointer Pointer]: "NGA_NbGet" "NGA_NbGet64";
        now Operation::Get, Void [Int Pointer Pointer Pointer Pointer Pointer]:
            "NGA_Strided_get" "NGA_Strided_get64";
        now Operation::Initialise, Void []: "GA_Initialize" "NGA_Initialize";
        now Operation::Initialise, Void [Pointer Pointer]: "GA_Initialize_args";
        now Operation::Initialise, Void [SizeT]: "GA_Initialize_ltd" "NGA_Initialize_ltd";
        now Operation::Lock, Void [Int]: "GA_Lock" "NGA_Lock";
        now Operation::Put, Void [Int Pointer Pointer Int]: "NGA_Scatter" "NGA_Scatter_flat";
        now Operation::Put, Void [Int Pointer Pointer Int Int Pointer Pointer]: "NGA_Put_field";
        now Operation::Put, Void [Int Pointer Pointer Int64]: "NGA_Scatter64" "NGA_Scatter_flat64";
        now Operation::Put, Void [Int Pointer Pointer Pointer Pointer]: "NGA_Put" "NGA_Put64";
        later Operation::Put, Void [Int Pointer Pointer Pointer Pointer Pointer]: "NGA_NbPut" "NGA_NbPut64";
        now Operation::Put, Void [Int Pointer Pointer Pointer Pointer Pointer]:
            "NGA_Strided_put" "NGA_Strided_put64";
        now Operation::TestHandle, Int [Pointer]: "NGA_NbTest";
        now Operation::Other, Void [Int Int]: "GA_Get_diag" "GA_Set_diagonal";
        now Operation::Unlock, Void [Int]: "GA_Unlock" "NGA_Unlock";
        now Operation::WaitHandle, Void [Pointer]: "NGA_NbWait";
        now Operation::Other, ComplexDouble [Int Char Pointer Pointer Int Char Pointer Pointer]:
            "NGA_Zdot_patch" "NGA_Zdot_patch64";
        now Operation::Other, ComplexDouble [Int Int]: "GA_Zdot";
        now Operation::Other, ComplexFloat [Int Char Pointer Pointer Int Char Pointer Pointer]:
            "NGA_Cdot_patch" "NGA_Cdot_patch64";
        now Operation::Other, ComplexFloat [Int Int]: "GA_Cdot";
        now Operation::Other, Double []: "NGA_Wtime";
        now Operation::Other, Double [Int Char Pointer Pointer Int Char Pointer Pointer]:
            "NGA_Ddot_patch" "NGA_Ddot_patch64";
        now Operation::Other, Double [Int Int]: "GA_Ddot";
        now Operation::Other, Float [Int Char Pointer Pointer Int Char Pointer Pointer]:
            "NGA_Fdot_patch" "NGA_Fdot_patch64";
        now Operation::Other, Float [Int Int]: "GA_Fdot";
        now Operation::Other, Int []:
            "GA_Create_handle" "GA_Destroy_mutexes" "NGA_Create_handle" "NGA_Destroy_mutexes"
            "NGA_Memory_limited" "NGA_Nnodes" "NGA_Nodeid" "NGA_Pgroup_self" "NGA_Uses_ma";
        now Operation::Other, Int [Int]:
            "GA_Create_mutexes" "GA_Pgroup_duplicate" "GA_Spd_invert" "GA_Verify_handle" "NGA_Deregister_type"
            "NGA_Has_ghosts" "NGA_Is_mirrored" "NGA_Pgroup_duplicate" "NGA_Pgroup_nnodes" "NGA_Pgroup_nodeid"
            "NGA_Total_blocks" "NGA_Uses_proc_grid" "NGA_Valid_handle" "NGA_Verify_handle";
        now Operation::Other, Int [Int Char Pointer Pointer Int Char Pointer Pointer]:
            "NGA_Idot_patch" "NGA_Idot_patch64";
        now Operation::Other, Int [Int Int]: "GA_Idot" "GA_Llt_solve" "GA_Overlay" "GA_Solve" "NGA_Overlay";
        now Operation::Other, Int [Int Int Int Int]: "NGA_Update_ghost_dir";
        now Operation::Other, Int [Int Pointer Pointer]: "GA_Assemble_duplicate";
        now Operation::Other, Int [SizeT]: "NGA_Register_type";
        now Operation::Other, Long [Int Char Pointer Pointer Int Char Pointer Pointer]:
            "NGA_Ldot_patch" "NGA_Ldot_patch64";
        now Operation::Other, Long [Int Int]: "GA_Ldot";
        now Operation::Other, LongLong [Int Char Pointer Pointer Int Char Pointer Pointer]:
            "NGA_Lldot_patch" "NGA_Lldot_patch64";
        now Operation::Other, LongLong [Int Int]: "GA_Lldot";
        now Operation::Other, Pointer [Int Int Int]: "GA_Getmem";
        now Operation::Other, SizeT []: "NGA_Memory_avail";
        now Operation::Other, Void []: "GA_Init_fence" "GA_Print_stats" "NGA_Free_gatscat_buf" "NGA_Init_fence";
        now Operation::Other, Void [Char Char Int Int Int ComplexDouble Int Int ComplexDouble Int]: "GA_Zgemm";
        now Operation::Other, Void [Char Char Int Int Int ComplexFloat Int Int ComplexFloat Int]: "GA_Cgemm";
        now Operation::Other, Void [Char Char Int Int Int Double Int Int Double Int]: "GA_Dgemm";
        now Operation::Other, Void [Char Char Int Int Int Float Int Int Float Int]: "GA_Sgemm";
        now Operation::Other, Void [Char Char Int64 Int64 Int64 ComplexDouble Int Int ComplexDouble Int]:
            "GA_Zgemm64";
        now Operation::Other, Void [Char Char Int64 Int64 Int64 ComplexFloat Int Int ComplexFloat Int]:
            "GA_Cgemm64";
        now Operation::Other, Void [Char Char Int64 Int64 Int64 Double Int Int Double Int]: "GA_Dgemm64";
        now Operation::Other, Void [Char Char Int64 Int64 Int64 Float Int Int Float Int]: "GA_Sgemm64";
        now Operation::Other, Void [Char Char Pointer Pointer Int Int Int Int Int Int Int Int Int Int Int Int Int Int Int]:
            "GA_Matmul_patch";
        now Operation::Other, Void [Char Char Pointer Pointer Int Int64 Int64 Int64 Int64 Int Int64 Int64 Int64 Int64 Int Int64 Int64 Int64 Int64]:
            "GA_Matmul_patch64";
        now Operation::Other, Void [Char Char Pointer Pointer Int Pointer Pointer Int Pointer Pointer Int Pointer Pointer]:
            "NGA_Matmul_patch" "NGA_Matmul_patch64";
        now Operation::Other, Void [Char Int Int]: "GA_Lu_solve";
        now Operation::Other, Void [Char Int Pointer Pointer Int Pointer Pointer]:
            "NGA_Copy_patch" "NGA_Copy_patch64";
        now Operation::Other, Void [Int]:
            "GA_Abs_value" "GA_Merge_mirrored" "GA_Pgroup_set_default" "GA_Print" "GA_Print_distribution"
            "GA_Recip" "GA_Summarize" "GA_Symmetrize" "GA_Unset_property" "GA_Update_ghosts" "GA_Zero"
            "GA_Zero_diagonal" "NGA_Alloc_gatscat_buf" "NGA_Merge_mirrored" "NGA_Pgroup_set_default"
            "NGA_Unset_property" "NGA_Update_ghosts" "NGA_Zero";
        now Operation::Other, Void [Int Int]:
            "GA_Add_diagonal" "GA_Copy" "GA_Mask_sync" "GA_Scale_cols" "GA_Scale_rows" "GA_Transpose"
            "NGA_Mask_sync";
        now Operation::Other, Void [Int Int Int]:
            "GA_Elem_divide" "GA_Elem_maximum" "GA_Elem_minimum" "GA_Elem_multiply";
        now Operation::Other, Void [Int Int Int Int]: "GA_Median";
        now Operation::Other, Void [Int Int Int Int Int]: "GA_Scan_copy";
        now Operation::Other, Void [Int Int Int Int Int Int]: "GA_Print_patch" "GA_Scan_add";
        now Operation::Other, Void [Int Int Int Int Int Pointer]: "GA_Pack" "GA_Unpack";
        now Operation::Other, Void [Int Int Int Int Pointer]: "GA_Diag_reuse";
        now Operation::Other, Void [Int Int Int Int Pointer Pointer Pointer]: "GA_Step_bound_info";
        now Operation::Other, Void [Int Int Int Int64 Int64]: "GA_Scan_copy64";
        now Operation::Other, Void [Int Int Int Int64 Int64 Int]: "GA_Scan_add64";
        now Operation::Other, Void [Int Int Int Int64 Int64 Pointer]: "GA_Pack64" "GA_Unpack64";
        now Operation::Other, Void [Int Int Int Pointer]: "GA_Diag" "GA_Diag_seq";
        now Operation::Other, Void [Int Int Int Pointer Pointer]: "GA_Patch_enum";
        now Operation::Other, Void [Int Int Pointer]: "GA_Diag_std" "GA_Diag_std_seq" "GA_Step_max";
        now Operation::Other, Void [Int Int64 Int64 Pointer Pointer]: "GA_Patch_enum64";
        now Operation::Other, Void [Int Pointer]:
            "GA_Add_constant" "GA_Fill" "GA_Nblock" "GA_Norm1" "GA_Norm_infinity" "GA_Randomize" "GA_Scale"
            "GA_Shift_diagonal" "NGA_Fill" "NGA_Nblock" "NGA_Randomize" "NGA_Update_ghosts_nb";
        now Operation::Other, Void [Int Pointer Int Pointer]: "GA_Gop";
        now Operation::Other, Void [Int Pointer Pointer]:
            "GA_Abs_value_patch" "GA_Abs_value_patch64" "GA_Recip_patch" "GA_Recip_patch64" "NGA_Zero_patch"
            "NGA_Zero_patch64";
        now Operation::Other, Void [Int Pointer Pointer Int]: "NGA_Print_patch" "NGA_Print_patch64";
        now Operation::Other, Void [Int Pointer Pointer Int Int Pointer Pointer Pointer]:
            "NGA_Nbget_field" "NGA_Nbput_field";
        now Operation::Other, Void [Int Pointer Pointer Int Pointer Pointer]:
            "NGA_Merge_distr_patch" "NGA_Merge_distr_patch64";
        now Operation::Other, Void [Int Pointer Pointer Int Pointer Pointer Int Pointer Pointer]:
            "GA_Elem_divide_patch" "GA_Elem_divide_patch64" "GA_Elem_maximum_patch" "GA_Elem_maximum_patch64"
            "GA_Elem_minimum_patch" "GA_Elem_minimum_patch64" "GA_Elem_multiply_patch"
            "GA_Elem_multiply_patch64";
        now Operation::Other, Void [Int Pointer Pointer Int Pointer Pointer Int Pointer Pointer Int Pointer Pointer]:
            "GA_Median_patch" "GA_Median_patch64";
        now Operation::Other, Void [Int Pointer Pointer Int Pointer Pointer Int Pointer Pointer Int Pointer Pointer Pointer Pointer Pointer]:
            "GA_Step_bound_info_patch";
        now Operation::Other, Void [Int Pointer Pointer Int Pointer Pointer Int Pointer Pointer Int64 Pointer Pointer Pointer Pointer Pointer]:
            "GA_Step_bound_info_patch64";
        now Operation::Other, Void [Int Pointer Pointer Int Pointer Pointer Pointer]:
            "GA_Step_max_patch" "GA_Step_max_patch64";
        now Operation::Other, Void [Int Pointer Pointer Pointer]:
            "GA_Add_constant_patch" "GA_Add_constant_patch64" "NGA_Fill_patch" "NGA_Fill_patch64"
            "NGA_Scale_patch" "NGA_Scale_patch64" "NGA_Select_elem" "NGA_Select_elem64";
        now Operation::Other, Void [Int Pointer Pointer Pointer Pointer]:
            "NGA_Periodic_get" "NGA_Periodic_get64" "NGA_Periodic_put" "NGA_Periodic_put64";
        now Operation::Other, Void [Int Pointer Pointer Pointer Pointer Pointer]:
            "NGA_Periodic_acc" "NGA_Periodic_acc64";
        now Operation::Other, Void [Pointer]: "GA_Freemem";
        now Operation::Other, Void [Pointer Int]: "GA_Print_file" "NGA_Error" "NGA_List_nodeid";
        now Operation::Other, Void [Pointer Int Pointer Int Int]: "GA_Add";
        now Operation::Other, Void [Pointer Int Pointer Pointer Pointer Int Pointer Pointer Int Pointer Pointer]:
            "NGA_Add_patch" "NGA_Add_patch64";
        now Operation::Other, Void [Pointer Pointer]: "GA_Register_stack_memory";
    },
    fortran::CHAPTER,
];

static ROWS: [Row; table::count(CHAPTERS)] = table::sorted(CHAPTERS);

/// Every function of Global Arrays that is hooked, for C and for Fortran, sorted by name. Its calls are recorded as
/// regions only.
pub static TABLE: Table = Table {
    not_hooked: NOT_HOOKED,
    archives: &["ga-openmpi", "ga-mpich", "ga"],
    below: &[Layer::Armci],
    ..Table::new(Layer::GlobalArrays, &ROWS, Hooks::LinkedRegions)
};

const ASKS: &str = "returns or sets what the library has at hand, without anybody else";
const INSIDE: &str = "written in Fortran, from calls that are recorded, or there for those";
const UNDECLARED: &str = "not declared in ga.h: its arguments are not known";

/// Functions of the C interface that are not hooked, each with the reason. [`not_hooked`] also answers for the
/// functions of the Fortran interface.
pub const NOT_HOOKED: &[(&str, &str)] = &[
    ("GA_Check_handle", ASKS),
    ("GA_Cluster_nnodes", ASKS),
    ("GA_Cluster_nodeid", ASKS),
    ("GA_Cluster_nprocs", ASKS),
    ("GA_Cluster_proc_nodeid", ASKS),
    ("GA_Cluster_procid", ASKS),
    ("GA_Compare_distr", ASKS),
    ("GA_Error", ASKS),
    ("GA_Get_block_info", ASKS),
    ("GA_Get_debug", ASKS),
    ("GA_Get_dimension", ASKS),
    ("GA_Get_pgroup", ASKS),
    ("GA_Get_pgroup_size", ASKS),
    ("GA_Get_proc_grid", ASKS),
    ("GA_Get_proc_index", ASKS),
    ("GA_Has_ghosts", ASKS),
    ("GA_Initialized", ASKS),
    ("GA_Inquire_memory", ASKS),
    ("GA_Inquire_name", ASKS),
    ("GA_Is_mirrored", ASKS),
    ("GA_List_nodeid", ASKS),
    ("GA_Memory_avail", ASKS),
    ("GA_Memory_limited", ASKS),
    ("GA_Ndim", ASKS),
    ("GA_Nnodes", ASKS),
    ("GA_Nodeid", ASKS),
    ("GA_Pgroup_absolute_id", ASKS),
    ("GA_Pgroup_get_default", ASKS),
    ("GA_Pgroup_get_mirror", ASKS),
    ("GA_Pgroup_get_world", ASKS),
    ("GA_Pgroup_nnodes", ASKS),
    ("GA_Pgroup_nodeid", ASKS),
    ("GA_Pgroup_self", ASKS),
    ("GA_Set_array_name", ASKS),
    ("GA_Set_block_cyclic", ASKS),
    ("GA_Set_block_cyclic64", ASKS),
    ("GA_Set_block_cyclic_proc_grid", ASKS),
    ("GA_Set_block_cyclic_proc_grid64", ASKS),
    ("GA_Set_chunk", ASKS),
    ("GA_Set_chunk64", ASKS),
    ("GA_Set_data", ASKS),
    ("GA_Set_data64", ASKS),
    ("GA_Set_debug", ASKS),
    ("GA_Set_ghost_corner_flag", ASKS),
    ("GA_Set_ghosts", ASKS),
    ("GA_Set_ghosts64", ASKS),
    ("GA_Set_irreg_distr", ASKS),
    ("GA_Set_irreg_distr64", ASKS),
    ("GA_Set_irreg_flag", ASKS),
    ("GA_Set_memory_dev", ASKS),
    ("GA_Set_memory_limit", ASKS),
    ("GA_Set_pgroup", ASKS),
    ("GA_Set_property", ASKS),
    ("GA_Set_restricted", ASKS),
    ("GA_Set_restricted_range", ASKS),
    ("GA_Set_tiled_irreg_proc_grid", ASKS),
    ("GA_Set_tiled_irreg_proc_grid64", ASKS),
    ("GA_Set_tiled_proc_grid", ASKS),
    ("GA_Set_tiled_proc_grid64", ASKS),
    ("GA_Total_blocks", ASKS),
    ("GA_Uses_fapi", ASKS),
    ("GA_Uses_ma", ASKS),
    ("GA_Uses_proc_grid", ASKS),
    ("GA_Valid_handle", ASKS),
    ("GA_Wtime", ASKS),
    ("NGA_Access", ASKS),
    ("NGA_Access64", ASKS),
    ("NGA_Access_block", ASKS),
    ("NGA_Access_block64", ASKS),
    ("NGA_Access_block_grid", ASKS),
    ("NGA_Access_block_grid64", ASKS),
    ("NGA_Access_block_segment", ASKS),
    ("NGA_Access_block_segment64", ASKS),
    ("NGA_Access_ghost_element", ASKS),
    ("NGA_Access_ghost_element64", ASKS),
    ("NGA_Access_ghosts", ASKS),
    ("NGA_Access_ghosts64", ASKS),
    ("NGA_Compare_distr", ASKS),
    ("NGA_Distribution", ASKS),
    ("NGA_Distribution64", ASKS),
    ("NGA_Get_block_info", ASKS),
    ("NGA_Get_debug", ASKS),
    ("NGA_Get_dimension", ASKS),
    ("NGA_Get_pgroup", ASKS),
    ("NGA_Get_pgroup_size", ASKS),
    ("NGA_Get_proc_grid", ASKS),
    ("NGA_Get_proc_index", ASKS),
    ("NGA_Initialized", ASKS),
    ("NGA_Inquire", ASKS),
    ("NGA_Inquire64", ASKS),
    ("NGA_Inquire_memory", ASKS),
    ("NGA_Inquire_name", ASKS),
    ("NGA_Locate", ASKS),
    ("NGA_Locate64", ASKS),
    ("NGA_Locate_nnodes", ASKS),
    ("NGA_Locate_nnodes64", ASKS),
    ("NGA_Locate_num_blocks", ASKS),
    ("NGA_Locate_region", ASKS),
    ("NGA_Locate_region64", ASKS),
    ("NGA_Ndim", ASKS),
    ("NGA_Pgroup_absolute_id", ASKS),
    ("NGA_Pgroup_get_default", ASKS),
    ("NGA_Pgroup_get_mirror", ASKS),
    ("NGA_Pgroup_get_world", ASKS),
    ("NGA_Proc_topology", ASKS),
    ("NGA_Release", ASKS),
    ("NGA_Release64", ASKS),
    ("NGA_Release_block", ASKS),
    ("NGA_Release_block_grid", ASKS),
    ("NGA_Release_block_segment", ASKS),
    ("NGA_Release_ghost_element", ASKS),
    ("NGA_Release_ghost_element64", ASKS),
    ("NGA_Release_ghosts", ASKS),
    ("NGA_Release_update", ASKS),
    ("NGA_Release_update64", ASKS),
    ("NGA_Release_update_block", ASKS),
    ("NGA_Release_update_block_grid", ASKS),
    ("NGA_Release_update_block_segment", ASKS),
    ("NGA_Release_update_ghost_element", ASKS),
    ("NGA_Release_update_ghost_element64", ASKS),
    ("NGA_Release_update_ghosts", ASKS),
    ("NGA_Set_array_name", ASKS),
    ("NGA_Set_block_cyclic", ASKS),
    ("NGA_Set_block_cyclic64", ASKS),
    ("NGA_Set_block_cyclic_proc_grid", ASKS),
    ("NGA_Set_block_cyclic_proc_grid64", ASKS),
    ("NGA_Set_chunk", ASKS),
    ("NGA_Set_data", ASKS),
    ("NGA_Set_data64", ASKS),
    ("NGA_Set_debug", ASKS),
    ("NGA_Set_ghosts", ASKS),
    ("NGA_Set_ghosts64", ASKS),
    ("NGA_Set_irreg_distr", ASKS),
    ("NGA_Set_irreg_distr64", ASKS),
    ("NGA_Set_irreg_flag", ASKS),
    ("NGA_Set_memory_dev", ASKS),
    ("NGA_Set_memory_limit", ASKS),
    ("NGA_Set_pgroup", ASKS),
    ("NGA_Set_property", ASKS),
    ("NGA_Set_restricted", ASKS),
    ("NGA_Set_restricted_range", ASKS),
    ("NGA_Set_tiled_irreg_proc_grid", ASKS),
    ("NGA_Set_tiled_irreg_proc_grid64", ASKS),
    ("NGA_Set_tiled_proc_grid", ASKS),
    ("NGA_Set_tiled_proc_grid64", ASKS),
    ("GA_Cgemm64_c", UNDECLARED),
    ("GA_Cgemm_c", UNDECLARED),
    ("GA_Dgemm64_c", UNDECLARED),
    ("GA_Dgemm_c", UNDECLARED),
    ("GA_Get_array_name", UNDECLARED),
    ("GA_MPI_Comm", UNDECLARED),
    ("GA_MPI_Comm_pgroup", UNDECLARED),
    ("GA_MPI_Comm_pgroup_default", UNDECLARED),
    ("GA_Pgroup_gop", UNDECLARED),
    ("GA_Register_proclist", UNDECLARED),
    ("GA_Sgemm64_c", UNDECLARED),
    ("GA_Sgemm_c", UNDECLARED),
    ("GA_Version", UNDECLARED),
    ("GA_Zgemm64_c", UNDECLARED),
    ("GA_Zgemm_c", UNDECLARED),
    ("NGA_Cgop", UNDECLARED),
    ("NGA_Create_mutexes", UNDECLARED),
    ("NGA_Fgop", UNDECLARED),
    ("NGA_Get_array_name", UNDECLARED),
    ("NGA_Gop", UNDECLARED),
    ("NGA_Lgop", UNDECLARED),
    ("NGA_Llgop", UNDECLARED),
    ("NGA_Matmul_patch_alt", UNDECLARED),
    ("NGA_Matmul_patch_alt64", UNDECLARED),
    ("NGA_Pgroup_cgop", UNDECLARED),
    ("NGA_Pgroup_gop", UNDECLARED),
    ("NGA_Set_chunk64", UNDECLARED),
    ("NGA_Set_ghost_corner_flag", UNDECLARED),
    ("NGA_Symmetrize", UNDECLARED),
    ("NGA_Version", UNDECLARED),
    ("NGA_Zgop", UNDECLARED),
];

/// Returns the reason why a function is not hooked, or `None` if it is on no list. A Fortran function follows its
/// counterpart in C, or has an entry of its own.
pub fn not_hooked(name: &str) -> Option<&'static str> {
    table::reason(NOT_HOOKED, name).or_else(|| not_hooked_fortran(name))
}

/// Fortran functions that have no counterpart in C, and that query or set local state as those on the list do. Names
/// are without prefix and final underscore.
const FORTRAN_ASKS: &[&str] = &[
    "get_array_name",
    "mpi_comm",
    "mpi_comm_pgroup",
    "mpi_comm_pgroup_default",
    "set_ghost_info",
    "set_update4_info",
    "set_update5_info",
    "timer",
    "version",
];

/// Returns the reason why a function of the Fortran interface is not hooked. A function whose counterpart in C only
/// queries or sets local state is not hooked either, whatever its prefix.
fn not_hooked_fortran(name: &str) -> Option<&'static str> {
    let own = name.strip_suffix('_')?;
    let own = own.strip_prefix('n').unwrap_or(own).strip_prefix("ga_")?;
    let asks = |(listed, reason): &(&str, &str)| {
        let listed = listed.trim_start_matches('N').trim_start_matches("GA_");
        *reason == ASKS && listed.eq_ignore_ascii_case(own)
    };
    if fortran::INSIDE.contains(&name) {
        Some(INSIDE)
    } else if FORTRAN_ASKS.contains(&own) || NOT_HOOKED.iter().any(asks) {
        Some(ASKS)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_both_hooked_and_not() {
        assert!(TABLE.rows.iter().all(|row| not_hooked(row.name()).is_none()));
    }
}
