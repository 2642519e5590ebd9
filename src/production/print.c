/* A program as text, as the language has it. */
#include <inttypes.h>

#include "production/production.h"

static const char *const relations[] = {"==", "!=", "<", "<=", ">", ">="};

static void print_test(FILE *to, const struct production_program *p,
                       const struct production_term *t)
{
    const char *relation = relations[t->relation % (RELATION_GE + 1)];
    switch (t->what) {
    case TERM_CLASS:
        fprintf(to, "T.OPCLASS == %s", production_class_name((uint32_t)t->value));
        break;
    case TERM_PC: fprintf(to, "T.PC %s 0x%" PRIx64, relation, t->value); break;
    case TERM_PC_TARGET: fprintf(to, "T.PC %s T.Target", relation); break;
    case TERM_IMMEDIATE: fprintf(to, "T.IMM %s %" PRId64, relation, (int64_t)t->value); break;
    case TERM_OPCODE: fprintf(to, "T.OPCODE %s 0x%" PRIx64, relation, t->value); break;
    case TERM_BASE:
    case TERM_INDEX:
    case TERM_READS:
    case TERM_WRITES:
        fprintf(to, "T.%s == %s",
                t->what == TERM_BASE    ? "BASE"
                : t->what == TERM_INDEX ? "INDEX"
                : t->what == TERM_READS ? "RS"
                                        : "RD",
                production_register_name((uint32_t)t->value));
        break;
    case TERM_IMAGE: fprintf(to, "T.IMAGE == \"%s\"", p->images[t->value]); break;
    case TERM_FUNCTION: fprintf(to, "T.FUNCTION == \"%s\"", p->functions[t->value].name); break;
    default:
        fprintf(to, "%s_%" PRIu64, t->what == TERM_OVERFLOW ? "overflow" : "zero", t->value + 1);
        break;
    }
}

/* The expression before term `end`; returns where it begins. */
static uint32_t print_before(FILE *to, const struct production_program *p, uint32_t end);

static uint32_t begin_of(const struct production_program *p, uint32_t end)
{
    uint8_t what = p->terms[--end].what;
    if (what == TERM_NOT)
        return begin_of(p, end);
    return what == TERM_AND || what == TERM_OR ? begin_of(p, begin_of(p, end)) : end;
}

static uint32_t print_before(FILE *to, const struct production_program *p, uint32_t end)
{
    const struct production_term *t = &p->terms[end - 1];
    if (t->what > TERM_NOT) {
        print_test(to, p, t);
        return end - 1;
    }
    fputs(t->what == TERM_NOT ? "!(" : "(", to);
    if (t->what != TERM_NOT) {
        print_before(to, p, begin_of(p, end - 1));
        fputs(t->what == TERM_AND ? " && " : " || ", to);
    }
    print_before(to, p, end - 1);
    fputc(')', to);
    return begin_of(p, end);
}

static void print_micros(FILE *to, const struct production_program *p, struct production_run run)
{
    static const char *const names[] = {"inc", "dec", "set"};
    for (uint32_t i = 0; i < run.count; i++) {
        const struct production_micro *m = &p->micros[run.first + i];
        fprintf(to, "%s%s_%u", i ? ", " : "", names[m->what % 3], m->counter + 1u);
        if (m->what == MICRO_SET)
            fprintf(to, "(0x%" PRIx64 ")", m->value);
    }
    fputs(run.count ? "" : "null", to);
}

static void print_action(FILE *to, const struct production_group *g)
{
    fprintf(to, "%s %s(%s", g->name, g->kind == GROUP_COUNT ? "count" : "append",
            production_field_name(g->fields[0]));
    if (g->fields[1] != FIELD_NOTHING)
        fprintf(to, ", %s", production_field_name(g->fields[1]));
    fputc(')', to);
}

void production_print(FILE *to, const struct production_program *p)
{
    fprintf(to, "burst %" PRIu64 ", sparsity %" PRIu64 "\ninit: ", p->burst, p->sparsity);
    print_micros(to, p, p->begin);
    fputc('\n', to);
    for (uint32_t i = 0; i < p->count; i++) {
        const struct production *one = &p->productions[i];
        fprintf(to, "%s: ", one->name);
        print_before(to, p, (uint32_t)one->pattern.first + one->pattern.count);
        if (one->conditional.count) {
            fputs(" && ", to);
            print_before(to, p, (uint32_t)one->conditional.first + one->conditional.count);
        }
        fputs(" => ", to);
        for (uint32_t k = 0; k < one->actions.count; k++) {
            print_action(to, &p->groups[p->actions[one->actions.first + k]]);
            fputc(' ', to);
        }
        fputs(one->actions.count ? "T.INSN, " : "null, ", to);
        print_micros(to, p, one->micros);
        fputc('\n', to);
    }
}
