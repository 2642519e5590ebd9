-- Recursion, errors through 100 frames, coroutines, compiled and interpreted code in turns.
local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end
local function deep(n) if n == 0 then error("x", 0) end return deep(n - 1) + 1 end
local fine = true
local finish = os.time() + tonumber(arg[1])
repeat
    fine = fine and fib(20) == 6765
    local ok, message = pcall(deep, 100)
    fine = fine and not ok and message == "x"
    local sum = 0
    local numbers = coroutine.wrap(function() for i = 1, 2000 do coroutine.yield(i) end return 0 end)
    for i = 1, 2001 do sum = sum + numbers() end
    fine = fine and sum == 2001000
    local words = {}
    for i = 1, 500 do words[i] = ("v" .. (i * 7919) % 500):gsub("%d+", function(d) return d + 1 end) end
    table.sort(words, function(a, b) return #a < #b or (#a == #b and a < b) end)
    fine = fine and words[500] == "v500"
until os.time() >= finish
print(fine and "fine" or "broken")
