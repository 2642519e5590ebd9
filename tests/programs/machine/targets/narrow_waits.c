/* A 32-bit program without a C library: sleeps in `longer` and in `shorter`, and prints how many
 * microseconds it was in each. */

static int call(int number, int first, const void *second, int third)
{
    int result;
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(number), "b"(first), "c"(second), "d"(third)
                     : "memory");
    return result;
}

enum { EXIT = 1, WRITE = 4, NANOSLEEP = 162, CLOCK_GETTIME = 265, MONOTONIC = 1 };

static unsigned now_us(void)
{
    int t[2];
    call(CLOCK_GETTIME, MONOTONIC, t, 0);
    return (unsigned)t[0] * 1000000u + (unsigned)t[1] / 1000u;
}

/* What waits is the function that the instruction is in. */
#define SLEEPS(name, ms)                                                                           \
    __attribute__((noinline, noipa)) static void name(void)                                        \
    {                                                                                              \
        static const int t[2] = {0, (ms) * 1000000};                                           \
        int result;                                                                                \
        __asm__ volatile("int $0x80" : "=a"(result) : "a"(NANOSLEEP), "b"(t), "c"(0) : "memory"); \
    }
SLEEPS(longer, 6)
SLEEPS(shorter, 2)

static void print(unsigned number)
{
    char text[11];
    int at = sizeof text;
    text[--at] = '\n';
    do {
        text[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    call(WRITE, 1, text + at, (int)sizeof text - at);
}

void _start(void);
void _start(void)
{
    unsigned first = 0, second = 0;
    for (int i = 0; i < 150; i++) {
        unsigned begun = now_us();
        longer();
        unsigned between = now_us();
        shorter();
        first += between - begun;
        second += now_us() - between;
    }
    print(first);
    print(second);
    call(EXIT, 0, 0, 0);
}
