! Remote reads in conditions: of one-line and other ifs, of loops, and in the action of an if.
      program conditions
      implicit none
      integer, save :: flag[*], a(4)[*]
      integer :: me, k, n, i, count
      me = this_image()
      n = num_images()
      k = modulo(me, n) + 1
      flag = 0
      a = me
      count = 0
      sync all
      if (a(1)[k] /= k) error stop 'wrong value'
      if (a(1)[k] == k .and. a(2)[1] == 1) count = count + 1
      if (me == 1) flag[n] = 5
      if (me == 1) a(2) = a(3)[k]
      if (a(1)[k] == k) a(4)[k] = a(3)[1]
      sync all
      if (a(1)[k] == -1) then
      count = -1
      else if (a(1)[1] == 1) then
      count = count + 1
      else if (a(1)[k] == -2) then
      count = -2
      end if
      i = 0
      do while (i < a(1)[k])
      i = i + 1
      end do
      do i = 1, a(1)[k]
      count = count + 1
      end do
      select case (a(3)[1])
      case (1)
      count = count + 10
      case default
      count = -3
      end select
      do 20 i = 1, 2
      if (a(1)[k] == -1) goto 30
20    count = count + 1
30    continue
      if (me == 1) print *, count, a, flag[n]
      end program
