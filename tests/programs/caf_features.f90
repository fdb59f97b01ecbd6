! What coarrays can do, by kinds of things: `caf_features [KIND]`, all of them if none is named. Each image says
! how often it called what, and how many bytes that moved.
program caf_features
  use, intrinsic :: iso_fortran_env, only: atomic_int_kind, atomic_logical_kind, event_type, lock_type, &
    team_type, int64
  implicit none

  type :: shape_of
    integer :: size
    real(8), allocatable :: values(:)
  end type shape_of

  integer, parameter :: n = 40
  real(8), save :: line(n)[*], square(n, n)[*]
  integer, save :: cell[*], crossed[*]
  type(lock_type), save :: gate[*]
  type(event_type), save :: bell(3)[*]
  integer(atomic_int_kind), save :: counter[*]
  type(shape_of), save :: box[*]
  character(32) :: kind
  character(24), save :: names(40) = ''
  integer, save :: calls_of(40) = 0, bytes_of(40) = 0
  integer :: me, images, next, before, at

  me = this_image()
  images = num_images()
  next = merge(1, me + 1, me == images)
  before = merge(images, me - 1, me == 1)
  call get_command_argument(1, kind)
  if (wanted('transfer')) call transfer
  if (wanted('references')) call references
  if (wanted('synchronise')) call synchronise
  if (wanted('locks')) call locks
  if (wanted('events')) call events
  if (wanted('atomics')) call atomics
  if (wanted('collectives')) call collectives
  if (wanted('teams')) call teams
  if (wanted('memory')) call memory
  do at = 1, count(names /= '')
    print '(a,i0,3a,i0,a,i0)', 'count pe=', me - 1, ' _gfortran_caf_', trim(names(at)), '=', calls_of(at), &
      ' bytes=', bytes_of(at)
  end do

