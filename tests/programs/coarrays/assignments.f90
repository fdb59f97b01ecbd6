! Remote reads and writes in assignments: one, several, nested in expressions, from one image to another.
      program assignments
      implicit none
      integer, save :: a(10)[*], b(10)[*], s[*]
      integer(8), save :: wide(10)[*]
      real(8), save :: x(4, 5)[*]
      integer :: me, k, n, v(10), i
      me = this_image()
      n = num_images()
      k = modulo(me, n) + 1
      a = [(100 * me + i, i = 1, 10)]
      b = -a
      s = me
      x = me
      wide = me
      sync all
      v = a(:)[k]
      v(1:5) = a(1:9:2)[k]
      v(6) = 1 + a(2)[k] * 2 - b(3)[k]
      s[k] = 7 * me
      sync all
      a(me)[k] = me
      x(2, ::2)[k] = 2.5d0
      sync all
      v(7) = s + a(k)
      v(8) = a(1)[k] + a(2)[1] + b(3)[n]
      v(9) = a(1)[k]; v(10) = a(2)[k]
      sync all
      b(1:3)[k] = a(4:6)[1]
      wide(2:4)[k] = a(7:9)[1]
      sync all
      if (me == 1) print *, v, s, sum(x), sum(b), sum(wide)
      end program
