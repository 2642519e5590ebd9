/* Plain numbers of a profile, each declared once, by a row of its family: from the rows they are
 * written, read and merged. A figure of a file that this version does not know is kept as it is.
 *
 * Context: ordinary code.
 * Ownership: rows are constant; a struct profile owns its unknown figures. */
#ifndef PENUMBRA_PROFILE_FIGURES_H
#define PENUMBRA_PROFILE_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

/* How that of a merged profile comes from the two. In files by number. */
enum figure_how { FIGURE_SUM, FIGURE_GREATEST, FIGURE_HOWS };

struct figure_row {
    const char *name, *unit, *what;
    const char *(*name_of)(unsigned); /* of those of many; NULL: by their index */
    size_t offset;  /* in the family's struct, of a uint64_t or of `count` of them */
    uint32_t count; /* 0: it is one number */
    enum figure_how how;
};

#define FIGURE_ROW(family, type, field, how, unit, what)                                           \
    {family "." #field, unit, what, NULL, offsetof(type, field), 0, FIGURE_##how}
#define FIGURE_ROW_MANY(family, type, field, count, names, unit, what)                             \
    {family "." #field, unit, what, names, offsetof(type, field), count, FIGURE_SUM}

struct figure_family {
    const struct figure_row *rows;
    uint32_t count;
    /* The struct that holds them; NULL: the profile has none. */
    void *(*of)(const struct profile *p);
    /* Gives the profile an empty one; NULL without memory. `make` is NULL if another section
     * does. */
    void *(*make)(struct profile *p);
};

/* All families, ended by NULL. */
extern const struct figure_family *const figure_families[];

/* Of two structs of the family, by the rows. */
void figures_add(const struct figure_family *family, void *into, const void *from);
uint64_t figure_merged(enum figure_how how, uint64_t a, uint64_t b);

/* The row of the figure with this name, and which of its numbers that is; NULL: there is none. */
const struct figure_row *figure_find(const struct figure_family *family, const char *name,
                                     uint32_t *member);
/* The numbers of a row, of which there are figure_count(row). */
static inline uint64_t *figure_numbers(const struct figure_row *row, void *record)
{
    return (uint64_t *)(void *)((char *)record + row->offset);
}
static inline uint32_t figure_count(const struct figure_row *row)
{
    return row->count ? row->count : 1;
}

/* As a file has it. */
struct figure {
    char *name, *unit;
    uint32_t how; /* enum figure_how; greater ones are of a later version, and not merged */
    uint64_t value;
};

/* Adds a figure that this version does not know, in the order of their names, or merges it with
 * that of the same name. False without memory. */
bool figures_keep(struct profile *p, const struct figure *f);
void figures_free(struct figure *list, uint32_t count);

#endif
