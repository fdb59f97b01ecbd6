-- Module file of Dwell for Lmod. The prefix is where this file is installed; set it here if you copy the file elsewhere.
local prefix = myFileName():match("^(.*)/share/modulefiles/")

whatis("Name: dwell")
whatis("Version: @VERSION@")
whatis("Description: finds wait states of one-sided parallel programs")
help([[
Dwell records programs with OpenSHMEM, MPI RMA, ARMCI, Global Arrays, coarrays and GASNet, and says where their
processes wait, why, and what would remove the wait:

  mpirun -np 4 dwell run -o run1 ./program
  dwell analyze run1

dwell.h and dwell.f90, for regions of your own, are in $DWELL_ROOT/include.
]])

setenv("DWELL_ROOT", prefix)
prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("CPATH", pathJoin(prefix, "include"))
