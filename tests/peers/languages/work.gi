Print(Size(SymmetricGroup(12)), "\n");
Print(Length(ConjugacyClasses(SymmetricGroup(9))), "\n");
Print(Factors(2^67 - 1), "\n");
QUIT;
