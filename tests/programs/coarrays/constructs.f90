! Accesses inside associate, block, select and do concurrent, and in pure procedures.
      program constructs
      implicit none
      integer, save :: a(4)[*], b(4)[*]
      integer :: me, k, v(4), i, total
      me = this_image()
      k = modulo(me, num_images()) + 1
      a = [(10 + i, i = 1, 4)]
      b = 2 * a
      v = 0
      sync all
      associate (other => k)
      v(1) = a(1)[other]
      end associate
      block
      integer :: local
      local = a(2)[k]
      v(2) = local
      end block
      outer: do i = 1, 2
      inner: select case (i)
      case (1)
      v(3) = a(3)[k]
      case default
      if (a(4)[k] < 0) cycle outer
      v(4) = v(4) + a(4)[k]
      end select inner
      end do outer
      total = remote(k)
      do concurrent (i = 1:2)
      v(i) = v(i) + a(i)[k]
      end do
      if (me == 1) print *, v, total, b
      contains
      pure integer function remote(image)
      integer, intent(in) :: image
      remote = b(1)[image] + a(1)[image]
      end function
      end program
