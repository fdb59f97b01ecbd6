! Figure 2 (a) of "A Performance Measurement Infrastructure for Co-Array Fortran" (Mohr, DeRose, Vetter, Euro-Par 2005).
integer :: me, num, left
integer :: A(1024,1024)[*]
me = this_image()
num = num_images()
left = me - 1
if ( left < 1 ) left = num
A(me,::2)[left] = me
call sync_all()
end
