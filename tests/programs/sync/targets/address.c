/* Calls malloc by its address. Not being position-independent, it has a place of its own for it, in
 * its procedure linkage table, which then is malloc's address everywhere. */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    void *(*volatile allocate)(size_t) = malloc;
    for (int i = 0; i < 1000; i++)
        free(allocate(4096));
    puts("done");
    return 0;
}
