/* Status flags in the frame of a fault. A block sets all six, the next one faults. What is printed
 * must be the same as natively.
 *
 *   read         the code behind the fault reads them
 *   own          the block that faults has set them itself
 *   overwritten  the code behind the fault overwrites all before any is read: a tool's code in the block may, too, but not where
 *                the program has a handler that sees frames (docs/engine.md, "Hooks")
 *
 * All has run before there is a handler, so that there are blocks which are not like that. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <ucontext.h>
#include <unistd.h>

enum { STATUS = 0x8d5, DIRECTION = 0x400 };

/* The flags' low byte is ah of eax; overflow is set or not by the addition before. Goes on behind
 * the fault. */
#define FAULT(name, before, behind)                                                                \
    uint64_t name(uint64_t status, uint64_t overflow, const void *loaded);                         \
    extern char name##_at[], name##_next[];                                                        \
    __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"                    \
            " mov %rdi, %rax\n mov %rdx, %rcx\n add $127, %sil\n sahf\n jmp 1f\n .p2align 4\n"     \
            "1: " before "\n"                                                                      \
            ".globl " #name "_at\n" #name "_at: mov (%rcx), %rdx\n"                                \
            ".globl " #name "_next\n" #name "_next: " behind                                       \
            "\n mov $0, %eax\n adc $0, %rax\n ret\n")

FAULT(read_flags, "mov $5, %r8d", "mov $6, %r8d");
FAULT(own_flags, "cmp $3, %rdi", "add %rdi, %rsi");
FAULT(overwritten, "mov $5, %r8d", "add %rdi, %rsi");
FAULT(overwritten_backwards, "std\n mov $5, %r8d", "cld\n add %rdi, %rsi");

static const char *at, *next;

static void report(int number, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    printf("  signal %d address %lu rip at%+ld rcx %ld r8 %ld flags %lx\n", number,
           (unsigned long)info->si_addr, (long)((char *)r[REG_RIP] - at), (long)r[REG_RCX],
           (long)r[REG_R8] & 7, (unsigned long)(r[REG_EFL] & (STATUS | DIRECTION)));
    r[REG_RIP] = (greg_t)next;
}

#define TRY(name)                                                                                  \
    do {                                                                                           \
        at = name##_at;                                                                            \
        next = name##_next;                                                                        \
        for (uint64_t i = 0; i < 4; i++)                                                           \
            printf("%s returns %lu\n", #name, (unsigned long)name((i & 1 ? 0xd5u : 0x02u) << 8, i >> 1, loaded)); \
    } while (0)

static void all(const void *loaded)
{
    TRY(read_flags);
    TRY(own_flags);
    TRY(overwritten);
    TRY(overwritten_backwards);
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = report, .sa_flags = SA_SIGINFO};
    setvbuf(stdout, NULL, _IOLBF, 0);
    all("readable");
    sigaction(SIGSEGV, &action, NULL);
    all(NULL);
    return 0;
}
