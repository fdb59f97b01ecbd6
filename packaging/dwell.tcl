#%Module1.0
# Module file of Dwell for Environment Modules. The prefix is where this file is installed; set it here if you copy the
# file elsewhere.
set prefix [file normalize [file join [file dirname $ModulesCurrentModulefile] .. .. ..]]

module-whatis "Dwell @VERSION@: finds wait states of one-sided parallel programs"

proc ModulesHelp { } {
    puts stderr "Dwell records programs with OpenSHMEM, MPI RMA, ARMCI, Global Arrays, coarrays and GASNet, and says where"
    puts stderr "their processes wait, why, and what would remove the wait:"
    puts stderr ""
    puts stderr "  mpirun -np 4 dwell run -o run1 ./program"
    puts stderr "  dwell analyze run1"
}

setenv DWELL_ROOT $prefix
prepend-path PATH [file join $prefix bin]
prepend-path CPATH [file join $prefix include]
