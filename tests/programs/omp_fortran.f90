! OpenMP and MPI from Fortran: every process says how often its threads made which call, and its results.
program omp_fortran
  use mpi
  use omp_lib
  implicit none
  integer, parameter :: rounds = 4, threads = 3, n = 50
  integer :: me, all, ierr, provided, round, i
  integer(kind=omp_lock_kind) :: lock
  integer(kind=8) :: total, done

  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, all, ierr)
  call omp_set_dynamic(.false.)
  call omp_init_lock(lock)
  total = 0
  done = 0
  do round = 1, rounds
    !$omp parallel do num_threads(threads) schedule(dynamic, 5)
    do i = 1, n
      !$omp atomic
      total = total + i
    end do
    !$omp end parallel do
    !$omp parallel num_threads(threads)
    ! Without the lock and the barriers below, the sum would not be the same each time.
    call omp_set_lock(lock)
    total = total + 1
    call omp_unset_lock(lock)
    !$omp barrier
    !$omp single
    do i = 1, n
      !$omp task firstprivate(i)
      !$omp atomic
      done = done + i
      !$omp end task
    end do
    !$omp end single nowait
    !$omp workshare
    total = total + 2
    !$omp end workshare
    !$omp end parallel
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER8, MPI_MAX, MPI_COMM_WORLD, ierr)
  end do
  write (*, '(a,i0,a,i0)') 'count ', me, ' GOMP_parallel ', rounds * threads
  write (*, '(a,i0,a,i0)') 'count ', me, ' GOMP_parallel_loop_nonmonotonic_dynamic ', rounds * threads
  ! The barrier, and the one at the end of workshare, of which GCC makes a single region.
  write (*, '(a,i0,a,i0)') 'count ', me, ' GOMP_barrier ', 2 * rounds * threads
  write (*, '(a,i0,a,i0)') 'count ', me, ' GOMP_single_start ', 2 * rounds * threads
  write (*, '(a,i0,a,i0)') 'count ', me, ' implicit barrier ', 2 * rounds * threads
  write (*, '(a,i0,a,i0)') 'count ', me, ' omp_set_lock_ ', rounds * threads
  write (*, '(a,i0,a,i0)') 'count ', me, ' omp_unset_lock_ ', rounds * threads
  write (*, '(a,i0,a,i0)') 'count ', me, ' GOMP_task ', rounds * n
  write (*, '(a,i0,a,i0)') 'count ', me, ' body ', rounds * (2 * threads + n)
  write (*, '(a,i0,a,i0,a,i0,1x,i0)') 'result ', me, ' of ', all, ': ', total, done
  call MPI_Finalize(ierr)
end program
