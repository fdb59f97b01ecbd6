! Image 2 waits in loops of its own until image 1 changes a word of image 3, or posts an event, 5 times in each of several ways,
! and prints how long it waited until then, in milliseconds: `MODE FUNCTION MILLISECONDS`. Image 3 waits for both meanwhile, so it
! serves them. The time of the change is that of image 1, on the clock of the node.
!
! Built by gfortran -O1 -g -fcoarray=lib caf_spins.f90 -lcaf_openmpi
program caf_spins
  use iso_c_binding, only: c_int
  use iso_fortran_env, only: atomic_int_kind, event_type, int64, real64
  implicit none
  interface
    subroutine sleep_microseconds(time) bind(c, name='usleep')
      import c_int
      integer(c_int), value :: time
    end subroutine
  end interface
  integer, parameter :: rounds = 5
  character(7), parameter :: modes(4) = ['refs   ', 'gets   ', 'queries', 'swaps  ']
  character(25), parameter :: functions(4) = ['_gfortran_caf_atomic_ref ', '_gfortran_caf_get        ', &
    '_gfortran_caf_event_query', '_gfortran_caf_atomic_cas ']
  integer(atomic_int_kind), save :: word[*], lock[*]
  integer, save :: flag[*]
  integer(int64), save :: changed[*]
  type(event_type), save :: ready[*]
  integer(atomic_int_kind) :: seen
  integer :: me, mode, i, round, posts
  integer(int64) :: began, rate
  real(real64) :: waited
  me = this_image()
  word = 0
  lock = 0
  flag = 0
  round = 0
  do mode = 1, size(modes)
    waited = 0
    do i = 1, rounds
      round = round + 1
      if (me == 3) lock = 1
      sync all
      if (me == 1) then
        call sleep_microseconds(30000)
        call system_clock(changed)
        call atomic_define(lock[3], 0)
        call atomic_define(word[3], round)
        flag[3] = round
        event post (ready[2])
      else if (me == 2) then
        call system_clock(began, rate)
        select case (mode)
        case (1)
          do
            call atomic_ref(seen, word[3])
            if (seen == round) exit
          end do
        case (2)
          do while (flag[3] /= round)
          end do
        case (3)
          do
            call event_query(ready, posts)
            if (posts > 0) exit
          end do
        case (4)
          do
            call atomic_cas(lock[3], seen, 0, 2)
            if (seen == 0) exit
            call sleep_microseconds(50)
          end do
        end select
        event wait (ready)
      end if
      sync all
      if (me == 2) waited = waited + 1e3_real64 * (changed[1] - began) / rate
      sync all
    end do
    if (me == 2) print '(a, 1x, a, 1x, f0.6)', trim(modes(mode)), trim(functions(mode)), waited
  end do
end program
