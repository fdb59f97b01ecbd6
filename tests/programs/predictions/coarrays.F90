! A program of coarrays before and after a remedy, for two images.
!
!   gfortran -O1 -g -finstrument-functions -fcoarray=lib -o coarrays coarrays.F90 -lcaf_openmpi
!   mpirun -np 2 ./coarrays MODE OPERATIONS_PER_MILLISECOND
!
!   full   in each round, image 2 computes for 30 ms in its second stage, and image 1 for 10 ms
!   half   the second stage takes half as long
module parts
  use iso_fortran_env, only: int64, real64
  implicit none
  integer(int64) :: operations_per_millisecond
  real(real64), volatile :: sink = 0
contains
  subroutine work(milliseconds)
    real(real64), intent(in) :: milliseconds
    integer(int64) :: i
    real(real64) :: x
    x = sink
    do i = 1, int(milliseconds * operations_per_millisecond, int64)
      x = x * 0.999_real64 + 1
    end do
    sink = x
  end subroutine

  subroutine first_stage() bind(c, name='first_stage')
    call work(10.0_real64)
  end subroutine

  subroutine second_stage(factor) bind(c, name='second_stage')
    real(real64), intent(in), value :: factor
    call work(factor * merge(10.0_real64, 30.0_real64, this_image() == 1))
  end subroutine
end module

program coarrays
  use parts
  implicit none
  integer :: inbox[*], round
  integer(int64) :: begin, end, rate
  character(len=32) :: mode, number
  call get_command_argument(1, mode)
  call get_command_argument(2, number)
  read (number, *) operations_per_millisecond
  sync all
  call system_clock(begin, rate)
  do round = 1, 40
    call first_stage()
    inbox[3 - this_image()] = round
    sync all
    call second_stage(merge(0.5_real64, 1.0_real64, mode == 'half'))
    sync all
  end do
  call system_clock(end)
  if (this_image() == 1) print '(a, f0.6)', 'seconds ', real(end - begin, real64) / real(rate, real64)
end program
