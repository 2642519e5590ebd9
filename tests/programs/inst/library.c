/* An instrumented library with tables of its own: a type of the same name as the program's. */
#include "tables.h"

STRING("s_file", "library.c");
STRING("s_work", "library_work");
STRING("s_other", "other");
STRING("s_next", "next");
STRING("s_pointer", "struct other *");
FUNCTION("f_work", "s_work", "s_file", 10);
EVENT("e_round", "d_next", 12, 2, 0);
BLOCK("b_round", "f_work", "e_round", 1, 12);
TARGET("v_none", "f_work", 1);
TYPE("t_other", "s_other", "s_file", "d_next", 1, 8, 3, 8);
FIELD("d_next", "t_other", "s_next", "s_pointer", 0, 0, 64, 8);

void library_work(long rounds);
void library_work(long rounds)
{
    for (long i = 0; i < rounds; i++)
        if (check())
            event(__start_penumbra1_blocks);
}
