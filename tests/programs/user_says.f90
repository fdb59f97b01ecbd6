! Phases, parameters and counters around calls of MPI.
program user_says
  use dwell
  use mpi
  implicit none
  integer :: rank, code, step, level
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call dwell_begin('all_steps')
  do step = 1, 3
    call dwell_phase_begin('step', step)
    do level = 0, 1
      call dwell_parameter('level', level)
      call dwell_parameter('solver  ', merge('gmres', 'cg   ', level == 0))
      call MPI_Barrier(MPI_COMM_WORLD, code)
    end do
    call dwell_counter('residual', '1', 1d0 / step)
    call dwell_counter('cells', '', 1000_8 * step)
    call dwell_phase_end('step')
  end do
  call dwell_end('all_steps')
  print '(a,i0,a)', 'count pe=', rank, ' all_steps=1 bytes=0'
  print '(a,i0,a)', 'count pe=', rank, ' step=3 bytes=0'
  print '(a,i0,a)', 'count pe=', rank, ' MPI_Barrier=6 bytes=0'
  call MPI_Finalize(code)
end program user_says
