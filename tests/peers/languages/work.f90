program work
  real(8) :: x(500, 500), y(500, 500)
  integer :: i, j
  do i = 1, 500
    do j = 1, 500
      x(i, j) = mod(i * j, 7)
    end do
  end do
  y = matmul(x, x)
  print *, sum(y)
end program
