/* What reports say of runtimes whose code has no names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/decode.h"
#include "symbols/symbols.h"

/* A process of one image; of its 100 samples so many are in generated code, the others in the
 * image. */
struct subject {
    const char *name, *image;
    uint32_t flags;
    uint64_t generated;
    const char *jit; /* the generated code's name; NULL */
    uint64_t cut;    /* stacks that lack callers */
    const char *note;
};

static char *warnings_of(const struct subject *of)
{
    struct err e = {0};
    struct profile *p = profile_new();
    p->image_count = p->process_count = p->thread_count = 1;
    p->images = calloc(1, sizeof *p->images);
    p->processes = calloc(1, sizeof *p->processes);
    p->threads = calloc(1, sizeof *p->threads);
    p->images[0] = (struct profile_image){.path = strdup(of->image), .flags = of->flags};
    struct profile_process *process = &p->processes[0];
    process->name = strdup(of->name);
    process->command = strdup("");
    process->maps = calloc(1, sizeof *process->maps);
    process->map_count = 1;
    process->jit = calloc(1, sizeof *process->jit);
    process->jit_count = of->jit != NULL;
    if (of->jit)
        process->jit[0] = (struct profile_jit_symbol){0x5000, 0x100, strdup(of->jit)};
    struct profile_thread *t = &p->threads[0];
    t->name = strdup("");
    t->weight = 100;
    t->truncated[TRUNC_NO_CFI] = of->cut;
    free(p->notes);
    p->notes = strdup(of->note ? of->note : "");
    t->nodes = calloc(3, sizeof *t->nodes);
    t->nodes[0] = (struct profile_node){.parent = UINT32_MAX, .image = PROFILE_IMAGE_PSEUDO};
    t->nodes[1] =
        (struct profile_node){.image = PROFILE_IMAGE_NONE, .offset = 0x5010, .self = of->generated};
    t->nodes[2] = (struct profile_node){.image = 0, .offset = 0x10, .self = 100 - of->generated};
    t->node_count = 3;
    struct symbols *s = symbols_load(p, true, &e);
    assert_non_null(s);
    char *warnings = strdup(symbols_warnings(s));
    symbols_free(s);
    profile_free(p);
    return warnings;
}

static void check(const struct subject *of, const char *said)
{
    char *warnings = warnings_of(of);
    const char *about = strstr(warnings, "docs/");
    if (said ? !strstr(warnings, said) : about != NULL)
        fail_msg("%s: expected \"%s\" in \"%s\"", of->image, said ? said : "nothing", warnings);
    free(warnings);
}

static void advice_is_of_the_runtime(void **state)
{
    (void)state;
    enum { MAIN = PROFILE_IMAGE_MAIN };
    check(&(struct subject){"node", "/usr/bin/node", MAIN, 76, NULL, 0, NULL},
          "76% of the time of node is");
    check(&(struct subject){"node", "/usr/bin/node", MAIN, 76, NULL, 0, NULL}, "--perf-basic-prof");
    check(&(struct subject){"app", "/usr/lib/libnode.so.108", 0, 76, NULL, 0, NULL},
          "of app (node) is");
    check(&(struct subject){"java", "/usr/lib/jvm/lib/server/libjvm.so", 0, 97, NULL, 0, NULL},
          "DumpPerfMapAtExit");
    check(&(struct subject){"app", "/opt/libcoreclr.so", 0, 50, NULL, 0, NULL},
          "DOTNET_PerfMapEnabled");
    check(&(struct subject){"1_scheduler", "/usr/lib/erlang/beam.smp", MAIN, 50, NULL, 0, NULL},
          "+JPperf true");
    check(&(struct subject){"app", "/opt/app", MAIN, 50, NULL, 0, NULL}, "Many runtimes");
    /* A file of that name need not be the program. */
    check(&(struct subject){"app", "/opt/nodes.so", 0, 50, NULL, 0, NULL}, "Many runtimes");
}

static void nothing_is_said_without_need(void **state)
{
    (void)state;
    enum { MAIN = PROFILE_IMAGE_MAIN };
    check(&(struct subject){"node", "/usr/bin/node", MAIN, 5, NULL, 0, NULL}, NULL);
    check(&(struct subject){"node", "/usr/bin/node", MAIN, 76, "JS:*fib", 0, NULL}, NULL);
    check(&(struct subject){"ls", "/bin/ls", MAIN, 0, NULL, 0, NULL}, NULL);
}

