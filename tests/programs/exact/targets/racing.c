/* One thread rewrites the target of a call, in one aligned store, while another executes it: what
 * is called may be the old function or the new one, but once the writer has stopped, the one that
 * is written there. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { ROUNDS = 300, FLIPS = 300 };
typedef int function(void);
static uint8_t *code;
static atomic_int turn;

static int32_t to(int which)
{
    return (which ? 96 : 64) - 8;
}

static void *writer(void *unused)
{
    for (int round = 0; round < ROUNDS; round++) {
        while (atomic_load(&turn) != 2 * round)
            ;
        for (int i = 0; i < FLIPS + round % 2; i++) {
            atomic_store_explicit((_Atomic int32_t *)(void *)(code + 4), to(i % 2),
                                  memory_order_release);
            for (volatile int pause = 0; pause < 50; pause++)
                ;
        }
        atomic_store(&turn, 2 * round + 1);
    }
    return unused;
}

int main(void)
{
    pthread_t other;
    int odd = 0, wrong = 0;
    code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code, "\x0f\x1f\x00\xe8\x00\x00\x00\x00\xc3", 9);    /* nop; call; ret */
    memcpy(code + 64, "\xb8\x05\x00\x00\x00\xc3", 6);           /* mov eax, 5; ret */
    memcpy(code + 96, "\xb8\x06\x00\x00\x00\xc3", 6);
    int32_t first = to(0);
    memcpy(code + 4, &first, sizeof first);
    pthread_create(&other, NULL, writer, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        while (atomic_load(&turn) != 2 * round + 1) {
            int got = ((function *)(void *)code)();
            odd += got != 5 && got != 6;
        }
        wrong += ((function *)(void *)code)() != (round % 2 ? 5 : 6);
        atomic_store(&turn, 2 * round + 2);
    }
    pthread_join(other, NULL);
    printf("odd %d wrong %d\n", odd, wrong);
    return 0;
}
