#include "collector/machine/machine_values.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/machine/machine_devices.h"
#include "collector/machine/machine_text.h"
#include "collector/machine/machine_tuples.h"
#include "sigsafe/key.h"
#include "sigsafe/settings.h"

enum { CODE_MOST = 15 };
#define ASKED_AGAIN_NS UINT64_C(10000000)

struct machine_values {
    struct machine_processes *processes;
    struct capture *capture;
    uint32_t length;
    struct machine_tuples tuples;
    struct machine_text text;
    struct interpret_state state;
    struct capture_record record; /* the one that is interpreted */
    struct part {
        uint64_t moments, instructions, forgot;
        uint64_t ends[INTERPRET_END_COUNT];
    } kernel, user;
    uint64_t ns, mode, none /* of threads without a number */, denied, asked, asked_ns;
};

bool machine_values_open(struct machine_values **to, struct machine_processes *processes,
                         struct machine_rings *rings, uint64_t period_ns, int cgroup, struct err *e)
{
    const struct value_settings *settings = settings_values_as(processes->spool);
    const struct burst_settings *burst = settings_burst_as(processes->spool);
    struct machine_values *v = *to = calloc(1, sizeof *v);
    if (!v)
        return err_set(e, ERR_INTERNAL, "out of memory");
    v->processes = processes;
    v->length = (uint32_t)burst->length;
    v->tuples.spool = processes->spool;
    v->tuples.wanted = spool_at(processes->spool, settings->capture, sizeof *v->tuples.wanted);
    if (!v->tuples.wanted)
        return err_set(e, ERR_INTERNAL, "nobody has said which values are wanted");
    if (!capture_open(&v->capture, rings, period_ns * burst->every, cgroup, e))
        return err_prefix(e, "values are captured in the kernel");
    v->text.capture = v->capture;
    return true;
}

void machine_values_run(struct machine_values *v, bool run)
{
    if (v)
        capture_run(v->capture, run);
}

void machine_values_free(struct machine_values *v)
{
    if (!v)
        return;
    capture_close(v->capture);
    machine_tuples_free(&v->tuples);
    free(v);
}

/* ---- whether a process's memory may be read ---- */

/* Looked for at most a hundred times a second, whatever processes do with their maps. */
static void process_ask(struct machine_values *v, const struct machine_record *r,
                        const struct capture_record *c)
{
    if (r->time - v->asked_ns < ASKED_AGAIN_NS || r->pid <= 0)
        return;
    enum machine_devices devices = machine_devices_of(r->pid);
    v->asked_ns = r->time;
    if (devices == DEVICES_ENDED)
        return;
    v->asked++;
    v->denied += devices == DEVICES_MAYBE;
    const struct capture_process p = {.pid = r->pid,
                                      .allowed = devices == DEVICES_NONE,
                                      .program = c->program,
                                      .mapped = c->mapped};
    capture_allow(v->capture, &p);
}

/* ---- the words of the next moment ---- */

static bool same_step(const struct capture_step *a, const struct capture_step *b)
{
    return a->base == b->base && a->index == b->index && a->scale == b->scale &&
           a->bytes == b->bytes && a->extend_sign == b->extend_sign && a->plus == b->plus;
}

/* A register, the segment, or a step that is there already. */
static uint8_t term_of(uint8_t of, const uint8_t *step_of)
{
    if (of == INTERPRET_NOWHERE)
        return CAPTURE_NOTHING;
    return of >= INTERPRET_WORD ? step_of[of - INTERPRET_WORD] : of;
}

enum { NO_STEP = CAPTURE_NOTHING - 1 };

/* The step of a want, added if there is room. */
static uint8_t step_add(struct capture_recipe *to, const struct interpret_want *w,
                        const uint8_t *step_of)
{
    struct capture_step step = {.base = term_of(w->at.base, step_of),
                                .index = term_of(w->at.index, step_of),
                                .scale = w->at.scale,
                                .bytes = w->bytes,
                                .extend_sign = w->extend_sign,
                                .plus = w->at.plus};
    if (step.base == NO_STEP || step.index == NO_STEP)
        return NO_STEP;
    uint32_t i = 0;
    while (i < to->count && !same_step(&to->step[i], &step))
        i++;
    if (i == CAPTURE_STEPS)
        return NO_STEP;
    if (i == to->count) {
        to->step[i] = step;
        __atomic_store_n(&to->count, i + 1, __ATOMIC_RELEASE);
    }
    return (uint8_t)(CAPTURE_WORD + i);
}

