! 1,000 iterations with coarrays. The last image computes 2.1 times as long from the 700th on.
program iterations
  implicit none
  integer, parameter :: all = 1000, changed = 700
  integer :: iteration, next
  integer :: word[*]
  real :: begin, now, length

  next = mod(this_image(), num_images()) + 1
  sync all
  do iteration = 1, all
    length = 200e-6
    if (this_image() == num_images() .and. iteration >= changed) length = 420e-6
    call cpu_time(begin)
    do
      call cpu_time(now)
      if (now - begin >= length) exit
    end do
    word[next] = iteration
    sync all
  end do
end program iterations
