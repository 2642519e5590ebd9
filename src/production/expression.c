/* Pattern && conditional. Both are expressions of their own: what stands between the outermost &&
 * is about the instruction or about flags. */
#include <string.h>

#include "production/parser.h"

/* What an operand is about. */
enum about { ABOUT_NOTHING, ABOUT_INSTRUCTION = 1, ABOUT_FLAGS = 2 };

/* While one is parsed: its terms, in postfix order. */
struct expression {
    struct production_term terms[PRODUCTION_TERMS];
    unsigned count, depth;
    unsigned height; /* of the stack, when they have been evaluated */
};

static const char operand_words[] =
    "an instruction's field (T.OPCLASS, ...), overflow_N, zero_N, ! or (";

static bool push(struct parser *p, const struct token *at, struct expression *x,
                 struct production_term term)
{
    if (x->count == PRODUCTION_TERMS)
        return parser_fail(p, at, "this expression has more than %d terms", PRODUCTION_TERMS);
    x->terms[x->count++] = term;
    x->height += term.what > TERM_NOT ? 1u : term.what == TERM_NOT ? 0u : -1u;
    return x->height <= PRODUCTION_HEIGHT ||
           parser_fail(p, at, "this expression needs more than %d values at a time: move what is "
                              "in parentheses to the front", PRODUCTION_HEIGHT);
}

/* ---- operands ---- */

/* What follows "overflow_" or "zero_": a counter, from 0. */
static bool counter_of(struct parser *p, const struct token *t, size_t prefix, uint64_t *counter)
{
    uint64_t number = 0;
    for (size_t i = prefix; i < t->size; i++)
        number = t->text[i] >= '0' && t->text[i] <= '9' && number <= PRODUCTION_COUNTERS
                     ? number * 10 + (uint64_t)(t->text[i] - '0')
                     : PRODUCTION_COUNTERS + 1;
    if (t->size == prefix || !number || number > PRODUCTION_COUNTERS)
        return parser_fail(p, t, "expected a counter, 1 to %d, found %.*s", PRODUCTION_COUNTERS,
                           (int)t->size, t->text);
    *counter = number - 1;
    return true;
}

static bool has_prefix(const struct token *t, const char *prefix)
{
    return t->kind == TOKEN_WORD && t->size > strlen(prefix) &&
           !memcmp(t->text, prefix, strlen(prefix));
}

static bool flag(struct parser *p, struct expression *x)
{
    struct token t = p->token;
    bool overflow = has_prefix(&t, "overflow_");
    struct production_term term = {.what = overflow ? TERM_OVERFLOW : TERM_ZERO};
    if (!counter_of(p, &t, strlen(overflow ? "overflow_" : "zero_"), &term.value))
        return false;
    parser_take(p);
    return push(p, &t, x, term);
}

static bool relation(struct parser *p, bool ordered, uint8_t *out)
{
    enum token_kind kind = p->token.kind;
    if (kind < TOKEN_EQ || kind > TOKEN_GE || (!ordered && kind > TOKEN_NE))
        return parser_expected(p, &p->token, ordered ? "==, !=, <, <=, > or >=" : "== or !=");
    *out = (uint8_t)(kind - TOKEN_EQ + RELATION_EQ);
    parser_take(p);
    return true;
}

/* The index of the token's word in a list of names. */
static bool word_among(struct parser *p, const char *(*name)(uint32_t), const char *what,
                       uint64_t *index)
{
    uint32_t i = 0;
    while (name(i) && !token_is(&p->token, name(i)))
        i++;
    if (!name(i))
        return parser_expected(p, &p->token, what);
    *index = i;
    parser_take(p);
    return true;
}

static bool class_value(struct parser *p, struct production_term *term)
{
    return word_among(p, production_class_name,
                      "a class of instructions (mem_op, proc_call, branch, ...)", &term->value);
}

static bool register_value(struct parser *p, struct production_term *term)
{
    return word_among(p, production_register_name, "a register, rax to r15", &term->value);
}

static bool name_token(struct parser *p, const char *what, struct token *name)
{
    *name = p->token;
    if (name->kind != TOKEN_STRING || !name->size)
        return parser_expected(p, name, what);
    if (name->size >= PRODUCTION_NAME)
        return parser_fail(p, name, "this name has more than %d characters", PRODUCTION_NAME - 1);
    parser_take(p);
    return true;
}

static bool image_value(struct parser *p, struct production_term *term)
{
    struct token name;
    if (!name_token(p, "the name of a file in quotes, \"libc.so.6\"", &name))
        return false;
    term->value = production_image(p->all->program, name.text, name.size);
    return term->value != UINT32_MAX ||
           parser_fail(p, &name, "these are more than %d images", PRODUCTION_IMAGES);
}

