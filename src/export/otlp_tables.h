/* The tables that an OpenTelemetry profile refers to (export/otlp.proto, ProfilesDictionary). Each
 * entry is packed as soon as it is new: a table is its number of entries and their bytes.
 *
 * Context: ordinary code, one thread a struct otlp_tables.
 * Ownership: otlp_tables_fini releases them; profile and symbols must outlive them. */
#ifndef PENUMBRA_EXPORT_OTLP_TABLES_H
#define PENUMBRA_EXPORT_OTLP_TABLES_H

#include <protobuf-c/protobuf-c.h>

#include "export/intern.h"
#include "export/pprof_maps.h"
#include "symbols/symbols.h"

struct otlp_tables {
    const struct profile *profile;
    const struct symbols *symbols;
    struct pprof_map *maps;
    /* Their numbers are indexes: entry 0 is none. */
    struct intern strings, functions, locations, stacks, attributes;
    struct buf packed; /* entries, but for strings and mappings */
};

/* False without memory. */
bool otlp_tables_init(struct otlp_tables *t, const struct profile *p, const struct symbols *s);
void otlp_tables_fini(struct otlp_tables *t);

int32_t otlp_string(struct otlp_tables *t, const char *string);
int32_t otlp_attribute_string(struct otlp_tables *t, const char *key, const char *value);
int32_t otlp_attribute_number(struct otlp_tables *t, const char *key, int64_t value);
/* The stack that ends at a node; path: the nodes from the outermost to it, of which `max_depth` at
 * most are shown (0: all). *cut: some are not. */
int32_t otlp_stack(struct otlp_tables *t, const struct profile_thread *thread, const uint32_t *path,
                   uint32_t length, uint32_t max_depth, bool *cut);

/* All of them, when nothing is added any more, as the fields of a ProfilesDictionary. */
bool otlp_tables_put(struct otlp_tables *t, struct buf *out);

/* A field that is a message; one that is bytes. */
void otlp_put_message(struct buf *out, unsigned field, const ProtobufCMessage *message);
void otlp_put_bytes(struct buf *out, unsigned field, const struct buf *bytes);

#endif
