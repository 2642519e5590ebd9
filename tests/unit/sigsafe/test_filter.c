/* What seccomp filters do with rt_sigreturn: filters as they are in use, and such as nobody would
 * write. */
#include "sigsafe/filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF(op, k, jt, jf) BPF_JUMP(BPF_JMP | BPF_##op | BPF_K, k, jt, jf)
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)
#define ALLOW RETURN(SECCOMP_RET_ALLOW)
#define KILL RETURN(SECCOMP_RET_KILL_PROCESS)
#define ARCH LOAD(arch), IF(JEQ, AUDIT_ARCH_X86_64, 1, 0), KILL
#define X32 0x40000000u

#define LETS(...)                                                                                  \
    lets((const struct sock_filter[]){__VA_ARGS__},                                                \
         sizeof((const struct sock_filter[]){__VA_ARGS__}) / sizeof(struct sock_filter))

static bool lets(const struct sock_filter *code, size_t count)
{
    static struct filter_state states[BPF_MAXINSNS];
    memset(states, 0xa5, sizeof states);
    return filter_lets_as(code, (uint32_t)count, SYS_rt_sigreturn, states);
}

static void actions(void **state)
{
    (void)state;
    assert_true(LETS(ALLOW));
    assert_true(LETS(RETURN(SECCOMP_RET_ALLOW | 7)));
    assert_true(LETS(RETURN(SECCOMP_RET_LOG)));
    assert_false(LETS(RETURN(SECCOMP_RET_TRACE)));
    assert_false(LETS(RETURN(SECCOMP_RET_USER_NOTIF)));
    assert_false(LETS(RETURN(SECCOMP_RET_ERRNO)));
    assert_false(LETS(RETURN(SECCOMP_RET_TRAP)));
    assert_false(LETS(RETURN(SECCOMP_RET_KILL_THREAD)));
    assert_false(LETS(KILL));
    assert_false(LETS(RETURN(0x00120000))); /* no such action: the kernel kills */
}

/* A list of what is allowed (the sandboxes of the tests, and sshd's), and of what is not
 * (systemd's). */
static void lists(void **state)
{
    (void)state;
    assert_true(LETS(ARCH, LOAD(nr), IF(JEQ, SYS_write, 0, 1), ALLOW,
                     IF(JEQ, SYS_rt_sigreturn, 0, 1), ALLOW, KILL));
    assert_false(LETS(ARCH, LOAD(nr), IF(JEQ, SYS_write, 0, 1), ALLOW, IF(JEQ, SYS_exit, 0, 1),
                      ALLOW, KILL));
    assert_true(
        LETS(ARCH, LOAD(nr), IF(JEQ, SYS_ptrace, 2, 0), IF(JEQ, SYS_mount, 1, 0), ALLOW, KILL));
    assert_false(LETS(ARCH, LOAD(nr), IF(JEQ, SYS_ptrace, 2, 0), IF(JEQ, SYS_rt_sigreturn, 1, 0),
                      ALLOW, KILL));
    /* for another machine */
    assert_false(LETS(LOAD(arch), IF(JEQ, AUDIT_ARCH_I386, 1, 0), KILL, ALLOW));
    assert_true(LETS(LOAD(arch), IF(JEQ, AUDIT_ARCH_I386, 0, 1), KILL, ALLOW));
}

