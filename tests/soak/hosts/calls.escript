#!/usr/bin/env escript
%% Recursion, exceptions through 500 frames, a thousand processes and their messages, collections.
-mode(compile).

fib(N) when N < 2 -> N;
fib(N) -> fib(N - 1) + fib(N - 2).

deep(0) -> throw(x);
deep(N) -> deep(N - 1) + 1.

ring(0, Parent) -> receive N -> Parent ! N end;
ring(Left, Parent) -> Next = spawn(fun() -> ring(Left - 1, Parent) end), receive N -> Next ! N + 1 end.

one_round() ->
    Self = self(),
    First = spawn(fun() -> ring(1000, Self) end),
    First ! 0,
    Around = receive N -> N end,
    Around =:= 1000 andalso fib(18) =:= 2584 andalso (catch deep(500)) =:= x andalso
        lists:sum([length(integer_to_list(I)) || I <- lists:seq(1, 1000)]) =:= 2893.

go(End, Fine) ->
    case erlang:monotonic_time(second) < End of
        true -> go(End, one_round() andalso Fine);
        false -> Fine
    end.

main([Seconds]) ->
    End = erlang:monotonic_time(second) + list_to_integer(Seconds),
    case go(End, true) of true -> io:format("fine~n"); false -> io:format("broken~n") end.
