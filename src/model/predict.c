#include "model/predict.h"

#include <stdlib.h>

enum {
    COUNTER_TAKEN = 2, COUNTER_MOST = 3,
    TAGE_TAG_BITS = 11, TAGE_COUNTER = 3, TAGE_USEFUL = 3, TAGE_SHORTEST = 4,
};

static uint32_t log_of(uint32_t power)
{
    return (uint32_t)__builtin_ctz(power);
}

/* Lengths from TAGE_SHORTEST to the machine's, each longer than the one before by one factor. */
static uint32_t history_of(const struct machine *m, unsigned table)
{
    uint32_t longest = m->history_length > TAGE_SHORTEST ? m->history_length : TAGE_SHORTEST;
    uint32_t length = TAGE_SHORTEST, quotient = longest / TAGE_SHORTEST;
    /* integer (table / (tables - 1))th power of the quotient */
    for (uint32_t l = TAGE_SHORTEST; l <= longest; l++) {
        uint64_t low = 1, high = 1;
        for (unsigned i = 0; i < TAGE_TABLES - 1; i++)
            low = low * l > UINT64_MAX >> 16 ? UINT64_MAX >> 16 : low * l;
        for (unsigned i = 0; i < TAGE_TABLES - 1; i++)
            high *= i < table ? (uint64_t)TAGE_SHORTEST * quotient : TAGE_SHORTEST;
        if (low > high)
            break;
        length = l;
    }
    return length;
}

static void make_folded(struct folded *f, unsigned i, uint32_t length, uint32_t bits)
{
    f->leaves[i] = 1u << length % bits;
    f->top[i] = 1u << bits;
}

static bool make_tage(struct predictor *p)
{
    uint32_t entries = p->mask + 1, bits = log_of(entries);
    for (unsigned i = 0; i < TAGE_TABLES; i++) {
        uint32_t length = history_of(p->m, i);
        p->tage[i] = calloc(entries, sizeof *p->tage[i]);
        if (!p->tage[i])
            return false;
        p->lengths[i] = length;
        make_folded(&p->folded, i, length, bits);
        make_folded(&p->folded, TAGE_TABLES + i, length, TAGE_TAG_BITS - 1);
    }
    return true;
}

bool predictor_make(struct predictor *p, const struct machine *m)
{
    *p = (struct predictor){.m = m, .mask = m->predictor_size - 1, .chance = 1};
    p->bimodal = calloc(m->predictor_size, 1);
    p->global = calloc(m->predictor_size, 1);
    p->choice = calloc(m->predictor_size, 1);
    p->targets = calloc(m->btb_size, sizeof *p->targets);
    p->indirect = calloc(m->indirect_size, sizeof *p->indirect);
    p->returns = calloc(m->ras_size, sizeof *p->returns);
    for (uint32_t i = 0; p->bimodal && p->global && i <= p->mask; i++)
        p->bimodal[i] = p->global[i] = COUNTER_TAKEN - 1;
    return p->bimodal && p->global && p->choice && p->targets && p->indirect && p->returns &&
           set_table_make(&p->btb, m->btb_size, m->btb_ways) &&
           set_table_make(&p->btb_l1, m->btb_l1_size, m->btb_l1_ways) &&
           (m->branch_predictor != PREDICTOR_TAGE || make_tage(p));
}

void predictor_free(struct predictor *p)
{
    free(p->bimodal);
    free(p->global);
    free(p->choice);
    free(p->targets);
    free(p->indirect);
    free(p->returns);
    set_table_free(&p->btb);
    set_table_free(&p->btb_l1);
    for (unsigned i = 0; i < TAGE_TABLES; i++)
        free(p->tage[i]);
}

/* ---- counters of two bits ---- */

static void count(uint8_t *counter, bool up)
{
    if (up && *counter < COUNTER_MOST)
        ++*counter;
    else if (!up && *counter)
        --*counter;
}

static uint64_t spread(uint64_t pc)
{
    return pc ^ pc >> 13;
}

static uint64_t recent_of(const struct predictor *p)
{
    uint32_t length = p->m->history_length;
    return length >= 64 ? p->recent : p->recent & ((UINT64_C(1) << length) - 1);
}

