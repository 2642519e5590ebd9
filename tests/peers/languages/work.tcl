proc fib n {expr {$n < 2 ? $n : [fib [expr {$n - 1}]] + [fib [expr {$n - 2}]]}}
puts [fib 22]
for {set i 0} {$i < 50000} {incr i} {lappend l $i}
puts [lindex [lsort $l] 777]
puts [catch {error one} m]$m
