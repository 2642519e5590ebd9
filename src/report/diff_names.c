#include "report/diff_names.h"

#include <stdlib.h>
#include <string.h>

/* A function of one run, by what is the same in all. */
struct named {
    const char *image; /* the stem of its file's name; of one without a name the build-id */
    size_t image_size;
    const char *name;
    size_t name_size;
    uint64_t offset;   /* 0 for those with a name */
    bool nameless;
    uint32_t run, index; /* of an entry of one side: run is the side, index that of the function */
};

#define ORDER(x, y)                                                                                \
    if ((x) != (y))                                                                                \
    return (x) < (y) ? -1 : 1

static int compare_text(const char *a, size_t a_size, const char *b, size_t b_size)
{
    ORDER(a_size, b_size);
    return memcmp(a, b, a_size);
}

static int compare_identity(const struct named *x, const struct named *y)
{
    ORDER(x->nameless, y->nameless);
    int order = compare_text(x->image, x->image_size, y->image, y->image_size);
    order = order ? order : compare_text(x->name, x->name_size, y->name, y->name_size);
    if (order)
        return order;
    ORDER(x->offset, y->offset);
    return 0;
}

static int compare_named(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int order = compare_identity(x, y);
    if (order)
        return order;
    ORDER(x->run, y->run);
    ORDER(x->index, y->index);
    return 0;
}

/* ---- images ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "libfoo-1.2.so.3" is "libfoo" of any version. */
static size_t stem_size(const char *name)
{
    const char *ending = strstr(name, ".so");
    if (!ending || (ending[3] && ending[3] != '.'))
        return strlen(name);
    size_t size = (size_t)(ending - name);
    while (size > 1 && strchr("0123456789.-_", name[size - 1]))
        size--;
    return size;
}

/* The name of the first process's program; NULL: not known. */
static const char *program_of(const struct profile *p)
{
    const struct profile_process *first = p->process_count ? p->processes : NULL;
    return first && first->map_count && first->maps[0].image < p->image_count
               ? base_name(p->images[first->maps[0].image].path)
               : NULL;
}

static bool has_image(const struct diff_run *runs, uint32_t count, unsigned side, const char *name)
{
    for (uint32_t r = 0; r < count; r++)
        for (uint32_t i = 0; runs[r].side == side && i < runs[r].view->profile->image_count; i++)
            if (!strcmp(base_name(runs[r].view->profile->images[i].path), name))
                return true;
    return false;
}

void diff_programs(const struct diff_run *runs, uint32_t count, const char *programs[DIFF_SIDES])
{
    programs[DIFF_BEFORE] = programs[DIFF_AFTER] = NULL;
    for (uint32_t r = 0; r < count; r++)
        if (!programs[runs[r].side])
            programs[runs[r].side] = program_of(runs[r].view->profile);
    const char *before = programs[DIFF_BEFORE], *after = programs[DIFF_AFTER];
    if (!before || !after || !strcmp(before, after) ||
        has_image(runs, count, DIFF_AFTER, before) || has_image(runs, count, DIFF_BEFORE, after))
        programs[DIFF_AFTER] = NULL;
}

const char *diff_image(const struct profile_image *file, const char *const programs[DIFF_SIDES],
                       size_t *size)
{
    const char *name = base_name(file->path);
    if (programs[DIFF_AFTER] && !strcmp(name, programs[DIFF_AFTER]))
        name = programs[DIFF_BEFORE];
    *size = stem_size(name);
    return name;
}

/* ---- functions ---- */

static const struct profile_image *file_of(const struct view *v, const struct view_function *f)
{
    return f->image < v->profile->image_count ? &v->profile->images[f->image] : NULL;
}

/* "[image+0x12ab]": its beginning is all that is known. */
static bool is_nameless(const char *name)
{
    return name[0] == '[' && strstr(name, "+0x");
}

static struct named named_make(const struct view *v, const struct view_function *f,
                               const char *const programs[DIFF_SIDES])
{
    const struct profile_image *file = file_of(v, f);
    struct named n = {.image = f->image_name, .image_size = strlen(f->image_name),
                      .name = f->name, .name_size = strlen(f->name)};
    if (!file)
        return n;
    if (is_nameless(f->name) && file->build_id_size) {
        n.nameless = true;
        n.image = (const char *)file->build_id;
        n.image_size = file->build_id_size;
        n.name_size = 0;
        n.offset = f->start;
        return n;
    }
    n.image = diff_image(file, programs, &n.image_size);
    return n;
}

/* Equal ones are one function, which has the name that the last run gives it: runs after come
 * last. */
static void number(struct diff_names *n, const struct diff_run *runs, struct named *list,
                   size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct view *v = runs[list[i].run].view;
        const struct view_function *f = &v->functions[list[i].index];
        if (!i || compare_identity(&list[i - 1], &list[i]) != 0) {
            n->functions[n->count] = (struct diff_function){.same = n->count};
            n->count++;
        }
        struct diff_function *to = &n->functions[n->count - 1];
        to->name = f->name;
        to->image = f->image_name;
        to->file = file_of(v, f);
        to->sides |= f->total ? 1u << runs[list[i].run].side : 0;
        n->ids[list[i].run][list[i].index] = n->count - 1;
    }
}

