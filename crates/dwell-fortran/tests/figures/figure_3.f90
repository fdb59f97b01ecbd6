! The synchronisation of Figure 3 of the same paper: each call once, as the figure lists them.
program figure_3
  integer :: A(4)[*], wait(1), team(2)
  A = this_image()
  call sync_all()
  call sync_all(wait)
  call sync_team(team)
  call sync_team(team, wait)
  call sync_file(unit)
  call sync_memory()
  call start_critical()
  A(1)[1] = A(2)[1]
  call end_critical()
end program
