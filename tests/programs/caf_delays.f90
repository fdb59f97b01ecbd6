! Image 2 comes late, by known milliseconds, and image 1 waits for it: `caf_delays KIND MILLISECONDS`.
program caf_delays
  use, intrinsic :: iso_fortran_env, only: event_type, lock_type, int64
  implicit none
  integer, save :: cell[*]
  type(lock_type), save :: gate[*]
  type(event_type), save :: bell[*]
  character(32) :: kind, text
  integer :: delay, got
  cell = this_image()
  call get_command_argument(1, kind)
  call get_command_argument(2, text)
  read (text, *) delay
  sync all
  select case (kind)
  case ('sync_all')
    if (this_image() == 2) call compute(delay)
    sync all
  case ('sync_images')
    if (this_image() == 2) call compute(delay)
    sync images (3 - this_image())
  case ('event')
    if (this_image() == 2) then
      call compute(delay)
      event post (bell[1])
    else
      event wait (bell)
    end if
  case ('lock')
    if (this_image() == 2) then
      lock (gate[1])
      sync images (1)
      call compute(delay)
      unlock (gate[1])
    else
      sync images (2)
      lock (gate[1])
      unlock (gate[1])
    end if
  case ('broadcast')
    if (this_image() == 2) call compute(delay)
    call co_broadcast(cell, source_image=2)
  case ('sum')
    if (this_image() == 2) call compute(delay)
    call co_sum(cell)
  case ('progress')
    if (this_image() == 2) then
      call compute(delay)
    else
      call compute(5)
      got = cell[2]
    end if
  case default
    error stop 'no such kind'
  end select
  sync all
contains
  ! Computes for so long, without a word to the library.
  subroutine compute(milliseconds)
    integer, intent(in) :: milliseconds
    integer(int64) :: now, until, rate
    call system_clock(now, rate)
    until = now + milliseconds * rate / 1000
    do while (now < until)
      call system_clock(now)
    end do
  end subroutine compute
end program caf_delays
