! Calls one function of each OpenSHMEM family from Fortran, through
! iso_c_binding because Open MPI's Debian build has no Fortran entry points.
! Every result is checked, and every call counted with its bytes.
!
!   gfortran -O2 -g -o families_f families.f90 $(oshcc --showme:link)
!   oshrun -np 4 ./families_f
!
! Prints "families_f ok" and lines "count pe=0 shmem_long_put=1 bytes=16" as
! the C programs do (examples/common/count.h says which bytes), exit code 0;
! or what was wrong, and exit code 1. Needs at least 2 PEs.
module shmem_c
  use iso_c_binding
  implicit none

  interface
    subroutine shmem_init() bind(C, name="shmem_init")
    end subroutine
    subroutine shmem_finalize() bind(C, name="shmem_finalize")
    end subroutine
    subroutine shmem_global_exit(status) bind(C, name="shmem_global_exit")
      import; integer(c_int), value :: status
    end subroutine
    integer(c_int) function shmem_my_pe() bind(C, name="shmem_my_pe")
      import
    end function
    integer(c_int) function shmem_n_pes() bind(C, name="shmem_n_pes")
      import
    end function
    integer(c_int) function shmem_pe_accessible(pe) bind(C, name="shmem_pe_accessible")
      import; integer(c_int), value :: pe
    end function
    subroutine shmem_barrier_all() bind(C, name="shmem_barrier_all")
    end subroutine
    subroutine shmem_sync_all() bind(C, name="shmem_sync_all")
    end subroutine
    subroutine shmem_fence() bind(C, name="shmem_fence")
    end subroutine
    subroutine shmem_quiet() bind(C, name="shmem_quiet")
    end subroutine
    type(c_ptr) function shmem_malloc(bytes) bind(C, name="shmem_malloc")
      import; integer(c_size_t), value :: bytes
    end function
    type(c_ptr) function shmem_calloc(n, bytes) bind(C, name="shmem_calloc")
      import; integer(c_size_t), value :: n, bytes
    end function
    subroutine shmem_free(p) bind(C, name="shmem_free")
      import; type(c_ptr), value :: p
    end subroutine
    type(c_ptr) function shmem_ptr(p, pe) bind(C, name="shmem_ptr")
      import; type(c_ptr), value :: p; integer(c_int), value :: pe
    end function
    subroutine shmem_long_p(t, v, pe) bind(C, name="shmem_long_p")
      import; type(c_ptr), value :: t; integer(c_long), value :: v
      integer(c_int), value :: pe
    end subroutine
    integer(c_long) function shmem_long_g(s, pe) bind(C, name="shmem_long_g")
      import; type(c_ptr), value :: s; integer(c_int), value :: pe
    end function
    subroutine shmem_long_put(t, s, n, pe) bind(C, name="shmem_long_put")
      import; type(c_ptr), value :: t, s; integer(c_size_t), value :: n
      integer(c_int), value :: pe
    end subroutine
    subroutine shmem_long_get(t, s, n, pe) bind(C, name="shmem_long_get")
      import; type(c_ptr), value :: t, s; integer(c_size_t), value :: n
      integer(c_int), value :: pe
    end subroutine
    subroutine shmem_put64_nbi(t, s, n, pe) bind(C, name="shmem_put64_nbi")
      import; type(c_ptr), value :: t, s; integer(c_size_t), value :: n
      integer(c_int), value :: pe
    end subroutine
    subroutine shmem_getmem_nbi(t, s, n, pe) bind(C, name="shmem_getmem_nbi")
      import; type(c_ptr), value :: t, s; integer(c_size_t), value :: n
      integer(c_int), value :: pe
    end subroutine
    subroutine shmem_putmem(t, s, n, pe) bind(C, name="shmem_putmem")
      import; type(c_ptr), value :: t, s; integer(c_size_t), value :: n
      integer(c_int), value :: pe
    end subroutine
    subroutine shmem_getmem(t, s, n, pe) bind(C, name="shmem_getmem")
      import; type(c_ptr), value :: t, s; integer(c_size_t), value :: n
      integer(c_int), value :: pe
    end subroutine
    subroutine shmem_long_iput(t, s, tst, sst, n, pe) bind(C, name="shmem_long_iput")
      import; type(c_ptr), value :: t, s; integer(c_ptrdiff_t), value :: tst, sst
      integer(c_size_t), value :: n; integer(c_int), value :: pe
    end subroutine
    subroutine shmem_long_iget(t, s, tst, sst, n, pe) bind(C, name="shmem_long_iget")
      import; type(c_ptr), value :: t, s; integer(c_ptrdiff_t), value :: tst, sst
      integer(c_size_t), value :: n; integer(c_int), value :: pe
    end subroutine
    integer(c_int) function shmem_ctx_create(options, ctx) bind(C, name="shmem_ctx_create")
      import; integer(c_long), value :: options; type(c_ptr) :: ctx
    end function
    subroutine shmem_ctx_destroy(ctx) bind(C, name="shmem_ctx_destroy")
      import; type(c_ptr), value :: ctx
    end subroutine
    subroutine shmem_ctx_quiet(ctx) bind(C, name="shmem_ctx_quiet")
      import; type(c_ptr), value :: ctx
    end subroutine
    subroutine shmem_ctx_long_p(ctx, t, v, pe) bind(C, name="shmem_ctx_long_p")
      import; type(c_ptr), value :: ctx, t; integer(c_long), value :: v
      integer(c_int), value :: pe
    end subroutine
    subroutine shmem_long_atomic_add(t, v, pe) bind(C, name="shmem_long_atomic_add")
      import; type(c_ptr), value :: t; integer(c_long), value :: v
      integer(c_int), value :: pe
    end subroutine
    integer(c_long) function shmem_long_atomic_fetch_add(t, v, pe) &
        bind(C, name="shmem_long_atomic_fetch_add")
      import; type(c_ptr), value :: t; integer(c_long), value :: v
      integer(c_int), value :: pe
    end function
    integer(c_long) function shmem_long_atomic_swap(t, v, pe) &
        bind(C, name="shmem_long_atomic_swap")
      import; type(c_ptr), value :: t; integer(c_long), value :: v
      integer(c_int), value :: pe
    end function
    integer(c_long) function shmem_long_atomic_compare_swap(t, c, v, pe) &
        bind(C, name="shmem_long_atomic_compare_swap")
      import; type(c_ptr), value :: t; integer(c_long), value :: c, v
      integer(c_int), value :: pe
    end function
    subroutine shmem_long_atomic_xor(t, v, pe) bind(C, name="shmem_long_atomic_xor")
      import; type(c_ptr), value :: t; integer(c_long), value :: v
      integer(c_int), value :: pe
    end subroutine
    integer(c_long) function shmem_long_fadd(t, v, pe) bind(C, name="shmem_long_fadd")
      import; type(c_ptr), value :: t; integer(c_long), value :: v
      integer(c_int), value :: pe
    end function
    subroutine shmem_long_wait_until(p, cmp, v) bind(C, name="shmem_long_wait_until")
      import; type(c_ptr), value :: p; integer(c_int), value :: cmp
      integer(c_long), value :: v
    end subroutine
    integer(c_int) function shmem_long_test(p, cmp, v) bind(C, name="shmem_long_test")
      import; type(c_ptr), value :: p; integer(c_int), value :: cmp
      integer(c_long), value :: v
    end function
    subroutine shmem_long_sum_to_all(t, s, n, start, stride, size, wrk, sync) &
        bind(C, name="shmem_long_sum_to_all")
      import; type(c_ptr), value :: t, s, wrk, sync
      integer(c_int), value :: n, start, stride, size
    end subroutine
    subroutine shmem_broadcast64(t, s, n, root, start, stride, size, sync) &
        bind(C, name="shmem_broadcast64")
      import; type(c_ptr), value :: t, s, sync; integer(c_size_t), value :: n
      integer(c_int), value :: root, start, stride, size
    end subroutine
    subroutine shmem_fcollect64(t, s, n, start, stride, size, sync) &
        bind(C, name="shmem_fcollect64")
      import; type(c_ptr), value :: t, s, sync; integer(c_size_t), value :: n
      integer(c_int), value :: start, stride, size
    end subroutine
    subroutine shmem_collect64(t, s, n, start, stride, size, sync) &
        bind(C, name="shmem_collect64")
      import; type(c_ptr), value :: t, s, sync; integer(c_size_t), value :: n
      integer(c_int), value :: start, stride, size
    end subroutine
    subroutine shmem_alltoall64(t, s, n, start, stride, size, sync) &
        bind(C, name="shmem_alltoall64")
      import; type(c_ptr), value :: t, s, sync; integer(c_size_t), value :: n
      integer(c_int), value :: start, stride, size
    end subroutine
    subroutine shmem_barrier(start, stride, size, sync) bind(C, name="shmem_barrier")
      import; type(c_ptr), value :: sync
      integer(c_int), value :: start, stride, size
    end subroutine
    subroutine shmem_set_lock(lock) bind(C, name="shmem_set_lock")
      import; type(c_ptr), value :: lock
    end subroutine
    subroutine shmem_clear_lock(lock) bind(C, name="shmem_clear_lock")
      import; type(c_ptr), value :: lock
    end subroutine
    integer(c_int) function shmem_test_lock(lock) bind(C, name="shmem_test_lock")
      import; type(c_ptr), value :: lock
    end function
  end interface