static bool function_value(struct parser *p, struct production_term *term)
{
    struct production_program *program = p->all->program;
    const struct production_settings *s = p->all->settings;
    struct production_function f = {.image = UINT32_MAX};
    struct token name;
    struct err why = {0};
    if (!name_token(p, "the name of a function in quotes", &name))
        return false;
    memcpy(f.name, name.text, name.size);
    for (uint32_t i = 0; i < program->function_count; i++)
        if (!strcmp(program->functions[i].name, f.name)) {
            term->value = i;
            return true;
        }
    if (s->function && !s->function(s->context, f.name, program, &f, &why))
        return parser_fail(p, &name, "%s", why.message);
    if (program->function_count == PRODUCTION_FUNCTIONS)
        return parser_fail(p, &name, "these are more than %d functions", PRODUCTION_FUNCTIONS);
    term->value = program->function_count;
    program->functions[program->function_count++] = f;
    return true;
}

/* An address; or T.Target. */
static bool pc_value(struct parser *p, struct production_term *term)
{
    if (!token_is(&p->token, "T"))
        return parser_number(p, UINT64_MAX, "an address, or T.Target", &term->value);
    parser_take(p);
    term->what = TERM_PC_TARGET;
    if (parser_expect(p, TOKEN_DOT, ".") && token_is(&p->token, "Target")) {
        parser_take(p);
        return true;
    }
    return parser_expected(p, &p->token, "Target");
}

static bool immediate_value(struct parser *p, struct production_term *term)
{
    bool minus = parser_accept(p, TOKEN_MINUS);
    if (!parser_number(p, INT64_MAX, "a number", &term->value))
        return false;
    term->value = minus ? -term->value : term->value;
    return true;
}

static bool opcode_value(struct parser *p, struct production_term *term)
{
    return parser_number(p, 0xffffff, "an opcode, 0x0faf", &term->value);
}

static const struct field {
    const char *name;
    uint8_t what;
    bool ordered;
    bool (*value)(struct parser *p, struct production_term *term);
} fields[] = {
    {"OPCLASS", TERM_CLASS, false, class_value}, {"PC", TERM_PC, true, pc_value},
    {"IMM", TERM_IMMEDIATE, true, immediate_value}, {"OPCODE", TERM_OPCODE, true, opcode_value},
    {"RS", TERM_READS, false, register_value}, {"RD", TERM_WRITES, false, register_value},
    {"BASE", TERM_BASE, false, register_value}, {"INDEX", TERM_INDEX, false, register_value},
    {"IMAGE", TERM_IMAGE, false, image_value}, {"FUNCTION", TERM_FUNCTION, false, function_value},
};

static const struct field *field_of(const struct token *t)
{
    for (unsigned i = 0; i < sizeof fields / sizeof *fields; i++)
        if (token_is(t, fields[i].name))
            return &fields[i];
    return NULL;
}

/* T.Target, which is compared with T.PC: the other way round. */
static bool target(struct parser *p, struct production_term *term)
{
    static const uint8_t turned[] = {RELATION_EQ, RELATION_NE, RELATION_GT,
                                     RELATION_GE, RELATION_LT, RELATION_LE};
    term->what = TERM_PC_TARGET;
    parser_take(p);
    if (!relation(p, true, &term->relation))
        return false;
    term->relation = turned[term->relation];
    if (!token_is(&p->token, "T"))
        return parser_expected(p, &p->token, "T.PC");
    parser_take(p);
    if (!parser_expect(p, TOKEN_DOT, "."))
        return false;
    if (!token_is(&p->token, "PC"))
        return parser_expected(p, &p->token, "PC");
    parser_take(p);
    return true;
}

static bool instruction(struct parser *p, struct expression *x)
{
    struct token at = p->token;
    struct production_term term = {0};
    parser_take(p);
    if (!parser_expect(p, TOKEN_DOT, "."))
        return false;
    const struct field *f = field_of(&p->token);
    if (token_is(&p->token, "Target"))
        return target(p, &term) && push(p, &at, x, term);
    if (!f)
        return parser_expected(p, &p->token,
                               "OPCLASS, PC, Target, IMM, OPCODE, RS, RD, BASE, INDEX, IMAGE or "
                               "FUNCTION");
    term.what = f->what;
    parser_take(p);
    if (!relation(p, f->ordered, &term.relation) || !f->value(p, &term))
        return false;
    bool negated = !f->ordered && term.relation == RELATION_NE;
    return push(p, &at, x, term) &&
           (!negated || push(p, &at, x, (struct production_term){.what = TERM_NOT}));
}

