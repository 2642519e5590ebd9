-module(work).
-export([main/0]).
fib(N) when N < 2 -> N;
fib(N) -> fib(N - 1) + fib(N - 2).
main() ->
    io:format("~p~n", [fib(25)]),
    Self = self(),
    [spawn(fun() -> Self ! {I, fib(12)} end) || I <- lists:seq(1, 500)],
    io:format("~p~n", [lists:sum([receive {_, X} -> X end || _ <- lists:seq(1, 500)])]),
    io:format("~p~n", [catch throw(one)]),
    halt().