static bool judge_two(struct predictor *p, uint64_t pc, bool taken)
{
    uint64_t history = recent_of(p);
    uint32_t local = (uint32_t)spread(pc) & p->mask;
    uint32_t both = (uint32_t)(spread(pc) ^ history ^ history >> 17 ^ history >> 34) & p->mask;
    bool simple = p->bimodal[local] >= COUNTER_TAKEN, long_ = p->global[both] >= COUNTER_TAKEN;
    bool chosen = p->m->branch_predictor == PREDICTOR_BIMODAL  ? simple
                  : p->m->branch_predictor == PREDICTOR_GSHARE ? long_
                  : p->choice[local] >= COUNTER_TAKEN          ? long_
                                                               : simple;
    if (simple != long_)
        count(&p->choice[local], long_ == taken);
    count(&p->bimodal[local], taken);
    count(&p->global[both], taken);
    return chosen == taken;
}

/* ---- TAGE ---- */

/* The history's newest bit enters, its oldest leaves. */
static void fold(struct predictor *p, uint32_t newest)
{
    enum { KEPT = sizeof p->history };
    struct folded *f = &p->folded;
    uint32_t left[TAGE_FOLDED];
    for (unsigned i = 0; i < TAGE_TABLES; i++) {
        uint32_t all = -(uint32_t)p->history[(p->head + p->lengths[i]) % KEPT];
        left[i] = f->leaves[i] & all;
        left[TAGE_TABLES + i] = f->leaves[TAGE_TABLES + i] & all;
    }
    for (unsigned i = 0; i < TAGE_FOLDED; i++) {
        uint32_t value = (f->value[i] << 1 | newest) ^ left[i];
        f->value[i] = (value ^ (value & f->top[i] ? 1 : 0)) & (f->top[i] - 1);
    }
}

static void remember(struct predictor *p, bool taken)
{
    enum { KEPT = sizeof p->history };
    p->head = (p->head + KEPT - 1) % KEPT;
    p->history[p->head] = taken;
    p->recent = p->recent << 1 | taken;
    if (p->m->branch_predictor == PREDICTOR_TAGE)
        fold(p, taken);
}

struct tage_look {
    struct tage_entry *entry[TAGE_TABLES];
    uint16_t tag[TAGE_TABLES];
    int provider, other; /* tables; -1: the bimodal counter */
    bool provided, alternative;
};

static void look(struct predictor *p, uint64_t pc, struct tage_look *l)
{
    uint64_t at = spread(pc);
    bool simple = p->bimodal[(uint32_t)at & p->mask] >= COUNTER_TAKEN;
    l->provider = l->other = -1;
    for (int i = TAGE_TABLES - 1; i >= 0; i--) {
        uint32_t index = (uint32_t)(at ^ at >> (i + 3) ^ p->folded.value[i]) & p->mask;
        uint64_t folded = p->folded.value[TAGE_TABLES + i];
        l->tag[i] = (uint16_t)((at * 5 ^ at >> 7 ^ folded << 1) & ((1u << TAGE_TAG_BITS) - 1));
        l->entry[i] = &p->tage[i][index];
        if (l->entry[i]->tag != l->tag[i])
            continue;
        if (l->provider < 0)
            l->provider = i;
        else if (l->other < 0)
            l->other = i;
    }
    l->alternative = l->other < 0 ? simple : l->entry[l->other]->counter >= 0;
    l->provided = l->provider < 0 ? simple : l->entry[l->provider]->counter >= 0;
}

/* An entry of a longer history, where one is of no use; else all of them become less useful. */
static void allocate(struct predictor *p, struct tage_look *l, bool taken)
{
    p->chance = p->chance * 1103515245u + 12345u;
    int first = l->provider + 1 + (int)(p->chance >> 16 & 1);
    first = first < TAGE_TABLES ? first : l->provider + 1;
    for (int i = first; i < TAGE_TABLES; i++) {
        if (l->entry[i]->useful)
            continue;
        *l->entry[i] = (struct tage_entry){.tag = l->tag[i], .counter = taken ? 0 : -1};
        return;
    }
    for (int i = first; i < TAGE_TABLES; i++)
        l->entry[i]->useful--;
}

