! The synchronisation of Co-Array Fortran before Fortran 2008: each call of the paper's Figure 3, on 2 images. The
! procedures are in caf_procedures.f90, which is compiled as it is: compilers of that time had them built in.
program old
  use caf_procedures
  implicit none
  integer :: me, num, left, total
  integer :: A(64,64)[*]
  integer :: w(1), team(2)
  me = this_image()
  num = num_images()
  left = me - 1
  if ( left < 1 ) left = num
  A(me,::2)[left] = me
  call sync_all()
  w(1) = left
  call sync_all(w)
  team = (/1,2/)
  call sync_team(team)
  call sync_team(team, w)
  call sync_memory()
  call sync_file(6)
  call start_critical()
  total = A(1,1)[1] + A(2,2)[num]
  call end_critical()
  call sync_all()
  if ( me == 1 .and. total >= 0 ) print '(a)', 'done'
end program
