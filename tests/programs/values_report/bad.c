/* A module that misbehaves, as WRONG says, when it has seen some sequences. */
#include <penumbra/module.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct penumbra_kind kinds[] = {
    {"result", PENUMBRA_SHOW_GUESS, PENUMBRA_ROLE_RESULT, NULL},
};

static volatile int *volatile nowhere;

static int is(const char *what)
{
    const char *wrong = getenv("WRONG");
    return wrong && !strcmp(wrong, what);
}

static uint32_t capture(const struct penumbra_opcode *opcode)
{
    (void)opcode;
    if (is("capture"))
        abort();
    return PENUMBRA_RESULT;
}

static int begin(struct penumbra_host *host)
{
    penumbra_fact(host, "the answer", 42);
    return is("begin");
}

static void sequence(struct penumbra_host *host, const struct penumbra_sequence *s)
{
    static unsigned seen;
    for (uint32_t i = 0; i < s->count; i++)
        for (uint32_t k = 0; k < s->tuples[i].count; k++)
            penumbra_emit(host, s->tuples[i].pc, 0, 0, s->tuples[i].items[k].value);
    penumbra_emit(host, 0, 12345, 0, 0); /* there is no such kind */
    if (++seen < 20)
        return;
    if (is("crash"))
        *nowhere = 1;
    if (is("exit"))
        _exit(0);
    if (is("scribble")) /* on the program's memory, as far as it is here */
        memset((void *)((uintptr_t)s->tuples[0].code & ~(uintptr_t)0xfff), 0, 1 << 20);
    while (is("hang"))
        continue;
}

const struct penumbra_module penumbra_module = {
    .abi = PENUMBRA_MODULE_ABI,
    .size = sizeof penumbra_module,
    .name = "bad",
    .kinds = kinds,
    .kind_count = 1,
    .capture = capture,
    .begin = begin,
    .sequence = sequence,
};