end module shmem_c

program families
  use iso_c_binding
  use shmem_c
  implicit none

  integer, parameter :: words = 64, max_names = 64, text_bytes = 8192
  integer, parameter :: sync_value = -1, sync_size = 3
  integer(c_int), parameter :: cmp_eq = 0
  integer(c_size_t), parameter :: one = 1, two = 2

  character(len=40) :: names(max_names)
  integer(c_long) :: calls(max_names), bytes(max_names)
  integer :: used = 0
  logical :: failed = .false.

  integer(c_int) :: me, npes, next, prev
  integer(c_long), pointer :: target(:), source(:), sync1(:), sync2(:), lock(:)
  type(c_ptr) :: target_p, source_p, work_p, sync1_p, sync2_p, lock_p, text_p, ctx

  call set_up()
  call transfers()
  call atomics()
  call waits()
  call collectives()
  call locks()
  call tear_down()

contains

  ! Counts a call before it is made.
  subroutine count(name, n)
    character(len=*), intent(in) :: name
    integer, intent(in) :: n
    call count_many(name, 1, n)
  end subroutine

  subroutine count_many(name, times, n)
    character(len=*), intent(in) :: name
    integer, intent(in) :: times, n
    integer :: i
    do i = 1, used
      if (names(i) == name) exit
    end do
    if (i > used) then
      used = i
      names(i) = name
      calls(i) = 0
      bytes(i) = 0
    end if
    calls(i) = calls(i) + times
    bytes(i) = bytes(i) + n
  end subroutine

  subroutine check(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (good) return
    write (0, '(a,i0,2a)') 'families_f: PE ', me, ': wrong: ', what
    failed = .true.
  end subroutine

  ! The address of word i of a symmetric array that starts at p.
  type(c_ptr) function at(p, i)
    type(c_ptr), intent(in) :: p
    integer, intent(in) :: i
    at = transfer(transfer(p, 0_c_intptr_t) + 8_c_intptr_t * i, p)
  end function

  subroutine barrier()
    call count('shmem_barrier_all', 0)
    call shmem_barrier_all()
  end subroutine

  type(c_ptr) function symmetric(n)
    integer, intent(in) :: n
    call count('shmem_calloc', 8 * n)
    symmetric = shmem_calloc(int(n, c_size_t), 8_c_size_t)
  end function

  subroutine fresh()
    integer :: i
    call barrier()
    target = 0
    source = [(me * 100 + i, i = 1, words)]
    call barrier()
  end subroutine

  subroutine set_up()
    call count('shmem_init', 0)
    call shmem_init()
    call count('shmem_my_pe', 0)
    me = shmem_my_pe()
    call count('shmem_n_pes', 0)
    npes = shmem_n_pes()
    if (npes < 2 .or. npes > words / 2) call shmem_global_exit(2)
    next = mod(me + 1, npes)
    prev = mod(me + npes - 1, npes)
    target_p = symmetric(words)
    source_p = symmetric(words)
    sync1_p = symmetric(sync_size)
    sync2_p = symmetric(sync_size)
    lock_p = symmetric(1)
    call count('shmem_malloc', 8 * words)
    work_p = shmem_malloc(int(8 * words, c_size_t))
    call c_f_pointer(target_p, target, [words])
    call c_f_pointer(source_p, source, [words])
    call c_f_pointer(sync1_p, sync1, [sync_size])
    call c_f_pointer(sync2_p, sync2, [sync_size])
    call c_f_pointer(lock_p, lock, [1])
    sync1 = sync_value
    sync2 = sync_value
    call count('shmem_pe_accessible', 0)
    call check(shmem_pe_accessible(next) == 1, 'pe_accessible')
    call count('shmem_ptr', 0)
    call check(c_associated(shmem_ptr(target_p, me), target_p), 'ptr')
  end subroutine

  subroutine transfers()
    integer(c_long), target :: got(8)
    call count('shmem_ctx_create', 0)
    call check(shmem_ctx_create(0_c_long, ctx) == 0, 'ctx_create')
    call fresh()
    call count('shmem_long_p', 8)
    call shmem_long_p(at(target_p, 0), me + 7_c_long, next)
    call count('shmem_ctx_long_p', 8)
    call shmem_ctx_long_p(ctx, at(target_p, 1), me + 8_c_long, next)
    call count('shmem_long_put', 16)
    call shmem_long_put(at(target_p, 2), source_p, two, next)
    call count('shmem_put64_nbi', 16)
    call shmem_put64_nbi(at(target_p, 4), source_p, two, next)
    call count('shmem_putmem', 16)
    call shmem_putmem(at(target_p, 6), source_p, 16_c_size_t, next)
    call count('shmem_fence', 0)
    call shmem_fence()
    call count('shmem_long_iput', 16)
    call shmem_long_iput(at(target_p, 8), source_p, 2_c_ptrdiff_t, 1_c_ptrdiff_t, two, next)
    call count('shmem_quiet', 0)
    call shmem_quiet()
    call count('shmem_ctx_quiet', 0)
    call shmem_ctx_quiet(ctx)
    call barrier()
    call check(target(1) == prev + 7 .and. target(2) == prev + 8, 'p')
    call check(all(target(3:8) == prev * 100 + [1, 2, 1, 2, 1, 2]), 'put')
    call check(target(9) == prev * 100 + 1 .and. target(11) == prev * 100 + 2, 'iput')

    call count('shmem_long_g', 8)
    got(1) = shmem_long_g(source_p, next)
    call count('shmem_long_get', 16)
    call shmem_long_get(c_loc(got(2)), source_p, two, next)
    call count('shmem_getmem_nbi', 8)
    call shmem_getmem_nbi(c_loc(got(4)), source_p, 8_c_size_t, next)
    call count('shmem_long_iget', 16)
    call shmem_long_iget(c_loc(got(5)), source_p, 1_c_ptrdiff_t, 3_c_ptrdiff_t, two, next)
    call count('shmem_quiet', 0)
    call shmem_quiet()
    call check(all(got(1:6) == next * 100 + [1, 1, 2, 1, 1, 4]), 'get')
    call barrier()
    call count('shmem_ctx_destroy', 0)
    call shmem_ctx_destroy(ctx)
  end subroutine

  subroutine atomics()
    call fresh()
    call count('shmem_long_atomic_add', 8)
    call shmem_long_atomic_add(target_p, 5_c_long, next)
    call count('shmem_quiet', 0)
    call shmem_quiet()
    call count('shmem_long_atomic_fetch_add', 16)
    call check(shmem_long_atomic_fetch_add(target_p, 2_c_long, next) == 5, 'fetch_add')
    call count('shmem_long_atomic_swap', 16)
    call check(shmem_long_atomic_swap(target_p, 9_c_long, next) == 7, 'swap')
    call count('shmem_long_atomic_compare_swap', 24)
    call check(shmem_long_atomic_compare_swap(target_p, 9_c_long, 12_c_long, next) == 9, 'cswap')
    call count('shmem_long_atomic_xor', 8)
    call shmem_long_atomic_xor(target_p, 10_c_long, next)
    call count('shmem_quiet', 0)
    call shmem_quiet()
    call count('shmem_long_fadd', 16)
    call check(shmem_long_fadd(target_p, 1_c_long, next) == 6, 'fadd')
    call barrier()
    call check(target(1) == 7, 'atomics')
  end subroutine

  subroutine waits()
    call fresh()
    call count('shmem_long_test', 0)
    call check(shmem_long_test(target_p, cmp_eq, 3_c_long) == 0, 'test')
    call barrier()
    call count('shmem_long_p', 8)
    call shmem_long_p(target_p, 3_c_long, next)
    call count('shmem_quiet', 0)
    call shmem_quiet()
    call count('shmem_long_wait_until', 0)
    call shmem_long_wait_until(target_p, cmp_eq, 3_c_long)
    call check(target(1) == 3, 'wait_until')
  end subroutine

  subroutine collectives()
    integer :: pe
    call fresh()
    call count('shmem_long_sum_to_all', 8)
    call shmem_long_sum_to_all(target_p, source_p, 1, 0, 0, npes, work_p, sync1_p)
    call check(target(1) == sum([(pe * 100 + 1, pe = 0, npes - 1)]), 'sum_to_all')
    call fresh()
    call count('shmem_broadcast64', 16)
    call shmem_broadcast64(target_p, source_p, two, 1, 0, 0, npes, sync2_p)
    if (me /= 1) call check(all(target(1:2) == [101, 102]), 'broadcast64')
    call fresh()
    call count('shmem_fcollect64', 8)
    call shmem_fcollect64(target_p, source_p, one, 0, 0, npes, sync1_p)
    call check(all(target(1:npes) == [(pe * 100 + 1, pe = 0, npes - 1)]), 'fcollect64')
    call fresh()
    call count('shmem_collect64', 8)
    call shmem_collect64(target_p, source_p, one, 0, 0, npes, sync2_p)
    call check(all(target(1:npes) == [(pe * 100 + 1, pe = 0, npes - 1)]), 'collect64')
    call fresh()
    call count('shmem_alltoall64', 8)
    call shmem_alltoall64(target_p, source_p, one, 0, 0, npes, sync1_p)
    call check(all(target(1:npes) == [(pe * 100 + me + 1, pe = 0, npes - 1)]), 'alltoall64')
    call count('shmem_barrier', 0)
    call shmem_barrier(0, 0, npes, sync2_p)
    call count('shmem_sync_all', 0)
    call shmem_sync_all()
  end subroutine

  subroutine locks()
    integer(c_long) :: value
    call fresh()
    call count('shmem_set_lock', 0)
    call shmem_set_lock(lock_p)
    call count('shmem_long_g', 8)
    value = shmem_long_g(target_p, 0)
    call count('shmem_long_p', 8)
    call shmem_long_p(target_p, value + 1, 0)
    call count('shmem_quiet', 0)
    call shmem_quiet()
    call count('shmem_clear_lock', 0)
    call shmem_clear_lock(lock_p)
    call barrier()
    if (me == 0) then
      call check(target(1) == npes, 'set_lock')
      call count('shmem_test_lock', 0)
      call check(shmem_test_lock(lock_p) == 0, 'test_lock')
      call count('shmem_clear_lock', 0)
      call shmem_clear_lock(lock_p)
    end if
    call barrier()
  end subroutine

  subroutine release(p)
    type(c_ptr), intent(in) :: p
    call count('shmem_free', 0)
    call shmem_free(p)
  end subroutine

  ! Sorted lines of this PE, padded with blanks.
  subroutine write_counts(text)
    character(len=text_bytes), intent(out) :: text
    character(len=120) :: line
    integer :: i, best, place
    logical :: done(max_names)
    done = .false.
    text = ''
    place = 1
    do i = 1, used
      best = first_name(done)
      done(best) = .true.
      write (line, '(a,i0,3a,i0,a,i0)') 'count pe=', me, ' ', trim(names(best)), '=', &
        calls(best), ' bytes=', bytes(best)
      text(place:) = trim(line) // new_line('a')
      place = place + len_trim(line) + 1
    end do
  end subroutine

  integer function first_name(done)
    logical, intent(in) :: done(:)
    integer :: i
    first_name = 0
    do i = 1, used
      if (done(i)) cycle
      if (first_name == 0) then
        first_name = i
      else if (names(i) < names(first_name)) then
        first_name = i
      end if
    end do
  end function

  ! Frees, prints the counts of all PEs at PE 0 and finalizes.
  subroutine tear_down()
    character(len=text_bytes), pointer :: text
    character(len=text_bytes), target :: other
    integer(c_int) :: pe
    if (failed) call shmem_global_exit(1)
    call barrier()
    call release(lock_p)
    call release(sync2_p)
    call release(sync1_p)
    call release(work_p)
    call release(source_p)
    call release(target_p)
    text_p = symmetric(text_bytes / 8)
    call c_f_pointer(text_p, text)
    ! what follows is counted before it is made
    call count_many('shmem_barrier_all', 2, 0)
    call count('shmem_finalize', 0)
    if (me == 0) call count_many('shmem_getmem', npes - 1, (npes - 1) * text_bytes)
    call write_counts(text)
    call shmem_barrier_all()
    if (me == 0) then
      print '(a)', 'families_f ok'
      write (*, '(a)', advance='no') trim(text)
      do pe = 1, npes - 1
        call shmem_getmem(c_loc(other), text_p, int(text_bytes, c_size_t), pe)
        write (*, '(a)', advance='no') trim(other)
      end do
      flush (6)
    end if
    call shmem_barrier_all()
    call shmem_finalize()
  end subroutine
end program families