/* libseccomp's: a check for x32, and with its optimization a tree of comparisons. */
static void trees(void **state)
{
    (void)state;
#define TREE(exit, sigreturn)                                                                      \
    LOAD(arch), IF(JEQ, AUDIT_ARCH_X86_64, 0, 13), LOAD(nr), IF(JGE, X32, 0, 1),                   \
        IF(JEQ, 0xffffffff, 1, 10), IF(JGT, SYS_getpid, 3, 0), IF(JEQ, SYS_read, 7, 0),            \
        IF(JEQ, SYS_write, 6, 0), IF(JEQ, SYS_rt_sigreturn, sigreturn, 6),                         \
        IF(JEQ, SYS_exit, 4, 0), IF(JEQ, exit, 3, 0), IF(JEQ, SYS_openat, 2, 3), KILL, KILL,       \
        ALLOW, KILL
    assert_true(LETS(TREE(SYS_exit_group, 5)));
    assert_false(LETS(TREE(SYS_exit_group, 6)));
    assert_false(LETS(ARCH, LOAD(nr), IF(JSET, X32, 0, 1), ALLOW, IF(JEQ, SYS_rt_sigreturn, 0, 1),
                      KILL, ALLOW));
    assert_true(
        LETS(ARCH, LOAD(nr), IF(JSET, X32, 1, 0), IF(JEQ, SYS_rt_sigreturn, 1, 0), KILL, ALLOW));
    /* not greater than itself */
    assert_true(LETS(LOAD(nr), IF(JGT, SYS_rt_sigreturn, 1, 0), ALLOW, KILL));
    assert_true(LETS(LOAD(nr), IF(JGE, SYS_rt_sigreturn, 0, 1), ALLOW, KILL));
}

/* Arguments and the caller's address are not known: only what both ways allow is allowed. */
static void unknown(void **state)
{
    (void)state;
    assert_false(LETS(LOAD(args[0]), IF(JEQ, 0, 0, 1), ALLOW, KILL));
    assert_false(LETS(LOAD(instruction_pointer), IF(JGT, 4096, 0, 1), KILL, ALLOW));
    assert_true(LETS(LOAD(args[3]), IF(JSET, 1, 0, 1), ALLOW, RETURN(SECCOMP_RET_LOG)));
    /* Arguments are looked at for another call only; the number is loaded again where both ways
     * meet. */
    assert_true(LETS(LOAD(nr), IF(JEQ, SYS_clone, 0, 3), LOAD(args[0]), IF(JSET, 0x10000, 0, 1),
                     KILL, LOAD(nr), IF(JEQ, SYS_rt_sigreturn, 0, 1), ALLOW, KILL));
    /* After a look at an argument the accumulator is known again once it is loaded. */
    assert_true(LETS(LOAD(args[0]), IF(JEQ, 1, 0, 1), LOAD(args[1]), LOAD(nr),
                     IF(JEQ, SYS_rt_sigreturn, 0, 1), ALLOW, KILL));
    /* One way comes with a constant, the other with the number. */
    assert_false(LETS(LOAD(args[0]), IF(JEQ, 1, 0, 2), BPF_STMT(BPF_LD | BPF_IMM, 1),
                      BPF_STMT(BPF_JMP | BPF_JA, 1), LOAD(nr), IF(JEQ, SYS_rt_sigreturn, 0, 1),
                      ALLOW, KILL));
    assert_true(LETS(LOAD(args[0]), IF(JEQ, 1, 0, 2), BPF_STMT(BPF_LD | BPF_IMM, SYS_rt_sigreturn),
                     BPF_STMT(BPF_JMP | BPF_JA, 1), LOAD(nr), IF(JEQ, SYS_rt_sigreturn, 0, 1),
                     ALLOW, KILL));
    /* One that is not known meets one that happens to be the same number. */
    assert_false(LETS(LOAD(nr), IF(JEQ, 0, 0, 1), ALLOW, LOAD(args[0]), IF(JEQ, 7, 1, 0),
                      IF(JEQ, SYS_rt_sigreturn, 0, 1), ALLOW, KILL));
}

