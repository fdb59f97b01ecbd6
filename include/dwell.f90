! What a program may tell Dwell: name a part of your code, and it is in the trace and in the call tree; leave out a
! part that does not matter; say which iteration this is, what the program works on, and how it gets on.
!
!   use dwell
!   call dwell_pause()
!   call warm_up()
!   call dwell_resume()
!   do step = 1, steps
!     call dwell_phase_begin('step', step)
!     call dwell_begin('assemble')
!     ...
!     call dwell_end('assemble')
!     call dwell_parameter('level', level)
!     call dwell_counter('residual', '', residual)
!     call dwell_phase_end('step')
!   end do
!
! A region is in the call tree once, a phase once for each number, which is the same at all processes. A parameter has
! a value until the region ends that it is set in, or until it is set again there; what is called meanwhile is in the
! call tree apart, for each value. Values are integers or text, those of counters integers or reals.
!
! Compile this file with the program; nothing is linked. Where the program does not run under `dwell run`, each
! of these is one comparison. SPDX-License-Identifier: MIT OR Apache-2.0
module dwell
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_double, c_f_procpointer, c_funptr, c_int, &
    c_long_long, c_null_char, c_null_ptr, c_ptr
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  implicit none
  private
  public :: dwell_begin, dwell_end, dwell_phase_begin, dwell_phase_end, dwell_parameter, dwell_counter, &
    dwell_pause, dwell_resume, dwell_topology

  interface dwell_phase_begin
    module procedure phase_of_int32, phase_of_int64
  end interface dwell_phase_begin

  interface dwell_parameter
    module procedure parameter_of_int32, parameter_of_int64, parameter_of_text
  end interface dwell_parameter

  interface dwell_counter
    module procedure counter_of_int32, counter_of_int64, counter_of_real32, counter_of_real64
  end interface dwell_counter

  abstract interface
    subroutine marker(name) bind(C)
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine marker

    subroutine number_marker(name, number) bind(C)
      import :: c_char, c_long_long
      character(kind=c_char), intent(in) :: name(*)
      integer(c_long_long), value :: number
    end subroutine number_marker

    subroutine text_marker(name, text) bind(C)
      import :: c_char
      character(kind=c_char), intent(in) :: name(*), text(*)
    end subroutine text_marker

    subroutine int_marker(name, unit, number) bind(C)
      import :: c_char, c_long_long
      character(kind=c_char), intent(in) :: name(*), unit(*)
      integer(c_long_long), value :: number
    end subroutine int_marker

    subroutine real_marker(name, unit, number) bind(C)
      import :: c_char, c_double
      character(kind=c_char), intent(in) :: name(*), unit(*)
      real(c_double), value :: number
    end subroutine real_marker

    subroutine switch() bind(C)
    end subroutine switch

    subroutine grid_marker(name, dimensions, sizes, periodic, coordinates) bind(C)
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: dimensions
      integer(c_int), intent(in) :: sizes(*), periodic(*), coordinates(*)
    end subroutine grid_marker
  end interface

  interface
    function dlsym(handle, name) bind(C, name='dlsym')
      import :: c_char, c_funptr, c_ptr
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr) :: dlsym
    end function dlsym
  end interface

  logical, save :: looked = .false.
  procedure(marker), pointer, save :: region_begin => null(), region_end => null(), phase_end => null()
  procedure(number_marker), pointer, save :: phase_begin => null(), parameter_int => null()
  procedure(text_marker), pointer, save :: parameter_text => null()
  procedure(int_marker), pointer, save :: counter_int => null()
  procedure(real_marker), pointer, save :: counter_real => null()
  procedure(switch), pointer, save :: pause_all => null(), resume_all => null()
  procedure(grid_marker), pointer, save :: grid => null()

