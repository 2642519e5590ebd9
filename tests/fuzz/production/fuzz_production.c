/* libFuzzer: .dise files. What is accepted is shown, matched and run: nothing of it may lead
 * outside the program.
 *
 *     fuzz_production CORPUS_DIRECTORY
 */
#include <stdlib.h>
#include <string.h>

#include "production/production.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run(const struct production_program *p)
{
    struct production_state s;
    struct production_trigger t = {.classes = UINT32_MAX, .has_target = true, .has_immediate = true,
                                   .images = 1};
    uint64_t always, kept = 0;
    bool settled = production_settled(p, &always);
    for (uint32_t i = 0; i < p->count; i++)
        kept |= (uint64_t)(p->productions[i].actions.count != 0) << i;
    production_begin(&s, p);
    for (unsigned step = 0; step < 64; step++) {
        t.pc += 3 * step;
        t.target = t.offset = 100;
        if (settled && (s.active & kept) != always)
            abort();
        uint64_t matched = production_match(p, &t) & s.active;
        for (; matched; matched &= matched - 1) {
            const struct production *one = &p->productions[__builtin_ctzll(matched)];
            for (unsigned i = 0; i < one->micros.count; i++)
                production_micro_do(&s, &p->micros[one->micros.first + i]);
            for (unsigned i = 0; i < one->actions.count; i++)
                if (p->actions[one->actions.first + i] >= p->group_count)
                    abort();
        }
        production_activate(&s, p);
        for (unsigned i = 0; i < PRODUCTION_COUNTERS; i++)
            if (s.counters[i] >= 2 * PRODUCTION_COUNTER_END)
                abort();
    }
    production_idle(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct production_program program;
    static const struct production_settings settings = {.burst = 10, .sparsity = 90};
    struct err e = {0};
    FILE *nowhere = fopen("/dev/null", "w");
    if (production_read_text("fuzz", (const char *)data, size, &settings, &program, &e)) {
        production_print(nowhere, &program);
        run(&program);
    } else if (!e.message[0]) {
        abort();
    }
    fclose(nowhere);
    return 0;
}
