! Regions that the program names, and instrumented procedures, around calls of MPI. Each process says how often it
! was where.
program user_code
  use dwell
  use mpi
  implicit none
  integer :: rank, code, round
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call dwell_begin('all rounds')
  do round = 1, 3
    call dwell_begin('a round  ')
    call exchange
    call dwell_end('a round')
  end do
  call dwell_end('all rounds')
  call say('all rounds', 1)
  call say('MPI_Barrier', 3)
  call say('exchange', 3)
  call MPI_Finalize(code)
contains
  subroutine exchange
    call MPI_Barrier(MPI_COMM_WORLD, code)
  end subroutine exchange
  subroutine say(name, calls)
    character(*), intent(in) :: name
    integer, intent(in) :: calls
    ! Names with blanks are not said.
    if (index(name, ' ') == 0) print '(a,i0,3a,i0,a)', 'count pe=', rank, ' ', name, '=', calls, ' bytes=0'
  end subroutine say
end program user_code
