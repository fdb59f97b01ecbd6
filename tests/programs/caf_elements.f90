! Every image adds the transposed block of each image to its own matrix. The runtime fetches such a block element by
! element, with three calls of MPI for each. With --packed, each image copies its blocks into contiguous memory first, and
! the runtime fetches a block with one call: into an array of explicit shape, because into an allocatable one it fetches
! element by element, too.
!
!   caf_elements [--time] [--packed] SIZE ROUNDS
!
! Built by gfortran -O2 -g -fcoarray=lib caf_elements.f90 -lcaf_openmpi. It prints the sum of the matrix of the first
! image, and with --time the seconds of all rounds.
program caf_elements
  use iso_fortran_env, only: error_unit, int64, real64
  implicit none
  integer :: size, rounds, round, q, me, width, first
  logical :: is_timed, is_packed
  real(real64), allocatable :: a(:, :)[:], b(:, :), packed(:, :, :)[:], block(:, :)
  integer(int64) :: began, ended, rate
  character(16) :: text
  is_timed = .false.
  is_packed = .false.
  first = 1
  do
    call get_command_argument(first, text)
    if (text == '--time') then
      is_timed = .true.
    else if (text == '--packed') then
      is_packed = .true.
    else
      exit
    end if
    first = first + 1
  end do
  read (text, *) size
  call get_command_argument(first + 1, text)
  read (text, *) rounds
  me = this_image()
  width = size / num_images()
  allocate (a(size, width)[*], b(size, width))
  if (is_packed) allocate (packed(width, width, num_images())[*], block(width, width))
  a = real(me, real64)
  b = 0
  sync all
  call system_clock(began, rate)
  do round = 1, rounds
    if (is_packed) then
      do q = 1, num_images()
        packed(:, :, q) = a((q - 1) * width + 1:q * width, :)
      end do
      sync all
    end if
    do q = 1, num_images()
      if (is_packed) then
        call fetch(block, width)
        b((q - 1) * width + 1:q * width, :) = b((q - 1) * width + 1:q * width, :) + transpose(block)
      else
        b((q - 1) * width + 1:q * width, :) = b((q - 1) * width + 1:q * width, :) &
          + transpose(a((me - 1) * width + 1:me * width, :)[q])
      end if
    end do
    sync all
  end do
  call system_clock(ended)
  if (me == 1) print '(a, i0)', 'sum ', nint(sum(b), int64)
  if (me == 1 .and. is_timed) write (error_unit, '(a, f0.6)') 'time 0', real(ended - began, real64) / rate
contains
  subroutine fetch(into, width)
    integer, intent(in) :: width
    real(real64), intent(out) :: into(width, width)
    into = packed(:, :, me)[q]
  end subroutine
end program