bool diff_may_match(const struct diff_function *a, const struct diff_function *b)
{
    const struct profile_image *x = a->file, *y = b->file;
    return !x || !y || !x->build_id_size || x->build_id_size != y->build_id_size ||
           memcmp(x->build_id, y->build_id, x->build_id_size) != 0;
}

void diff_match(struct diff_names *n, uint32_t a, uint32_t b)
{
    struct diff_function *before = &n->functions[a], *after = &n->functions[b];
    after->was = strcmp(before->name, after->name) != 0 ? before->name : NULL;
    after->sides |= before->sides;
    before->same = b;
}

/* ---- names that compilers and signatures change ---- */

/* Without a clone's mark and the parameters: "f(int) [clone .isra.0]" is "f". */
static size_t bare_size(const char *name)
{
    static const char *const marks[] = {" [clone ", ".constprop.", ".isra.", ".part.",
                                        ".cold", ".llvm.", ".lto_priv."};
    size_t size = strlen(name), depth = 0;
    for (unsigned i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        const char *at = strstr(name, marks[i]);
        if (at && at > name && (size_t)(at - name) < size)
            size = (size_t)(at - name);
    }
    for (size_t i = size; i-- > 1 && name[size - 1] == ')';) {
        depth += name[i] == ')';
        if (name[i] == '(' && --depth == 0)
            return i;
    }
    return size;
}

/* Functions that one side only has, and there is one of that bare name on each side. */
static void match_bare(struct diff_names *n, struct named *list, size_t count)
{
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && !compare_identity(&list[i], &list[next]);)
            next++;
        if (next - i == 2 && list[i].run != list[i + 1].run &&
            diff_may_match(&n->functions[list[i].index], &n->functions[list[i + 1].index]))
            diff_match(n, list[i].index, list[i + 1].index);
    }
}

/* One for each function of one side, from the sorted list of all. */
static size_t keep_lonely(const struct diff_names *n, struct named *list, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct named one = list[i];
        uint32_t id = n->ids[one.run][one.index], sides = n->functions[id].sides;
        bool again = kept && list[kept - 1].index == id;
        if (one.nameless || again || (sides != 1u << DIFF_BEFORE && sides != 1u << DIFF_AFTER))
            continue;
        one.name_size = bare_size(one.name);
        one.run = sides == 1u << DIFF_AFTER;
        one.index = id;
        list[kept++] = one;
    }
    return kept;
}

/* ---- the whole ---- */

static bool names_init(struct diff_names *n, const struct diff_run *runs, uint32_t count,
                       struct named **list, size_t *most)
{
    *n = (struct diff_names){.runs = count};
    *most = 0;
    n->ids = calloc(count + 1u, sizeof *n->ids);
    for (uint32_t r = 0; n->ids && r < count; r++) {
        *most += runs[r].view->function_count;
        n->ids[r] = calloc((size_t)runs[r].view->function_count + 1, sizeof **n->ids);
        if (!n->ids[r])
            return false;
    }
    n->functions = calloc(*most + 1, sizeof *n->functions);
    *list = calloc(*most + 1, sizeof **list);
    return n->ids && n->functions && *list;
}

static void collect(struct named *list, const struct diff_run *runs, uint32_t count)
{
    const char *programs[DIFF_SIDES];
    diff_programs(runs, count, programs);
    for (uint32_t r = 0, k = 0; r < count; r++)
        for (uint32_t i = 0; i < runs[r].view->function_count; i++, k++) {
            const char *const none[DIFF_SIDES] = {NULL, NULL};
            list[k] = named_make(runs[r].view, &runs[r].view->functions[i],
                                 runs[r].side == DIFF_AFTER ? programs : none);
            list[k].run = r;
            list[k].index = i;
        }
}

bool diff_names_make(struct diff_names *n, const struct diff_run *runs, uint32_t count, bool shapes,
                     struct err *e)
{
    struct named *list = NULL;
    size_t most;
    bool ok = names_init(n, runs, count, &list, &most);
    if (ok && most) {
        collect(list, runs, count);
        qsort(list, most, sizeof *list, compare_named);
        number(n, runs, list, most);
        size_t lonely = keep_lonely(n, list, most);
        if (lonely)
            qsort(list, lonely, sizeof *list, compare_named);
        match_bare(n, list, lonely);
        ok = !shapes || diff_match_shapes(n, runs);
    }
    free(list);
    if (ok)
        return true;
    diff_names_fini(n);
    return err_set(e, ERR_INTERNAL, "cannot match functions: out of memory");
}

void diff_names_fini(struct diff_names *n)
{
    for (uint32_t r = 0; n->ids && r < n->runs; r++)
        free(n->ids[r]);
    free(n->ids);
    free(n->functions);
    *n = (struct diff_names){0};
}
