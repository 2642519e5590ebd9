/* Productions of several files become one program. */
#include <string.h>

#include "production/parser.h"

/* ---- room ---- */

static bool room(struct parser *p, uint32_t used, uint32_t most, const char *what)
{
    return used < most || parser_fail(p, &p->token, "there are more than %u %s", most, what);
}

/* A run grows behind the last of its kind only. */
bool parser_term(struct parser *p, struct production_run *run, struct production_term term)
{
    struct production_program *to = p->all->program;
    if (!room(p, to->terms_used, PRODUCTION_TERMS, "terms of patterns"))
        return false;
    to->terms[to->terms_used++] = term;
    run->count++;
    return true;
}

bool parser_action(struct parser *p, struct production_run *run, uint8_t group)
{
    struct production_program *to = p->all->program;
    if (!room(p, to->actions_used, PRODUCTION_ACTIONS, "actions"))
        return false;
    to->actions[to->actions_used++] = group;
    run->count++;
    return true;
}

bool parser_micro(struct parser *p, struct production_run *run, struct production_micro micro)
{
    struct production_program *to = p->all->program;
    if (!room(p, to->micros_used, PRODUCTION_MICROS, "micro-operations"))
        return false;
    to->micros[to->micros_used++] = micro;
    run->count++;
    return true;
}

uint32_t production_image(struct production_program *p, const char *name, size_t size)
{
    for (uint32_t i = 0; i < p->image_count; i++)
        if (strlen(p->images[i]) == size && !memcmp(p->images[i], name, size))
            return i;
    if (p->image_count == PRODUCTION_IMAGES || size >= PRODUCTION_NAME)
        return UINT32_MAX;
    memcpy(p->images[p->image_count], name, size);
    p->images[p->image_count][size] = '\0';
    return p->image_count++;
}

/* ---- groups ---- */

static bool same_group(const struct production_group *a, const struct production_group *b)
{
    return a->kind == b->kind && !memcmp(a->fields, b->fields, sizeof a->fields);
}

uint8_t parser_group(struct parser *p, const struct token *at, const struct production_group *g)
{
    struct production_program *to = p->all->program;
    for (uint32_t i = 0; i < to->group_count; i++)
        if (!strcmp(to->groups[i].name, g->name)) {
            if (same_group(&to->groups[i], g))
                return (uint8_t)i;
            parser_fail(p, at, "%s is of another kind elsewhere: give it another label", g->name);
            return UINT8_MAX;
        }
    if (!room(p, to->group_count, PRODUCTION_GROUPS, "kinds of results"))
        return UINT8_MAX;
    to->groups[to->group_count] = *g;
    return (uint8_t)to->group_count++;
}

/* ---- productions ---- */

static bool same_terms(const struct production_program *p, struct production_run a,
                       struct production_run b)
{
    return a.count == b.count &&
           !memcmp(p->terms + a.first, p->terms + b.first, a.count * sizeof *p->terms);
}

static bool has_micro(const struct production_program *p, struct production_run run,
                      const struct production_micro *m)
{
    bool found = false;
    for (unsigned i = 0; i < run.count; i++)
        found |= !memcmp(&p->micros[run.first + i], m, sizeof *m);
    return found;
}

static bool has_action(const struct production_program *p, struct production_run run,
                       uint8_t group)
{
    return run.count && memchr(p->actions + run.first, group, run.count);
}

/* Both runs' actions, each once. */
static bool join_actions(struct parser *p, struct production_run *to, struct production_run more)
{
    const struct production_program *all = p->all->program;
    struct production_run joined = {.first = (uint16_t)all->actions_used};
    bool ok = true;
    for (unsigned i = 0; ok && i < (unsigned)to->count + more.count; i++) {
        uint8_t group = all->actions[i < to->count ? to->first + i : more.first + i - to->count];
        ok = has_action(all, joined, group) || parser_action(p, &joined, group);
    }
    *to = joined;
    return ok;
}

static bool join_micros(struct parser *p, struct production_run *to, struct production_run more)
{
    const struct production_program *all = p->all->program;
    struct production_run joined = {.first = (uint16_t)all->micros_used};
    bool ok = true;
    for (unsigned i = 0; ok && i < (unsigned)to->count + more.count; i++) {
        struct production_micro m =
            all->micros[i < to->count ? to->first + i : more.first + i - to->count];
        ok = has_micro(all, joined, &m) || parser_micro(p, &joined, m);
    }
    *to = joined;
    return ok;
}

bool parser_merge(struct parser *p, const struct token *at, const struct production *made)
{
    struct production_program *all = p->all->program;
    for (uint32_t i = 0; i < all->count; i++) {
        struct production *other = &all->productions[i];
        if (same_terms(all, other->pattern, made->pattern) &&
            same_terms(all, other->conditional, made->conditional))
            return join_actions(p, &other->actions, made->actions) &&
                   join_micros(p, &other->micros, made->micros);
    }
    if (all->count == PRODUCTIONS_MOST)
        return parser_fail(p, at, "there are more than %d productions", PRODUCTIONS_MOST);
    all->productions[all->count++] = *made;
    return true;
}
