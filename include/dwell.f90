! What a program may tell Dwell: name a part of your code, and it is in the trace and in the call tree; leave out a
! part that does not matter.
!
!   use dwell
!   call dwell_pause()
!   call warm_up()
!   call dwell_resume()
!   call dwell_begin('assemble')
!   ...
!   call dwell_end('assemble')
!
! Compile this file with the program; nothing is linked. Where the program does not run under `dwell run`, each
! of these is one comparison. SPDX-License-Identifier: MIT OR Apache-2.0
module dwell
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_procpointer, c_funptr, c_null_char, &
    c_null_ptr, c_ptr
  implicit none
  private
  public :: dwell_begin, dwell_end, dwell_pause, dwell_resume

  abstract interface
    subroutine marker(name) bind(C)
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine marker

    subroutine switch() bind(C)
    end subroutine switch
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
  procedure(marker), pointer, save :: region_begin => null(), region_end => null()
  procedure(switch), pointer, save :: pause_all => null(), resume_all => null()

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

  ! Stops recording in this process until it is resumed.
  subroutine dwell_pause()
    if (.not. looked) call look
    if (associated(pause_all)) call pause_all()
  end subroutine dwell_pause

  subroutine dwell_resume()
    if (.not. looked) call look
    if (associated(resume_all)) call resume_all()
  end subroutine dwell_resume

  ! Finds what `dwell run` has loaded, if it has.
  subroutine look
    type(c_funptr) :: found
    found = dlsym(c_null_ptr, 'dwell_region_begin' // c_null_char)
    if (c_associated(found)) call c_f_procpointer(found, region_begin)
    found = dlsym(c_null_ptr, 'dwell_region_end' // c_null_char)
    if (c_associated(found)) call c_f_procpointer(found, region_end)
    found = dlsym(c_null_ptr, 'dwell_pause' // c_null_char)
    if (c_associated(found)) call c_f_procpointer(found, pause_all)
    found = dlsym(c_null_ptr, 'dwell_resume' // c_null_char)
    if (c_associated(found)) call c_f_procpointer(found, resume_all)
    looked = .true.
  end subroutine look

end module dwell
