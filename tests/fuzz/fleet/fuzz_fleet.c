/* libFuzzer target: what a server answers, and what lies in a spool. The first byte chooses: rows
 * of frames, rows of stacks, a text that is to come back, a batch, rows of uploaded functions. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/batch.h"
#include "fleet/naming.h"
#include "fleet/words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rows(char *text, size_t size, bool of_frames)
{
    struct err e = {0};
    struct answer a;
    struct words w = {.frames = NULL};
    struct tsv t = {.data = text, .size = size, .e = &e};
    char *fields[WORDS_FRAME_FIELDS];
    bool ok = answer_init(&a);
    while (ok && tsv_row(&t, fields, of_frames ? WORDS_FRAME_FIELDS : WORDS_STACK_FIELDS)) {
        uint64_t number = strtoull(fields[0], NULL, 10), depth;
        ok = of_frames ? words_frame(&w, &a, &t, fields) : words_stack(&w, &t, fields) && !t.failed;
        const uint64_t *path = ok && !of_frames ? words_stack_of(&w, number, &depth) : NULL;
        for (uint64_t i = 0; path && i < depth; i++)
            words_frame_of(&w, path[i]);
        if (ok && (of_frames ? !words_frame_of(&w, number) : !path))
            abort();
    }
    if ((!ok || t.failed) && !e.code)
        abort();
    words_fini(&w);
    answer_fini(&a);
}

/* Functions around two frames of one build. */
static void check_functions(char *text, size_t size)
{
    char frames[] = "1\t0\tabcd\t/a\t16\t0\t\t0\n2\t0\tabcd\t/a\t4096\t0\t\t0\n";
    struct err e = {0};
    struct answer a;
    struct naming n;
    struct words w = {.frames = NULL};
    struct tsv t = {.data = frames, .size = sizeof frames - 1, .e = &e};
    char *fields[WORDS_FRAME_FIELDS];
    if (!answer_init(&a))
        abort();
    while (tsv_row(&t, fields, WORDS_FRAME_FIELDS))
        if (!words_frame(&w, &a, &t, fields))
            abort();
    if (!naming_begin(&n, &w, &a) || n.count != 2)
        abort();
    n.run = n.list;
    n.run_count = n.count;
    bool ok = true;
    t = (struct tsv){.data = text, .size = size, .e = &e};
    while (ok && tsv_row(&t, fields, NAMING_FIELDS))
        ok = naming_row(&n, &t, fields);
    if ((!ok || t.failed) && !e.code)
        abort();
    naming_settle(&n);
    for (size_t i = 0; i < w.frame_count; i++)
        if (w.frames[i].name != UINT32_MAX && (w.frames[i].name >= a.p->names->name_count ||
                                               w.frames[i].start > w.frames[i].offset))
            abort();
    naming_fini(&n);
    words_fini(&w);
    answer_fini(&a);
}

static void check_text(const char *text)
{
    struct err e = {0};
    struct buf b = {0};
    char *field;
    tsv_put_text(&b, text);
    buf_put_u8(&b, '\n');
    buf_put_u8(&b, '\0');
    struct tsv t = {.data = (char *)b.data, .size = b.size - 1, .e = &e};
    if (!tsv_row(&t, &field, 1) || strcmp(field, text) != 0)
        abort();
    buf_free(&b);
}

static void check_batch(const uint8_t *data, size_t size)
{
    struct err e = {0};
    struct batch b;
    if (!batch_read(&b, data, size, &e) && !e.code)
        abort();
    batch_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    char *text = malloc(size);
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    switch (data[0] % 5) {
    case 0: check_rows(text, size - 1, true); break;
    case 1: check_rows(text, size - 1, false); break;
    case 2: check_text(text); break;
    case 3: check_batch(data + 1, size - 1); break;
    default: check_functions(text, size - 1);
    }
    free(text);
    return 0;
}
