#include "profile/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "profile/decode.h"
#include "profile/encode.h"

#define KEY_SAMPLES "handler" /* call paths, sampled */

struct part_key profile_key(const struct profile *p)
{
    const struct profile_counts *c = observed_code(p);
    struct part_key key = {OBSERVED_SAMPLED, KEY_SAMPLES, ""};
    if (!c)
        return key;
    key = (struct part_key){OBSERVED_EXACT, c->carrier, c->tool};
    for (uint32_t i = 0; i < p->observations.count; i++)
        if (p->observations.list[i].how == OBSERVED_SAMPLED)
            key.how = OBSERVED_SAMPLED;
    return key;
}

struct part_key profile_part_key(const struct profile_part *part)
{
    return (struct part_key){part->how, part->carrier, part->tool};
}

int part_key_compare(const struct part_key *a, const struct part_key *b)
{
    if (a->how != b->how)
        return a->how == OBSERVED_EXACT ? -1 : 1;
    int order = strcmp(a->carrier, b->carrier);
    return order ? order : strcmp(a->tool, b->tool);
}

const char *part_name(char *out, const struct part_key *key)
{
    bool odd = key->how == OBSERVED_SAMPLED && !strcmp(key->carrier, "exact");
    snprintf(out, PART_NAME_MAX, "%s%s%s%s", key->carrier, *key->tool ? ":" : "", key->tool,
             odd ? ":sampled" : "");
    return out;
}

static bool is_of(const struct profile_part *part, const struct profile *p)
{
    struct part_key a = profile_part_key(part), b = profile_key(p);
    return !p->part_count && part_key_compare(&a, &b) == 0;
}

uint8_t *profile_part_encode(const struct profile_part *part, bool compress, size_t *size,
                             struct err *e)
{
    if (part->open)
        return profile_encode_with(part->open, compress, size, e);
    uint8_t *copy = part->data ? malloc(part->size) : NULL;
    if (!copy) {
        err_set(e, ERR_INTERNAL, "a part of the profile is not there, or there is no memory");
        return NULL;
    }
    memcpy(copy, part->data, part->size);
    *size = part->size;
    return copy;
}

struct profile *profile_part_read(const struct profile_part *part, enum profile_summing how,
                                  struct err *e)
{
    char name[PART_NAME_MAX];
    struct part_key key = profile_part_key(part);
    size_t size;
    uint8_t *data = profile_part_encode(part, false, &size, e);
    struct profile *p =
        data ? profile_decode_summed(data, size, part_name(name, &key), how, e) : NULL;
    free(data);
    if (!p || is_of(part, p))
        return p;
    err_set(e, ERR_FORMAT, "the part %s of the profile holds something else than its name says",
            name);
    profile_free(p);
    return NULL;
}

struct profile *profile_part_open(struct profile_part *part, struct err *e)
{
    if (part->open || !(part->open = profile_part_read(part, PROFILE_APART, e)))
        return part->open;
    free(part->data);
    part->data = NULL;
    part->size = 0;
    return part->open;
}

struct profile_part *profile_part_find(const struct profile *p, const struct part_key *key)
{
    for (uint32_t i = 0; i < p->part_count; i++) {
        struct part_key at = profile_part_key(&p->parts[i]);
        if (part_key_compare(&at, key) == 0)
            return &p->parts[i];
    }
    return NULL;
}

/* All but the parts. */
static void exchange(struct profile *a, struct profile *b)
{
    struct profile was = *a;
    *a = *b;
    a->parts = was.parts;
    a->part_count = was.part_count;
    was.parts = b->parts;
    was.part_count = b->part_count;
    *b = was;
}

