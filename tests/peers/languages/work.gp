print(factor(2^101 - 1))
print(sum(i = 1, 300000, eulerphi(i)))
print(iferr(1 / 0, e, "one"))
quit