/* ---- operators: ! before && before || ---- */

static bool alternatives(struct parser *p, struct expression *x);

static bool operand(struct parser *p, struct expression *x)
{
    struct token at = p->token;
    if (++x->depth > PRODUCTION_DEPTH)
        return parser_fail(p, &at, "this expression is nested more than %d deep", PRODUCTION_DEPTH);
    bool ok;
    if (parser_accept(p, TOKEN_NOT))
        ok = operand(p, x) && push(p, &at, x, (struct production_term){.what = TERM_NOT});
    else if (parser_accept(p, TOKEN_OPEN))
        ok = alternatives(p, x) && parser_expect(p, TOKEN_CLOSE, "&&, || or )");
    else if (token_is(&at, "T"))
        ok = instruction(p, x);
    else if (has_prefix(&at, "overflow_") || has_prefix(&at, "zero_"))
        ok = flag(p, x);
    else
        ok = parser_expected(p, &at, operand_words);
    x->depth--;
    return ok;
}

static bool conjunction(struct parser *p, struct expression *x)
{
    bool ok = operand(p, x);
    while (ok && p->token.kind == TOKEN_AND) {
        struct token at = p->token;
        parser_take(p);
        ok = operand(p, x) && push(p, &at, x, (struct production_term){.what = TERM_AND});
    }
    return ok;
}

static bool alternatives(struct parser *p, struct expression *x)
{
    bool ok = conjunction(p, x);
    while (ok && p->token.kind == TOKEN_OR) {
        struct token at = p->token;
        parser_take(p);
        ok = conjunction(p, x) && push(p, &at, x, (struct production_term){.what = TERM_OR});
    }
    return ok;
}

/* `terms`, and all that the run has so far. */
static bool run_add(struct parser *p, struct production_run *run,
                    const struct production_term *terms, unsigned count)
{
    bool more = run->count;
    for (unsigned i = 0; i < count; i++)
        if (!parser_term(p, run, terms[i]))
            return false;
    return !more || parser_term(p, run, (struct production_term){.what = TERM_AND});
}

/* The postfix expression that ends before `end` begins there. */
static unsigned begin_of(const struct expression *x, unsigned end)
{
    unsigned wanted = 1;
    while (wanted) {
        uint8_t what = x->terms[--end].what;
        wanted += what == TERM_AND || what == TERM_OR ? 1u : what == TERM_NOT ? 0u : -1u;
    }
    return end;
}

static unsigned about_of(const struct production_term *terms, unsigned count)
{
    unsigned about = ABOUT_NOTHING;
    for (unsigned i = 0; i < count; i++)
        if (terms[i].what == TERM_OVERFLOW || terms[i].what == TERM_ZERO)
            about |= ABOUT_FLAGS;
        else if (terms[i].what > TERM_NOT)
            about |= ABOUT_INSTRUCTION;
    return about;
}

/* Takes the expression before `end` apart at its outermost &&; those of one kind to the run. */
static bool split(struct parser *p, const struct token *at, const struct expression *x,
                  unsigned end, unsigned kind, struct production_run *run)
{
    unsigned begin = begin_of(x, end);
    if (x->terms[end - 1].what == TERM_AND) {
        unsigned right = begin_of(x, end - 1);
        return split(p, at, x, right, kind, run) && split(p, at, x, end - 1, kind, run);
    }
    unsigned about = about_of(x->terms + begin, end - begin);
    if (about == (ABOUT_INSTRUCTION | ABOUT_FLAGS))
        return parser_fail(p, at,
                           "here || or ! joins the instruction's fields with flags of counters: "
                           "write PATTERN && CONDITIONAL, or two productions");
    return about != kind || run_add(p, run, x->terms + begin, end - begin);
}

bool parser_expression(struct parser *p, struct production *to)
{
    struct token at = p->token;
    struct expression parsed = {.count = 0};
    if (!alternatives(p, &parsed))
        return false;
    struct production_program *program = p->all->program;
    to->pattern = (struct production_run){.first = (uint16_t)program->terms_used};
    if (!split(p, &at, &parsed, parsed.count, ABOUT_INSTRUCTION, &to->pattern))
        return false;
    if (!to->pattern.count)
        return parser_fail(p, &at, "expected a pattern beside the conditional: "
                                   "T.OPCLASS == any matches each instruction");
    to->conditional = (struct production_run){.first = (uint16_t)program->terms_used};
    return split(p, &at, &parsed, parsed.count, ABOUT_FLAGS, &to->conditional);
}
