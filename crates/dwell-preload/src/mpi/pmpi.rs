//! Functions of MPI that the recorder calls itself, by their `PMPI_` names, which no tool intercepts.

use core::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::real;

/// A function of the library, looked up when it is first needed.
struct Function {
    name: &'static CStr,
    at: AtomicPtr<()>,
}

impl Function {
    #[inline]
    fn get(&self) -> Option<*mut ()> {
        let at = self.at.load(Ordering::Acquire);
        if at.is_null() { self.find() } else { Some(at) }
    }

    #[cold]
    fn find(&self) -> Option<*mut ()> {
        let found = real::find(self.name)?;
        self.at.store(found, Ordering::Release);
        Some(found)
    }
}

/// Defines wrappers of functions. Those without `->` return an error code: 0 for success, -1 if the library lacks the
/// function. The others return a handle, or 0 if the library lacks the function. Handles are passed as words.
macro_rules! functions {
    ($( $name:ident = $symbol:literal ( $($argument:ident: $of:ty),* ) $(-> $handle:ty)?; )*) => {
        $( functions!(@one $name $symbol ($($argument: $of),*) $($handle)?); )*
    };
    (@one $name:ident $symbol:literal $arguments:tt) => {
        functions!(@one $name $symbol $arguments c_int = -1);
    };
    (@one $name:ident $symbol:literal $arguments:tt $handle:ty) => {
        functions!(@one $name $symbol $arguments $handle = 0);
    };
    (@one $name:ident $symbol:literal ($($argument:ident: $of:ty),*) $returns:ty = $absent:expr) => {
            #[doc = concat!("`", $symbol, "`.")]
            ///
            /// # Safety
            /// The arguments meet the requirements of the MPI standard.
            #[inline]
            #[allow(clippy::too_many_arguments)] // As many as the standard has.
            pub(crate) unsafe fn $name($($argument: $of),*) -> $returns {
                static FUNCTION: Function = Function {
                    // Literals of this list have no zero inside.
                    name: match CStr::from_bytes_with_nul(concat!($symbol, "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => c"",
                    },
                    at: AtomicPtr::new(core::ptr::null_mut()),
                };
                type Real = unsafe extern "C-unwind" fn($($of),*) -> $returns;
                let Some(at) = FUNCTION.get() else { return $absent };
                // SAFETY: the function of this name has this signature, says the standard; handles
                // take a register each in every library.
                unsafe { core::mem::transmute::<*mut (), Real>(at)($($argument),*) }
            }
    };
}

functions! {
    cancel = "PMPI_Cancel"(request: *mut usize);
    comm_f2c = "PMPI_Comm_f2c"(handle: c_int) -> usize;
    group_f2c = "PMPI_Group_f2c"(handle: c_int) -> usize;
    message_f2c = "PMPI_Message_f2c"(handle: c_int) -> usize;
    request_f2c = "PMPI_Request_f2c"(handle: c_int) -> usize;
    type_f2c = "PMPI_Type_f2c"(handle: c_int) -> usize;
    win_f2c = "PMPI_Win_f2c"(handle: c_int) -> usize;
    cart_get = "PMPI_Cart_get"(comm: usize, most: c_int, dimensions: *mut c_int, periods: *mut c_int, coordinates: *mut c_int);
    cart_shift = "PMPI_Cart_shift"(comm: usize, dimension: c_int, distance: c_int, source: *mut c_int, target: *mut c_int);
    cartdim_get = "PMPI_Cartdim_get"(comm: usize, dimensions: *mut c_int);
    comm_create_from_group = "PMPI_Comm_create_from_group"(group: usize, tag: *const c_char, info: usize, errors: usize, comm: *mut usize);
    comm_dup = "PMPI_Comm_dup"(comm: usize, new: *mut usize);
    comm_idup = "PMPI_Comm_idup"(comm: usize, new: *mut usize, request: *mut usize);
    comm_free = "PMPI_Comm_free"(comm: *mut usize);
    comm_group = "PMPI_Comm_group"(comm: usize, group: *mut usize);
    comm_rank = "PMPI_Comm_rank"(comm: usize, rank: *mut c_int);
    comm_remote_group = "PMPI_Comm_remote_group"(comm: usize, group: *mut usize);
    comm_set_errhandler = "PMPI_Comm_set_errhandler"(comm: usize, handler: usize);
    comm_size = "PMPI_Comm_size"(comm: usize, size: *mut c_int);
    comm_test_inter = "PMPI_Comm_test_inter"(comm: usize, flag: *mut c_int);
    dist_graph_neighbors = "PMPI_Dist_graph_neighbors"(comm: usize, in_degree: c_int, sources: *mut c_int, source_weights: *mut c_int, out_degree: c_int, targets: *mut c_int, target_weights: *mut c_int);
    dist_graph_neighbors_count = "PMPI_Dist_graph_neighbors_count"(comm: usize, sources: *mut c_int, targets: *mut c_int, weighted: *mut c_int);
    error_class = "PMPI_Error_class"(code: c_int, class: *mut c_int);
    get_count_c = "PMPI_Get_count_c"(status: usize, datatype: usize, count: *mut i64);
    get_library_version = "PMPI_Get_library_version"(text: *mut c_char, length: *mut c_int);
    get_version = "PMPI_Get_version"(major: *mut c_int, minor: *mut c_int);
    graph_neighbors = "PMPI_Graph_neighbors"(comm: usize, rank: c_int, most: c_int, neighbors: *mut c_int);
    graph_neighbors_count = "PMPI_Graph_neighbors_count"(comm: usize, rank: c_int, count: *mut c_int);
    group_free = "PMPI_Group_free"(group: *mut usize);
    group_from_session_pset = "PMPI_Group_from_session_pset"(session: usize, name: *const c_char, group: *mut usize);
    group_size = "PMPI_Group_size"(group: usize, size: *mut c_int);
    group_translate_ranks = "PMPI_Group_translate_ranks"(from: usize, count: c_int, ranks: *const c_int, to: usize, translated: *mut c_int);
    initialized = "PMPI_Initialized"(flag: *mut c_int);
    finalized = "PMPI_Finalized"(flag: *mut c_int);
    irecv = "PMPI_Irecv"(buffer: *mut c_void, count: c_int, datatype: usize, source: c_int, tag: c_int, comm: usize, request: *mut usize);
    isend = "PMPI_Isend"(buffer: *const c_void, count: c_int, datatype: usize, target: c_int, tag: c_int, comm: usize, request: *mut usize);
    query_thread = "PMPI_Query_thread"(level: *mut c_int);
    session_finalize = "PMPI_Session_finalize"(session: *mut usize);
    session_init = "PMPI_Session_init"(info: usize, errors: usize, session: *mut usize);
    t_init_thread = "PMPI_T_init_thread"(required: c_int, provided: *mut c_int);
    t_pvar_get_info = "PMPI_T_pvar_get_info"(index: c_int, name: *mut c_char, length: *mut c_int, verbosity: *mut c_int, class: *mut c_int, datatype: *mut usize, enumeration: *mut usize, description: *mut c_char, description_length: *mut c_int, bind: *mut c_int, read_only: *mut c_int, continuous: *mut c_int, atomic: *mut c_int);
    t_pvar_get_num = "PMPI_T_pvar_get_num"(count: *mut c_int);
    t_pvar_handle_alloc = "PMPI_T_pvar_handle_alloc"(session: usize, index: c_int, object: *mut c_void, handle: *mut usize, count: *mut c_int);
    t_pvar_read = "PMPI_T_pvar_read"(session: usize, handle: usize, values: *mut c_void);
    t_pvar_session_create = "PMPI_T_pvar_session_create"(session: *mut usize);
    t_pvar_start = "PMPI_T_pvar_start"(session: usize, handle: usize);
    test = "PMPI_Test"(request: *mut usize, flag: *mut c_int, status: usize);
    test_cancelled = "PMPI_Test_cancelled"(status: usize, flag: *mut c_int);
    topo_test = "PMPI_Topo_test"(comm: usize, kind: *mut c_int);
    type_size = "PMPI_Type_size"(datatype: usize, size: *mut c_int);
}
