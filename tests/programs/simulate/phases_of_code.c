/* usage: phases_of_code [branches]
 *
 * Phases, each of code of its own: so much that a phase after its first round finds it in the
 * micro-op cache, and that another phase evicts it. Each branch has its direction from the
 * phase's byte of a table: with "branches" they are random, and the same in each round; otherwise
 * none is taken. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { PHASES = 24, BRANCHES = 1500, ROUNDS = 30 };

static uint8_t directions[BRANCHES];

#define PHASE(n)                                                                                   \
    __attribute__((noinline)) static void phase_##n(const uint8_t *at)                             \
    {                                                                                              \
        uint64_t x = 0;                                                                            \
        __asm__ volatile(".set at_" #n ", 0\n\t"                                                   \
                         ".rept %c2\n\t"                                                           \
                         "cmpb $0, at_" #n "(%1)\n\t"                                              \
                         "jne 1f\n\t"                                                              \
                         "inc %0\n\t"                                                              \
                         "1:\n\t"                                                                  \
                         ".set at_" #n ", at_" #n " + 1\n\t"                                        \
                         ".endr"                                                                   \
                         : "+r"(x)                                                                 \
                         : "r"(at), "i"(BRANCHES)                                                  \
                         : "cc", "memory");                                                        \
    }
#define EACH(X)                                                                                    \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)   \
    X(17) X(18) X(19) X(20) X(21) X(22) X(23)
EACH(PHASE)

#define NAME(n) phase_##n,
static void (*const phases[PHASES])(const uint8_t *at) = {EACH(NAME)};

int main(int argc, char **argv)
{
    uint64_t random = 1;
    bool branches = argc > 1 && !strcmp(argv[1], "branches");
    for (unsigned p = 0; p < PHASES; p++) {
        for (unsigned i = 0; branches && i < BRANCHES; i++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            directions[i] = (uint8_t)(random >> 63);
        }
        for (unsigned i = 0; i < ROUNDS; i++)
            phases[p](directions);
    }
    return 0;
}
