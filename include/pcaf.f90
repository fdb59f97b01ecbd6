! PCAF: the interface by which translators of Co-Array Fortran report what a program does, as B. Mohr, L. DeRose and
! J. Vetter defined it ("A Performance Measurement Infrastructure for Co-Array Fortran", Euro-Par 2005, Figure 3). Here it
! reports to Dwell.
!
!   use pcaf
!   call PCAF_rma_write_begin(-1 + left, 512)
!   A(me,::2)[left] = me
!   call PCAF_rma_write_end(-1 + left)
!   call PCAF_sync_all()
!
! Images of accesses are counted from 0, those of lists from 1, as in the paper. A third argument of accesses is the number
! of bytes of an element; without it, elements are counted as bytes. A wrapper synchronises and records it:
! `PCAF_sync_all(wait)` and both forms of `PCAF_sync_team` by `sync images`, so the lists of two images name each other.
!
! Compile this file and pcaf.c with the program. SPDX-License-Identifier: MIT OR Apache-2.0
module pcaf
  use, intrinsic :: iso_c_binding, only: c_int
  use, intrinsic :: iso_fortran_env, only: lock_type
  implicit none
  private
  public :: PCAF_rma_write_begin, PCAF_rma_write_end, PCAF_rma_write
  public :: PCAF_rma_read_begin, PCAF_rma_read_end, PCAF_rma_read
  public :: PCAF_sync_all, PCAF_sync_team, PCAF_sync_file, PCAF_sync_memory
  public :: PCAF_start_critical, PCAF_end_critical

  ! The one critical section, which image 1 keeps.
  type(lock_type), save :: section[*]

  interface
    subroutine PCAF_rma_write_begin(dest, nelem, size) bind(C, name='pcaf_rma_write_begin')
      import :: c_int
      integer(c_int), value :: dest, nelem
      integer(c_int), intent(in), optional :: size
    end subroutine PCAF_rma_write_begin

    subroutine PCAF_rma_write_end(dest) bind(C, name='pcaf_rma_write_end')
      import :: c_int
      integer(c_int), value :: dest
    end subroutine PCAF_rma_write_end

    subroutine PCAF_rma_write(dest, nelem, size) bind(C, name='pcaf_rma_write')
      import :: c_int
      integer(c_int), value :: dest, nelem
      integer(c_int), intent(in), optional :: size
    end subroutine PCAF_rma_write

    subroutine PCAF_rma_read_begin(src, nelem, size) bind(C, name='pcaf_rma_read_begin')
      import :: c_int
      integer(c_int), value :: src, nelem
      integer(c_int), intent(in), optional :: size
    end subroutine PCAF_rma_read_begin

    subroutine PCAF_rma_read_end(src) bind(C, name='pcaf_rma_read_end')
      import :: c_int
      integer(c_int), value :: src
    end subroutine PCAF_rma_read_end

    subroutine PCAF_rma_read(src, nelem, size) bind(C, name='pcaf_rma_read')
      import :: c_int
      integer(c_int), value :: src, nelem
      integer(c_int), intent(in), optional :: size
    end subroutine PCAF_rma_read

    subroutine PCAF_sync_file(unit) bind(C, name='pcaf_f_sync_file')
      import :: c_int
      integer(c_int), value :: unit
    end subroutine PCAF_sync_file

    subroutine PCAF_sync_memory() bind(C, name='pcaf_f_sync_memory')
    end subroutine PCAF_sync_memory

    subroutine PCAF_start_critical() bind(C, name='pcaf_f_start_critical')
    end subroutine PCAF_start_critical

    subroutine PCAF_end_critical() bind(C, name='pcaf_f_end_critical')
    end subroutine PCAF_end_critical
  end interface

  interface PCAF_sync_all
    subroutine sync_all_of_all() bind(C, name='pcaf_f_sync_all')
    end subroutine sync_all_of_all

    subroutine sync_all_wait(wait) bind(C, name='pcaf_f_sync_all_wait')
      import :: c_int
      integer(c_int), intent(in) :: wait(:)
    end subroutine sync_all_wait
  end interface PCAF_sync_all

  interface PCAF_sync_team
    subroutine sync_team_of_all(team) bind(C, name='pcaf_f_sync_team')
      import :: c_int
      integer(c_int), intent(in) :: team(:)
    end subroutine sync_team_of_all

    subroutine sync_team_wait(team, wait) bind(C, name='pcaf_f_sync_team_wait')
      import :: c_int
      integer(c_int), intent(in) :: team(:), wait(:)
    end subroutine sync_team_wait
  end interface PCAF_sync_team

contains

  ! Executes what a wrapper records. Numbers are those of `enum pcaf_sync`.
  subroutine execute(which, unit, images) bind(C, name='pcaf_execute')
    integer(c_int), value :: which, unit
    integer(c_int), intent(in), optional :: images(:)
    select case (which)
    case (2)
      sync all
    case (3)
      sync images (images)
    case (5)
      sync memory
    case (8)
      lock (section[1])
    case (9)
      unlock (section[1])
    case (28)
      flush (unit)
    end select
  end subroutine execute

end module pcaf
