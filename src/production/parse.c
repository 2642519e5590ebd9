/* Statements of a .dise file. Labels are the file's own, and may be used before they are
 * defined. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "production/parser.h"

/* ---- tokens ---- */

bool parser_fail(struct parser *p, const struct token *at, const char *format, ...)
{
    char text[sizeof((struct err *)0)->message / 2];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    p->failed = true;
    return err_set(p->e, ERR_USAGE, "%s:%u:%u: %s", p->file, at->line, at->column, text);
}

bool parser_expected(struct parser *p, const struct token *at, const char *expected)
{
    enum { SHOWN = 40 };
    int size = at->size > SHOWN ? SHOWN : (int)at->size;
    if (at->kind == TOKEN_END)
        return parser_fail(p, at, "expected %s, found the end of the file", expected);
    if (at->kind == TOKEN_STRING)
        return parser_fail(p, at, "expected %s, found \"%.*s\"", expected, size, at->text);
    return parser_fail(p, at, "expected %s, found %.*s", expected, size, at->text);
}

void parser_take(struct parser *p)
{
    p->token = p->next;
    p->next = lexer_next(&p->lexer);
}

bool parser_accept(struct parser *p, enum token_kind kind)
{
    if (p->token.kind != kind)
        return false;
    parser_take(p);
    return true;
}

bool parser_expect(struct parser *p, enum token_kind kind, const char *what)
{
    return parser_accept(p, kind) || parser_expected(p, &p->token, what);
}

bool token_is(const struct token *t, const char *word)
{
    return t->kind == TOKEN_WORD && t->size == strlen(word) && !memcmp(t->text, word, t->size);
}

/* It begins so, and a number of one digit or more follows. */
static bool is_numbered(const struct token *t, const char *prefix)
{
    size_t size = strlen(prefix);
    return t->kind == TOKEN_WORD && t->size > size && !memcmp(t->text, prefix, size);
}

bool parser_number(struct parser *p, uint64_t most, const char *what, uint64_t *value)
{
    struct token t = p->token;
    const struct parser_all *all = p->all;
    bool known = t.kind == TOKEN_NUMBER;
    *value = t.number;
    for (unsigned i = 0; !known && i < all->register_count; i++)
        if (token_is(&t, all->registers[i].name)) {
            *value = all->registers[i].value;
            known = true;
        }
    if (!known)
        return parser_expected(p, &t, what);
    if (*value > most)
        return parser_fail(p, &t, "%llu is more than %llu", (unsigned long long)*value,
                           (unsigned long long)most);
    parser_take(p);
    return true;
}

/* ---- conditional control ---- */

static bool is_micro(const struct token *t)
{
    return is_numbered(t, "inc_") || is_numbered(t, "dec_") || is_numbered(t, "set_");
}

static bool micro(struct parser *p, struct production_run *run)
{
    static const char register_words[] =
        "a register (sampleFreq, burstLength, or one that the file declares) or a number";
    enum { PREFIX = 4 };
    struct token t = p->token;
    struct production_micro m = {.what = *t.text == 'i'   ? MICRO_INC
                                         : *t.text == 'd' ? MICRO_DEC
                                                          : MICRO_SET};
    uint64_t counter = 0;
    for (size_t i = PREFIX; i < t.size && counter <= PRODUCTION_COUNTERS; i++)
        counter = t.text[i] >= '0' && t.text[i] <= '9' ? counter * 10 + (uint64_t)(t.text[i] - '0')
                                                       : PRODUCTION_COUNTERS + 1;
    if (!counter || counter > PRODUCTION_COUNTERS)
        return parser_fail(p, &t, "expected a counter, 1 to %d, found %.*s", PRODUCTION_COUNTERS,
                           (int)t.size, t.text);
    m.counter = (uint8_t)(counter - 1);
    parser_take(p);
    uint64_t most = PRODUCTION_COUNTER_END;
    if (m.what == MICRO_SET && (!parser_expect(p, TOKEN_OPEN, "( and a register") ||
                                !parser_number(p, most, register_words, &m.value) ||
                                !parser_expect(p, TOKEN_CLOSE, ")")))
        return false;
    return parser_micro(p, run, m);
}

/* ---- replacements ---- */

