module halo
  use iso_c_binding
  implicit none
  integer, volatile :: sink = 0
  interface
    subroutine probe(label) bind(c)
      import :: c_char
      character(kind=c_char), intent(in) :: label(*)
    end subroutine
  end interface
contains
  subroutine exchange(n)
    integer, intent(in) :: n
    sink = sink + n
    call probe("module" // c_null_char) ! @exchange
    sink = sink - n
  end subroutine
end module

subroutine outside()
  use halo
  sink = sink + 1
  call probe("outside" // c_null_char) ! @outside
  sink = sink + 1
end subroutine

program solver
  use halo
  call exchange(3)
  call outside()
  call within()
  sink = sink + 1
  call probe("main" // c_null_char) ! @main
  sink = sink + 1
contains
  subroutine within()
    sink = sink + 1
    call probe("internal" // c_null_char) ! @within
    sink = sink + 1
  end subroutine
end program
