! Waits of coarrays with 3 images or more: see truth.h and coarray_truth.c. The command line names a mode.
! gfortran -g -O1 -fcoarray=lib coarray_waits.F90 coarray_truth.o -o coarray_waits -lcaf_openmpi
program coarray_waits
  use iso_c_binding
  implicit none
  interface
    subroutine begin(image, images) bind(c, name='coarray_begin')
      import c_int
      integer(c_int), value :: image, images
    end subroutine
    subroutine finish() bind(c, name='coarray_end')
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
    subroutine waited_for_holders(event) bind(c, name='coarray_waited_for_holders')
      import c_int
      integer(c_int), value :: event
    end subroutine
  end interface
  integer, parameter :: partner = 0, barrier = 1, progress = 2
  integer :: me, images, i
  real :: x[*], y
  character(32) :: name

  me = this_image()
  images = num_images()
  x = me
  y = 0
  call begin(me, images)
  call get_command_argument(1, name)
  sync all
  select case (name)
  case ('chain')
    ! Image i waits for image i - 1, works, and lets image i + 1 go.
    call mode(0)
    if (me > 1) then
      call enter(); sync images (me - 1); call leave(__LINE__)
      call waited(partner, me - 1, 1)
    end if
    call rest(60)
    call mark(1)
    if (me < images) sync images (me + 1)
    call late_image()
  case ('late_image')
    call late_image()
  case ('after_pair')
    ! Only images 1 and 2 meet before the barrier to which image 3 is late.
    call mode(4)
    if (me == 1) sync images (2)
    if (me == 2) sync images (1)
    if (me == 3) call rest(200)
    call mark(1)
    call enter(); sync all; call leave(__LINE__)
    call waited_for_last(barrier, 1)
  case ('critical')
    ! Images queue up for a critical section.
    call mode(2)
    call enter()
    critical
      call leave(__LINE__ - 1)
      call rest(40)
      call mark(1)
    end critical
    sync all
    call waited_for_holders(1)
  case ('computing_image')
    ! Image 1 gets from the last image, which computes.
    call mode(3)
    if (me == 1) then
      call rest(10)
      call enter(); y = x[images]; call leave(__LINE__)
      call waited(progress, images, 1)
    end if
    if (me == images) call rest(100)
    call mark(1)
    sync all
  case ('balanced')
    call mode(5)
    do i = 1, 20
      call rest(5)
      call mark(2 * i)
      call enter(); sync all; call leave(__LINE__)
      call waited_for_last(barrier, 2 * i)
      y = y + x[1 + mod(me, images)]
      call mark(2 * i + 1)
      call enter(); sync all; call leave(__LINE__)
      call waited_for_last(barrier, 2 * i + 1)
    end do
  case default
    error stop 'no such mode'
  end select
  if (y < 0) print *, y
  call finish()
contains
  subroutine late_image()
    sync all
    call mode(1)
    if (me == 2) call rest(80)
    call mark(1)
    call enter(); sync all; call leave(__LINE__)
    call waited_for_last(barrier, 1)
  end subroutine
end program
