! Two images that wait for each other, and know how much processor time each of their procedures took: image 2 is late in
! RELAX. With the word "balanced" nobody is.
program samples_truth
  implicit none
  integer, parameter :: rounds = 40
  real(8) :: values(512), sink, spent(2), before
  character(len=16) :: mode
  integer :: i, milliseconds
  call get_command_argument(1, mode)
  values = 0.5d0
  sink = 0
  spent = 0
  sync all
  do i = 1, rounds
    milliseconds = merge(30, 10, this_image() == 2 .and. mode /= 'balanced')
    call cpu_time(before)
    call relax(before + milliseconds / 1d3)
    call add(spent(1), before)
    call cpu_time(before)
    call flux(before + 5 / 1d3)
    call add(spent(2), before)
    sync all
  end do
  print '(i0, a, f10.6)', this_image() - 1, ' relax ', spent(1)
  print '(i0, a, f10.6)', this_image() - 1, ' flux ', spent(2)
  if (sink < -1) print *, sink
contains
  subroutine add(sum, since)
    real(8), intent(inout) :: sum
    real(8), intent(in) :: since
    real(8) :: now
    call cpu_time(now)
    sum = sum + now - since
  end subroutine

  subroutine relax(until)
    real(8), intent(in) :: until
    real(8) :: now
    integer :: k
    do
      do k = 1, 500000
        sink = sink + values(mod(k, 512) + 1) * 0.5d0 ! relax
      end do
      call cpu_time(now)
      if (now >= until) exit
    end do
  end subroutine

  subroutine flux(until)
    real(8), intent(in) :: until
    real(8) :: now
    integer :: k
    do
      do k = 1, 500000
        sink = sink + values(mod(k, 512) + 1) * 0.7d0 ! flux
      end do
      call cpu_time(now)
      if (now >= until) exit
    end do
  end subroutine
end program
