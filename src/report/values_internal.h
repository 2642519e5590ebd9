/* Shared between values*.c. Context and ownership: values.h. */
#ifndef PENUMBRA_REPORT_VALUES_INTERNAL_H
#define PENUMBRA_REPORT_VALUES_INTERNAL_H

#include "report/values.h"
#include "symbols/code.h"

struct value_reader {
    const struct view *view;
    const struct profile_values *values;
    struct symbols_options options;
    struct code **codes; /* by image; NULL: it cannot be read */
    bool *tried;
    struct sampled {
        uint32_t image;
        uint64_t offset, self;
    } *sampled; /* by image and offset; after value_samples */
    size_t sampled_count;
    uint64_t samples; /* all of them; 0: none were taken, so that time is not known */
};

/* NULL: it cannot be read, or there is no such image. */
struct code *value_code(struct value_reader *r, uint32_t image);
/* A value with a name, of compiled-in instrumentation; NULL: the place is none. */
const struct profile_entity *value_entity(struct value_reader *r, uint32_t image, uint64_t offset);
/* Its name in the source, or ""; the function that it is in. */
const char *value_entity_name(const struct profile_entity *entity);
void value_entity_function(const struct profile_entity *entity, char *out, size_t size);
/* The instruction, or "". */
void value_assembly(struct value_reader *r, uint32_t image, uint64_t offset, char *out,
                    size_t size);

/* Kind, site, times observed, p, invariance, values, to the line's end. */
void value_hotlist(FILE *out, struct value_reader *r, const struct profile_hotlist *h);

/* Members of an object: image, offset, function and asm of a place; kind, site, times observed, p,
 * invariance and values of a hotlist. */
void value_json_place(struct json *j, struct value_reader *r, uint32_t image, uint64_t offset);
void value_json_hotlist(struct json *j, struct value_reader *r, const struct profile_hotlist *h);

/* Collects samples. False without memory. */
bool value_samples(struct value_reader *r);
/* Samples in [lo, hi) of an image. */
uint64_t value_samples_in(const struct value_reader *r, uint32_t image, uint64_t lo, uint64_t hi);
/* Samples of the instruction at a place. With skid: where it is a division, those at the
 * instruction behind it are its own, and those at it are of the one before if that is a
 * division. */
uint64_t value_samples_of(struct value_reader *r, uint32_t image, uint64_t offset);

/* Is the hotlist one of "argument N", in a register that the procedure at the place does not
 * read? */
bool value_is_unread(struct value_reader *r, const struct profile_hotlist *h);

/* What was kept of a hotlist, and the most frequent value of it. */
struct value_kept {
    uint64_t all, most;
};
struct value_kept value_kept(const struct hotlist *list);
/* "19 of 19", or of more than can be pictured "97.0%". */
void value_invariance(char *out, size_t size, const struct hotlist *list);

/* "div.c:12", or "". */
void value_line(struct value_reader *r, uint32_t image, uint64_t offset, char *out, size_t size);

#endif
