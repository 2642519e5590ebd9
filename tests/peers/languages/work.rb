def fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2)
puts fib(24)
puts (0...100000).map(&:to_s).sort[777]
begin
  raise "one"
rescue => e
  puts e.message
end
puts 8.times.map { Thread.new { fib(15) } }.map(&:value).sum
f = Fiber.new { 1000.times { |i| Fiber.yield i }; nil }
puts 1000.times.sum { f.resume }
Process.wait fork { exit 3 }
puts $?.exitstatus
