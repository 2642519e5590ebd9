/* Code that is written while the program runs, and written again: in place, by two mappings of the
 * same memory, and by unmapping and mapping anew. Each piece returns its own number. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef uint32_t piece(uint32_t);

/* mov eax, edi;  (add eax, 1) * 8;  xor eax, value;  ret */
static void write_piece(uint8_t *at, uint32_t value)
{
    *at++ = 0x89, *at++ = 0xf8;
    for (int i = 0; i < 8; i++)
        *at++ = 0x83, *at++ = 0xc0, *at++ = 0x01;
    *at++ = 0x35;
    memcpy(at, &value, 4);
    at[4] = 0xc3;
}

static uint64_t bad;

static void run(uint8_t *code, uint32_t value, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        bad += ((piece *)(void *)code)(i) != ((i + 8) ^ value);
}

int main(int argc, char **argv)
{
    uint32_t rounds = argc > 1 ? (uint32_t)atoi(argv[1]) : 20000;
    int rwx = PROT_READ | PROT_WRITE | PROT_EXEC, fd = memfd_create("code", 0);
    if (ftruncate(fd, 4096) != 0)
        return 2;
    uint8_t *in_place = mmap(NULL, 4096, rwx, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *writer = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    uint8_t *reader = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    uint8_t *place = mmap(NULL, 4096, rwx, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (uint32_t i = 0; i < rounds; i++) {
        write_piece(in_place, i);
        run(in_place, i, 50);
        write_piece(writer, ~i);
        run(reader, ~i, 50);
        if (i % 16 == 0) {
            munmap(place, 4096);
            place = mmap(place, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            write_piece(place, i * 3);
            mprotect(place, 4096, PROT_READ | PROT_EXEC);
        }
        run(place, i / 16 * 16 * 3, 50);
    }
    printf("%u rounds, %lu wrong\n", rounds, bad);
    return bad != 0;
}
