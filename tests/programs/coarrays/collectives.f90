! Collective subroutines, atomic subroutines, and coarrays that are allocated.
      program collectives
      use, intrinsic :: iso_fortran_env, only: atomic_int_kind
      implicit none
      integer(atomic_int_kind), save :: cell[*]
      integer(atomic_int_kind) :: old
      integer, allocatable :: a(:)[:]
      integer :: me, n, x, y, z(3), w
      me = this_image()
      n = num_images()
      allocate (a(3)[*])
      a = me
      x = me
      y = me
      z = me
      w = me
      cell = 0
      sync all
      call co_sum(x)
      call co_max(y, result_image=1)
      call co_min(z)
      call co_broadcast(w, source_image=1)
      call co_broadcast(z, 1)
      call atomic_add(cell[1], me)
      sync all
      call atomic_ref(old, cell[1])
      sync all
      if (me == 1) call atomic_define(cell[1], 3)
      if (me == 1) call atomic_fetch_add(cell[1], 2, old)
      if (me == 1) print *, 2 * x - n * (n + 1), y - n
      if (me == 1) print *, z, w, old, a(2)[1]
      sync all
      deallocate (a)
      end program
