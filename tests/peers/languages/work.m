1;
function r = fib (n)
  if (n < 2) r = n; else r = fib (n - 1) + fib (n - 2); end
end
printf ("%d\n", fib (16));
A = reshape (mod ((1:40000) * 7, 101), 200, 200);
printf ("%.6f\n", sum (svd (A)));
try, error ("one"); catch, disp (lasterr ()); end
