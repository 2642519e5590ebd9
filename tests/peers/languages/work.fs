: fib dup 2 < if exit then dup 1- recurse swap 2 - recurse + ;
30 fib . cr
: one s" one" type cr 5 throw ;
' one catch . cr
bye
