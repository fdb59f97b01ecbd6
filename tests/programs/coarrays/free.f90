! Free form: long lines, continued strings, ampersands on both lines, comments between continuation lines.
program free
  implicit none
  integer, save :: a(4)[*]; integer :: me, k, v(4)
  character(60) :: text
  me = this_image(); k = modulo(me, num_images()) + 1
  a = me; sync all; v(1) = a(1)[k]; v(2) = a(2)[k]
  v(3) = &
    ! a(1)[k]
    a(3)[ &

    & k] + a(&
    &1)[1]
  text = 'it''s a(1)[&
    &k] & "more"' // " and 'b[2]'"
  if (a(1)[k] == k) &
    v(4) = a(4)[k]
  if (me == 1) &
    & v(4) = v(4) + a(4)[k]
  sync all
  if (me == 1) print *, v, text
end program free