static bool insert(struct profile *p, struct profile_part part)
{
    uint32_t at = 0;
    struct part_key key = profile_part_key(&part);
    struct profile_part *grown = part.carrier && part.tool && p->part_count < PARTS_MAX
                                     ? reallocarray(p->parts, p->part_count + 1, sizeof *grown)
                                     : NULL;
    if (!grown) {
        free(part.carrier);
        free(part.tool);
        return false;
    }
    p->parts = grown;
    for (; at < p->part_count; at++) {
        struct part_key other = profile_part_key(&grown[at]);
        if (part_key_compare(&key, &other) < 0)
            break;
    }
    memmove(&grown[at + 1], &grown[at], (p->part_count - at) * sizeof *grown);
    grown[at] = part;
    p->part_count++;
    return true;
}

static struct profile_part part_of(struct profile *one)
{
    struct part_key key = profile_key(one);
    return (struct profile_part){.carrier = strdup(key.carrier),
                                 .tool = strdup(key.tool),
                                 .how = key.how,
                                 .open = one};
}

bool profile_part_add(struct profile *p, struct profile *one)
{
    struct profile *part = profile_new();
    if (!part)
        return false;
    exchange(part, one);
    struct part_key first = profile_key(p), key = profile_key(part);
    if (part_key_compare(&key, &first) < 0)
        exchange(p, part);
    bool ok = insert(p, part_of(part));
    if (!ok)
        profile_free(part);
    return ok;
}

static void part_fini(struct profile_part *part)
{
    free(part->carrier);
    free(part->tool);
    free(part->data);
    profile_free(part->open);
}

void profile_parts_free(struct profile *p)
{
    for (uint32_t i = 0; i < p->part_count; i++)
        part_fini(&p->parts[i]);
    free(p->parts);
    p->parts = NULL;
    p->part_count = 0;
}

/* ---- which is shown ---- */

static bool is_named(const struct part_key *key, const char *name, bool in_full)
{
    char full[PART_NAME_MAX];
    if (in_full)
        return !strcmp(name, part_name(full, key));
    return !strcmp(name, profile_observation_how_name(key->how)) || !strcmp(name, key->carrier) ||
           (*name && !strcmp(name, key->tool));
}

static bool missing(const struct profile *p, const char *name, struct err *e)
{
    char one[PART_NAME_MAX];
    struct buf names = {0};
    struct part_key key = profile_key(p);
    buf_puts(&names, part_name(one, &key));
    for (uint32_t i = 0; i < p->part_count; i++) {
        key = profile_part_key(&p->parts[i]);
        buf_printf(&names, ", %s", part_name(one, &key));
    }
    buf_put_u8(&names, 0);
    err_set(e, ERR_USAGE, "there is no observation \"%s\" in this profile; it has %s", name,
            buf_ok(&names) ? (const char *)names.data : "others");
    buf_free(&names);
    return false;
}

/* Part `at` becomes the profile, which is listed in its place. */
static bool show(struct profile **p, uint32_t at, enum profile_summing how, struct err *e)
{
    struct profile *was = *p, *one = profile_part_read(&was->parts[at], how, e);
    if (!one)
        return false;
    struct profile_part listed = part_of(was);
    listed.open = NULL;
    one->parts = was->parts;
    one->part_count = was->part_count - 1;
    part_fini(&one->parts[at]);
    memmove(&one->parts[at], &one->parts[at + 1],
            (one->part_count - at) * sizeof *one->parts);
    was->parts = NULL;
    was->part_count = 0;
    profile_free(was);
    *p = one;
    return insert(one, listed) || err_set(e, ERR_INTERNAL, "out of memory");
}

bool profile_choose(struct profile **p, const char *name, enum profile_summing how, struct err *e)
{
    if (!name)
        return true;
    for (unsigned in_full = 2; in_full-- > 0;) {
        struct part_key key = profile_key(*p);
        if (is_named(&key, name, in_full))
            return true;
        for (uint32_t i = 0; i < (*p)->part_count; i++) {
            key = profile_part_key(&(*p)->parts[i]);
            if (is_named(&key, name, in_full))
                return show(p, i, how, e);
        }
    }
    return missing(*p, name, e);
}
