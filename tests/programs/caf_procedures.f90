! The procedures that Co-Array Fortran had for synchronisation, by the statements of Fortran 2018.
module caf_procedures
  use, intrinsic :: iso_fortran_env, only: lock_type
  implicit none
  type(lock_type), save :: section[*]

  interface sync_all
    procedure sync_all_images, sync_all_wait
  end interface

  interface sync_team
    procedure sync_whole_team, sync_team_wait
  end interface

contains

  subroutine sync_all_images()
    sync all
  end subroutine

  subroutine sync_all_wait(wait)
    integer, intent(in) :: wait(:)
    sync images (wait)
  end subroutine

  subroutine sync_whole_team(team)
    integer, intent(in) :: team(:)
    sync images (team)
  end subroutine

  subroutine sync_team_wait(team, wait)
    integer, intent(in) :: team(:), wait(:)
    if (size(team) > 0) sync images (wait)
  end subroutine

  subroutine sync_memory()
    sync memory
  end subroutine

  subroutine sync_file(unit)
    integer, intent(in) :: unit
    flush (unit)
  end subroutine

  subroutine start_critical()
    lock (section[1])
  end subroutine

  subroutine end_critical()
    unlock (section[1])
  end subroutine
end module
