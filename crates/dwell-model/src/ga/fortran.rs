//! The functions of Global Arrays for Fortran.
//!
//! Every argument is an address, or the length of a text, which follows behind the others: each fills one machine word.
//! So a row says how many there are and what is returned. They are those of `global/src/fapi.c` and `complex.F` of
//! Global Arrays 5.8.2.
//!
//! They do not go through the functions for C, and the library calls them itself as well. A call inside a call of the
//! same layer is not recorded, so each is recorded once.

use super::{later, now, row};
use crate::operation::{Atomic, Collective, Operation};
use crate::table::{CType, Family, Symbol};

/// A list of pointer arguments, longer than the argument list of any function. Rows take their first words.
const WORDS: &[CType] = &[CType::Pointer; 24];

const fn words(count: usize) -> &'static [CType] {
    WORDS.split_at(count).0
}

/// Families of functions, one on each line: blocking or not, the operation, the returned type, the number of arguments,
/// and the names without their final underscore.
macro_rules! functions {
    ($( $when:ident $operation:expr, $returns:ident $count:literal: $($name:literal)+; )*) => {
        &[$( Family {
            name: stringify!($operation),
            rows: &[$( $when(row(
                Symbol::terminated(concat!($name, "_\0")),
                $operation,
                CType::$returns,
                words($count),
            )), )+],
        }, )*]
    };
}