static void arithmetic(void **state)
{
    (void)state;
#define WITH(op, k) LOAD(nr), BPF_STMT(BPF_ALU | BPF_##op | BPF_K, k)
    assert_true(LETS(WITH(AND, 0xff), IF(JEQ, SYS_rt_sigreturn, 0, 1), ALLOW, KILL));
    assert_true(LETS(WITH(OR, 16), IF(JEQ, SYS_rt_sigreturn | 16, 0, 1), ALLOW, KILL));
    assert_true(LETS(WITH(ADD, 1), IF(JEQ, SYS_rt_sigreturn + 1, 0, 1), ALLOW, KILL));
    assert_true(LETS(WITH(SUB, 20), IF(JEQ, SYS_rt_sigreturn - 20u, 0, 1), ALLOW, KILL));
    assert_true(LETS(WITH(MUL, 3), IF(JEQ, SYS_rt_sigreturn * 3, 0, 1), ALLOW, KILL));
    assert_true(LETS(WITH(XOR, 1), IF(JEQ, SYS_rt_sigreturn ^ 1, 0, 1), ALLOW, KILL));
    assert_true(LETS(WITH(NEG, 0), IF(JEQ, (uint32_t)-SYS_rt_sigreturn, 0, 1), ALLOW, KILL));
    /* not worth knowing */
    assert_false(LETS(WITH(RSH, 1), IF(JEQ, SYS_rt_sigreturn >> 1, 0, 1), ALLOW, KILL));
    assert_false(
        LETS(LOAD(nr), BPF_STMT(BPF_ALU | BPF_AND | BPF_X, 0), IF(JEQ, 0, 0, 1), ALLOW, KILL));
    assert_true(LETS(BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
                     IF(JEQ, sizeof(struct seccomp_data), 0, 1), ALLOW, KILL));
    assert_true(LETS(BPF_STMT(BPF_LD | BPF_IMM, SECCOMP_RET_ALLOW), BPF_STMT(BPF_RET | BPF_A, 0)));
    assert_false(LETS(LOAD(args[0]), BPF_STMT(BPF_RET | BPF_A, 0)));
    assert_false(LETS(BPF_STMT(BPF_RET | BPF_A, 0))); /* it begins with 0 */
    assert_true(LETS(LOAD(nr), BPF_STMT(BPF_ST, 0), BPF_STMT(BPF_MISC | BPF_TAX, 0),
                     IF(JEQ, SYS_rt_sigreturn, 0, 1), ALLOW, KILL));
    assert_false(LETS(LOAD(nr), BPF_STMT(BPF_ST, 0), BPF_STMT(BPF_LD | BPF_MEM, 0),
                      IF(JEQ, SYS_rt_sigreturn, 0, 1), ALLOW, KILL));
    assert_false(LETS(LOAD(nr), BPF_STMT(BPF_MISC | BPF_TXA, 0), IF(JEQ, SYS_rt_sigreturn, 0, 1),
                      ALLOW, KILL));
    assert_false(LETS(LOAD(nr), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 1, 0), ALLOW, KILL));
}

#define MAY(number, first, ...)                                                                                               \
    may((const struct sock_filter[]){__VA_ARGS__}, sizeof((const struct sock_filter[]){__VA_ARGS__}) / sizeof(struct sock_filter), \
        number, first)

static bool may(const struct sock_filter *code, size_t count, uint32_t number,
                const uint32_t *first)
{
    static struct filter_state states[BPF_MAXINSNS];
    memset(states, 0xa5, sizeof states);
    return filter_may_as(code, (uint32_t)count, number, first, states);
}

/* Calls that may be let through, by somebody, with some arguments. */
static void perhaps(void **state)
{
    (void)state;
    const uint32_t seccomp = 22, name = 15;
#define OPTIONS                                                                                    \
    LOAD(nr), IF(JEQ, SYS_prctl, 0, 4), LOAD(args[0]), IF(JEQ, 15, 0, 2),                          \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 4),               \
        IF(JEQ, 0, 1, 0), KILL, ALLOW
    assert_true(MAY(SYS_prctl, NULL, OPTIONS));
    assert_true(MAY(SYS_prctl, &name, OPTIONS));
    assert_false(MAY(SYS_prctl, &seccomp, OPTIONS));
    assert_false(MAY(SYS_seccomp, NULL, OPTIONS));
    assert_true(MAY(SYS_seccomp, NULL, RETURN(SECCOMP_RET_TRACE)));
    assert_true(MAY(SYS_seccomp, NULL, RETURN(SECCOMP_RET_USER_NOTIF)));
    assert_false(MAY(SYS_seccomp, NULL, RETURN(SECCOMP_RET_ERRNO)));
    assert_false(MAY(SYS_seccomp, NULL, RETURN(SECCOMP_RET_TRAP)));
    assert_false(MAY(SYS_seccomp, NULL, LOAD(args[0]), IF(JEQ, 1, 1, 0), KILL,
                     RETURN(SECCOMP_RET_KILL_THREAD)));
    assert_true(MAY(SYS_seccomp, NULL, LOAD(args[0]), IF(JEQ, 1, 1, 0), KILL, ALLOW));
    assert_true(MAY(SYS_seccomp, NULL, LOAD(args[0]), BPF_STMT(BPF_RET | BPF_A, 0)));
    /* the kernel refuses it: then it denies nothing */
    assert_true(MAY(SYS_seccomp, NULL, LOAD(nr)));
}

