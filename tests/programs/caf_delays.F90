! Waits of known length: image 1 is late by DELAY milliseconds, image 2 waits for it.
!
!   gfortran -g -fcoarray=lib -fno-inline -ffree-line-length-none caf_delays.F90 caf_delays.c -lcaf_openmpi
!   mpirun -np 2 ./a.out DELAY MODE...
!
! MODE          image 2 waits in        until image 1
!   sync_all    sync all                does so too
!   sync_images sync images (1)         does so too
!   event       event wait              posts it
!   lock        lock                    unlocks
!   broadcast   co_broadcast from 1     enters it
!   total       co_sum                  enters it too
!   get         = cell[1]               synchronises, if the transport needs it
!
! With three images, image 3 is late and image 2 waits for it:
!   subset      sync all                does so too; images 1 and 2 called sync images before it, image 3 did not
!
! What happens when is in caf_delays.c; here is what only Fortran can say.
module waits
  use, intrinsic :: iso_fortran_env, only: event_type, lock_type
  implicit none
  integer, save :: cell[*]
  type(lock_type), save :: gate[*]
  type(event_type), save :: bell[*]
contains
#define ROUND(name, call) subroutine name() bind(C); call; end subroutine
#define WAIT(mode, call) ROUND(mode/**/_0, call); ROUND(mode/**/_1, call); ROUND(mode/**/_2, call); ROUND(mode/**/_3, call); ROUND(mode/**/_4, call)
WAIT(sync_all, sync all)
WAIT(sync_images, sync images (3 - this_image()))
WAIT(event, event wait (bell))
WAIT(lock, lock (gate[1]))
WAIT(broadcast, call co_broadcast(cell, source_image=1))
WAIT(total, call co_sum(cell))
WAIT(get, cell = cell[1])
WAIT(subset, sync all)
  ROUND(caf_barrier, sync all)
  ROUND(caf_pair, sync images (3 - this_image()))
  ROUND(caf_get, cell = cell[1])
  ROUND(caf_post, event post (bell[2]))
  ROUND(caf_lock, lock (gate[1]))
  ROUND(caf_unlock, unlock (gate[1]))
end module waits

program caf_delays
  use waits
  implicit none
  interface
    subroutine delays(image, images) bind(C)
      use, intrinsic :: iso_c_binding, only: c_int
      integer(c_int), value :: image, images
    end subroutine delays
  end interface
  cell = this_image()
  call delays(this_image(), num_images())
end program caf_delays