pub(super) const CHAPTER: &[Family] = functions! {
    now Operation::Allocate, Int64 1: "ga_allocate" "nga_allocate";
    now Operation::Allocate, Int64 4: "ga_duplicate" "nga_duplicate";
    now Operation::Allocate, Int64 7: "nga_create";
    now Operation::Allocate, Int64 8: "ga_create" "nga_create_config" "nga_create_ghosts" "nga_create_irreg";
    now Operation::Allocate, Int64 9:
        "nga_create_ghosts_config" "nga_create_ghosts_irreg" "nga_create_irreg_config";
    now Operation::Allocate, Int64 10: "ga_create_irreg" "nga_create_ghosts_irreg_config";
    later Operation::Atomic(Atomic::Accumulate), Void 7: "nga_nbacc";
    later Operation::Atomic(Atomic::Accumulate), Void 9: "ga_nbacc";
    now Operation::Atomic(Atomic::Accumulate), Void 5: "nga_scatter_acc";
    now Operation::Atomic(Atomic::Accumulate), Void 6: "ga_scatter_acc" "nga_acc";
    now Operation::Atomic(Atomic::Accumulate), Void 7: "nga_strided_acc";
    now Operation::Atomic(Atomic::Accumulate), Void 8: "ga_acc";
    now Operation::Atomic(Atomic::FetchAdd), Int64 3: "nga_read_inc";
    now Operation::Atomic(Atomic::FetchAdd), Int64 4: "ga_read_inc";
    now Operation::Collective(Collective::AllReduce), Void 5:
        "ga_cgop" "ga_dgop" "ga_gop" "ga_igop" "ga_sgop" "ga_zgop" "nga_cgop" "nga_dgop" "nga_gop"
        "nga_igop" "nga_sgop" "nga_zgop";
    now Operation::Collective(Collective::AllReduce), Void 6:
        "ga_pgroup_cgop" "ga_pgroup_dgop" "ga_pgroup_gop" "ga_pgroup_igop" "ga_pgroup_sgop" "ga_pgroup_zgop"
        "nga_pgroup_cgop" "nga_pgroup_dgop" "nga_pgroup_gop" "nga_pgroup_igop" "nga_pgroup_sgop"
        "nga_pgroup_zgop";
    now Operation::Collective(Collective::Barrier), Void 0: "ga_sync" "nga_sync";
    now Operation::Collective(Collective::Barrier), Void 1: "ga_pgroup_sync" "nga_pgroup_sync";
    now Operation::Collective(Collective::Broadcast), Void 4: "ga_brdcst" "nga_brdcst";
    now Operation::Collective(Collective::Broadcast), Void 5: "ga_pgroup_brdcst";
    now Operation::CompleteRemote, Void 0: "ga_fence" "nga_fence";
    now Operation::CreateGroup, Int64 2:
        "ga_pgroup_create" "ga_pgroup_split" "ga_pgroup_split_irreg" "nga_pgroup_create" "nga_pgroup_split"
        "nga_pgroup_split_irreg";
    now Operation::Deallocate, Int64 1: "ga_deallocate" "ga_destroy" "nga_deallocate" "nga_destroy";
    now Operation::DestroyGroup, Int64 1: "ga_pgroup_destroy" "nga_pgroup_destroy";
    now Operation::Finalise, Void 0: "ga_terminate" "nga_terminate";
    later Operation::Get, Void 3: "nga_nbget_ghost_dir";
    later Operation::Get, Void 6: "nga_nbget";
    later Operation::Get, Void 8: "ga_nbget" "nga_nbget_field";
    now Operation::Get, Void 4: "nga_gather";
    now Operation::Get, Void 5: "ga_gather" "nga_get" "nga_get_ghost_block";
    now Operation::Get, Void 6: "nga_strided_get";
    now Operation::Get, Void 7: "ga_get" "nga_get_field";
    now Operation::Initialise, Void 0: "ga_initialize" "nga_initialize";
    now Operation::Initialise, Void 1: "ga_initialize_ltd" "nga_initialize_ltd";
    now Operation::Lock, Void 1: "ga_lock" "nga_lock";
    now Operation::Other, Double 2: "ga_ddot" "nga_ddot";
    now Operation::Other, Double 10: "nga_ddot_patch";
    now Operation::Other, Double 14: "ga_ddot_patch" "ga_ddot_patch_dp";
    now Operation::Other, Float 2: "ga_sdot" "nga_sdot";
    now Operation::Other, Float 10: "nga_sdot_patch";
    now Operation::Other, Float 14: "ga_sdot_patch";
    now Operation::Other, Int64 0:
        "ga_create_handle" "ga_destroy_mutexes" "nga_create_handle" "nga_destroy_mutexes";
    now Operation::Other, Int64 1:
        "ga_create_mutexes" "ga_pgroup_duplicate" "ga_spd_invert" "ga_update2_ghosts" "ga_update3_ghosts"
        "ga_update44_ghosts" "ga_update4_ghosts" "ga_update55_ghosts" "ga_update5_ghosts"
        "ga_update6_ghosts" "ga_update7_ghosts" "ga_verify_handle" "nga_create_mutexes"
        "nga_deregister_type" "nga_pgroup_duplicate" "nga_register_type" "nga_spd_invert"
        "nga_update2_ghosts" "nga_update3_ghosts" "nga_update44_ghosts" "nga_update4_ghosts"
        "nga_update55_ghosts" "nga_update5_ghosts" "nga_update6_ghosts" "nga_update7_ghosts"
        "nga_verify_handle";
    now Operation::Other, Int64 2:
        "ga_idot" "ga_llt_solve" "ga_overlay" "ga_solve" "nga_idot" "nga_llt_solve" "nga_overlay"
        "nga_solve";
    now Operation::Other, Int64 4: "ga_create_bin_range" "nga_create_bin_range" "nga_update_ghost_dir";
    now Operation::Other, Int64 10: "nga_idot_patch";
    now Operation::Other, Int64 14: "ga_idot_patch";
    now Operation::Other, Void 0:
        "ga_ghost_barrier" "ga_init_fence" "ga_msg_sync" "ga_print_stats" "nga_free_gatscat_buf"
        "nga_ghost_barrier" "nga_init_fence" "nga_msg_sync" "nga_print_stats";
    now Operation::Other, Void 1:
        "ga_abs_value" "ga_merge_mirrored" "ga_pgroup_set_default" "ga_print" "ga_print_distribution"
        "ga_recip" "ga_summarize" "ga_symmetrize" "ga_unset_property" "ga_update1_ghosts" "ga_update_ghosts"
        "ga_zero" "ga_zero_diagonal" "nga_abs_value" "nga_alloc_gatscat_buf" "nga_merge_mirrored"
        "nga_pgroup_set_default" "nga_print" "nga_print_distribution" "nga_summarize" "nga_symmetrize"
        "nga_unset_property" "nga_update1_ghosts" "nga_update_ghosts" "nga_zero" "nga_zero_diagonal";
    now Operation::Other, Void 2:
        "ga_add_constant" "ga_add_diagonal" "ga_copy" "ga_cscal" "ga_cscale" "ga_dscal" "ga_dscale"
        "ga_fill" "ga_get_diag" "ga_iscal" "ga_iscale" "ga_mask_sync" "ga_nblock" "ga_norm1"
        "ga_norm_infinity" "ga_randomize" "ga_scale" "ga_scale_cols" "ga_scale_rows" "ga_set_diagonal"
        "ga_shift_diagonal" "ga_sscal" "ga_sscale" "ga_transpose" "ga_zscal" "ga_zscale" "nga_add_constant"
        "nga_add_diagonal" "nga_copy" "nga_cscale" "nga_dscale" "nga_fill" "nga_get_diag" "nga_iscale"
        "nga_mask_sync" "nga_nblock" "nga_norm1" "nga_norm_infinity" "nga_randomize" "nga_scale"
        "nga_scale_cols" "nga_scale_rows" "nga_set_diagonal" "nga_shift_diagonal" "nga_sscale"
        "nga_transpose" "nga_update_ghosts_nb" "nga_zscale";
    now Operation::Other, Void 3:
        "ga_abs_value_patch" "ga_bin_sorter" "ga_diag_std" "ga_diag_std_seq" "ga_elem_divide"
        "ga_elem_maximum" "ga_elem_minimum" "ga_elem_multiply" "ga_lu_solve_alt" "ga_recip_patch"
        "ga_step_max" "nga_abs_value_patch" "nga_bin_sorter" "nga_elem_divide" "nga_elem_maximum"
        "nga_elem_minimum" "nga_elem_multiply" "nga_recip_patch" "nga_step_max" "nga_zero_patch";
    now Operation::Other, Void 4:
        "ga_add_constant_patch" "ga_diag" "ga_diag_seq" "ga_lu_solve" "ga_lu_solve_seq" "ga_median"
        "nga_add_constant_patch" "nga_cfill_patch" "nga_cscale_patch" "nga_dfill_patch" "nga_dscale_patch"
        "nga_fill_patch" "nga_ifill_patch" "nga_iscale_patch" "nga_median" "nga_print_patch"
        "nga_scale_patch" "nga_sfill_patch" "nga_sscale_patch" "nga_zfill_patch" "nga_zscale_patch";
    now Operation::Other, Void 5:
        "ga_add" "ga_cadd" "ga_dadd" "ga_diag_reuse" "ga_iadd" "ga_patch_enum" "ga_sadd" "ga_scan_copy"
        "ga_zadd" "ga_zero_patch" "nga_add" "nga_cadd" "nga_dadd" "nga_iadd" "nga_patch_enum"
        "nga_periodic_get" "nga_periodic_put" "nga_sadd" "nga_scan_copy" "nga_select_elem" "nga_zadd";
    now Operation::Other, Void 6:
        "ga_cfill_patch" "ga_cscal_patch" "ga_dfill_patch" "ga_dscal_patch" "ga_fill_patch" "ga_ifill_patch"
        "ga_iscal_patch" "ga_pack" "ga_print_patch" "ga_scale_patch" "ga_scan_add" "ga_sfill_patch"
        "ga_sscal_patch" "ga_unpack" "ga_zfill_patch" "ga_zscal_patch" "nga_merge_distr_patch" "nga_pack"
        "nga_periodic_acc" "nga_scan_add" "nga_unpack";
    now Operation::Other, Void 7:
        "ga_bin_index" "ga_step_bound_info" "ga_step_max_patch" "nga_bin_index" "nga_step_bound_info"
        "nga_step_max_patch";
    now Operation::Other, Void 8: "nga_copy_patch";
    now Operation::Other, Void 9:
        "ga_elem_divide_patch" "ga_elem_maximum_patch" "ga_elem_minimum_patch" "ga_elem_multiply_patch"
        "ga_elem_step_divide_patch" "ga_elem_stepb_divide_patch" "nga_elem_divide_patch"
        "nga_elem_maximum_patch" "nga_elem_minimum_patch" "nga_elem_multiply_patch"
        "nga_elem_step_divide_patch" "nga_elem_stepb_divide_patch";
    now Operation::Other, Void 11:
        "nga_add_patch" "nga_cadd_patch" "nga_dadd_patch" "nga_iadd_patch" "nga_sadd_patch" "nga_zadd_patch";
    now Operation::Other, Void 12:
        "ga_cgemm" "ga_copy_patch" "ga_copy_patch_dp" "ga_dgemm" "ga_median_patch" "ga_sgemm" "ga_zgemm"
        "nga_median_patch";
    now Operation::Other, Void 15:
        "ga_step_bound_info_patch" "nga_matmul_patch" "nga_matmul_patch_alt" "nga_step_bound_info_patch";
    now Operation::Other, Void 17:
        "ga_add_patch" "ga_cadd_patch" "ga_dadd_patch" "ga_iadd_patch" "ga_sadd_patch" "ga_zadd_patch";
    now Operation::Other, Void 21: "ga_matmul" "ga_matmul_mirrored" "ga_matmul_patch";
    later Operation::Put, Void 6: "nga_nbput";
    later Operation::Put, Void 8: "ga_nbput" "nga_nbput_field";
    later Operation::Put, Void 9: "nga_nbput_notify";
    now Operation::Put, Void 4: "nga_scatter";
    now Operation::Put, Void 5: "ga_scatter" "nga_put";
    now Operation::Put, Void 6: "nga_strided_put";
    now Operation::Put, Void 7: "ga_put" "nga_put_field";
    now Operation::TestHandle, Int64 1: "ga_nbtest" "nga_nbtest";
    now Operation::Unlock, Void 1: "ga_unlock" "nga_unlock";
    now Operation::WaitHandle, Void 1: "ga_nbwait" "nga_nbwait" "nga_nbwait_notify";
    now Operation::Other, ComplexDouble 2: "ga_zdot" "nga_zdot";
    now Operation::Other, ComplexFloat 2: "ga_cdot" "nga_cdot";
    now Operation::Other, ComplexDouble 14: "ga_zdot_patch";
    now Operation::Other, ComplexFloat 14: "ga_cdot_patch";
    now Operation::Other, ComplexDouble 10: "nga_zdot_patch";
    now Operation::Other, ComplexFloat 10: "nga_cdot_patch";
};

/// Functions that the library has in Fortran, made of calls that are recorded, and functions that exist only for those.
pub(super) const INSIDE: &[&str] = &[
    "ga_cholesky_",
    "ga_cpycpl2dbl_",
    "ga_cpydbl2cpl_",
    "ga_from_sl2_",
    "ga_from_sl2cpl_",
    "ga_from_sl_",
    "ga_get_armci_group_",
    "ga_llt_f_",
    "ga_llt_i_",
    "ga_llt_s_",
    "ga_pdsyev_",
    "ga_pdsyevd_",
    "ga_pdsyevr_",
    "ga_pdsyevx_",
    "ga_pdsygv_",
    "ga_pzheevd_",
    "ga_pzheevr_",
    "ga_register_proclist_",
    "ga_symul_",
    "ga_to_sl2_",
    "ga_to_sl2cpl_",
    "ga_to_sl_",
    "ga_zeroul_",
];
