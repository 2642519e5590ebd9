local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
print(fib(32))
local t = {}
for i = 1, 200000 do t[i] = tostring(i) end
table.sort(t)
print(t[777], pcall(error, "one"))
local c = coroutine.wrap(function() for i = 1, 1e5 do coroutine.yield(i) end end)
local sum = 0
for i = 1, 1e5 do sum = sum + c() end
print(sum)
