#include "symbols/dwarf_index.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "symbols/demangle.h"
#include "symbols/ranges.h"

/* Bounds for hostile input: nesting of scopes, and entries looked at in one function or unit. */
enum { SCOPE_DEPTH_MAX = 256, ENTRIES_MAX = 4 * 1024 * 1024 };

/* What places in a function are named by. */
struct origin {
    const char *linkage; /* NULL until asked for */
    int declared;        /* its line; 0: not known */
};

/* One inlined call inside a function. Parents come before their children. */
struct inlined {
    Dwarf_Die die;
    uint32_t parent; /* index + 1 in the function's array; 0: directly in the function */
    uint32_t range_first, range_count; /* in function.spans */
    const char *name; /* NULL until asked for */
    struct origin origin;
};

struct span {
    uint64_t lo, hi;
};

struct function {
    Dwarf_Die die;
    bool scanned;
    const char *name; /* NULL until asked for */
    struct origin origin;
    struct inlined *calls;
    uint32_t call_count, call_capacity;
    struct span *spans;
    uint32_t span_count, span_capacity;
};

struct unit {
    Dwarf_Die die;      /* with the functions: of the split unit, if there is one */
    Dwarf_Die line_die; /* with the line table: of the skeleton */
    bool scanned, scanned_deep;
    int llvm; /* 0 until asked for; 1: discriminators are of LLVM, -1: they are not */
    struct function *functions;
    uint32_t function_count, function_capacity;
    struct ranges ranges; /* ids: indexes of functions */
};

struct dwarf_index {
    struct pool *pool;
    Dwarf_Addr bias;
    bool lines;
    struct unit *units;
    uint32_t unit_count, unit_capacity;
    struct ranges ranges; /* ids: indexes of units */
};

static bool ranges_add_die(struct ranges *ranges, Dwarf_Die *die, uint32_t id)
{
    Dwarf_Addr base, lo, hi;
    ptrdiff_t offset = 0;
    for (int n = 0; n < ENTRIES_MAX; n++) {
        offset = dwarf_ranges(die, offset, &base, &lo, &hi);
        if (offset <= 0)
            return true;
        /* Address 0: code that the linker threw away. */
        if (lo && !ranges_add(ranges, lo, hi, id))
            return false;
    }
    return true;
}

static bool units_collect(struct dwarf_index *index, Dwarf *dwarf)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Die die, subdie;
    uint8_t type;
    while (dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, &subdie) == 0) {
        if (type != DW_UT_compile && type != DW_UT_skeleton)
            continue;
        if (dwarf_tag(&die) != DW_TAG_compile_unit && dwarf_tag(&die) != DW_TAG_skeleton_unit)
            continue;
        if (!ARRAY_ROOM(index->units, index->unit_count, index->unit_capacity))
            return false;
        struct unit *unit = &index->units[index->unit_count];
        *unit = (struct unit){ .die = die, .line_die = die };
        if (type == DW_UT_skeleton && dwarf_tag(&subdie) == DW_TAG_compile_unit)
            unit->die = subdie;
        if (!ranges_add_die(&index->ranges, &die, index->unit_count))
            return false;
        index->unit_count++;
    }
    ranges_sort(&index->ranges);
    return true;
}

struct dwarf_index *dwarf_index_build(Dwfl_Module *module, struct pool *pool, bool lines)
{
    Dwarf_Addr bias = 0;
    Dwarf *dwarf = dwfl_module_getdwarf(module, &bias);
    if (!dwarf)
        return NULL;
    struct dwarf_index *index = calloc(1, sizeof *index);
    if (!index) {
        pool->failed = true;
        return NULL;
    }
    *index = (struct dwarf_index){ .pool = pool, .bias = bias, .lines = lines };
    bool collected = units_collect(index, dwarf);
    pool->failed |= !collected;
    if (collected && index->unit_count)
        return index;
    dwarf_index_free(index);
    return NULL;
}

void dwarf_index_free(struct dwarf_index *index)
{
    if (!index)
        return;
    for (uint32_t u = 0; u < index->unit_count; u++) {
        struct unit *unit = &index->units[u];
        for (uint32_t f = 0; f < unit->function_count; f++) {
            free(unit->functions[f].calls);
            free(unit->functions[f].spans);
        }
        free(unit->functions);
        ranges_free(&unit->ranges);
    }
    free(index->units);
    ranges_free(&index->ranges);
    free(index);
}

/* Tags between a unit and its functions, or between a function and its inlined calls. */
static bool tag_encloses(int tag, bool in_function)
{
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
        return !in_function;
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt:
        return in_function;
    default:
        return false;
    }
}