static void recipe_add(struct machine_values *v, uint64_t pc)
{
    const struct interpret_state *s = &v->state;
    struct capture_recipe *to = s->wants ? capture_recipe_at(v->capture, pc) : NULL;
    uint8_t step_of[INTERPRET_WANTS];
    if (!to)
        return;
    if (to->pc != pc || to->count > CAPTURE_STEPS) {
        __atomic_store_n(&to->sequence, to->sequence | 1, __ATOMIC_SEQ_CST);
        to->count = 0;
        to->pc = pc;
        __atomic_store_n(&to->sequence, to->sequence + 1, __ATOMIC_RELEASE);
    }
    for (unsigned i = 0; i < s->wants; i++)
        step_of[i] = step_add(to, &s->want[i], step_of);
}

/* ---- a moment ---- */

static void state_begin(struct interpret_state *s, const struct capture_record *c)
{
    interpret_begin(s);
    for (unsigned i = 0; i < 16; i++)
        interpret_register(s, i, c->reg[i]);
    interpret_flags(s, c->rflags);
    s->rip = c->ip;
    s->kernel = c->flags & CAPTURE_IN_KERNEL;
    s->fs.bits = c->fs;
    s->fs.known = s->kernel ? 0 : UINT64_MAX;
    s->gs.bits = c->gs;
    s->gs.known = c->gs || !s->kernel ? UINT64_MAX : 0;
    if (!s->kernel) /* what is asked for by its segment is FS's */
        s->gs.origin.known = false;
    interpret_remember(s, c->reg[X86_RSP], c->top, c->stack);
    for (uint32_t i = 0; i < c->words; i++)
        if (c->word[i].address)
            interpret_remember(s, c->word[i].address, &c->word[i].bits, c->size[i] & 15);
}

static uint64_t key_of(const struct machine_process *p, bool kernel, uint64_t address)
{
    uint64_t bias;
    const struct machine_map *map = kernel ? NULL : machine_process_map(p, address);
    if (!map || !map->image || !map->image->number || !machine_image_bias(map->image, map, &bias))
        return key_make(0, address);
    return key_make(map->image->number, address - bias);
}

/* The kernel's memory that is no RAM. */
static bool is_device_access(const struct machine_values *v, const struct machine_plan *p)
{
    const struct interpret_state *s = &v->state;
    for (unsigned i = 0; i < p->full.memories; i++) {
        struct interpret_value a = interpret_address(s, &p->insn, &p->memory[i]);
        bool near = a.bits - v->record.reg[X86_RSP] + CAPTURE_NEAR < 2 * CAPTURE_NEAR;
        if (a.known == UINT64_MAX && a.bits >> 63 && !near &&
            !capture_is_memory(v->capture, a.bits))
            return true;
    }
    return false;
}

/* A repeated string instruction that was interrupted has done a part of its work: what it does now
 * is not what it did. */
static bool is_begun(const struct machine_plan *p, uint32_t n)
{
    return n == 0 && p->insn.kind == X86_STRING_REP;
}

/* One instruction. NEXT: there may be another. */
static enum interpret_end instruction(struct machine_values *v,
                                      const struct machine_process *process, uint32_t n)
{
    struct interpret_state *s = &v->state;
    uint8_t code[CODE_MOST + 1];
    enum interpret_end end;
    unsigned count = machine_text_read(&v->text, s->rip, code, CODE_MOST);
    struct machine_plan *p =
        machine_plan_of(&v->tuples, key_of(process, s->kernel, s->rip), s->rip, code, count, &end);
    if (!p)
        return end;
    if (s->kernel && is_device_access(v, p))
        return INTERPRET_DEVICE;
    bool seen = !is_begun(p, n);
    if (seen)
        machine_tuple_begin(&v->tuples, p, s);
    end = interpret_step(s, &p->insn, code);
    if (seen && (end == INTERPRET_NEXT || p->insn.kind == X86_SYSCALL))
        machine_tuple_end(&v->tuples, s, end == INTERPRET_NEXT);
    else if (seen)
        v->tuples.ring->cursor.at = v->tuples.ring->cursor.open;
    return end;
}

