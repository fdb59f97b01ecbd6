//! Input and output. Collective calls are recorded as collectives of the communicator that opened the file, all others as
//! regions only, so that their time is not counted as computation.
//!
//! The standard does not say that collective calls wait for each other, but implementations exchange what each process wants
//! before they access the file. Whether they serve others meanwhile is unknown: closing a file of a single process does not,
//! as was seen. Calls that begin or end a split collective are regions.

use super::role::make::plain;
use super::role::{rows, twins};
use crate::operation::{Collective, Operation};
use crate::table::{Family, families};

pub(super) const FAMILIES: &[Family] = families! {
    "files, collective, with large counts": twins!(plain, Operation::Collective(Collective::File);
        "MPI_File_read_all": File Pointer Count Datatype Status;
        "MPI_File_read_at_all": File Offset Pointer Count Datatype Status;
        "MPI_File_read_ordered": File Pointer Count Datatype Status;
        "MPI_File_write_all": File Pointer Count Datatype Status;
        "MPI_File_write_at_all": File Offset Pointer Count Datatype Status;
        "MPI_File_write_ordered": File Pointer Count Datatype Status;
    );
    "files, collective": rows!(plain, Operation::Collective(Collective::File);
        "MPI_File_close": ClosedFile;
        "MPI_File_open": Comm Text Int Handle NewFile;
        "MPI_File_preallocate": File Offset;
        "MPI_File_seek_shared": File Offset Int;
        "MPI_File_set_atomicity": File Int;
        "MPI_File_set_size": File Offset;
        "MPI_File_set_view": File Offset Handle Handle Text Handle;
        "MPI_File_sync": File;
    );
    "files, with large counts": twins!(plain, Operation::Other;
        "MPI_File_iread": Handle Pointer Count Datatype Request;
        "MPI_File_iread_all": Handle Pointer Count Datatype Request;
        "MPI_File_iread_at": Handle Offset Pointer Count Datatype Request;
        "MPI_File_iread_at_all": Handle Offset Pointer Count Datatype Request;
        "MPI_File_iread_shared": Handle Pointer Count Datatype Request;
        "MPI_File_iwrite": Handle Pointer Count Datatype Request;
        "MPI_File_iwrite_all": Handle Pointer Count Datatype Request;
        "MPI_File_iwrite_at": Handle Offset Pointer Count Datatype Request;
        "MPI_File_iwrite_at_all": Handle Offset Pointer Count Datatype Request;
        "MPI_File_iwrite_shared": Handle Pointer Count Datatype Request;
        "MPI_File_read": Handle Pointer Count Datatype Status;
        "MPI_File_read_all_begin": Handle Pointer Count Datatype;
        "MPI_File_read_at": Handle Offset Pointer Count Datatype Status;
        "MPI_File_read_at_all_begin": Handle Offset Pointer Count Datatype;
        "MPI_File_read_ordered_begin": Handle Pointer Count Datatype;
        "MPI_File_read_shared": Handle Pointer Count Datatype Status;
        "MPI_File_write": Handle Pointer Count Datatype Status;
        "MPI_File_write_all_begin": Handle Pointer Count Datatype;
        "MPI_File_write_at": Handle Offset Pointer Count Datatype Status;
        "MPI_File_write_at_all_begin": Handle Offset Pointer Count Datatype;
        "MPI_File_write_ordered_begin": Handle Pointer Count Datatype;
        "MPI_File_write_shared": Handle Pointer Count Datatype Status;
    );
    "files": rows!(plain, Operation::Other;
        "MPI_File_delete": Text Handle;
        "MPI_File_read_all_end": Handle Pointer Status;
        "MPI_File_read_at_all_end": Handle Pointer Status;
        "MPI_File_read_ordered_end": Handle Pointer Status;
        "MPI_File_seek": Handle Offset Int;
        "MPI_File_write_all_end": Handle Pointer Status;
        "MPI_File_write_at_all_end": Handle Pointer Status;
        "MPI_File_write_ordered_end": Handle Pointer Status;
    );
};