/* A preorder walk over the scopes below a die, without recursion. */
struct walk {
    Dwarf_Die stack[SCOPE_DEPTH_MAX];
    uint32_t parents[SCOPE_DEPTH_MAX]; /* the enclosing inlined call, index + 1 */
    int depth;                         /* -1: finished */
    int steps;
};

static bool walk_begin(struct walk *w, Dwarf_Die *die)
{
    w->steps = 0;
    w->parents[0] = 0;
    w->depth = dwarf_child(die, &w->stack[0]) == 0 ? 0 : -1;
    return w->depth >= 0;
}

/* To the first child (whose enclosing call is `parent`) if descend, else to the next sibling. */
static bool walk_next(struct walk *w, bool descend, uint32_t parent)
{
    if (++w->steps > ENTRIES_MAX)
        return false;
    if (descend && w->depth + 1 < SCOPE_DEPTH_MAX
        && dwarf_child(&w->stack[w->depth], &w->stack[w->depth + 1]) == 0) {
        w->parents[++w->depth] = parent;
        return true;
    }
    while (w->depth >= 0) {
        Dwarf_Die *top = &w->stack[w->depth];
        if (dwarf_siblingof(top, top) == 0)
            return true;
        w->depth--;
    }
    return false;
}

static bool unit_add_function(struct unit *unit, Dwarf_Die *die)
{
    if (!dwarf_hasattr(die, DW_AT_low_pc) && !dwarf_hasattr(die, DW_AT_ranges))
        return true;
    if (!ARRAY_ROOM(unit->functions, unit->function_count, unit->function_capacity))
        return false;
    unit->functions[unit->function_count] = (struct function){ .die = *die };
    if (!ranges_add_die(&unit->ranges, die, unit->function_count))
        return false;
    unit->function_count++;
    return true;
}

/* Shallow: functions at the top and in namespaces, which is nearly all of them, skipping over what
 * is inside types and functions. Deep: only those inside (nested functions, members of local
 * classes and closures); needs a look at every entry of the unit. */
static bool unit_walk(struct unit *unit, bool deep)
{
    struct walk *walk = malloc(sizeof *walk);
    if (!walk)
        return false;
    bool ok = true;
    bool more = walk_begin(walk, &unit->die);
    while (more && ok) {
        Dwarf_Die *die = &walk->stack[walk->depth];
        int tag = dwarf_tag(die);
        bool inside = walk->parents[walk->depth];
        if (tag == DW_TAG_subprogram && inside == deep)
            ok = unit_add_function(unit, die);
        bool outer = tag_encloses(tag, false);
        more = walk_next(walk, outer || deep, inside || !outer);
    }
    free(walk);
    ranges_sort(&unit->ranges);
    return ok;
}

/* The function around the address: index in unit->functions, or RANGES_NONE. */
static uint32_t unit_find(struct unit *unit, uint64_t address, struct pool *pool)
{
    if (!unit->scanned && !unit_walk(unit, false))
        pool->failed = true;
    unit->scanned = true;
    uint32_t id = ranges_find(&unit->ranges, address);
    if (id != RANGES_NONE || unit->scanned_deep)
        return id;
    if (!unit_walk(unit, true))
        pool->failed = true;
    unit->scanned_deep = true;
    return ranges_find(&unit->ranges, address);
}

static bool function_add_call(struct function *f, Dwarf_Die *die, uint32_t parent)
{
    if (!ARRAY_ROOM(f->calls, f->call_count, f->call_capacity))
        return false;
    struct inlined *call = &f->calls[f->call_count];
    *call = (struct inlined){ .die = *die, .parent = parent, .range_first = f->span_count };
    Dwarf_Addr base, lo, hi;
    ptrdiff_t offset = 0;
    while ((offset = dwarf_ranges(die, offset, &base, &lo, &hi)) > 0
           && f->span_count - call->range_first < ENTRIES_MAX) {
        if (!ARRAY_ROOM(f->spans, f->span_count, f->span_capacity))
            return false;
        f->spans[f->span_count++] = (struct span){ lo, hi };
    }
    call->range_count = f->span_count - call->range_first;
    f->call_count++;
    return true;
}

