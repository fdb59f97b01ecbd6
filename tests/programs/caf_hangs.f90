! Coarray programs of three images that hang, for `dwell where`, by the word on the command line.
program caf_hangs
  use iso_fortran_env, only: event_type, lock_type
  implicit none
  type(lock_type) :: lock[*]
  type(event_type) :: event[*]
  integer :: me, word[*], seen
  character(16) :: mode
  call get_command_argument(1, mode)
  me = this_image()
  word = 0
  sync all
  select case (mode)
  case ('circle') ! Each waits for the next one.
    sync images (mod(me, num_images()) + 1)
  case ('lock') ! Image 1 holds the lock that the others ask for, and waits for them.
    if (me == 1) lock (lock[2])
    sync all
    if (me /= 1) lock (lock[2])
  case ('event') ! Image 1 waits for an event that image 3 has posted before.
    if (me == 3) event post (event[1])
    if (me == 1) event wait (event)
    sync all
    if (me == 1) event wait (event)
  case ('word') ! Image 1 reads a word of image 2 until it changes, which nobody does.
    seen = 0
    do while (me == 1 .and. seen == 0)
      seen = word[2]
    end do
  end select
  sync all
end program
