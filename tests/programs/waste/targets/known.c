/* Loads and stores of which it is known what becomes of them. Each mode is a function of a few
 * instructions, the ones of interest with labels, which are executed n times. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#define MODE(name, body)                                                                           \
    void name(uint64_t n, void *at);                                                               \
    __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n1:\n" body           \
            "    decq %rdi\n    jnz 1b\n    ret\n");
#define L(label) ".globl " #label "\n" #label ":\n"

/* Overwritten unread; the second store is read, and each changes what is there. */
MODE(dead, L(dead_store) "movq %rdi, (%rsi)\n" L(dead_killer) "movq %rsi, (%rsi)\n" L(
               dead_read) "movq (%rsi), %rax\n")
/* The same value each time but the first, and read each time. */
MODE(silent, L(silent_store) "movl $7, (%rsi)\n" L(silent_read) "movl (%rsi), %eax\n")
/* Half of it is overwritten: its first bytes, or its last. */
MODE(half, L(half_store) "movq %rdi, (%rsi)\n" L(
               half_low) "movl $1, (%rsi)\n"
                         "movq (%rsi), %rax\n" L(half_other) "movq %rdi, 16(%rsi)\n" L(
                             half_high) "movl $1, 20(%rsi)\n"
                                        "movq 16(%rsi), %rax\n")
/* A third of what is stored is dead, in lines all over 64 kB. */
MODE(walk, "movl %edi, %edx\nandl $1023, %edx\nshll $6, %edx\n" L(
               walk_store) "movq %rdi, (%rsi,%rdx)\n" L(walk_low) "movl $1, (%rsi,%rdx)\n"
                                                                  "movq (%rsi,%rdx), %rax\n")
/* Sixteen bytes over two lines. */
MODE(vector, "movq %rdi, %xmm0\npunpcklqdq %xmm0, %xmm0\n" L(
                 vector_store) "movdqu %xmm0, 56(%rsi)\n"
                               "pxor %xmm1, %xmm1\n" L(vector_killer) "movdqu %xmm1, 56(%rsi)\n" L(
                                   vector_read) "movdqu 56(%rsi), %xmm2\n")
/* 200 bytes, twice: the second time over the first; then read by a string instruction. */
MODE(string, "movq %rdi, %rdx\nmovq %rsi, %r8\nmovq %rsi, %rdi\nmovl %edx, %eax\nmovl $25, %ecx\n"
             L(string_store) "rep stosq\n"
             "movq %r8, %rdi\nmovl $25, %ecx\nnotq %rax\n" L(string_killer) "rep stosq\n"
             "movq %r8, %rsi\nleaq 4096(%r8), %rdi\nmovl $25, %ecx\n" L(string_copy) "rep movsq\n"
             "movq %r8, %rsi\nmovq %rdx, %rdi\n")
/* A string's end is sought, with a count of all ones. */
MODE(search, "movq %rdi, %rdx\nmovq %rsi, %r8\n" L(search_store) "movq %rdi, (%rsi)\n"
             "movq %rsi, %rdi\nxorl %eax, %eax\nmovq $-1, %rcx\nrepne scasb\nmovq %rdx, %rdi\n")
/* Read and written at once: nothing is dead. */
MODE(atomic, L(atomic_store) "movq %rdi, (%rsi)\n" L(atomic_add) "lock addq $1, (%rsi)\n"
             L(atomic_swap) "xchgq %rax, (%rsi)\n" "movq (%rsi), %rax\n")
/* The last of n lines, and so on to the first. */
MODE(far, "movq %rdi, %rdx\nshlq $6, %rdx\n" L(far_store) "movq %rdi, -64(%rsi,%rdx)\n")
/* A function that stores into its frame, and returns; one that saves a register. */
MODE(frame, "call 3f\njmp 4f\n3: pushq %rbx\nsubq $32, %rsp\n" L(frame_store) "movq %rdi, 8(%rsp)\n"
            "addq $32, %rsp\npopq %rbx\nret\n4:\n")

/* The kernel reads it. */
MODE(written,
     L(written_store) "movq %rdi, (%rsi)\n"
                      "pushq %rdi\nmovl $1, %eax\nmovl null_file(%rip), %edi\nmovl $8, %edx\n"
                      "pushq %rsi\nsyscall\npopq %rsi\npopq %rdi\n")
/* A call of which it is not known what it reads (a personality that is asked for). */
MODE(unknown, L(unknown_store) "movq %rdi, (%rsi)\n"
                               "pushq %rdi\nmovl $135, %eax\nmovl $0xffffffff, %edi\n"
                               "pushq %rsi\nsyscall\npopq %rsi\npopq %rdi\n")
/* Where it is read, or not, is somebody else's. */
MODE(shared, L(shared_store) "movq %rdi, (%rsi)\n")
MODE(reader, L(reader_load) "movq (%rsi), %rax\n")

int null_file;
static uint64_t memory[8192] __attribute__((aligned(4096)));

static void *thread(void *at)
{
    reader(1, at);
    return NULL;
}

static void handler(int number)
{
    (void)number;
    reader(1, memory);
}

/* A store, somebody who reads it, a store ... */
static void with_others(const char *mode, uint64_t n)
{
    pthread_t other;
    signal(SIGUSR1, handler);
    for (uint64_t i = 0; i < n; i++) {
        shared(1, memory);
        memory[0] += i; /* another value, and it is read: the store above is not dead by this */
        shared(1, memory);
        if (!strcmp(mode, "threads") && pthread_create(&other, NULL, thread, memory) == 0)
            pthread_join(other, NULL);
        else if (!strcmp(mode, "signals"))
            raise(SIGUSR1);
        else if (!strcmp(mode, "forks")) {
            pid_t child = fork();
            if (child == 0) {
                reader(1, memory);
                _exit(0);
            }
            waitpid(child, NULL, 0);
        }
    }
}

/* Each store of the second time is over one of the first. */
static void twice(uint64_t n)
{
    uint8_t *lines = aligned_alloc(4096, n * 64);
    if (!lines)
        abort();
    far(n, lines);
    far(n, lines);
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(uint64_t n, void *at);
    } modes[] = {{"dead", dead},     {"silent", silent},   {"half", half},       {"walk", walk},
                 {"vector", vector}, {"string", string},   {"search", search},   {"atomic", atomic},
                 {"frame", frame},   {"written", written}, {"unknown", unknown}, {"reader", reader},
                 {"shared", shared}};
    if (argc < 3)
        return 2;
    null_file = open("/dev/null", O_WRONLY);
    uint64_t n = strtoull(argv[2], NULL, 0);
    for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(argv[1], modes[i].name))
            modes[i].run(n, memory);
    if (!strcmp(argv[1], "threads") || !strcmp(argv[1], "signals") || !strcmp(argv[1], "forks"))
        with_others(argv[1], n);
    if (!strcmp(argv[1], "far"))
        twice(n);
    puts("done");
    return 0;
}
