! Remote reads as arguments and as items of output lists, with implied loops.
      program lists
      implicit none
      integer, save :: a(4)[*]
      integer :: me, k, i, total
      character(80) :: text
      me = this_image()
      k = modulo(me, num_images()) + 1
      a = [(10 * me + i, i = 1, 4)]
      total = 0
      sync all
      call add(a(1)[k])
      call add(a(2)[k] + a(3)[1])
      total = total + twice(a(4)[k])
      write (text, '(4i5)') a(1)[1], (a(i)[1], i = 2, 3), a(4)[k]
      if (me == 1) print *, total, trim(text)
      if (me == 1) write (*, '(2i4)') [1, 2]
      if (me == 1) print *, a(1)[1]
      contains
      subroutine add(x)
      integer, intent(in) :: x
      total = total + x
      end subroutine
      integer function twice(x)
      integer, intent(in) :: x
      twice = 2 * x + a(1)[1]
      end function
      end program
