! Exchange of a halo on a grid of images, by gets, with four ways to synchronise. After the Halo benchmark of
! Alan Wallcraft: the same exchange is done with ever longer halos, so that the ways can be compared.
!
!   halo [--count] [--time] [all | everyone | neighbours | events] [ROUNDS]
!
! all         sync all
! everyone    sync images (*)
! neighbours  sync images with those whose halos are exchanged
! events      a post to each of these, and a wait for as many
!
! Without a way, all four, one after the other. The sum that is printed does not depend on the way.
program halo
  use, intrinsic :: iso_fortran_env, only: error_unit, event_type, int64
  implicit none

  integer, parameter :: longest = 1024
  character(10), parameter :: ways(4) = ['all       ', 'everyone  ', 'neighbours', 'events    ']
  real(8), save :: inner_ns(3 * longest)[*], inner_ew(3 * longest)[*]
  real(8) :: outer_ns(3 * longest), outer_ew(3 * longest), total
  type(event_type), save :: arrived[*]
  integer :: north, south, west, east, rows, columns, row, column
  integer, allocatable :: neighbours(:)
  integer :: rounds, way, n, round, argument, status
  logical :: counts, times
  integer(int64) :: began, ended, rate
  integer(int64) :: gets, bytes, synchronisations(4)
  character(32) :: text, chosen

  chosen = ''
  rounds = 5
  counts = .false.
  times = .false.
  do argument = 1, command_argument_count()
    call get_command_argument(argument, text)
    if (text == '--count') then
      counts = .true.
    else if (text == '--time') then
      times = .true.
    else if (any(text == ways)) then
      chosen = text
    else
      read (text, *, iostat=status) rounds
      if (status /= 0) error stop 'usage: halo [--count] [all | everyone | neighbours | events] [ROUNDS]'
    end if
  end do

  ! The grid: as square as the number of images allows.
  rows = int(sqrt(real(num_images())))
  do while (mod(num_images(), rows) /= 0)
    rows = rows - 1
  end do
  columns = num_images() / rows
  row = (this_image() - 1) / columns
  column = mod(this_image() - 1, columns)
  north = image(row - 1, column)
  south = image(row + 1, column)
  west = image(row, column - 1)
  east = image(row, column + 1)
  neighbours = different([north, south, west, east])

  gets = 0
  bytes = 0
  synchronisations = 0
  sync all
  call system_clock(began, rate)
  total = 0
  do way = 1, size(ways)
    if (chosen /= '' .and. chosen /= ways(way)) cycle
    n = 2
    do while (n <= longest)
      outer_ew = this_image()
      do round = 1, rounds
        call exchange(n, way)
      end do
      total = total + sum(outer_ew(1:3 * n))
      n = 2 * n
    end do
    sync all
  end do
  call system_clock(ended)
  if (times .and. this_image() == 1) write (error_unit, '(a,f0.6)') 'time 0', real(ended - began, 8) / rate
  call co_sum(total, result_image=1)
  if (this_image() == 1) print '(a,f0.1)', 'halo: sum ', total
  if (counts) then
    call say('_gfortran_caf_get', gets, bytes)
    call say('_gfortran_caf_sync_images', synchronisations(2) + synchronisations(3), 0_int64)
    call say('_gfortran_caf_event_wait', synchronisations(4), 0_int64)
    call say('_gfortran_caf_event_post', synchronisations(4) * size(neighbours), 0_int64)
  end if

contains

  integer function image(row, column)
    integer, intent(in) :: row, column
    image = modulo(row, rows) * columns + modulo(column, columns) + 1
  end function image

  ! Each once, and without this image.
  function different(list) result(set)
    integer, intent(in) :: list(:)
    integer, allocatable :: set(:)
    integer :: at
    allocate (set(0))
    do at = 1, size(list)
      if (list(at) /= this_image() .and. .not. any(set == list(at))) set = [set, list(at)]
    end do
  end function different

  subroutine exchange(n, way)
    integer, intent(in) :: n, way
    inner_ns(1:3 * n) = outer_ew(1:3 * n)
    call synchronise(way)
    outer_ns(1:n) = inner_ns(1:n)[north]
    outer_ns(n + 1:3 * n) = inner_ns(n + 1:3 * n)[south]
    call synchronise(way)
    inner_ew(1:3 * n) = outer_ns(1:3 * n)
    call synchronise(way)
    outer_ew(1:n) = inner_ew(1:n)[west]
    outer_ew(n + 1:3 * n) = inner_ew(n + 1:3 * n)[east]
    call synchronise(way)
    gets = gets + 4
    bytes = bytes + 8 * 6 * n
  end subroutine exchange

  subroutine synchronise(way)
    integer, intent(in) :: way
    integer :: at
    synchronisations(way) = synchronisations(way) + 1
    select case (way)
    case (1)
      sync all
    case (2)
      sync images (*)
    case (3)
      sync images (neighbours)
    case (4)
      do at = 1, size(neighbours)
        event post (arrived[neighbours(at)])
      end do
      event wait (arrived, until_count=size(neighbours))
    end select
  end subroutine synchronise

  subroutine say(name, calls, bytes)
    character(*), intent(in) :: name
    integer(int64), intent(in) :: calls, bytes
    if (calls > 0) print '(a,i0,3a,i0,a,i0)', 'count pe=', this_image() - 1, ' ', name, '=', calls, &
      ' bytes=', bytes
  end subroutine say

end program halo