static bool function_scan(struct function *f)
{
    if (f->scanned)
        return true;
    f->scanned = true;
    struct walk *walk = malloc(sizeof *walk);
    if (!walk)
        return false;
    bool ok = true;
    bool more = walk_begin(walk, &f->die);
    while (more && ok) {
        Dwarf_Die *die = &walk->stack[walk->depth];
        int tag = dwarf_tag(die);
        uint32_t parent = walk->parents[walk->depth];
        if (tag == DW_TAG_inlined_subroutine) {
            ok = function_add_call(f, die, parent);
            parent = f->call_count;
        }
        more = walk_next(walk, tag_encloses(tag, true), parent);
    }
    free(walk);
    return ok;
}

/* NULL: it has none. */
static const char *die_linkage_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    const char *name = NULL;
    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute)
        || dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
        name = dwarf_formstring(&attribute);
    return name ? name : dwarf_diename(die);
}

static const char *die_name(struct dwarf_index *index, Dwarf_Die *die)
{
    const char *name = die_linkage_name(die);
    return name ? demangle(index->pool, name) : "";
}

static void frame_set_call_site(struct dwarf_index *index, struct unit *unit, Dwarf_Die *call,
                                struct symbol_frame *frame)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    if (dwarf_attr(call, DW_AT_call_line, &attribute)
        && dwarf_formudata(&attribute, &value) == 0)
        frame->line = (uint32_t)value;
    Dwarf_Files *files;
    size_t count;
    if (dwarf_attr(call, DW_AT_call_file, &attribute)
        && dwarf_formudata(&attribute, &value) == 0
        && dwarf_getsrcfiles(&unit->line_die, &files, &count) == 0 && value < count) {
        const char *file = dwarf_filesrc(files, value, NULL, NULL);
        frame->file = file ? pool_intern(index->pool, file) : "";
    }
}

static void frame_set_line(struct dwarf_index *index, struct unit *unit, uint64_t address,
                           struct symbol_frame *frame)
{
    Dwarf_Line *line = dwarf_getsrc_die(&unit->line_die, address);
    int number;
    if (!line || dwarf_lineno(line, &number) || number < 0)
        return;
    const char *file = dwarf_linesrc(line, NULL, NULL);
    frame->file = file ? pool_intern(index->pool, file) : "";
    frame->line = (uint32_t)number;
}

static bool call_contains(const struct function *f, const struct inlined *call, uint64_t address)
{
    for (uint32_t i = 0; i < call->range_count; i++) {
        const struct span *span = &f->spans[call->range_first + i];
        if (span->lo <= address && address < span->hi)
            return true;
    }
    return false;
}

/* The inlined calls around the address, outermost first: indexes + 1 in f->calls. */
static uint32_t function_chain(const struct function *f, uint64_t address, uint32_t *chain,
                               uint32_t max)
{
    uint32_t depth = 0;
    uint32_t parent = 0;
    for (uint32_t i = 0; i < f->call_count && depth < max; i++) {
        if (f->calls[i].parent != parent || !call_contains(f, &f->calls[i], address))
            continue;
        parent = i + 1;
        chain[depth++] = parent;
    }
    return depth;
}

uint32_t dwarf_find(struct dwarf_index *index, uint64_t address, struct symbol_frame *out,
                    uint32_t max)
{
    address -= index->bias;
    uint32_t id = ranges_find(&index->ranges, address);
    if (id == RANGES_NONE || !max)
        return 0;
    struct unit *unit = &index->units[id];
    out[0] = (struct symbol_frame){ .function = "", .file = "" };
    if (index->lines)
        frame_set_line(index, unit, address, &out[0]);
    uint32_t function_id = unit_find(unit, address, index->pool);
    if (function_id == RANGES_NONE)
        return out[0].line ? 1 : 0;
    struct function *f = &unit->functions[function_id];
    if (!function_scan(f))
        index->pool->failed = true;

    uint32_t chain[SCOPE_DEPTH_MAX];
    uint32_t limit = max - 1 < SCOPE_DEPTH_MAX ? max - 1 : SCOPE_DEPTH_MAX;
    uint32_t depth = function_chain(f, address, chain, limit);
    for (uint32_t i = 0; i < depth; i++) {
        struct inlined *call = &f->calls[chain[depth - 1 - i] - 1];
        if (!call->name)
            call->name = die_name(index, &call->die);
        out[i].function = call->name;
        out[i].inlined = true;
        out[i + 1] = (struct symbol_frame){ .function = "", .file = "" };
        if (index->lines)
            frame_set_call_site(index, unit, &call->die, &out[i + 1]);
    }
    if (!f->name)
        f->name = die_name(index, &f->die);
    out[depth].function = f->name;
    Dwarf_Addr entry;
    if (dwarf_entrypc(&f->die, &entry) == 0)
        out[depth].start = entry + index->bias;
    return depth + 1;
}

