! Remote accesses where gfortran has none: in the bodies of where and forall, and in mask expressions.
subroutine masked(a, b, k)
  integer, intent(inout) :: a(4)[*], b(4)[*]
  integer, intent(in) :: k
  integer :: i, v(4)
  where (a(:)[k] > 0)
    v = b(:)[k]
  elsewhere (b(:)[k] < 0)
    v = a(:)[k]
  end where
  where (v > 0) v = a(:)[k]
  where (v > 0) b(:)[k] = v
  forall (i = 1:4) v(i) = a(i)[k]
  forall (i = 1:4)
    v(i) = b(i)[k]
  end forall
end subroutine