contains

  logical function wanted(name)
    character(*), intent(in) :: name
    wanted = kind == '' .or. kind == name
  end function wanted

  ! Adds to what is said at the end.
  subroutine say(name, calls, bytes)
    character(*), intent(in) :: name
    integer, intent(in) :: calls, bytes
    integer :: place
    place = 1
    do while (names(place) /= '' .and. names(place) /= name)
      place = place + 1
    end do
    names(place) = name
    calls_of(place) = calls_of(place) + calls
    bytes_of(place) = bytes_of(place) + bytes
  end subroutine say

  subroutine result(value)
    real(8), intent(in) :: value
    print '(a,i0,a,f0.3)', 'image ', me, ' has ', value
  end subroutine result

  subroutine transfer
    real(8) :: here(n), there(n, n)
    integer :: at(4)
    line = me
    square = 10 * me
    at = [3, 17, 5, 40]
    sync all
    here = line(:)[next]                        ! a whole line
    here(1:10) = square(1:20:2, 7)[next]        ! every second element
    here(1:4) = line(at)[next]                  ! those of a list
    here(5) = square(2, 2)[next]                ! one element
    sync all
    there = 3
    square(:, :)[next] = there                  ! a whole square
    line(2:6)[next] = here(1:5)
    line(40)[next] = 0.5d0
    sync all
    ! From one image to another, by a third.
    line(10:19)[before] = square(1:10, 1)[next]
    sync all
    call result(sum(line) + sum(square) + sum(here))
    call say('get', 4, 8 * (n + 10 + 4 + 1))
    call say('send', 3, 8 * (n * n + 5 + 1))
    call say('sendget', 1, 2 * 8 * 10)
    call say('sync_all', 4, 0)
  end subroutine transfer

  subroutine references
    real(8), allocatable :: copy(:)
    allocate (box%values(5 + me))
    box%size = size(box%values)
    box%values = me
    sync all
    copy = box[next]%values                     ! as long as it is there
    box[next]%values(2:4) = 7
    sync all
    call result(sum(copy) + sum(box%values))
    call say('get_by_ref', 1, 8 * (5 + next))
    call say('send_by_ref', 1, 8 * 3)
    call say('sync_all', 2, 0)
    deallocate (box%values)
  end subroutine references

  subroutine synchronise
    integer :: round
    do round = 1, 3
      line(round)[next] = me
      if (images == 2) then
        sync images (next)
      else
        sync images ([next, before])
      end if
    end do
    sync memory
    sync images (*)
    sync all
    call result(sum(line(1:3)))
    call say('sync_images', 4, 0)
    call say('sync_memory', 1, 0)
    call say('sync_all', 1, 0)
    call say('send', 3, 24)
  end subroutine synchronise

  subroutine locks
    integer :: round
    logical :: mine
    ! Each has its own lock.
    cell = 0
    crossed = 0
    sync all
    do round = 1, 5
      lock (gate[1])
      cell[1] = cell[1] + 1
      unlock (gate[1])
      critical
        crossed[1] = crossed[1] + 1
      end critical
    end do
    ! Nobody holds a lock any more, so that each image acquires its own.
    sync all
    lock (gate[me], acquired_lock=mine)
    if (mine) unlock (gate[me])
    sync all
    if (me == 1) call result(real(cell + crossed, 8))
    call say('lock', 11, 0)
    call say('unlock', 11, 0)
    call say('get', 10, 40)
    call say('send', 10, 40)
    call say('sync_all', 3, 0)
  end subroutine locks

  subroutine events
    integer :: count
    event post (bell(2)[next])
    event post (bell(3)[next])
    event wait (bell(2))
    event post (bell(3)[next])
    event wait (bell(3), until_count=2)
    call event_query(bell(1), count)
    sync all
    call result(real(count, 8))
    call say('event_post', 3, 0)
    call say('event_wait', 2, 0)
    call say('event_query', 1, 0)
    call say('sync_all', 1, 0)
  end subroutine events

  subroutine atomics
    integer(atomic_int_kind) :: old
    call atomic_define(counter, 0)
    sync all
    call atomic_add(counter[1], me)
    call atomic_fetch_add(counter[1], 1, old)
    call atomic_add(counter[next], 1024)
    sync all
    call atomic_ref(old, counter[1])
    call result(real(old, 8))
    sync all
    call atomic_cas(counter[next], old, 12345, 0)
    sync all
    call say('atomic_define', 1, 4)
    call say('atomic_op', 3, 4 + 8 + 4)
    call say('atomic_ref', 1, 4)
    call say('atomic_cas', 1, 12)
    call say('sync_all', 4, 0)
  end subroutine atomics

  subroutine collectives
    real(8) :: values(10)
    integer :: number
    values = me
    number = me
    call co_sum(values)
    call co_max(number)
    call co_broadcast(values, source_image=images)
    call co_sum(number, result_image=1)
    call co_min(number)
    call result(sum(values))
    call say('co_sum', 2, 80 + merge(0, 4, me == 1))
    call say('co_max', 1, 4)
    call say('co_min', 1, 4)
    call say('co_broadcast', 1, 80)
  end subroutine collectives

  subroutine teams
    type(team_type) :: half
    real(8) :: got
    integer :: color, alone
    line = me
    color = 1 + mod(me, 2)
    form team (color, half)
    sync all
    change team (half)
      sync all
      alone = merge(1, 0, num_images() == 1)
      call co_broadcast(cell, source_image=1)
      if (num_images() > 1) sync team (half)
    end team
    sync all
    got = line(1)[next]
    call result(got)
    call say('sync_all', 3, 0)
    call say('co_broadcast', 1, 4 * (1 - alone))
    call say('form_team', 1, 0)
    call say('change_team', 1, 0)
    call say('end_team', 1, 0)
    call say('get', 1, 8)
  end subroutine teams

  subroutine memory
    real(8), allocatable :: block(:)[:]
    integer :: round
    do round = 1, 3
      allocate (block(100 * round)[*])
      block = me
      sync all
      block(1)[next] = round
      sync all
      call result(block(1))
      deallocate (block)
    end do
    call say('send', 3, 24)
    ! The compiler ends each allocation with one.
    call say('sync_all', 9, 0)
  end subroutine memory

end program caf_features
