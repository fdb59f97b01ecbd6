! Pausing and resuming what Dwell records, from Fortran.
!
! Compile this file with the program. Nothing else has to be linked: the functions are looked for when they
! are called, and if the program does not run under `dwell run` they do nothing.
!
!     use dwell_control
!     call dwell_control_pause()
!     call warm_up()
!     call dwell_control_resume()
module dwell_control
   use, intrinsic :: iso_c_binding
   implicit none
   private
   public :: dwell_control_pause, dwell_control_resume

   abstract interface
      subroutine nothing() bind(c)
      end subroutine
   end interface

   interface
      function dlsym(handle, name) bind(c, name="dlsym") result(address)
         import :: c_ptr, c_funptr, c_char
         type(c_ptr), value :: handle
         character(kind=c_char), intent(in) :: name(*)
         type(c_funptr) :: address
      end function
   end interface

contains

   !> Stops recording in this process, until it is resumed.
   subroutine dwell_control_pause()
      call call_if_there("dwell_pause")
   end subroutine

   !> Goes on recording.
   subroutine dwell_control_resume()
      call call_if_there("dwell_resume")
   end subroutine

   subroutine call_if_there(name)
      character(len=*), intent(in) :: name
      type(c_funptr) :: address
      procedure(nothing), pointer :: function_there
      ! A null handle means everything that is loaded.
      address = dlsym(c_null_ptr, name // c_null_char)
      if (c_associated(address)) then
         call c_f_procpointer(address, function_there)
         call function_there()
      end if
   end subroutine

end module dwell_control
