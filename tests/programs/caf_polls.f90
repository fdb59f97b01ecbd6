! Images on a ring put their edges to both neighbours and tell them by events; at the end of a round they wait for each other by
! `sync images`. Image 1 computes longest, and OpenCoarrays polls in `event wait` until it has posted.
!
!   caf_polls ROUNDS
!
! Built by gfortran -O1 -g -fcoarray=lib caf_polls.f90 -lcaf_openmpi
program caf_polls
  use iso_c_binding, only: c_int
  use iso_fortran_env, only: event_type, int64, real64
  implicit none
  interface
    subroutine sleep_microseconds(time) bind(c, name='usleep')
      import c_int
      integer(c_int), value :: time
    end subroutine
  end interface
  real(real64), save :: edge(64, 2)[*]
  type(event_type), save :: arrived[*]
  real(real64) :: own(64)
  integer :: me, images, left, right, round, rounds
  character(8) :: text
  call get_command_argument(1, text)
  read (text, *) rounds
  me = this_image()
  images = num_images()
  left = merge(images, me - 1, me == 1)
  right = merge(1, me + 1, me == images)
  own = me
  edge = 0
  sync all
  do round = 1, rounds
    if (me == 1) call sleep_microseconds(30000)
    edge(:, 1)[right] = own
    edge(:, 2)[left] = own
    event post (arrived[left])
    event post (arrived[right])
    event wait (arrived, until_count=2)
    own = 0.5 * (edge(:, 1) + edge(:, 2))
    sync images ([left, right])
  end do
  sync all
  if (me == 1) print '(a, f0.6)', 'sum ', sum(own)
end program
