# Fibers, each with a stack of its own, that are left half way; enumerators; garbage.
fine = true
finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + ARGV[0].to_i
def down(n, &block) = n.zero? ? block.call : down(n - 1, &block)
while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish
  fibers = (0...50).map { |i| Fiber.new { 3.times { |k| down(20) { Fiber.yield(i + k) } }; :end } }
  fine &&= fibers.sum(&:resume) == 1225
  fine &&= fibers.first(25).sum(&:resume) == 325
  e = [3, 1, 2].each
  fine &&= [e.next, e.next, e.next] == [3, 1, 2]
  squares = Enumerator.new { |y| n = 0; loop { y << n * n; n += 1 } }
  fine &&= squares.lazy.select(&:even?).first(5) == [0, 4, 16, 36, 64]
  GC.start if rand(50).zero?
end
puts fine ? "fine" : "broken"
