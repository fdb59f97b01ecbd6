! Figure 2 (b) of the paper that defines PCAF, and each of its other routines once, on 2 images.
!
!   cc -c include/pcaf.c && gfortran -g -fcoarray=lib include/pcaf.f90 pcaf_figure.f90 pcaf.o -lcaf_openmpi
program pcaf_figure
  use pcaf
  implicit none
  integer :: me, num, left, other, most
  integer :: A(1024,1024)[*]
  integer :: list(2)
  me = this_image()
  num = num_images()
  left = me - 1
  if (left < 1) left = num
  call PCAF_rma_write_begin(-1 + left, 1 * max((ubound(A,2) - lbound(A,2) + 2) / 2, 0), storage_size(A) / 8)
  A(me,::2)[left] = me
  call PCAF_rma_write_end(-1 + left)
  call PCAF_sync_all()
  other = 3 - me
  call PCAF_rma_read_begin(-1 + other, 2)
  list = A(me,1:2)[other]
  call PCAF_rma_read_end(-1 + other)
  call PCAF_rma_read(-1 + other, 3)
  call PCAF_rma_write(-1 + other, 5, 8)
  call PCAF_sync_all([other])
  call PCAF_sync_team([1, 2])
  call PCAF_sync_team([1, 2], [other])
  call PCAF_sync_file(6)
  call PCAF_sync_memory()
  call PCAF_start_critical()
  most = A(1,1)
  call PCAF_end_critical()
  call PCAF_sync_all()
  if (any(A(other,::2) /= other) .or. most < 0) error stop
  if (me == 1) print '(a)', 'done'
end program