static bool judge_tage(struct predictor *p, uint64_t pc, bool taken)
{
    struct tage_look l;
    look(p, pc, &l);
    bool right = l.provided == taken;
    if (l.provider >= 0) {
        struct tage_entry *e = l.entry[l.provider];
        if (l.provided != l.alternative && right && e->useful < TAGE_USEFUL)
            e->useful++;
        else if (l.provided != l.alternative && !right && e->useful)
            e->useful--;
        if (taken && e->counter < TAGE_COUNTER)
            e->counter++;
        else if (!taken && e->counter > -TAGE_COUNTER - 1)
            e->counter--;
    } else {
        count(&p->bimodal[(uint32_t)spread(pc) & p->mask], taken);
    }
    if (!right && l.provider < TAGE_TABLES - 1)
        allocate(p, &l, taken);
    return right;
}

/* ---- targets ---- */

/* The set is of more than the lowest bits of the address, which are alike where code is aligned.
 * Different addresses stay different. */
static uint64_t btb_tag(uint64_t pc)
{
    return pc ^ pc >> 5 ^ pc >> 13;
}

/* Whether the first level of the BTB knows where the branch is; it does from now on. */
static bool known_first(struct predictor *p, uint64_t pc)
{
    bool hit = true;
    uint64_t evicted;
    if (p->m->btb_l1_size)
        set_table_find(&p->btb_l1, btb_tag(pc), true, &hit, &evicted);
    return hit;
}

/* A taken branch whose direction is predicted rightly. *same: the BTB has this target for it. */
static enum prediction judge_target(struct predictor *p, uint64_t pc, uint64_t target, bool *same)
{
    bool hit, first = known_first(p, pc);
    uint64_t evicted;
    uint32_t entry = set_table_find(&p->btb, btb_tag(pc), true, &hit, &evicted);
    *same = hit && p->targets[entry] == target;
    p->targets[entry] = target;
    return !hit ? REDIRECTED : first ? PREDICTED : PREDICTED_LATE;
}

static enum prediction judge_indirect(struct predictor *p, uint64_t pc, uint64_t target)
{
    uint32_t at = (uint32_t)(spread(pc) ^ p->path ^ p->path >> 11) & (p->m->indirect_size - 1);
    struct indirect *i = &p->indirect[at];
    bool same, by_history = i->pc == pc;
    enum prediction known = judge_target(p, pc, target, &same);
    bool right = by_history ? i->target == target : same;
    *i = (struct indirect){pc, target};
    p->path = p->path << 3 ^ ((target ^ target >> 5) & 0xfff); /* alike wherever it is mapped */
    return !right ? MISPREDICTED : known == PREDICTED ? PREDICTED : PREDICTED_LATE;
}

static void push_return(struct predictor *p, uint64_t to)
{
    p->depth = (p->depth + 1) % p->m->ras_size;
    p->returns[p->depth] = to;
}

static enum prediction judge_return(struct predictor *p, uint64_t target)
{
    bool right = p->returns[p->depth] == target;
    p->depth = (p->depth + p->m->ras_size - 1) % p->m->ras_size;
    return right ? PREDICTED : MISPREDICTED;
}

static enum prediction judge_branch(struct predictor *p, uint64_t pc, uint64_t behind,
                                    uint64_t next)
{
    bool taken = next != behind, same, right;
    enum prediction known;
    if (p->m->branch_predictor == PREDICTOR_PERFECT)
        right = true;
    else if (p->m->branch_predictor == PREDICTOR_TAGE)
        right = judge_tage(p, pc, taken);
    else
        right = judge_two(p, pc, taken);
    remember(p, taken);
    known = taken ? judge_target(p, pc, next, &same) : PREDICTED;
    return right ? known : MISPREDICTED;
}

enum prediction predictor_judge(struct predictor *p, enum uop_transfer transfer, uint64_t pc,
                                uint64_t behind, uint64_t next)
{
    bool same;
    switch (transfer) {
    case TRANSFER_BRANCH: return judge_branch(p, pc, behind, next);
    case TRANSFER_CALL:
        push_return(p, behind);
        return judge_target(p, pc, next, &same);
    case TRANSFER_JUMP: return judge_target(p, pc, next, &same);
    case TRANSFER_CALL_INDIRECT: push_return(p, behind); return judge_indirect(p, pc, next);
    case TRANSFER_JUMP_INDIRECT: return judge_indirect(p, pc, next);
    case TRANSFER_RETURN: return judge_return(p, next);
    default: return PREDICTED;
    }
}
