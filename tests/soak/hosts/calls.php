<?php
// Recursion, exceptions through 500 frames, generators, fibers that switch in the midst of calls.
function fib($n) { return $n < 2 ? $n : fib($n - 1) + fib($n - 2); }
function deep($n) { if ($n == 0) throw new RuntimeException("x"); return deep($n - 1) + 1; }
function squares($n) { for ($i = 0; $i < $n; $i++) yield $i * $i; }
function inside($n) { return $n ? inside($n - 1) + 1 : Fiber::suspend(7); }
$end = microtime(true) + (int)$argv[1];
$fine = true;
while (microtime(true) < $end) {
    $fine = $fine && fib(15) == 610;
    try { deep(500); $fine = false; } catch (RuntimeException $e) { $fine = $fine && $e->getMessage() == "x"; }
    $fine = $fine && array_sum(iterator_to_array(squares(100))) == 328350;
    $fibers = [];
    for ($i = 0; $i < 20; $i++) $fibers[] = new Fiber(fn() => inside(30));
    foreach ($fibers as $f) $fine = $fine && $f->start() == 7;
    foreach ($fibers as $f) $f->resume(5);
    foreach ($fibers as $f) $fine = $fine && $f->getReturn() == 35;
}
echo $fine ? "fine" : "broken", "\n";
