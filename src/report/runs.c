#include "report/runs.h"

#include <stdlib.h>

#include "base/saturate.h"

enum { RUN_MOST = 1 << 24, LATE_RUN_MOST = 1 << 16 }; /* bytes */

static int compare_points(const void *a, const void *b)
{
    const struct point *x = a, *y = b;
    if (x->image != y->image)
        return x->image < y->image ? -1 : 1;
    return x->address < y->address ? -1 : x->address > y->address;
}

void points_settle(struct points *points)
{
    uint32_t kept = 0;
    if (points->count)
        qsort(points->list, points->count, sizeof *points->list, compare_points);
    for (uint32_t i = 0; i < points->count; i++) {
        struct point *last = kept ? &points->list[kept - 1] : NULL;
        if (last && compare_points(last, &points->list[i]) == 0)
            last->count = add_saturated(last->count, points->list[i].count);
        else
            points->list[kept++] = points->list[i];
    }
    points->count = kept;
}

void points_add(struct points *points, uint32_t image, uint64_t address, uint64_t count)
{
    points->list[points->count++] =
        (struct point){.image = image, .address = address, .count = count};
}

struct point *points_find(const struct points *points, uint32_t image, uint64_t address)
{
    const struct point key = { .image = image, .address = address };
    return points->count
               ? bsearch(&key, points->list, points->count, sizeof key, compare_points) : NULL;
}

bool run_ends_with(const struct x86_insn *insn)
{
    return (insn->kind >= X86_JCC && insn->kind <= X86_RET) || insn->kind == X86_UD ||
           x86_is_xbegin(insn);
}

/* The engine stops before it, or it is no instruction. */
static bool is_no_part(enum x86_kind kind)
{
    return kind <= X86_TRUNCATED || kind == X86_FAR || kind == X86_NEAR16 || kind == X86_SYSENTER ||
           kind == X86_INT || kind == X86_OTHER;
}

/* Where the run comes to a point from `next` on whose run is known it is taken from there: nothing
 * is decoded twice. */
static struct run run_to(struct code *code, uint32_t image, uint64_t start, bool late,
                         const struct point *next, const struct point *end)
{
    size_t available = 0;
    const uint8_t *bytes = code ? code_bytes(code, start, &available) : NULL;
    struct run run = { 0 };
    while (bytes && run.bytes < (late ? LATE_RUN_MOST : RUN_MOST)) {
        struct x86_insn insn;
        uint64_t at = start + run.bytes;
        while (next < end && next->image == image && next->address < at)
            next++;
        if (next < end && next->image == image && next->address == at && next->run.bytes &&
            next->run.bytes < RUN_MOST) {
            run.last = next->run.last;
            run.system = next->run.system;
            run.bytes += next->run.bytes;
            run.instructions += next->run.instructions;
            break;
        }
        unsigned length = x86_decode_as(bytes + run.bytes, available - run.bytes, &insn);
        if (!length || is_no_part(insn.kind))
            break;
        run.last = at;
        run.bytes += length;
        run.instructions++;
        run.system = insn.kind == X86_SYSCALL && !late;
        if (run_ends_with(&insn) || run.system)
            break;
    }
    return run;
}

void points_run(struct points *points, uint32_t index, struct code *code, bool late)
{
    struct point *at = &points->list[index];
    at->run = run_to(code, at->image, at->address, late, at + 1, points->list + points->count);
}

struct run run_from(struct code *code, uint64_t start, bool late)
{
    return run_to(code, 0, start, late, NULL, NULL);
}