static void interpret(struct machine_values *v, struct machine_process *p, int32_t tid)
{
    const struct capture_record *c = &v->record;
    struct part *part = c->flags & CAPTURE_IN_KERNEL ? &v->kernel : &v->user;
    enum interpret_end end = INTERPRET_NEXT;
    uint32_t n = 0;
    state_begin(&v->state, c);
    machine_text_begin(&v->text, v->state.kernel ? NULL : p, c->ip, c->bytes, c->code);
    if (!machine_sequence_begin(&v->tuples, p->record, tid, v->length))
        return;
    for (; end == INTERPRET_NEXT && n < v->length; n++)
        end = instruction(v, p, n);
    machine_sequence_end(&v->tuples);
    part->moments++;
    part->instructions += n - (end != INTERPRET_NEXT);
    part->ends[end]++;
    part->forgot += v->state.forgot;
    recipe_add(v, c->ip);
}

void machine_values_take(struct machine_values *v, const struct machine_record *r)
{
    struct capture_record *c = v ? &v->record : NULL;
    if (!v || r->pid < 0) {
        if (v)
            v->none++;
        return;
    }
    memset(c, 0, sizeof *c);
    memcpy(c, r->capture, r->capture_size);
    v->ns += c->ns;
    if (c->flags & CAPTURE_MODE) {
        v->mode++;
        return;
    }
    struct machine_process *p = machine_process_at(v->processes, r->pid);
    if (!p || !machine_process_is_selected(v->processes, p))
        return;
    struct machine_thread *t = machine_thread_at(p, r->tid);
    if (!t || !machine_thread_record(v->processes, p, t) || !p->record) {
        __atomic_fetch_add(&spool_header(v->processes->spool)->drops[DROP_SPOOL_FULL], 1,
                           __ATOMIC_RELAXED);
        return;
    }
    /* so that its maps have images */
    if (!(c->flags & CAPTURE_IN_KERNEL))
        machine_process_index(v->processes, p);
    if (c->flags & CAPTURE_ASKS)
        process_ask(v, r, c);
    interpret(v, p, r->tid);
}

/* ---- what is to be known ---- */

static void put_part(const struct part *p, const char *where, struct buf *notes)
{
    static const char *const what[] = {
#define SENTENCE(id, sentence) sentence,
        INTERPRET_ENDS(SENTENCE)
#undef SENTENCE
    };
    if (!p->moments)
        return;
    buf_printf(notes,
               "values of %s: %" PRIu64 " moments, %.1f instructions interpreted at each; "
               "they ended by ",
               where, p->moments, (double)p->instructions / (double)p->moments);
    const char *between = "";
    for (unsigned i = 0; i < INTERPRET_END_COUNT; i++) {
        if (!p->ends[i])
            continue;
        buf_printf(notes, "%s%s %" PRIu64, between, what[i], p->ends[i]);
        between = "; ";
    }
    if (p->forgot)
        buf_printf(notes, "; %" PRIu64 " writes went to unknown places", p->forgot);
    buf_puts(notes, "\n");
}

void machine_values_notes(const struct machine_values *v, struct buf *notes)
{
    if (!v)
        return;
    uint64_t all = v->kernel.moments + v->user.moments + v->mode;
    put_part(&v->user, "programs", notes);
    put_part(&v->kernel, "the kernel", notes);
    if (v->mode)
        buf_printf(notes, "values of 32-bit programs: %" PRIu64 " moments, not interpreted\n",
                   v->mode);
    if (v->denied)
        buf_printf(notes,
                   "memory of processes that may have a device mapped was not captured (%" PRIu64
                   " times of %" PRIu64 " looked)\n",
                   v->denied, v->asked);
    if (v->none)
        buf_printf(notes, "values: %" PRIu64 " moments of threads at their very end left out\n",
                   v->none);
    if (v->tuples.cut)
        buf_printf(notes,
                   "%" PRIu64 " values left out: their instructions had been met with %d other "
                   "sets of known values\n",
                   v->tuples.cut, MACHINE_VARIANTS);
    if (all)
        buf_printf(notes, "the kernel took %.2f us for each moment\n",
                   (double)v->ns / 1e3 / (double)all);
    capture_notes(v->capture, notes);
}