static bool spares(const struct filter_argument *known, bool may_be_refused, uint32_t number,
                   uint32_t other)
{
    static struct filter_state states[BPF_MAXINSNS];
    const struct sock_filter code[] = {
        ARCH, LOAD(nr), IF(JEQ, SYS_ioctl, 0, 4), LOAD(args[1]), IF(JEQ, 0x5412, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 12),
            IF(JEQ, 0, 1, 2),
        IF(JEQ, SYS_ptrace, 0, 1), RETURN(other), ALLOW};
    memset(states, 0xa5, sizeof states);
    return filter_spares_as(code, sizeof code / sizeof *code, number, known, may_be_refused,
                            states);
}

/* Filters that look at an argument, as systemd's and flatpak's do. */
static void arguments(void **state)
{
    (void)state;
    const struct filter_argument typed = {1, 0x5412}, another = {1, 0x2400}, first = {0, 0x2400};
    const uint32_t refuses = SECCOMP_RET_ERRNO | 1, kills = SECCOMP_RET_KILL_PROCESS;
    assert_true(spares(&another, false, SYS_ioctl, kills));
    assert_false(spares(&typed, false, SYS_ioctl, kills));
    assert_false(spares(NULL, false, SYS_ioctl, kills));
    assert_false(spares(&first, false, SYS_ioctl, kills));
    assert_false(spares(&typed, false, SYS_ioctl, refuses));
    assert_true(spares(&typed, true, SYS_ioctl, refuses));
    assert_true(spares(NULL, true, SYS_ptrace, refuses));
    assert_false(spares(NULL, true, SYS_ptrace, kills));
    assert_false(spares(NULL, true, SYS_ptrace, SECCOMP_RET_TRAP));
    assert_true(spares(NULL, false, SYS_read, kills));
}

/* What the kernel refuses is not let through. */
static void refused(void **state)
{
    (void)state;
    static struct sock_filter most[BPF_MAXINSNS];
    assert_false(lets(most, 0));
    assert_false(LETS(LOAD(nr)));
    /* not backward: far beyond */
    assert_false(LETS(BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff), ALLOW));
    assert_false(LETS(BPF_STMT(BPF_JMP | BPF_JA, 1), ALLOW));
    assert_false(LETS(LOAD(nr), IF(JEQ, SYS_rt_sigreturn, 255, 0), ALLOW));
    assert_false(LETS(BPF_STMT(BPF_JMP | 0xf0, 0), ALLOW));
    /* As long as one may be, each instruction within reach of each way. */
    for (unsigned i = 0; i + 1 < BPF_MAXINSNS; i++)
        most[i] = i % 2 ? (struct sock_filter)IF(JEQ, i, 0, i + 2 < BPF_MAXINSNS)
                        : (struct sock_filter)LOAD(args[0]);
    most[BPF_MAXINSNS - 1] = (struct sock_filter)ALLOW;
    assert_true(lets(most, BPF_MAXINSNS));
    most[BPF_MAXINSNS - 1] = (struct sock_filter)KILL;
    assert_false(lets(most, BPF_MAXINSNS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(actions),    cmocka_unit_test(lists),
                                       cmocka_unit_test(trees),      cmocka_unit_test(unknown),
                                       cmocka_unit_test(arithmetic), cmocka_unit_test(refused),
                                       cmocka_unit_test(perhaps),    cmocka_unit_test(arguments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