contains

  subroutine dwell_begin(name)
    character(*), intent(in) :: name
    if (.not. looked) call look
    if (associated(region_begin)) call region_begin(trim(name) // c_null_char)
  end subroutine dwell_begin

  subroutine dwell_end(name)
    character(*), intent(in) :: name
    if (associated(region_end)) call region_end(trim(name) // c_null_char)
  end subroutine dwell_end

  subroutine phase_of_int64(name, number)
    character(*), intent(in) :: name
    integer(int64), intent(in) :: number
    if (.not. looked) call look
    if (associated(phase_begin)) call phase_begin(trim(name) // c_null_char, int(number, c_long_long))
  end subroutine phase_of_int64

  subroutine phase_of_int32(name, number)
    character(*), intent(in) :: name
    integer(int32), intent(in) :: number
    call phase_of_int64(name, int(number, int64))
  end subroutine phase_of_int32

  subroutine dwell_phase_end(name)
    character(*), intent(in) :: name
    if (associated(phase_end)) call phase_end(trim(name) // c_null_char)
  end subroutine dwell_phase_end

  subroutine parameter_of_int64(name, value)
    character(*), intent(in) :: name
    integer(int64), intent(in) :: value
    if (.not. looked) call look
    if (associated(parameter_int)) call parameter_int(trim(name) // c_null_char, int(value, c_long_long))
  end subroutine parameter_of_int64

  subroutine parameter_of_int32(name, value)
    character(*), intent(in) :: name
    integer(int32), intent(in) :: value
    call parameter_of_int64(name, int(value, int64))
  end subroutine parameter_of_int32

  subroutine parameter_of_text(name, value)
    character(*), intent(in) :: name, value
    if (.not. looked) call look
    if (associated(parameter_text)) call parameter_text(trim(name) // c_null_char, trim(value) // c_null_char)
  end subroutine parameter_of_text

  subroutine counter_of_int64(name, unit, value)
    character(*), intent(in) :: name, unit
    integer(int64), intent(in) :: value
    if (.not. looked) call look
    if (associated(counter_int)) &
      call counter_int(trim(name) // c_null_char, trim(unit) // c_null_char, int(value, c_long_long))
  end subroutine counter_of_int64

  subroutine counter_of_int32(name, unit, value)
    character(*), intent(in) :: name, unit
    integer(int32), intent(in) :: value
    call counter_of_int64(name, unit, int(value, int64))
  end subroutine counter_of_int32

  subroutine counter_of_real64(name, unit, value)
    character(*), intent(in) :: name, unit
    real(real64), intent(in) :: value
    if (.not. looked) call look
    if (associated(counter_real)) &
      call counter_real(trim(name) // c_null_char, trim(unit) // c_null_char, real(value, c_double))
  end subroutine counter_of_real64

  subroutine counter_of_real32(name, unit, value)
    character(*), intent(in) :: name, unit
    real(real32), intent(in) :: value
    call counter_of_real64(name, unit, real(value, real64))
  end subroutine counter_of_real32

  ! Stops recording in this process until it is resumed.
  subroutine dwell_pause()
    if (.not. looked) call look
    if (associated(pause_all)) call pause_all()
  end subroutine dwell_pause

  subroutine dwell_resume()
    if (.not. looked) call look
    if (associated(resume_all)) call resume_all()
  end subroutine dwell_resume

  ! How processes are arranged: the sizes of a grid, which dimensions are periodic, and the coordinates of this process,
  ! counted from 0. For a coarray `x(...)[2,*]`: `sizes = ucobound(x) - lcobound(x) + 1`, and
  ! `coordinates = this_image(x) - lcobound(x)`.
  subroutine dwell_topology(name, sizes, periodic, coordinates)
    character(*), intent(in) :: name
    integer(int32), intent(in) :: sizes(:), coordinates(:)
    logical, intent(in) :: periodic(:)
    if (.not. looked) call look
    if (associated(grid) .and. size(periodic) == size(sizes) .and. size(coordinates) == size(sizes)) &
      call grid(trim(name) // c_null_char, int(size(sizes), c_int), int(sizes, c_int), &
        merge(1_c_int, 0_c_int, periodic), int(coordinates, c_int))
  end subroutine dwell_topology

  ! Finds what `dwell run` has loaded, if it has.
  subroutine look
    type(c_funptr) :: found
    found = address_of('dwell_region_begin')
    if (c_associated(found)) call c_f_procpointer(found, region_begin)
    found = address_of('dwell_region_end')
    if (c_associated(found)) call c_f_procpointer(found, region_end)
    found = address_of('dwell_phase_begin')
    if (c_associated(found)) call c_f_procpointer(found, phase_begin)
    found = address_of('dwell_phase_end')
    if (c_associated(found)) call c_f_procpointer(found, phase_end)
    found = address_of('dwell_parameter_int')
    if (c_associated(found)) call c_f_procpointer(found, parameter_int)
    found = address_of('dwell_parameter_text')
    if (c_associated(found)) call c_f_procpointer(found, parameter_text)
    found = address_of('dwell_counter_int')
    if (c_associated(found)) call c_f_procpointer(found, counter_int)
    found = address_of('dwell_counter_real')
    if (c_associated(found)) call c_f_procpointer(found, counter_real)
    found = address_of('dwell_pause')
    if (c_associated(found)) call c_f_procpointer(found, pause_all)
    found = address_of('dwell_resume')
    if (c_associated(found)) call c_f_procpointer(found, resume_all)
    found = address_of('dwell_topology')
    if (c_associated(found)) call c_f_procpointer(found, grid)
    looked = .true.
  end subroutine look

  function address_of(name)
    character(*), intent(in) :: name
    type(c_funptr) :: address_of
    address_of = dlsym(c_null_ptr, name // c_null_char)
  end function address_of

end module dwell
