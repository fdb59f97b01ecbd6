! Teams: images are numbered in the current one, and each team has barriers and collectives of its own.
      program teams
      use, intrinsic :: iso_fortran_env, only: team_type
      implicit none
      type(team_type) :: half
      integer, save :: a(4)[*]
      integer :: me, n, k, v, total
      me = this_image()
      n = num_images()
      a = 10 * me
      v = 0
      sync all
      form team (1 + mod(me, 2), half)
      change team (half)
      k = modulo(this_image(), num_images()) + 1
      v = a(1)[k]
      total = this_image()
      call co_sum(total)
      sync all
      a(2)[k] = v
      end team
      sync team (half)
      sync all
      v = v + a(2)[modulo(me, n) + 1]
      if (me == 1) print *, v, total
      end program
