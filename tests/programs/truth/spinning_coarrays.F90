! Loops of coarrays that spin until another image lets them through, and teams: see truth.h, spinning.h and coarray_truth.c.
! The command line names a mode; a second word gives all images equal work.
! gfortran -g -O1 -fcoarray=lib spinning_coarrays.F90 coarray_truth.o -o spinning_coarrays -lcaf_openmpi
program spinning_coarrays
  use iso_c_binding
  use iso_fortran_env, only: atomic_int_kind, event_type, lock_type, team_type
  implicit none
  interface
    subroutine begin(image, images) bind(c, name='coarray_begin')
      import c_int
      integer(c_int), value :: image, images
    end subroutine
    subroutine finish() bind(c, name='coarray_end')
    end subroutine
    subroutine set_balanced() bind(c, name='coarray_balanced')
    end subroutine
    subroutine mode(number) bind(c, name='coarray_mode')
      import c_int
      integer(c_int), value :: number
    end subroutine
    subroutine mark(event) bind(c, name='coarray_mark')
      import c_int
      integer(c_int), value :: event
    end subroutine
    subroutine rest(ms) bind(c, name='coarray_rest')
      import c_int
      integer(c_int), value :: ms
    end subroutine
    subroutine work_evenly(ms) bind(c, name='coarray_work_evenly')
      import c_int
      integer(c_int), value :: ms
    end subroutine
    subroutine enter() bind(c, name='coarray_enter')
    end subroutine
    subroutine leave(line) bind(c, name='coarray_leave')
      import c_int
      integer(c_int), value :: line
    end subroutine
    subroutine waited(pattern, image, event) bind(c, name='coarray_waited')
      import c_int
      integer(c_int), value :: pattern, image, event
    end subroutine
    subroutine waited_for_last(pattern, event) bind(c, name='coarray_waited_for_last')
      import c_int
      integer(c_int), value :: pattern, event
    end subroutine
    subroutine release_now(kind) bind(c, name='coarray_release')
      import c_int
      integer(c_int), value :: kind
    end subroutine
    subroutine waited_for_release(kind) bind(c, name='coarray_waited_for_release')
      import c_int
      integer(c_int), value :: kind
    end subroutine
    subroutine spins_end() bind(c, name='coarray_spins_end')
    end subroutine
    subroutine root_cause(image) bind(c, name='coarray_root')
      import c_int
      integer(c_int), value :: image
    end subroutine
    subroutine knows_efficiency() bind(c, name='coarray_knows_efficiency')
    end subroutine
    integer(c_int) function sched_yield() bind(c)
      import c_int
    end function
  end interface
  integer, parameter :: barrier = 1, progress = 2, spin = 3, signal = 4, nxn = 5
  integer, parameter :: lock_kind = 1, critical_kind = 2
  integer :: me, images, round, done
  integer(atomic_int_kind) :: word[*], seen
  type(event_type) :: ready[*]
  type(lock_type) :: common[*]
  type(team_type) :: half
  real :: total
  character(32) :: name
  logical :: balanced

  me = this_image()
  images = num_images()
  call atomic_define(word, 0)
  call begin(me, images)
  call get_command_argument(1, name)
  balanced = command_argument_count() > 1
  if (balanced) call set_balanced()
  sync all
  select case (name)
  case ('atomic_word')
    ! The other images read a word of image 1 until image 1, which works longest, has changed it.
    call mode(10)
    do round = 1, 8
      call work(merge(30, 0, me == 1))
      if (me == 1) then
        call mark(round)
        call atomic_define(word[1], round)
      else
        call enter(); do; call atomic_ref(seen, word[1]); if (seen >= round) exit; done = sched_yield(); end do; call leave(__LINE__)
        call waited(spin, 1, round)
      end if
      call all_meet(100 + round)
    end do
    if (.not. balanced) call root_cause(1)
    if (.not. balanced) call knows_efficiency()
  case ('event_query')
    ! Image 2 asks for its event until image 1, which works longest, has posted it.
    call mode(11)
    do round = 1, 8
      call work(merge(30, 0, me == 1))
      if (me == 1) then
        call mark(round)
        event post (ready[2])
      else if (me == 2) then
        call enter(); do; call event_query(ready, done); if (done > 0) exit; done = sched_yield(); end do; call leave(__LINE__)
        call waited(spin, 1, round)
        event wait (ready)
      end if
      call all_meet(100 + round)
    end do
    if (.not. balanced) call root_cause(1)
    if (.not. balanced) call knows_efficiency()
  case ('four_kinds')
    ! Image 3 works longest. Each image posts an event to the next, takes a lock and a critical section, and all make a sum.
    ! Where the target must help, image 2 waits until image 3 is back before it can post.
    call mode(12)
    do round = 1, 5
      call work(merge(60, 10, me == 3))
      call mark(round)
      if (me < images) then
        call enter(); event post (ready[me + 1]); call leave(__LINE__)
        call waited(progress, me + 1, round)
      end if
      call mark(20 + round)
      if (me > 1) then
        call enter(); event wait (ready); call leave(__LINE__)
        call waited(signal, me - 1, round)
      end if
      call enter(); lock (common[1]); call leave(__LINE__)
      call waited_for_release(lock_kind)
      call rest(20)
      call release_now(lock_kind)
      unlock (common[1])
      call enter()
      critical
        call leave(__LINE__ - 1)
        call waited_for_release(critical_kind)
        call rest(10)
        call release_now(critical_kind)
      end critical
      total = me
      call mark(40 + round)
      call enter(); call co_sum(total); call leave(__LINE__)
      call waited_for_last(nxn, 40 + round)
    end do
    call all_meet(100)
    call spins_end()
  case ('teams')
    ! Odd and even images are in two teams. In theirs, images 3 and 4 are late. The odd team is the last in the end.
    call mode(13)
    form team (2 - mod(me, 2), half)
    call all_meet(100)
    change team (half)
      do round = 1, 5
        call work(merge(60, merge(20, 5, me == 4), me == 3))
        call mark(round)
        call enter(); sync all; call leave(__LINE__)
        if (me < 3) call waited(barrier, me + 2, round)
        if (me > 2) call waited(barrier, me - 2, round)
      end do
    end team
    call all_meet(101)
  case default
    error stop 'no such mode'
  end select
  call finish()
contains
  subroutine work(ms)
    integer, intent(in) :: ms
    if (balanced) then
      call work_evenly(40)
    else if (ms > 0) then
      call rest(ms)
    end if
  end subroutine
  subroutine all_meet(event)
    integer, intent(in) :: event
    call mark(event)
    call enter(); sync all; call leave(__LINE__)
    call waited_for_last(barrier, event)
  end subroutine
end program
