! Image selectors behind every operator, nested in each other, in array constructors and in inquiries.
subroutine selectors(a, c, x, k)
  type inner
    real :: w(3)
  end type
  type outer
    type(inner) :: z
  end type
  integer, intent(inout) :: a(4)[2, *]
  character(8), intent(inout) :: c(2)[*]
  type(outer), intent(inout) :: x[*]
  integer, intent(in) :: k
  integer :: v(4), n
  logical :: l
  real :: r
  v(1) = 1 + a(2)[1, k] - a(3)[2, k] * (-a(1)[1, k])
  l = .not. a(1)[1, 1] > 2 .and. a(2)[1, 1] == a(3)[1, 1]
  r = 2.0 + x[k]%z%w(2) ** 2
  v = [(a(n)[1, k], n = 1, 4)]
  v(1:2) = [a(1)[1, 1], a(2)[1, 1]]
  v(2) = a(a(1)[1, 1])[1, a(2)[1, 1]]
  n = size(a(:)[1, k]) + len(c(1)[k])
  c(1)[k](2:3) = c(2)[1](4:5) // 'x'
  if (a(1)[1, 1] > 0) a(1)[1, k] = a(2)[1, 1]; if (l) stop
  print *, (a(n)[1, k], n = 1, 2), [1, 2], c(:)[k]
  write (*, *) [1, 2], 'a[1]', a(1)[1, 1]
end subroutine
