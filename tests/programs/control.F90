! Pauses and resumes what is recorded of it, from Fortran: by MPI_Pcontrol and by the module of Dwell.
!
!   mpifort -g include/dwell.f90 control.F90
!
! Each process calls MPI_Barrier 1 + 2 + 3 + 4 + 5 times; the second and the fourth stretch are not recorded.
program control
   use mpi
   use dwell
   implicit none
   integer :: code
   call mpi_init(code)
   call stretch(1)
   call mpi_pcontrol(0)
   call stretch(2)
   call mpi_pcontrol(1)
   call stretch(3)
   call dwell_pause()
   call stretch(4)
   call dwell_resume()
   call stretch(5)
   call mpi_finalize(code)
contains
   subroutine stretch(count)
      integer, intent(in) :: count
      integer :: i, code
      do i = 1, count
         call mpi_barrier(MPI_COMM_WORLD, code)
      end do
   end subroutine
end program
