/* A 32-bit program without a C library: some tenths of a second in spin. */
static volatile unsigned sink;

__attribute__((noinline, noipa)) static void spin(void)
{
    for (unsigned i = 0; i < 150000000; i++)
        sink += i;
}

void _start(void);
void _start(void)
{
    spin();
    __asm__ volatile("int $0x80" : : "a"(1), "b"(0)); /* exit(0) */
}