static const struct handler {
    const char *name;
    struct production_group group;
} handlers[] = {
    {"DataStream_handler",
     {.kind = GROUP_STREAM, .fields = {FIELD_PC, FIELD_ADDRESS}, .name = "DataStream_handler"}},
    {"CallPair_handler",
     {.kind = GROUP_COUNT, .fields = {FIELD_PC, FIELD_TARGET}, .name = "CallPair_handler"}},
    {"HotMethod_handler",
     {.kind = GROUP_COUNT, .fields = {FIELD_METHOD, FIELD_NOTHING}, .name = "HotMethod_handler"}},
};

static bool handler_group(struct parser *p, struct production_group *g)
{
    for (unsigned i = 0; i < sizeof handlers / sizeof *handlers; i++)
        if (token_is(&p->token, handlers[i].name)) {
            *g = handlers[i].group;
            parser_take(p);
            return true;
        }
    return parser_expected(p, &p->token,
                           "a handler: DataStream_handler, CallPair_handler or HotMethod_handler");
}

/* T.PC, or a register. */
static bool action_field(struct parser *p, uint8_t *field)
{
    static const char what[] =
        "T.PC, T.Target, T.ADDRESS, T.METHOD, T.IMM, T.OPCODE, or a register, rax to r15";
    struct token at = p->token;
    bool of_trigger = token_is(&at, "T");
    if (of_trigger) {
        parser_take(p);
        if (!parser_expect(p, TOKEN_DOT, "."))
            return false;
    }
    for (uint32_t i = 0; production_field_name(i); i++) {
        const char *name = production_field_name(i);
        const char *word = of_trigger ? name + strlen("T.") : name;
        if (of_trigger == (i < FIELD_REGISTER) && token_is(&p->token, word)) {
            *field = (uint8_t)i;
            parser_take(p);
            return true;
        }
    }
    return parser_expected(p, of_trigger ? &p->token : &at, what);
}

static bool fields_group(struct parser *p, struct production_group *g)
{
    g->fields[1] = FIELD_NOTHING;
    return action_field(p, &g->fields[0]) &&
           (!parser_accept(p, TOKEN_COMMA) || action_field(p, &g->fields[1]));
}

/* FILE:LABEL; of several in one replacement FILE:LABEL.2 and so on. */
static void name_make(char name[PRODUCTION_NAME], const struct parser *p, const struct token *label,
                      unsigned number)
{
    enum { LABEL_SHOWN = 24 };
    int size = label->size > LABEL_SHOWN ? LABEL_SHOWN : (int)label->size;
    if (number > 1)
        snprintf(name, PRODUCTION_NAME, "%.30s:%.*s.%u", p->stem, size, label->text, number % 1000);
    else
        snprintf(name, PRODUCTION_NAME, "%.30s:%.*s", p->stem, size, label->text);
}

static bool is_action(const struct token *t)
{
    return token_is(t, "call") || token_is(t, "count") || token_is(t, "append");
}

static bool action(struct parser *p, const struct token *label, unsigned number,
                   struct production_run *run)
{
    struct token at = p->token;
    struct production_group g = {.kind = token_is(&at, "append") ? GROUP_STREAM : GROUP_COUNT};
    parser_take(p);
    if (!parser_expect(p, TOKEN_OPEN, "("))
        return false;
    if (token_is(&at, "call")) {
        if (!handler_group(p, &g))
            return false;
    } else {
        if (!fields_group(p, &g))
            return false;
        name_make(g.name, p, label, number);
    }
    if (!parser_expect(p, TOKEN_CLOSE, ")"))
        return false;
    uint8_t group = parser_group(p, &at, &g);
    return group != UINT8_MAX && parser_action(p, run, group);
}

/* Actions, and the instruction itself. */
static bool replacement(struct parser *p, const struct token *label, struct production_run *run)
{
    unsigned number = 0;
    run->first = (uint16_t)p->all->program->actions_used;
    while (is_action(&p->token)) {
        if (!action(p, label, ++number, run))
            return false;
        parser_accept(p, TOKEN_SEMICOLON);
    }
    struct token at = p->token;
    if (!parser_accept(p, TOKEN_WORD) || !token_is(&at, "T"))
        return parser_expected(p, &at, "call(...), count(...), append(...) or T.INSN, which ends "
                                       "each sequence");
    if (!parser_expect(p, TOKEN_DOT, "."))
        return false;
    if (!token_is(&p->token, "INSN"))
        return parser_expected(p, &p->token, "INSN");
    parser_take(p);
    if (is_action(&p->token))
        return parser_fail(p, &p->token, "expected the end of the sequence: T.INSN comes last");
    return true;
}

