# Threads that wait for each other, and are killed in the middle of their work; regular expressions, sorting.
fine = true
finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + ARGV[0].to_i
while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish
  queue = Queue.new
  workers = 4.times.map { Thread.new { sum = 0; while (n = queue.pop) do sum += n; end; sum } }
  1000.times { |i| queue << i }
  4.times { queue << nil }
  fine &&= workers.sum(&:value) == 499_500
  endless = Thread.new { loop { "a b c".gsub(/(\w) /) { $1.upcase } } }
  sleep 0.001
  endless.kill
  fine &&= !endless.join.value
  fine &&= Thread.new { Thread.current.report_on_exception = false; raise "x" }.join rescue fine &&= $!.message == "x"
  fine &&= (0...500).to_a.shuffle.sort_by { |n| -n }.first == 499
end
puts fine ? "fine" : "broken"