/* ---- places for compilers ---- */

/* Of inlined calls, by clang; elfutils have no name for it. */
enum { AT_GNU_DISCRIMINATOR = 0x2136 };

/* LLVM packs three numbers into a discriminator, each in 1, 7 or 14 bits (LLVM,
 * DebugInfoMetadata.h): which piece of code, how many copies were made of it, and which one it is
 * of them. */
static uint32_t llvm_first(uint32_t packed)
{
    uint32_t bits = packed >> 1;
    if (packed & 1)
        return 0;
    return bits & 0x20 ? (bits >> 1 & 0xfe0) | (bits & 0x1f) : bits & 0x1f;
}

static uint32_t llvm_rest(uint32_t packed)
{
    if (packed & 1)
        return packed >> 1;
    return packed >> (packed & 0x40 ? 14 : 7);
}

static bool unit_is_of_llvm(struct unit *unit)
{
    Dwarf_Attribute attribute;
    if (!unit->llvm) {
        const char *producer = dwarf_attr(&unit->die, DW_AT_producer, &attribute)
                                   ? dwarf_formstring(&attribute) : NULL;
        unit->llvm = producer && (strstr(producer, "clang") || strstr(producer, "LLVM")) ? 1 : -1;
    }
    return unit->llvm > 0;
}

static void site_set(struct source_site *site, struct unit *unit, uint32_t line,
                     uint32_t discriminator)
{
    *site = (struct source_site){ .line = line, .discriminator = discriminator, .copies = 1 };
    if (unit_is_of_llvm(unit)) {
        uint32_t copies = llvm_first(llvm_rest(discriminator));
        site->discriminator = llvm_first(discriminator);
        site->copies = copies ? copies : 1;
    }
}

/* The site's line becomes one of the function. False if it is not known where that begins. */
static bool site_belongs(struct source_site *site, struct origin *origin, Dwarf_Die *die,
                         struct pool *pool)
{
    if (!origin->linkage) {
        const char *name = die_linkage_name(die);
        origin->linkage = name ? pool_intern(pool, name) : "";
        if (dwarf_decl_line(die, &origin->declared) || origin->declared < 0)
            origin->declared = 0;
    }
    site->function = origin->linkage;
    site->line = (site->line - (uint32_t)origin->declared) & 0xffff;
    return origin->declared && origin->linkage[0];
}

static uint32_t die_number(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    bool known = dwarf_attr(die, name, &attribute) && dwarf_formudata(&attribute, &value) == 0;
    return known ? (uint32_t)value : 0;
}

/* The line table's row of the address. */
static bool site_of_row(struct unit *unit, uint64_t address, struct source_site *site)
{
    Dwarf_Line *row = dwarf_getsrc_die(&unit->line_die, address);
    unsigned discriminator = 0;
    int line = 0;
    if (!row || dwarf_lineno(row, &line) || line <= 0)
        return false;
    if (dwarf_linediscriminator(row, &discriminator))
        discriminator = 0;
    site_set(site, unit, (uint32_t)line, discriminator);
    return true;
}

uint32_t dwarf_find_sites(struct dwarf_index *index, uint64_t address, struct source_site *out,
                          uint32_t max)
{
    address -= index->bias;
    uint32_t id = ranges_find(&index->ranges, address);
    struct unit *unit = id == RANGES_NONE ? NULL : &index->units[id];
    if (!unit || !max || !site_of_row(unit, address, &out[0]))
        return 0;
    uint32_t function_id = unit_find(unit, address, index->pool);
    if (function_id == RANGES_NONE)
        return 0;
    struct function *f = &unit->functions[function_id];
    if (!function_scan(f))
        index->pool->failed = true;

    uint32_t chain[SCOPE_DEPTH_MAX];
    uint32_t limit = max - 1 < SCOPE_DEPTH_MAX ? max - 1 : SCOPE_DEPTH_MAX;
    uint32_t depth = function_chain(f, address, chain, limit);
    for (uint32_t i = 0; i < depth; i++) {
        struct inlined *call = &f->calls[chain[depth - 1 - i] - 1];
        if (!site_belongs(&out[i], &call->origin, &call->die, index->pool))
            return 0;
        site_set(&out[i + 1], unit, die_number(&call->die, DW_AT_call_line),
                 die_number(&call->die, AT_GNU_DISCRIMINATOR));
    }
    return site_belongs(&out[depth], &f->origin, &f->die, index->pool) ? depth + 1 : 0;
}