/* ---- statements ---- */

static bool is_insn(const struct parser *p)
{
    struct lexer ahead = p->lexer;
    struct token third = lexer_next(&ahead);
    return token_is(&p->token, "T") && p->next.kind == TOKEN_DOT && token_is(&third, "INSN");
}

static bool definition_add(struct parser *p, const struct token *label, bool control,
                           struct production_run run)
{
    for (unsigned i = 0; i < p->definition_count; i++) {
        const struct token *other = &p->definitions[i].label;
        if (other->size == label->size && !memcmp(other->text, label->text, label->size))
            return parser_fail(p, label, "%.*s is defined in line %u already", (int)label->size,
                               label->text, other->line);
    }
    if (p->definition_count == PARSER_NAMES)
        return parser_fail(p, label, "there are more than %d definitions", PARSER_NAMES);
    p->definitions[p->definition_count++] = (struct parser_definition){*label, control, run};
    return true;
}

/* inc_1; set_2(register); ... */
static bool control_list(struct parser *p, struct production_run *run)
{
    run->first = (uint16_t)p->all->program->micros_used;
    run->count = 0;
    do {
        if (!is_micro(&p->token))
            return parser_expected(p, &p->token, "inc_N, dec_N or set_N(register)");
        if (!micro(p, run))
            return false;
    } while ((parser_accept(p, TOKEN_SEMICOLON) || parser_accept(p, TOKEN_COMMA)) &&
             is_micro(&p->token));
    return true;
}

static bool begin_statement(struct parser *p, const struct token *at)
{
    if (p->all->begun)
        return parser_fail(p, at, "what counters begin with is said already");
    p->all->begun = true;
    return control_list(p, &p->all->program->begin);
}

/* One of a production's: null, a label, or the operation itself. */
static bool rule_control(struct parser *p, struct parser_rule *rule)
{
    if (is_micro(&p->token))
        return micro(p, &rule->made.micros);
    struct token at = p->token;
    if (!parser_accept(p, TOKEN_WORD))
        return parser_expected(p, &at, "null, a label, inc_N, dec_N or set_N(register)");
    if (token_is(&at, "null"))
        return true;
    if (rule->control_count == PARSER_LIST)
        return parser_fail(p, &at, "there are more than %d of these", PARSER_LIST);
    rule->controls[rule->control_count++] = at;
    return true;
}

static bool rule_replacement(struct parser *p, struct parser_rule *rule)
{
    struct token at = p->token;
    if (is_action(&at) || is_insn(p))
        return replacement(p, &rule->label, &rule->made.actions);
    if (!parser_accept(p, TOKEN_WORD))
        return parser_expected(p, &at, "null, a label, or a sequence that ends with T.INSN");
    if (!token_is(&at, "null"))
        rule->replacement = at;
    return true;
}

static bool rule_statement(struct parser *p, const struct token *label)
{
    if (p->rule_count == PRODUCTIONS_MOST)
        return parser_fail(p, label, "there are more than %d productions", PRODUCTIONS_MOST);
    struct parser_rule *rule = &p->rules[p->rule_count++];
    *rule = (struct parser_rule){.label = *label};
    name_make(rule->made.name, p, label, 1);
    if (!parser_expression(p, &rule->made) || !parser_expect(p, TOKEN_ARROW, "&&, || or =>") ||
        !rule_replacement(p, rule))
        return false;
    rule->made.micros.first = (uint16_t)p->all->program->micros_used;
    while (parser_accept(p, TOKEN_COMMA))
        if (!rule_control(p, rule))
            return false;
    return true;
}

static bool labelled(struct parser *p)
{
    struct token label = p->token;
    struct production_run run = {0};
    parser_take(p);
    parser_take(p);
    if (token_is(&label, "init"))
        return begin_statement(p, &label);
    if (is_micro(&p->token))
        return control_list(p, &run) && definition_add(p, &label, true, run);
    if (is_action(&p->token) || is_insn(p))
        return replacement(p, &label, &run) && definition_add(p, &label, false, run);
    return rule_statement(p, &label);
}

