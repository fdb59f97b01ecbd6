! Image control: synchronisation, critical constructs, locks and events.
      program control
      use, intrinsic :: iso_fortran_env, only: lock_type, event_type
      implicit none
      type(lock_type), save :: guard[*], many(2)[*]
      type(event_type), save :: arrived[*], twice(2)[*]
      integer, save :: counter[*], ticks[*]
      integer :: me, n, k, state, count
      logical :: got
      me = this_image()
      n = num_images()
      k = modulo(me, n) + 1
      counter = 0
      ticks = 0
      sync all
      critical
      counter[1] = counter[1] + 1
      end critical
      sync all (stat=state)
      sync images (*)
      if (me == 1) then
      sync images ([2])
      else if (me == 2) then
      sync images (1, stat=state)
      end if
      sync memory
      lock (guard[1])
      ticks[1] = ticks[1] + 1
      unlock (guard[1])
      got = .false.
      do while (.not. got)
      lock (many(2)[1], acquired_lock=got, stat=state)
      end do
      ticks[1] = ticks[1] + 1
      unlock (many(2)[1], stat=state)
      event post (arrived[k])
      event wait (arrived)
      event post (twice(2)[k])
      event post (twice(2)[k])
      event wait (twice(2), until_count=2)
      call event_query(arrived, count)
      sync all; sync all
      if (me == 1) print *, counter / n, ticks / n, state, count
      end program
