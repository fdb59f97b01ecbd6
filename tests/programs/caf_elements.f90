! Every image adds the transposed block of each image to its own matrix. The runtime fetches such a block element by
! element, with three calls of MPI for each.
!
!   caf_elements [--time] SIZE ROUNDS
!
! Built by gfortran -O2 -g -fcoarray=lib caf_elements.f90 -lcaf_openmpi. It prints the sum of the matrix of the first
! image, and with --time the seconds of all rounds.
program caf_elements
  use iso_fortran_env, only: error_unit, int64, real64
  implicit none
  integer :: size, rounds, round, q, me, width, first
  real(real64), allocatable :: a(:, :)[:], b(:, :)
  integer(int64) :: began, ended, rate
  character(16) :: text
  call get_command_argument(1, text)
  first = merge(2, 1, text == '--time')
  call get_command_argument(first, text)
  read (text, *) size
  call get_command_argument(first + 1, text)
  read (text, *) rounds
  me = this_image()
  width = size / num_images()
  allocate (a(size, width)[*], b(size, width))
  a = real(me, real64)
  b = 0
  sync all
  call system_clock(began, rate)
  do round = 1, rounds
    do q = 1, num_images()
      b((q - 1) * width + 1:q * width, :) = b((q - 1) * width + 1:q * width, :) &
        + transpose(a((me - 1) * width + 1:me * width, :)[q])
    end do
    sync all
  end do
  call system_clock(ended)
  if (me == 1) print '(a, i0)', 'sum ', nint(sum(b), int64)
  if (me == 1 .and. first == 2) write (error_unit, '(a, f0.6)') 'time 0', real(ended - began, real64) / rate
end program