static bool register_statement(struct parser *p)
{
    struct parser_all *all = p->all;
    parser_take(p);
    struct token name = p->token;
    struct parser_register *r = &all->registers[all->register_count];
    uint64_t value;
    if (name.kind != TOKEN_WORD)
        return parser_expected(p, &name, "the name of a register");
    if (name.size >= PRODUCTION_NAME || all->register_count == PARSER_NAMES)
        return parser_fail(p, &name, "there is no room for this register");
    for (unsigned i = 0; i < all->register_count; i++)
        if (token_is(&name, all->registers[i].name))
            return parser_fail(p, &name, "%s has a value already", all->registers[i].name);
    parser_take(p);
    if (!parser_expect(p, TOKEN_ASSIGN, "=") ||
        !parser_number(p, PRODUCTION_COUNTER_END, "a number", &value))
        return false;
    memcpy(r->name, name.text, name.size);
    r->name[name.size] = '\0';
    r->value = value;
    all->register_count++;
    return true;
}

static bool include_statement(struct parser *p)
{
    parser_take(p);
    struct token name = p->token;
    struct err why = {0};
    if (!parser_expect(p, TOKEN_STRING, "the name of a file in quotes"))
        return false;
    if (!p->include)
        return parser_fail(p, &name, "this text may include no file");
    if (p->include(p->context, name.text, name.size, &why))
        return true;
    /* an error in that file has its place already */
    p->failed = true;
    return why.code == ERR_USAGE ? err_set(p->e, ERR_USAGE, "%s", why.message)
                                 : parser_fail(p, &name, "%s", why.message);
}

static bool statement(struct parser *p)
{
    bool ok;
    if (token_is(&p->token, "include") && p->next.kind != TOKEN_COLON)
        ok = include_statement(p);
    else if (token_is(&p->token, "register") && p->next.kind != TOKEN_COLON)
        ok = register_statement(p);
    else if (p->token.kind == TOKEN_WORD && p->next.kind == TOKEN_COLON)
        ok = labelled(p);
    else
        ok = parser_expected(p, &p->token, "a label and :, include, or register");
    while (ok && parser_accept(p, TOKEN_SEMICOLON))
        ;
    return ok;
}

/* ---- references ---- */

static const struct parser_definition *defined(struct parser *p, const struct token *name,
                                               bool control)
{
    for (unsigned i = 0; i < p->definition_count; i++) {
        const struct parser_definition *d = &p->definitions[i];
        if (d->label.size == name->size && !memcmp(d->label.text, name->text, name->size)) {
            if (d->control == control)
                return d;
            parser_fail(p, name, "%.*s is %s, defined in line %u", (int)name->size, name->text,
                        d->control ? "conditional control" : "a replacement", d->label.line);
            return NULL;
        }
    }
    parser_fail(p, name, "%.*s is not defined in this file", (int)name->size, name->text);
    return NULL;
}

/* Behind what stands in place come what the labels mean. */
static bool rule_resolve(struct parser *p, struct parser_rule *rule)
{
    const struct production_program *all = p->all->program;
    const struct parser_definition *d = NULL;
    if (rule->replacement.kind != TOKEN_END) {
        if (!(d = defined(p, &rule->replacement, false)))
            return false;
        rule->made.actions = d->run;
    }
    struct production_run joined = {.first = (uint16_t)all->micros_used};
    for (unsigned i = 0; rule->control_count && i < rule->made.micros.count; i++)
        if (!parser_micro(p, &joined, all->micros[rule->made.micros.first + i]))
            return false;
    for (unsigned i = 0; i < rule->control_count; i++) {
        if (!(d = defined(p, &rule->controls[i], true)))
            return false;
        for (unsigned k = 0; k < d->run.count; k++)
            if (!parser_micro(p, &joined, all->micros[d->run.first + k]))
                return false;
    }
    if (rule->control_count)
        rule->made.micros = joined;
    return parser_merge(p, &rule->label, &rule->made);
}

bool parser_run(struct parser *p)
{
    p->token = lexer_next(&p->lexer);
    p->next = lexer_next(&p->lexer);
    while (!p->failed && p->token.kind != TOKEN_END)
        statement(p);
    for (unsigned i = 0; !p->failed && i < p->rule_count; i++)
        rule_resolve(p, &p->rules[i]);
    return !p->failed;
}
