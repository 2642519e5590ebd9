fib(0, 0).
fib(1, 1).
fib(N, F) :- N > 1, A is N - 1, B is N - 2, fib(A, X), fib(B, Y), F is X + Y.
:- fib(21, F), write(F), nl, numlist(1, 100000, L), sumlist(L, S), write(S), nl,
   catch(throw(one), E, (write(E), nl)), halt.
