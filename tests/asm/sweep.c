/* Instructions and pieces of code, natively and under the engine.
 *
 * usage: sweep cases | forms [SHARE] | pieces SEED COUNT | bytes SEED COUNT
 *
 *   cases   the named ones (cases.h), everywhere, in every mode
 *   forms   every form of every instruction, with a register and with memory; with SHARE, one in
 *           SHARE of all encodings besides
 *   pieces  COUNT random sequences of instructions
 *   bytes   COUNT strings of random bytes
 *
 * SEED 0 takes one from the clock, and prints it. Exit status 1: something was different; 77: this
 * machine cannot run it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cases.h"
#include "run.h"

enum { SEEN = 1 << 20 };

static struct tally tally;
static struct batch batch;
static unsigned batches;

/* Each batch elsewhere, and in other modes: a few at a time, all of them over the run. */
static void flush(unsigned modes_each)
{
    uint64_t mask = 0;
    if (!batch.count)
        return;
    for (unsigned i = 0; i < modes_each; i++)
        mask |= UINT64_C(1) << (batches * modes_each + i) % mode_count;
    batch_run(&batch, mask, &tally);
    batches++;
    batch.place = (enum place)(batches % PLACES);
    batch.count = 0;
}

static uint64_t next_code(void)
{
    return slot_address(batch.place, batch.count);
}

static void add(const struct piece *p, unsigned modes_each)
{
    batch.pieces[batch.count++] = *p;
    if (batch.count == SLOTS)
        flush(modes_each);
}

/* True the first time: the form of the decoder's table, with memory or not, and its length. */
static bool is_new(const struct piece *p)
{
    static uint8_t seen[SEEN];
    struct x86_insn insn;
    x86_decode_as(p->code, p->length, &insn);
    uint64_t key = (uint64_t)insn.form << 3 | (insn.access & X86_MEM ? 4u : 0) |
                   (insn.traits & X86_RIP_RELATIVE ? 2u : 0) | (insn.traits & X86_REX_W ? 1u : 0);
    if (key >= SEEN || seen[key])
        return false;
    seen[key] = 1;
    return true;
}

static void forms(uint64_t share)
{
    for (uint64_t form = 0; form < forms_count(); form++) {
        struct piece p;
        for (uint64_t try = 0; try < 4; try++) {
            if (!piece_of_form(&p, form, form * 4 + try + 1, next_code()))
                continue;
            bool new = is_new(&p);
            if (new || (share && (form * 4 + try) % share == 0))
                add(&p, new ? mode_count : 3);
        }
    }
    flush(mode_count);
}

static void random_pieces(bool bytes, uint64_t seed, uint64_t count)
{
    if (!seed)
        seed = (uint64_t)time(NULL);
    printf("%s, seed %lu\n", bytes ? "bytes" : "pieces", seed);
    fflush(stdout);
    struct dice d = { seed };
    while (count) {
        struct piece p;
        bool made = bytes ? piece_of_bytes(&p, roll(&d))
                          : piece_of_forms(&p, roll(&d), next_code());
        if (!made)
            continue;
        add(&p, 4);
        count--;
    }
    flush(4);
}

/* Each from several states; where the engine must stop, it must in every run. */
static void cases(void)
{
    enum { STATES = 12 };
    for (const struct named *n = named; n->name; n++) {
        uint64_t before = tally.differences, compared = tally.compared;
        uint64_t stops = n->stop ? tally.stops[n->stop - 1] : 0;
        for (unsigned place = 0; place < PLACES; place++) {
            batch.place = (enum place)place;
            for (uint64_t seed = 1; seed <= STATES; seed++)
                piece_of_case(&batch.pieces[batch.count++], n, seed * 7919 + place);
            batch_run(&batch, (UINT64_C(1) << mode_count) - 1, &tally);
            batch.count = 0;
        }
        compared = tally.compared - compared;
        if (n->stop && tally.stops[n->stop - 1] - stops != compared) {
            fprintf(stderr, "%s: the engine did not stop for its reason each time\n", n->name);
            tally.differences++;
        }
        if (tally.differences != before || !compared)
            fprintf(stderr, "FAILED: %s (%lu compared)\n", n->name, compared);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "", *why;
    if (!batch_open(&why)) {
        printf("skipped: %s\n", why);
        return 77;
    }
    if (!strcmp(what, "forms"))
        forms(argc > 2 ? strtoull(argv[2], NULL, 10) : 0);
    else if (!strcmp(what, "cases"))
        cases();
    else if (argc == 4)
        random_pieces(!strcmp(what, "bytes"), strtoull(argv[2], NULL, 10),
                      strtoull(argv[3], NULL, 10));
    else
        return 2;
    tally_print(&tally);
    return tally.differences != 0 || tally.pieces == 0;
}
