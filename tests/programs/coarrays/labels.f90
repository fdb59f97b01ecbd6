! Labels, several statements on a line, variables named as keywords, strings and comments that look like accesses.
      program labels
      implicit none
      integer, save :: a(4)[*]
      integer :: me, k, v(4), i, if, lock
      character(20) :: text
      me = this_image(); k = modulo(me, num_images()) + 1; a = me
      sync all
      goto 10
      v(1) = -1
10    v(1) = a(1)[k]
20    if (v(1) /= k) v(1) = a(2)[k]
      text = 'a(1)[k] ! no comment'
      v(2) = a(2)[k] ! sync all
      i = 0
30    i = i + a(3)[1]; if (i < 3) goto 30; v(3) = a(3)[k]
      do 40 i = 1, 3
      v(4) = a(4)[k]
40    continue
      if = 3
      lock = 4
      v(4) = v(4) + a(1)[                                               &
     & k] + if + lock
      if (me == 1) print *, v, text
      end program
