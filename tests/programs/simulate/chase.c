/* A chase through lines in random order, round and round: each is in the third-level cache from the
 * second round on, and between two visits lie more instructions than a window has. */
#include <stdint.h>
#include <stdio.h>

enum { LINES = 1 << 15, ROUNDS = 16 };

struct line {
    _Alignas(64) uint32_t next;
};

static struct line lines[LINES];

/* One cycle through all (Sattolo, 1986). */
static void shuffle(void)
{
    uint64_t x = 1;
    for (uint32_t i = 0; i < LINES; i++)
        lines[i].next = i;
    for (uint32_t i = LINES - 1; i > 0; i--) {
        x = x * UINT64_C(6364136223846793005) + 1;
        uint32_t other = (uint32_t)(x >> 33) % i, kept = lines[i].next;
        lines[i].next = lines[other].next;
        lines[other].next = kept;
    }
}

int main(void)
{
    uint32_t at = 0;
    shuffle();
    for (uint32_t i = 0; i < ROUNDS * LINES; i++)
        at = lines[at].next;
    printf("%u\n", at);
    return 0;
}
