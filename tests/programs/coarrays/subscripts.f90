! Cosubscripts of several dimensions, vectors, expressions with functions of the program.
      program subscripts
      implicit none
      integer, save :: a(6)[0:1, *], c(3)[2:*]
      integer :: me, n, v(6), idx(3), nbr(4), i
      integer :: evaluations = 0
      me = this_image()
      n = num_images()
      a = [(10 * me + i, i = 1, 6)]
      c = me
      idx = [1, 3, 6]
      nbr = n
      sync all
      v(1) = a(1)[0, 1]
      v(2) = a(2)[mod(n - 1, 2), (n + 1) / 2]
      v(3:5) = a(idx)[0, 1]
      v(6) = c(idx(1))[nbr(idx(2)) + 1]
      c([1, 2])[2] = [5, 6]
      sync all
      if (me == 1) print *, v, c
      v(1) = a(next())[0, 1]
      v(2) = c(1)[next()]
      if (n >= 2 .and. me <= 2) then
      sync images (next() + 1 - me)
      end if
      if (me == 1) print *, v, evaluations
      contains
      integer function next()
      evaluations = evaluations + 1
      next = 2
      end function
      end program
