! What one coarray access costs: image 1 gets and puts a number K times in a row.
!
!   gfortran -O2 -g -fcoarray=lib -o caf_overhead caf_overhead.f90 -lcaf_openmpi
!   mpirun -np 2 ./caf_overhead [K [ROUNDS]]        (default 200000 and 5)
!
! Image 1 prints, for each round and each case, one line with the CPU time of the process in nanoseconds per access:
!
!   coarray-get 285.12
!
! Run with and without a tool; the difference is what the tool adds. It includes the calls of MPI that an access makes.
! Image 2 waits in `sync all`.
program caf_overhead
  use, intrinsic :: iso_fortran_env, only: int64
  implicit none
  real(8), save :: remote[*]
  real(8) :: local, began, ended
  integer(int64) :: k, rounds, round, at
  remote = this_image()
  k = argument(1, 200000_int64)
  rounds = argument(2, 5_int64)
  if (num_images() /= 2) error stop 'caf_overhead: needs 2 images'
  sync all
  if (this_image() == 1) then
    do round = 1, rounds
      call cpu_time(began)
      do at = 1, k
        local = remote[2]
      end do
      call cpu_time(ended)
      if (local /= 2) error stop 'caf_overhead: a wrong number'
      print '(a,f0.2)', 'coarray-get ', 1e9 * (ended - began) / k
      call cpu_time(began)
      do at = 1, k
        remote[2] = local
      end do
      call cpu_time(ended)
      print '(a,f0.2)', 'coarray-put ', 1e9 * (ended - began) / k
    end do
  end if
  sync all

contains

  integer(int64) function argument(number, default)
    integer, intent(in) :: number
    integer(int64), intent(in) :: default
    character(32) :: text
    argument = default
    if (command_argument_count() < number) return
    call get_command_argument(number, text)
    read (text, *) argument
  end function argument
end program caf_overhead
