! Coarrays of derived types, components of coarrays, and coarrays that are components.
      program components
      implicit none
      type inner
      integer :: i
      real(8) :: r(3)
      end type
      type outer
      integer :: n
      type(inner) :: part
      real(8), allocatable :: d(:)
      end type
      type holder
      real(8), allocatable :: q(:)[:]
      end type
      type(outer), save :: x[*]
      type(holder) :: h
      integer :: me, k, i
      real(8) :: v(4)
      me = this_image()
      k = modulo(me, num_images()) + 1
      x%n = me
      x%part%i = 10 * me
      x%part%r = [1, 2, 3] * me
      allocate(x%d(4))
      x%d = me
      allocate(h%q(4)[*])
      h%q = [(i * me, i = 1, 4)]
      sync all
      i = x[k]%n
      v = x[k]%d(:)
      v(1) = h%q(3)[k]
      v(2:3) = h%q(1:2)[k]
      h%q(4)[k] = 44
      x[k]%n = 3
      sync all
      i = i + x%n
      i = i + x[k]%part%i
      v(4) = v(4) + x[k]%part%r(2)
      if (me == 1) print *, i, v, h%q(4)
      end program
