# Recursion, exceptions and throws through many frames, blocks.
def fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2)
def deep(n) = n.zero? ? raise("x") : deep(n - 1) + 1
def far(n) = n.zero? ? throw(:out, 7) : [1].each { far(n - 1) }
fine = true
finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + ARGV[0].to_i
while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish
  fine &&= fib(18) == 2584
  begin
    deep(500)
    fine = false
  rescue RuntimeError => e
    fine &&= e.message == "x"
  end
  fine &&= catch(:out) { far(100) } == 7
  fine &&= (1..500).map { |i| "v#{i}" }.select { |s| s.end_with?("7") }.size == 50
end
puts fine ? "fine" : "broken"
