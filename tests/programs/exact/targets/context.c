/* Faults, and handlers that look at the context and change it. Everything that a handler can see is
 * printed, relative to where it must be. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

/* One faulting instruction each; the handler goes on behind it, with rax changed. */
#define FAULT(name, text)                                                                          \
    uint64_t name(uint64_t a, uint64_t b);                                                         \
    extern char name##_at[], name##_next[];                                                        \
    __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"                    \
            " mov %rdi, %rax\n mov %rsi, %rcx\n mov $7, %edx\n stc\n"                              \
            ".globl " #name "_at\n" #name "_at: " text "\n"                                        \
            ".globl " #name "_next\n" #name "_next: adc $0, %rax\n ret\n")

FAULT(load, "mov (%rcx), %rax");
FAULT(store, "mov %rax, (%rcx)");
FAULT(add_memory, "add %rax, 8(%rcx,%rax,1)");
FAULT(string, "rep movsb");
FAULT(divide, "div %cl");
FAULT(undefined, "ud2");
FAULT(breakpoint, "int3");
FAULT(privileged, "hlt");
FAULT(non_canonical, "mov (%rdx,%rcx), %rax");
FAULT(vector, "movaps 1(%rcx), %xmm3");
FAULT(push_bad, "xchg %rcx, %rsp\n push %rax\n.Lpush: xchg %rcx, %rsp");
FAULT(far_load, "mov far_memory(%rip), %rax");
__asm__(".set far_memory, load - 0x40000000\n"); /* outside the image */

static char *at, *next;
static uint64_t a_value, b_value;

static void report(int number, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    greg_t *r = u->uc_mcontext.gregs;
    printf("  signal %d code %d", number, info->si_code);
    if (number == SIGSEGV || number == SIGBUS)
        printf(" address %s", (uint64_t)info->si_addr == b_value ? "b"
                              : (uint64_t)info->si_addr == 0     ? "0"
                                                                 : "other");
    else if (number == SIGFPE || number == SIGILL)
        printf(" address at%+ld", (long)((char *)info->si_addr - at));
    printf(" rip at%+ld", (long)((char *)r[REG_RIP] - at));
    printf(" rax a%+ld rcx %s rdx %ld", (long)((uint64_t)r[REG_RAX] - a_value),
           (uint64_t)r[REG_RCX] == b_value ? "b" : "other", (long)r[REG_RDX]);
    printf(" carry %ld trap %ld error %ld\n", (long)r[REG_EFL] & 1, (long)r[REG_TRAPNO],
           (long)r[REG_ERR]);
    if (number == SIGSEGV && (char *)r[REG_RIP] > at && (char *)r[REG_RIP] < next) {
        r[REG_RCX] ^= r[REG_RSP], r[REG_RSP] ^= r[REG_RCX], r[REG_RCX] ^= r[REG_RSP]; /* push_bad */
    }
    r[REG_RIP] = (greg_t)next;
    r[REG_RAX] = 1000;
}

#define TRY(name, a, b)                                                                            \
    do {                                                                                           \
        at = name##_at;                                                                            \
        next = name##_next;                                                                        \
        a_value = (uint64_t)(a);                                                                   \
        b_value = (uint64_t)(b);                                                                   \
        printf("%s\n", #name);                                                                     \
        printf("  returns %llu\n", (unsigned long long)name(a_value, b_value));                   \
    } while (0)

static sigjmp_buf back;
static volatile uint64_t jump_address;

static void jumped(int number, siginfo_t *info, void *context)
{
    const greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    printf("  signal %d code %d address %d rip %d\n", number, info->si_code,
           (uint64_t)info->si_addr == jump_address, (uint64_t)r[REG_RIP] == jump_address);
    siglongjmp(back, 1);
}

/* Jumps to where no code is. */
static void jump_to(const char *what, uint64_t address)
{
    struct sigaction action = {.sa_sigaction = jumped, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGILL, &action, NULL);
    printf("jump to %s\n", what);
    jump_address = address;
    if (!sigsetjmp(back, 1))
        ((void (*)(void))address)();
}

static void jumps(void)
{
    char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(page, 0xc3, 8192);
    jump_to("null", 0);
    jump_to("data", (uint64_t)page);
    jump_to("a high address", 0x7ffffffff000);
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
    ((void (*)(void))page)();
    page[4096] = 0x06; /* no instruction in 64-bit mode */
    mprotect(page + 4096, 4096, PROT_READ | PROT_EXEC);
    jump_to("no instruction", (uint64_t)page + 4096);
    munmap(page, 8192);
    jump_to("memory that was code", (uint64_t)page);
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = report, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536}; /* for push_bad */
    sigaltstack(&stack, NULL);
    int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    setvbuf(stdout, NULL, _IONBF, 0);
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
    char *none = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *aligned = aligned_alloc(64, 64);
    TRY(load, 5, none);
    TRY(store, 5, none + 8);
    TRY(add_memory, 16, none - 24);
    TRY(string, none, 3);
    TRY(divide, 9, 0);
    TRY(undefined, 1, 2);
    TRY(breakpoint, 1, 2);
    TRY(privileged, 1, 2);
    TRY(non_canonical, 1, 0x800000000000);
    TRY(vector, 1, aligned);
    TRY(push_bad, 1, none + 64);
    TRY(far_load, 1, (uint64_t)load - 0x40000000);
    jumps();
    return 0;
}
