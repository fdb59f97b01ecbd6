! Teams in image selectors, coarrays that a change of teams renames, critical constructs with status.
subroutine teams(a, k)
  use, intrinsic :: iso_fortran_env, only: team_type
  integer, intent(inout) :: a(4)[*]
  integer, intent(in) :: k
  type(team_type) :: half
  integer :: v, state
  integer, save :: items(2)[*]
  form team (1 + mod(k, 2), half)
  v = a(1)[k, team=half, stat=state]
  v = a(1)[k, team_number=2]
  a(2)[k, team=half] = v + a(3)[k]
10 change team (half, b[*] => a)
    sync all
    v = a(1)[k]
  end team
  sync team (half, stat=state)
  change team (half, stat=state)
  end team (stat=state)
  critical (stat=state)
    a(1)[1] = a(1)[1] + 1
  end critical
  read (*, *) items(1)[k], items(2)[k]
  call change(items(1)[k])
contains
  subroutine change(x)
    integer, intent(inout) :: x
    x = x + 1
  end subroutine
end subroutine