static void python_is_told_where_it_can_do_it(void **state)
{
    (void)state;
    enum { MAIN = PROFILE_IMAGE_MAIN };
    check(&(struct subject){"python3", "/usr/lib/libpython3.12.so.1.0", 0, 0, NULL, 0, NULL},
          "-X perf");
    check(&(struct subject){"python3", "/usr/bin/python3.13", MAIN, 0, NULL, 0, NULL}, "-X perf");
    check(&(struct subject){"python3", "/usr/bin/python3.11", MAIN, 0, NULL, 0, NULL}, NULL);
    check(&(struct subject){"python3", "/usr/lib/libpython3.9.so.1.0", 0, 0, NULL, 0, NULL}, NULL);
    check(&(struct subject){"python3", "/usr/bin/python3.13", MAIN, 10, "py::fib:/fib.py", 0, NULL},
          NULL);
}

static void stacks_of_their_own_are_named(void **state)
{
    (void)state;
    enum { MAIN = PROFILE_IMAGE_MAIN };
    const char *note =
        "calls are not counted in 1 process: the GHC run time manages its own stacks";
    check(&(struct subject){"scheme", "/usr/bin/chezscheme", MAIN, 0, NULL, 86, NULL},
          "86% of the stacks of scheme lack callers: Chez Scheme has stacks of its own");
    check(&(struct subject){"1_scheduler", "/usr/lib/erlang/beam.smp", MAIN, 0, NULL, 83, NULL},
          "83% of the stacks");
    check(&(struct subject){"guile", "/usr/lib/libguile-3.0.so.1", 0, 0, NULL, 31, NULL},
          "Guile has stacks");
    check(&(struct subject){"pandoc", "/usr/bin/pandoc", MAIN, 0, NULL, 20, note},
          "GHC has stacks");
    check(&(struct subject){"pandoc", "/usr/bin/pandoc", MAIN, 0, NULL, 20, NULL}, NULL);
    check(&(struct subject){"guile", "/usr/lib/libguile-3.0.so.1", 0, 0, NULL, 4, NULL}, NULL);
    check(&(struct subject){"java", "/usr/lib/libjvm.so", 0, 0, NULL, 50, NULL}, NULL);
}

static void process_add(struct profile *p, const char *name, const char *path)
{
    uint32_t i = p->process_count++;
    p->image_count = p->thread_count = p->process_count;
    p->images[i] = (struct profile_image){.path = strdup(path), .flags = PROFILE_IMAGE_MAIN};
    p->processes[i].name = strdup(name);
    p->processes[i].command = strdup("");
    p->processes[i].maps = calloc(1, sizeof *p->processes[i].maps);
    p->processes[i].maps[0] = (struct profile_map){.image = i, .lo = 0x1000, .hi = 0x2000};
    p->processes[i].map_count = 1;
    struct profile_thread *t = &p->threads[i];
    t->name = strdup("");
    t->process = i;
    t->weight = 100;
    t->nodes = calloc(2, sizeof *t->nodes);
    t->nodes[0] = (struct profile_node){
        .parent = UINT32_MAX, .subtree = 2, .image = PROFILE_IMAGE_PSEUDO, .offset = KEY_ROOT};
    t->nodes[1] = (struct profile_node){.subtree = 1, .image = i, .offset = 0x10, .self = 100};
    t->node_count = 2;
}

/* Read with threads summed, each runtime still has its own samples. */
static void advice_outlives_sums(void **state)
{
    (void)state;
    struct err e = {0};
    size_t size;
    struct profile *p = profile_new();
    p->images = calloc(2, sizeof *p->images);
    p->processes = calloc(2, sizeof *p->processes);
    p->threads = calloc(2, sizeof *p->threads);
    process_add(p, "sh", "/bin/sh");
    process_add(p, "python3", "/usr/bin/python3.13");
    uint8_t *data = profile_encode(p, &size, &e);
    assert_non_null(data);
    struct profile *summed = profile_decode_summed(data, size, "x", PROFILE_SUMMED_BY_NAME, &e);
    assert_non_null(summed);
    struct symbols *s = symbols_load(summed, true, &e);
    assert_non_null(s);
    assert_non_null(strstr(symbols_warnings(s), "-X perf"));
    symbols_free(s);
    profile_free(summed);
    profile_free(p);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(advice_is_of_the_runtime),
        cmocka_unit_test(advice_outlives_sums),
        cmocka_unit_test(nothing_is_said_without_need),
        cmocka_unit_test(stacks_of_their_own_are_named),
        cmocka_unit_test(python_is_told_where_it_can_do_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
