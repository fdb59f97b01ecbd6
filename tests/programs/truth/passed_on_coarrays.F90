! Delays of image 1 that others pass on, with 4 images: see truth.h and coarray_truth.c. The command line names a mode. In
! every mode image 1 is late three times. The images that wait for it make others wait. A barrier comes before each delay,
! so that all delays of a mode are between the same two calls.
! gfortran -g -O1 -fcoarray=lib passed_on_coarrays.F90 coarray_truth.o -o passed_on_coarrays -lcaf_openmpi
program passed_on_coarrays
  use iso_c_binding
  use iso_fortran_env, only: event_type, lock_type
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
    subroutine rest(ms) bind(c, name='coarray_rest')
      import c_int
      integer(c_int), value :: ms
    end subroutine
    subroutine late(ms) bind(c, name='coarray_late')
      import c_int
      integer(c_int), value :: ms
    end subroutine
    subroutine caused(line, waits, passed_on) bind(c, name='coarray_caused')
      import c_int, c_double
      integer(c_int), value :: line
      real(c_double), value :: waits, passed_on
    end subroutine
  end interface
  integer, parameter :: rounds = 3, delay = 200
  integer :: me, round
  real, save :: x[*]
  real :: y
  type(event_type), save :: bell[*]
  type(lock_type), save :: gate[*]
  character(32) :: name

  me = this_image()
  x = me
  y = 0
  call begin(me, num_images())
  call get_command_argument(1, name)
  sync all
  select case (name)
  case ('partners')
    ! Image 1 is late to meet image 2, which then meets image 3, which then meets image 4.
    call mode(6)
    do round = 1, rounds
      sync all
      if (me == 1) then
        call late(delay)
        sync images (2)
        call caused(__LINE__ - 1, 3d0, 2d0)
      else
        sync images (me - 1)
        if (me < 4) sync images (me + 1)
      end if
    end do
  case ('events')
    ! Image 1 posts late to image 2, which then posts to image 3, which then posts to image 4.
    call mode(7)
    do round = 1, rounds
      sync all
      if (me == 1) then
        call late(delay)
        event post (bell[2])
        call caused(__LINE__ - 1, 3d0, 2d0)
      else
        event wait (bell)
        if (me < 4) event post (bell[me + 1])
      end if
    end do
  case ('lock_holder')
    ! Image 1 holds a lock for long, for which image 2 waits before it meets image 3, which then meets image 4.
    call mode(8)
    do round = 1, rounds
      sync all
      if (me == 1) lock (gate[4])
      sync all
      if (me == 1) then
        call late(delay)
        unlock (gate[4])
        call caused(__LINE__ - 1, 3d0, 2d0)
      else
        if (me == 2) then
          lock (gate[4])
          unlock (gate[4])
        else
          sync images (me - 1)
        end if
        if (me < 4) sync images (me + 1)
      end if
    end do
  case ('late_target')
    ! Image 2 gets from image 1, which is not in the library, and so comes late to the barrier.
    call mode(9)
    do round = 1, rounds
      sync all
      if (me == 1) call late(delay)
      if (me == 2) then
        y = y + x[1]
        call rest(10)
      end if
      sync all
      if (me == 1) call caused(__LINE__ - 1, 3d0, 2d0)
    end do
  case default
    error stop 'no such mode'
  end select
  if (y < 0) print *, y
  call finish()
end program
