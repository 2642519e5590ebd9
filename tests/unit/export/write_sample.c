/* write_sample WHICH DIRECTORY: writes a sample profile in every format, as a file of our own
 * (sample.pnb), and the truth: one line a tree node with cost, "SELF<tab>frame<tab>frame...",
 * outermost first, escaped as C does. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "sample.h"

static FILE *open_in(const char *directory, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *f = fopen(path, "wb");
    if (!f) {
        perror(path);
        exit(1);
    }
    return f;
}

static void write_format(const struct profile *p, const char *directory, const char *name,
                         export_function *run, bool threads)
{
    struct buf out = {0};
    struct export_result result;
    struct err e = {0};
    struct export_options options = {.max_depth = 100, .threads = threads};
    if (!run(p, sample_symbols(), &options, &out, &result, &e)) {
        fprintf(stderr, "%s\n", e.message);
        exit(1);
    }
    FILE *f = open_in(directory, name);
    fwrite(out.data, 1, out.size, f);
    fclose(f);
    buf_free(&out);
}

static void write_name(FILE *f, const char *name)
{
    for (; *name; name++)
        if (*name < 0x20 || *name == '\\')
            fprintf(f, "\\x%02x", (unsigned char)*name);
        else
            putc(*name, f);
}

static void write_path(FILE *f, const struct profile_thread *t, uint32_t node)
{
    static const char *const pseudo[] = {"[unknown]", "[truncated]", "[unattributed]"};
    const struct profile_node *n = &t->nodes[node];
    if (n->parent == UINT32_MAX)
        return;
    write_path(f, t, n->parent);
    if (n->image == PROFILE_IMAGE_PSEUDO) {
        fprintf(f, "\t%s", pseudo[n->offset]);
        return;
    }
    struct symbol_location at = symbols_find(sample_symbols(), NULL, n->image, n->offset);
    for (uint32_t i = at.count; i-- > 0;) {
        putc('\t', f);
        write_name(f, at.frames[i].function);
    }
}

static void write_truth(const struct profile *p, const char *directory)
{
    FILE *f = open_in(directory, "truth.tsv");
    for (uint32_t i = 0; i < p->thread_count; i++) {
        const struct profile_thread *t = &p->threads[i];
        for (uint32_t k = 0; k < t->node_count; k++) {
            if (!t->nodes[k].self)
                continue;
            fprintf(f, "%" PRIu64 "\t%" PRId32 "\t%s", t->nodes[k].self, t->tid, t->name);
            write_path(f, t, k);
            putc('\n', f);
        }
    }
    fclose(f);
}

int main(int argc, char **argv)
{
    assert(argc == 3);
    struct profile *p = sample_build(argv[1]);
    write_format(p, argv[2], "folded.txt", export_folded, false);
    write_format(p, argv[2], "otlp.pb", export_otlp, false);
    write_format(p, argv[2], "callgrind.out", export_callgrind, false);
    write_format(p, argv[2], "profile.pb.gz", export_pprof, false);
    write_format(p, argv[2], "speedscope.json", export_speedscope, false);
    write_format(p, argv[2], "threads.speedscope.json", export_speedscope, true);
    write_format(p, argv[2], "firefox.json", export_firefox, false);
    write_truth(p, argv[2]);
    char path[4096];
    struct err e = {0};
    snprintf(path, sizeof path, "%s/sample.pnb", argv[2]);
    if (!profile_write(p, path, &e)) {
        fprintf(stderr, "%s\n", e.message);
        return 1;
    }
    sample_free(p);
    return 0;
}
