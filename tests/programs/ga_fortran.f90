! Global Arrays from Fortran: every process puts a block to its neighbour, fetches it back, adds to a common one, and
! takes numbers from a counter. Each says how often it called what.
!
!   mpifort -fdefault-integer-8 -I/usr/include -o ga_fortran ga_fortran.f90 $(ga-config --libs)
program ga_fortran
  implicit none
#include "mafdecls.fh"
#include "global.fh"
  integer, parameter :: width = 8, rounds = 5
  integer :: me, procs, other, array, common, counter, round, number, mine, position(1)
  integer(4) :: code
  integer :: low(2), high(2)
  logical :: ok
  double precision :: block(width, width), back(width, width), total
  call MPI_Init(code)
  call ga_initialize()
  ok = ma_init(MT_DBL, 100000, 100000)
  me = ga_nodeid()
  procs = ga_nnodes()
  ok = ga_create(MT_DBL, width, width * procs, 'array', width, width, array)
  ok = nga_create(MT_DBL, 2, [width, width], 'common', [width, width], common)
  ok = nga_create(MT_INT, 1, [1], 'counter', [1], counter)
  call ga_zero(array)
  call ga_zero(common)
  call ga_zero(counter)
  call ga_sync()
  other = mod(me + 1, procs)
  block = me + 1
  low = [1, 1]
  high = [width, width]
  position = 1
  mine = 0
  do round = 1, rounds
    call ga_put(array, 1, width, width * other + 1, width * (other + 1), block, width)
    call ga_get(array, 1, width, width * other + 1, width * (other + 1), back, width)
    if (any(back /= block)) stop 1
    call nga_acc(common, low, high, block, [width], 1d0)
    number = nga_read_inc(counter, position, 1)
    if (number >= 0) mine = mine + 1
  end do
  call ga_sync()
  total = ga_ddot(common, common)
  call ga_igop(1, mine, 1, '+')
  if (me == 0) print '(a,f12.1,a,i0)', 'total ', total, ' numbers ', mine
  ok = ga_destroy(counter)
  ok = ga_destroy(common)
  ok = ga_destroy(array)
  call say('ga_put_', rounds)
  call say('ga_get_', rounds)
  call say('nga_acc_', rounds)
  call say('nga_read_inc_', rounds)
  call say('ga_create_', 1)
  call say('nga_create_', 2)
  call say('ga_destroy_', 3)
  call say('ga_zero_', 3)
  call say('ga_sync_', 2)
  call say('ga_ddot_', 1)
  call say('ga_igop_', 1)
  call say('ARMCI_AccS', rounds, rounds * width * width * 8)
  call ga_terminate()
  call MPI_Finalize(code)
contains
  subroutine say(name, calls, bytes)
    character(*), intent(in) :: name
    integer, intent(in) :: calls
    integer, intent(in), optional :: bytes
    integer :: moved
    moved = 0
    if (present(bytes)) moved = bytes
    print '(a,i0,3a,i0,a,i0)', 'count pe=', me, ' ', name, '=', calls, ' bytes=', moved
  end subroutine say
end program ga_fortran
