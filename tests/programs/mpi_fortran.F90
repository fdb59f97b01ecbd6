! Messages, collectives and one-sided operations from Fortran, with counts of its own.
!
! Compiled three ways: with -DMPIF_H, -DUSE_MPI or -DUSE_MPI_F08. Each process prints lines as
! mpi_families.c does.
program mpi_fortran
#if defined(USE_MPI_F08)
  use mpi_f08
#elif defined(USE_MPI)
  use mpi
#endif
  implicit none
#if defined(MPIF_H)
  include 'mpif.h'
#endif
#if defined(USE_MPI_F08)
  type(MPI_Comm) :: world, other
  type(MPI_Request) :: requests(2), persistent
  type(MPI_Status) :: status
  type(MPI_Win) :: win
#else
  integer :: world, other
  integer :: requests(2), persistent, status(MPI_STATUS_SIZE), win
#endif
  integer :: rank, size, left, right, ierr, i, index
  logical :: flag
  double precision :: out(4), in(4), total, memory(8)
  integer :: one(64), where(64), got
  integer(kind=MPI_ADDRESS_KIND) :: bytes, place

  call MPI_Init(ierr)
  world = MPI_COMM_WORLD
  call MPI_Comm_rank(world, rank, ierr)
  call MPI_Comm_size(world, size, ierr)
  left = mod(rank + size - 1, size)
  right = mod(rank + 1, size)
  out = dble(rank + 1)
  total = 0

  if (mod(rank, 2) == 0) then
    call MPI_Send(out, 4, MPI_DOUBLE_PRECISION, right, 1, world, ierr)
    call MPI_Recv(in, 4, MPI_DOUBLE_PRECISION, left, 1, world, MPI_STATUS_IGNORE, ierr)
  else
    call MPI_Recv(in, 4, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, MPI_ANY_TAG, world, status, ierr)
    call MPI_Send(out, 4, MPI_DOUBLE_PRECISION, right, 1, world, ierr)
  end if
  total = total + sum(in)
  call MPI_Sendrecv(out, 2, MPI_DOUBLE_PRECISION, right, 2, in, 4, MPI_DOUBLE_PRECISION, left, 2, &
                    world, MPI_STATUS_IGNORE, ierr)
  total = total + sum(in)

  call MPI_Irecv(in, 4, MPI_DOUBLE_PRECISION, left, 3, world, requests(1), ierr)
  call MPI_Isend(out, 4, MPI_DOUBLE_PRECISION, right, 3, world, requests(2), ierr)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
  total = total + sum(in)
  call MPI_Irecv(in, 4, MPI_DOUBLE_PRECISION, left, 4, world, requests(1), ierr)
  call MPI_Isend(out, 4, MPI_DOUBLE_PRECISION, right, 4, world, requests(2), ierr)
  do i = 1, 2
    call MPI_Waitany(2, requests, index, status, ierr)
  end do
  total = total + sum(in)
  call MPI_Recv_init(in, 4, MPI_DOUBLE_PRECISION, left, 5, world, persistent, ierr)
  do i = 1, 2
    call MPI_Start(persistent, ierr)
    call MPI_Send(out, 4, MPI_DOUBLE_PRECISION, right, 5, world, ierr)
    call MPI_Wait(persistent, MPI_STATUS_IGNORE, ierr)
    total = total + sum(in)
  end do
  call MPI_Request_free(persistent, ierr)

  call MPI_Comm_split(world, mod(rank, 2), rank, other, ierr)
  call MPI_Allreduce(out, in, 4, MPI_DOUBLE_PRECISION, MPI_SUM, world, ierr)
  total = total + sum(in)
  call MPI_Allreduce(MPI_IN_PLACE, in, 4, MPI_DOUBLE_PRECISION, MPI_SUM, world, ierr)
  call MPI_Bcast(in, 4, MPI_DOUBLE_PRECISION, 0, other, ierr)
  do i = 1, size
    one(i) = 1
    where(i) = i - 1
  end do
  call MPI_Allgatherv(out, 1, MPI_DOUBLE_PRECISION, memory, one, where, MPI_DOUBLE_PRECISION, world, ierr)
  total = total + sum(memory(1:size))
  call MPI_Barrier(other, ierr)
  call MPI_Comm_free(other, ierr)

  bytes = 64
  memory = 0
  call MPI_Win_create(memory, bytes, 8, MPI_INFO_NULL, world, win, ierr)
  place = 0
  call MPI_Win_fence(0, win, ierr)
  call MPI_Put(out, 2, MPI_DOUBLE_PRECISION, right, place, 2, MPI_DOUBLE_PRECISION, win, ierr)
  call MPI_Win_fence(0, win, ierr)
  total = total + sum(memory(1:2))
  call MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win, ierr)
  call MPI_Get(in, 1, MPI_DOUBLE_PRECISION, right, place, 1, MPI_DOUBLE_PRECISION, win, ierr)
  call MPI_Win_unlock(right, win, ierr)
  total = total + in(1)
  call MPI_Barrier(world, ierr)
  call MPI_Win_free(win, ierr)

  got = 0
  call say('MPI_Init', 1, 0)
  call say('MPI_Send', 3, 96)
  call say('MPI_Recv', 1, 32)
  call say('MPI_Sendrecv', 1, 32)
  call say('MPI_Irecv', 2, 0)
  call say('MPI_Isend', 2, 64)
  call say('MPI_Waitall', 1, 32)
  call say('MPI_Waitany', 2, 32)
  call say('MPI_Recv_init', 1, 0)
  call say('MPI_Start', 2, 0)
  call say('MPI_Wait', 2, 64)
  call say('MPI_Request_free', 1, 0)
  call say('MPI_Comm_split', 1, 0)
  call say('MPI_Allreduce', 2, 128)
  call say('MPI_Bcast', 1, 32)
  call say('MPI_Allgatherv', 1, 8 + 8 * size)
  call say('MPI_Barrier', 2, 0)
  call say('MPI_Comm_free', 1, 0)
  call say('MPI_Win_create', 1, 0)
  call say('MPI_Win_fence', 2, 0)
  call say('MPI_Put', 1, 16)
  call say('MPI_Win_lock', 1, 0)
  call say('MPI_Get', 1, 8)
  call say('MPI_Win_unlock', 1, 0)
  call say('MPI_Win_free', 1, 0)
  call say('MPI_Finalize', 1, 0)
  print '(a,i0,a,f0.3)', 'pe=', rank, ' received ', total
  call MPI_Finalize(ierr)

contains

  subroutine say(name, calls, bytes)
    character(*), intent(in) :: name
    integer, intent(in) :: calls, bytes
    print '(a,i0,a,a,a,i0,a,i0)', 'count pe=', rank, ' ', name, '=', calls, ' bytes=', bytes
  end subroutine say

end program mpi_fortran
