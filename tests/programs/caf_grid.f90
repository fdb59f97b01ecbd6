! The grid of a coarray, which the program describes from its cobounds: 2 rows, and as many columns as the images fill.
!
!   gfortran -g -fcoarray=lib include/dwell.f90 caf_grid.f90 -lcaf_openmpi
program caf_grid
  use dwell
  implicit none
  real :: x(4)[2,*]
  x = this_image()
  call dwell_topology('grid of x', ucobound(x) - lcobound(x) + 1, [.false., .true.], this_image(x) - lcobound(x))
  sync all
end program
