! A call of MPI through procedures that are not instrumented.
program unwound
  use mpi
  implicit none
  integer :: code, depth
  depth = 3
  call MPI_Init(code)
  call outer(depth)
  call MPI_Finalize(code)
contains
  recursive subroutine outer(depth)
    integer, intent(in) :: depth
    if (depth > 1) then
      call outer(depth - 1)
    else
      call inner
    end if
  end subroutine outer
  subroutine inner
    call MPI_Barrier(MPI_COMM_WORLD, code)
  end subroutine inner
end program unwound
