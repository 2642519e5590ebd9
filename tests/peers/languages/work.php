<?php
function fib($n) { return $n < 2 ? $n : fib($n - 1) + fib($n - 2); }
echo fib(26), "\n";
for ($i = 0; $i < 200000; $i++) $a[] = "x$i";
sort($a);
echo md5(implode($a)), "\n";
try { throw new Exception("one"); } catch (Exception $e) { echo $e->getMessage(), "\n"; }
