/* Random system calls, from a seed: what the operations share.
 *
 * An operation is a call, or a few that belong together, with arguments drawn from the seed and the
 * operation's number alone. So a script of fewer operations makes the same calls as the whole one,
 * without those that are left out.
 *
 * All that is printed is what the program sees, without addresses, process numbers and times: two
 * runs print the same, and so must a recorded one. */
#ifndef RANDOM_CALLS_H
#define RANDOM_CALLS_H

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { PAGE = 4096, ARENA_PAGES = 64, SEEN_FDS = 48 };

/* Memory that the program alone maps: what lies in it is known. */
#define ARENA ((uint8_t *)UINT64_C(0x100000000000))

struct draw {
    uint64_t state;
};
uint32_t draw(struct draw *d, uint32_t below);
uint64_t draw_bits(struct draw *d);
#define COUNT(list) (sizeof(list) / sizeof *(list))
#define PICK(d, list) ((list)[draw(d, COUNT(list))])

/* Which operations run: numbers[at] to numbers[end - 1]. */
struct script {
    uint64_t seed;
    const uint32_t *numbers;
    unsigned at, end;
    /* of processes and threads: what can end the process is done in one that is made for it */
    unsigned depth;
    bool shares;       /* a child in its parent's memory: makes neither processes nor threads */
};
void script_run(struct script *s);
/* The next `count` operations, in the hands of somebody else; the script goes on after them. */
struct script script_part(struct script *s, unsigned count);

struct operation {
    const char *name;
    void (*run)(struct draw *d, struct script *s);
    unsigned weight;
};
extern const struct operation signal_operations[], memory_operations[], file_operations[],
    process_operations[], thread_operations[];

/* Into the log, which is shared with all children, also with executed ones. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* " = RESULT errno N", and the result. A result that is an address: "ok" or the error. */
long said(long result);
void *said_address(void *result);
/* What changed of mask, pending signals, actions, alternate stack, descriptors and the arena. */
void state_say(void);

/* ---- what operations of one kind offer to others ---- */

/* Touches memory or executes code that may fault; false: it did, and a handler of the program's has
 * seen it. Where no handler would, a child does it and dies. */
bool fault_try(void (*touch)(void *), void *argument, int signal);
/* A child runs it; its end is printed. */
void child_run(void (*run)(void *), void *argument);
/* "exit 3", "signal 11". */
void status_say(int status);
/* CPU time in calls of some depth: samples come. */
uint64_t burn(unsigned rounds);
/* Of a signal's kind of action, as the program has set it: 0 default, 1 ignored, 2 a handler. */
int action_kind(int signal);
bool signal_blocked(int signal);
/* As the kernel has them. */
static inline uint64_t set_bits(const sigset_t *set)
{
    uint64_t bits;
    memcpy(&bits, set, sizeof bits);
    return bits;
}
/* The arguments of an exec of this program that runs the script. */
char **script_arguments(const struct script *s);
extern const char *own_path;

#endif
