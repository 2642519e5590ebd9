/* Names, inlined frames and lines, checked against addr2line (binutils' own DWARF reader) on every
 * address of a program, with its debug information in every place where it may be.
 *
 * usage: test_symbols PROGRAM.CC   (compiled here) */
#include <setjmp.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cmocka.h>
#include <gelf.h>

#include "symbols/symbols.h"

static const char *source;
static char directory[] = "/tmp/penumbra-symbols-XXXXXX";

static void run(const char *format, ...)
{
    char command[2048];
    va_list args;
    va_start(args, format);
    int n = snprintf(command, sizeof command, "cd %s && ", directory);
    vsnprintf(command + n, sizeof command - (size_t)n, format, args);
    va_end(args);
    if (system(command) != 0)
        fail_msg("failed: %s", command);
}

/* The first line that a command prints. */
static void ask(char *out, size_t size, const char *format, ...)
{
    char command[2048];
    va_list args;
    va_start(args, format);
    int n = snprintf(command, sizeof command, "cd %s && ", directory);
    vsnprintf(command + n, sizeof command - (size_t)n, format, args);
    va_end(args);
    FILE *from = popen(command, "r");
    assert_non_null(from);
    out[0] = 0;
    if (fgets(out, (int)size, from))
        out[strcspn(out, "\n")] = 0;
    pclose(from);
}

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    run("c++ -std=c++17 -g -O2 -Wl,--build-id -o full '%s'", source);
    run("strip -o stripped full && objcopy --only-keep-debug full full.debug");
    run("strip -g -o symbols-only full");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command);
}

static void build_id_of(const char *file, struct profile_image *image)
{
    char text[128];
    ask(text, sizeof text, "readelf -n %s | sed -n 's/.*Build ID: //p'", file);
    image->build_id_size = (uint32_t)strlen(text) / 2;
    assert_in_range(image->build_id_size, 1, PROFILE_BUILD_ID_MAX);
    for (uint32_t i = 0; i < image->build_id_size; i++) {
        unsigned byte;
        assert_int_equal(sscanf(text + 2 * i, "%2x", &byte), 1);
        image->build_id[i] = (uint8_t)byte;
    }
}

/* A profile with samples at [lo, hi) of one image. */
static struct profile *make_profile(const char *path, uint64_t lo, uint64_t hi)
{
    struct profile *p = profile_new();
    p->images = calloc(1, sizeof *p->images);
    p->image_count = 1;
    p->images[0].path = strdup(path);
    p->processes = calloc(1, sizeof *p->processes);
    p->process_count = 1;
    p->processes[0].name = strdup("");
    p->processes[0].command = strdup("");
    p->threads = calloc(1, sizeof *p->threads);
    p->thread_count = 1;
    struct profile_thread *t = p->threads;
    t->name = strdup("");
    t->nodes = calloc(hi - lo + 1, sizeof *t->nodes);
    t->nodes[0] = (struct profile_node){ .parent = UINT32_MAX, .image = PROFILE_IMAGE_PSEUDO };
    for (uint64_t i = 1; i <= hi - lo; i++)
        t->nodes[i].offset = lo + i - 1;
    t->node_count = (uint32_t)(hi - lo + 1);
    return p;
}

static struct profile *make_file_profile(const char *file, uint64_t lo, uint64_t hi)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, file);
    struct profile *p = make_profile(path, lo, hi);
    build_id_of("full", &p->images[0]);
    return p;
}

static struct symbols *load(const struct profile *p, enum symbols_detail detail)
{
    struct symbols_options options = { .detail = detail, .debug_path = directory };
    struct err e = { 0 };
    struct symbols *s = symbols_load_with(p, &options, &e);
    assert_non_null(s);
    return s;
}

static void text_range(uint64_t *lo, uint64_t *hi)
{
    char line[256];
    unsigned long long address, size;
    ask(line, sizeof line, "readelf -SW full | sed -n 's/.* \\.text *PROGBITS *//p'");
    assert_int_equal(sscanf(line, "%llx %*x %llx", &address, &size), 2);
    *lo = address;
    *hi = address + size;
}

/* Clones, which one reader names by their symbol and the other by their DWARF name. */
static void cut_clone(char *name)
{
    static const char *const marks[] = { " [clone", ".cold", ".isra", ".part", ".constprop" };
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        char *at = strstr(name, marks[i]);
        if (at)
            *at = 0;
    }
}

struct comparison {
    uint64_t compared, names_equal, lines_equal, shown;
};

/* Whether our name of frame n and addr2line's are of one function. What has no linkage name in
 * DWARF (closures, what is instantiated with local types) addr2line names in two ways: the
 * innermost of several frames by the symbol around the address, which says nothing; the outermost
 * by its bare DWARF name, where we show its symbol. */
static bool names_agree(const struct symbol_location *ours, uint32_t n, const char *theirs)
{
    char mine[4096], outermost[4096], bare[4096];
    snprintf(mine, sizeof mine, "%s", ours->frames[n].function);
    snprintf(outermost, sizeof outermost, "%s", ours->frames[ours->count - 1].function);
    snprintf(bare, sizeof bare, "%s", theirs);
    cut_clone(mine);
    cut_clone(outermost);
    bare[strcspn(bare, "<(")] = 0;
    if (!strcmp(mine, theirs))
        return true;
    if (n + 1 == ours->count)
        return bare[0] && strstr(mine, bare);
    return n == 0 && !strcmp(theirs, outermost);
}

/* Reads addr2line's answer for one address ("name\nfile:line" pairs up to the next "0x" line, which
 * stays in line) and compares. */
static void compare_one(FILE *from, char *line, size_t size, struct symbol_location ours,
                        uint64_t address, struct comparison *c)
{
    bool names = true, lines = true, known = false;
    bool gap = ours.count == 1 && ours.frames[0].function[0] == '[';
    uint32_t n = 0;
    while (fgets(line, (int)size, from) && strncmp(line, "0x0", 3)) {
        char where[1024];
        line[strcspn(line, "\n")] = 0;
        assert_non_null(fgets(where, sizeof where, from));
        char *colon = strrchr(where, ':');
        uint32_t number = colon ? (uint32_t)strtoul(colon + 1, NULL, 10) : 0;
        known |= strcmp(line, "??") != 0;
        cut_clone(line);
        bool agree = n < ours.count && names_agree(&ours, n, line);
        names &= agree;
        lines &= n < ours.count && number == ours.frames[n].line;
        if (known && !gap && !agree && c->shown++ < 5)
            print_message("0x%llx frame %u: %s, addr2line: %s\n", (unsigned long long)address, n,
                          n < ours.count ? ours.frames[n].function : "-", line);
        n++;
    }
    if (!known || gap)
        return;
    c->compared++;
    c->names_equal += names && n == ours.count;
    c->lines_equal += lines && n == ours.count;
}

static struct comparison compare(const struct profile *p, const struct symbols *s)
{
    char path[512], command[1200], line[4096];
    snprintf(path, sizeof path, "%s/addresses", directory);
    FILE *to = fopen(path, "w");
    assert_non_null(to);
    const struct profile_thread *t = &p->threads[0];
    for (uint32_t i = 1; i < t->node_count; i++)
        fprintf(to, "0x%llx\n", (unsigned long long)t->nodes[i].offset);
    fclose(to);
    snprintf(command, sizeof command, "addr2line -aifC -e %s/full < %s", directory, path);
    FILE *from = popen(command, "r");
    assert_non_null(from);
    struct comparison c = { 0 };
    assert_non_null(fgets(line, sizeof line, from));
    for (uint32_t i = 1; i < t->node_count; i++) {
        uint64_t address = t->nodes[i].offset;
        assert_int_equal(strtoull(line, NULL, 16), address);
        compare_one(from, line, sizeof line, symbols_find(s, p->processes, 0, address), address,
                    &c);
    }
    pclose(from);
    return c;
}

static void agrees_with_addr2line(const char *file)
{
    uint64_t lo, hi;
    text_range(&lo, &hi);
    struct profile *p = make_file_profile(file, lo, hi);
    struct symbols *s = load(p, SYMBOLS_LINES);
    /* crtstuff's functions, a few of thousands of addresses, are all that is unnamed. */
    assert_string_equal(symbols_warnings(s), "");
    struct comparison c = compare(p, s);
    print_message("%s: %llu addresses, names equal %llu, lines equal %llu\n", file,
                  (unsigned long long)c.compared, (unsigned long long)c.names_equal,
                  (unsigned long long)c.lines_equal);
    assert_true(c.compared > 3000);
    assert_true(c.names_equal * 100 >= c.compared * 99);
    assert_true(c.lines_equal * 100 >= c.compared * 99);
    symbols_free(s);
    profile_free(p);
}

static void full_debug_information(void **state)
{
    (void)state;
    agrees_with_addr2line("full");
}

static void debug_file_by_debuglink(void **state)
{
    (void)state;
    run("cp stripped linked && mkdir -p .debug && cp full.debug .debug/"
        " && objcopy --add-gnu-debuglink=full.debug linked");
    agrees_with_addr2line("linked");
    run("rm -r .debug");
}

static void put_debug_file_by_build_id(void)
{
    struct profile_image image;
    build_id_of("full", &image);
    char name[2 * PROFILE_BUILD_ID_MAX + 1] = "";
    for (uint32_t i = 1; i < image.build_id_size; i++)
        sprintf(name + strlen(name), "%02x", image.build_id[i]);
    run("mkdir -p .build-id/%02x && cp full.debug .build-id/%02x/%s.debug", image.build_id[0],
        image.build_id[0], name);
}

static void debug_file_by_build_id(void **state)
{
    (void)state;
    put_debug_file_by_build_id();
    agrees_with_addr2line("stripped");
    /* Even when the program itself is gone. */
    agrees_with_addr2line("gone");
    run("rm -r .build-id");
}

static uint64_t address_of(const char *symbol)
{
    char line[256];
    ask(line, sizeof line, "nm full | sed -n 's/ [tTwW] %s$//p'", symbol);
    uint64_t address = strtoull(line, NULL, 16);
    assert_true(address != 0);
    return address;
}

/* A function with an alias, inlined into itself (recursion; glibc's cancellation points look the
 * same): all of its frames have the name of its symbol, or it would be two functions. */
static void inlined_into_itself(void **state)
{
    (void)state;
    run("cat > recursive.c <<'END'\n"
        "int __deep(int n) { return n < 2 ? n : __deep(n - 1) + __deep(n - 2); }\n"
        "extern int deep(int) __attribute__((alias(\"__deep\")));\n"
        "int main(int argc, char **argv) { return argv[0] ? __deep(argc) : 0; }\n"
        "END\n"
        "cc -g -O3 -Wl,--build-id -o recursive recursive.c");
    char line[256];
    unsigned long long start, size;
    ask(line, sizeof line, "nm -S recursive | sed -n 's/ T deep$//p'");
    assert_int_equal(sscanf(line, "%llx %llx", &start, &size), 2);
    struct profile *p = make_file_profile("recursive", start, start + size);
    build_id_of("recursive", &p->images[0]);
    struct symbols *s = load(p, SYMBOLS_LINES);
    uint32_t deepest = 0;
    for (uint64_t a = start; a < start + size; a++) {
        struct symbol_location where = symbols_find(s, p->processes, 0, a);
        for (uint32_t i = 0; i < where.count; i++)
            assert_string_equal(where.frames[i].function, "deep");
        deepest = where.count > deepest ? where.count : deepest;
    }
    assert_true(deepest > 1);
    symbols_free(s);
    profile_free(p);
}

/* The name and physical start that one address gets. */
static void check_name(const char *file, uint64_t address, enum symbols_detail detail,
                       const char *expected, uint64_t start)
{
    struct profile *p = make_file_profile(file, address, address + 1);
    struct symbols *s = load(p, detail);
    struct symbol_location where = symbols_find(s, p->processes, 0, address);
    const struct symbol_frame *frame = &where.frames[where.count - 1];
    assert_string_equal(frame->function, expected);
    assert_int_equal(frame->start, start);
    assert_false(frame->inlined);
    symbols_free(s);
    profile_free(p);
}

static void symbol_tables_alone(void **state)
{
    (void)state;
    uint64_t start = address_of("plain_c_function");
    check_name("symbols-only", start + 3, SYMBOLS_LINES, "plain_c_function", start);
    check_name("full", start + 3, SYMBOLS_QUICK, "plain_c_function", start);
    /* The public names before the underscored one, and of those the one that is not weak. */
    check_name("full", address_of("__aliased"), SYMBOLS_LINES, "aliased_longer",
               address_of("__aliased"));
    uint64_t area = address_of("_ZNK6shapes6Square4areaEd");
    check_name("symbols-only", area + 1, SYMBOLS_LINES, "shapes::Square::area(double) const", area);
}

static void no_symbols_at_all(void **state)
{
    (void)state;
    uint64_t start = address_of("main");
    char expected[64];
    /* The unwind table still says where the function begins. */
    snprintf(expected, sizeof expected, "[stripped+0x%llx]", (unsigned long long)start);
    check_name("stripped", start + 5, SYMBOLS_LINES, expected, start);
    struct profile *p = make_file_profile("stripped", start, start + 1);
    struct symbols *s = load(p, SYMBOLS_LINES);
    assert_string_equal(symbols_image_name(s, 0), "stripped");
    assert_non_null(strstr(symbols_warnings(s), "stripped has no symbols for 1 of 1 addresses"));
    symbols_free(s);
    profile_free(p);
}

static void check_place(const struct symbols *s, uint64_t offset, const char *expected)
{
    struct symbol_location at = symbols_find(s, NULL, 0, offset);
    assert_string_equal(at.frames[at.count - 1].function, expected);
}

/* A symbol without a size is not the name of all that follows: `frame_dummy` of a program of
 * another language. */
static void symbols_without_size_end(void **state)
{
    (void)state;
    run("printf '%%s\\n' .text '.type sizeless, @function' 'sizeless: ret' '.skip 4999, 0x90' "
        "'.type described, @function' "
        "'.cfi_startproc' '.skip 100, 0x90' '.cfi_endproc' 'label: .skip 6000, 0x90' '.globl "
        "_start' '.type _start, @function' '_start: ret' "
        "'.size _start, 1' >sizeless.s && cc -nostdlib -pie -Wl,--build-id -o sizeless sizeless.s");
    char path[512], text[64];
    unsigned long long start, label;
    ask(text, sizeof text, "nm sizeless | sed -n 's/ t sizeless//p'");
    assert_int_equal(sscanf(text, "%llx", &start), 1);
    ask(text, sizeof text, "nm sizeless | sed -n 's/ t label//p'");
    assert_int_equal(sscanf(text, "%llx", &label), 1);
    snprintf(path, sizeof path, "%s/sizeless", directory);
    struct profile *p = make_profile(path, start, label + 6000);
    build_id_of("sizeless", &p->images[0]);
    struct symbols *s = load(p, SYMBOLS_FUNCTIONS);
    check_place(s, start, "sizeless");
    check_place(s, start + 255, "sizeless");
    check_place(s, start + 256, "sizeless+0x100");
    check_place(s, start + 4000, "sizeless+0xfa0");
    char named[64];
    snprintf(named, sizeof named, "[sizeless+0x%llx]", start + 5000);
    check_place(s, start + 5000, named);
    check_place(s, start + 5099, named);
    check_place(s, label + 4000, "label");
    check_place(s, label + 5999, "label+0x176f");
    symbols_free(s);
    profile_free(p);
}

static void plt_stubs_are_named(void **state)
{
    (void)state;
    char line[256];
    unsigned long long address, size;
    ask(line, sizeof line, "readelf -SW full | sed -n 's/.* \\.plt *PROGBITS *//p'");
    assert_int_equal(sscanf(line, "%llx %*x %llx", &address, &size), 2);
    struct profile *p = make_file_profile("stripped", address, address + size);
    struct symbols *s = load(p, SYMBOLS_LINES);
    bool found = false;
    for (uint64_t a = address; a < address + size; a++) {
        const char *name = symbols_find(s, p->processes, 0, a).frames[0].function;
        assert_non_null(strstr(name, "@plt"));
        found |= !strcmp(name, "rand@plt");
    }
    assert_true(found);
    symbols_free(s);
    profile_free(p);
}

static void check_warning(const char *file, const char *warning)
{
    uint64_t start = address_of("main");
    struct profile *p = make_file_profile(file, start, start + 1);
    struct symbols *s = load(p, SYMBOLS_LINES);
    const char *name = symbols_find(s, p->processes, 0, start).frames[0].function;
    char expected[64];
    snprintf(expected, sizeof expected, "[%s+0x%llx]", file, (unsigned long long)start);
    assert_string_equal(name, expected);
    if (!strstr(symbols_warnings(s), warning))
        fail_msg("\"%s\" does not say \"%s\"", symbols_warnings(s), warning);
    symbols_free(s);
    profile_free(p);
}

static void unusable_files_are_said(void **state)
{
    (void)state;
    run("cp full changed && objcopy --remove-section=.note.gnu.build-id changed");
    check_warning("changed", "has changed since the recording");
    run("echo text > text && mkfifo fifo");
    check_warning("text", "is not an ELF file");
    check_warning("fifo", "cannot be opened");
    check_warning("missing", "cannot be opened");
}

/* Cut anywhere, or with bytes flipped: no crash, an answer for every address. */
static void damaged_files_do_no_harm(void **state)
{
    (void)state;
    uint64_t lo, hi;
    text_range(&lo, &hi);
    char path[512];
    snprintf(path, sizeof path, "%s/full", directory);
    FILE *from = fopen(path, "r");
    static unsigned char bytes[4 << 20], damaged[4 << 20];
    size_t size = fread(bytes, 1, sizeof bytes, from);
    fclose(from);
    snprintf(path, sizeof path, "%s/damaged", directory);
    uint64_t random = 12345;
    for (int round = 0; round < 60; round++) {
        memcpy(damaged, bytes, size);
        size_t length = round % 4 == 0 ? size * (size_t)(round + 1) / 61 : size;
        for (int i = 0; round % 4 && i < 200; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
            /* The first 4 kB hold the headers and the build-id: mostly left alone. */
            size_t at = 4096 + (size_t)(random >> 20) % (size - 4096);
            damaged[at] = (unsigned char)(random >> 56);
        }
        FILE *to = fopen(path, "w");
        fwrite(damaged, 1, length, to);
        fclose(to);
        struct profile *p = make_file_profile("damaged", lo, lo + 2000);
        struct symbols *s = load(p, SYMBOLS_LINES);
        for (uint64_t a = lo; a < lo + 2000; a++)
            assert_true(symbols_find(s, p->processes, 0, a).count > 0);
        symbols_free(s);
        profile_free(p);
    }
}

/* The profile with the names that `file` gives, itself of a file that is `path` by then. */
static struct profile *keep(const char *file, const char *path, uint64_t lo, uint64_t hi)
{
    struct profile *p = make_file_profile(file, lo, hi);
    struct symbols *s = load(p, SYMBOLS_LINES);
    struct err e = { 0 };
    assert_true(symbols_keep(s, p, &e));
    symbols_free(s);
    size_t size;
    uint8_t *bytes = profile_encode(p, &size, &e);
    profile_free(p);
    assert_non_null(bytes);
    p = profile_read_memory(bytes, size, "kept", &e);
    free(bytes);
    assert_non_null(p);
    free(p->images[0].path);
    if (asprintf(&p->images[0].path, "%s/%s", directory, path) < 0)
        fail();
    return p;
}

/* Every address has the same frames in both; all of `known`'s file is at hand. */
static void assert_named_alike(const struct profile *p, const char *known,
                               enum symbols_detail detail)
{
    const struct profile_thread *t = &p->threads[0];
    uint64_t lo = t->nodes[1].offset, hi = t->nodes[t->node_count - 1].offset + 1;
    struct profile *fresh = make_file_profile(known, lo, hi);
    struct symbols *a = load(p, detail), *b = load(fresh, detail);
    assert_string_equal(symbols_warnings(a), "");
    for (uint64_t at = lo; at < hi; at++) {
        struct symbol_location x = symbols_find(a, p->processes, 0, at);
        struct symbol_location y = symbols_find(b, fresh->processes, 0, at);
        if (y.frames[y.count - 1].unnamed)
            continue; /* called after its file, which has another name */
        assert_int_equal(x.count, y.count);
        for (uint32_t i = 0; i < x.count; i++) {
            assert_string_equal(x.frames[i].function, y.frames[i].function);
            assert_string_equal(x.frames[i].file, y.frames[i].file);
            assert_int_equal(x.frames[i].line, y.frames[i].line);
            assert_int_equal(x.frames[i].start, y.frames[i].start);
            assert_int_equal(x.frames[i].inlined, y.frames[i].inlined);
        }
    }
    symbols_free(a);
    symbols_free(b);
    profile_free(fresh);
}

static void kept_names_outlive_the_file(void **state)
{
    (void)state;
    uint64_t lo, hi;
    text_range(&lo, &hi);
    run("cp full changed && objcopy --remove-section=.note.gnu.build-id changed");
    static const char *const files[] = { "gone", "changed", "stripped", "symbols-only" };
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++) {
        struct profile *p = keep("full", files[i], lo, hi);
        assert_named_alike(p, "full", SYMBOLS_LINES);
        assert_named_alike(p, "full", SYMBOLS_FUNCTIONS);
        assert_named_alike(p, "full", SYMBOLS_QUICK);
        profile_free(p);
    }
}

/* Of the very same build, what knows more: debug information before symbols, symbols before
 * none. */
static void better_files_replace_kept_names(void **state)
{
    (void)state;
    uint64_t lo, hi;
    text_range(&lo, &hi);
    struct profile *p = keep("symbols-only", "full", lo, hi);
    assert_named_alike(p, "full", SYMBOLS_LINES);
    profile_free(p);
    p = keep("stripped", "symbols-only", lo, hi);
    assert_named_alike(p, "symbols-only", SYMBOLS_LINES);
    profile_free(p);
    p = keep("symbols-only", "stripped", lo, hi);
    assert_named_alike(p, "symbols-only", SYMBOLS_LINES);
    profile_free(p);
}

/* What is not kept comes from the file, what is kept stays. */
static void places_that_are_not_kept(void **state)
{
    (void)state;
    uint64_t start = address_of("main"), end = start + 16;
    struct profile *p = keep("full", "full", start, end);
    p->names->images[0].count = 8;
    assert_named_alike(p, "full", SYMBOLS_LINES);
    free(p->images[0].path);
    p->images[0].path = strdup("/nonexistent/gone");
    struct symbols *s = load(p, SYMBOLS_LINES);
    struct symbol_location kept = symbols_find(s, p->processes, 0, start + 7);
    assert_string_equal(kept.frames[kept.count - 1].function, "main");
    assert_int_equal(symbols_find(s, p->processes, 0, start + 8).frames[0].function[0], '[');
    assert_non_null(strstr(symbols_warnings(s), "cannot be opened"));
    symbols_free(s);
    profile_free(p);
}

/* A file that somebody holds open stands in for its path, if it is of the build. */
static int open_held(void *context, const struct profile_image *image)
{
    (void)image;
    return open(context, O_RDONLY | O_CLOEXEC);
}

static void held_files_are_read(void **state)
{
    (void)state;
    uint64_t start = address_of("main");
    char held[512];
    for (unsigned good = 0; good < 2; good++) {
        snprintf(held, sizeof held, "%s/%s", directory, good ? "full" : "changed");
        struct profile *p = make_file_profile("gone", start, start + 1);
        struct symbols_options options = { .detail = SYMBOLS_LINES, .open_image = open_held,
                                           .context = held };
        struct err e = { 0 };
        struct symbols *s = symbols_load_with(p, &options, &e);
        struct symbol_location found = symbols_find(s, p->processes, 0, start);
        assert_int_equal(strcmp(found.frames[found.count - 1].function, "main") == 0, good);
        symbols_free(s);
        profile_free(p);
    }
}

static void vdso_of_this_kernel(void **state)
{
    (void)state;
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
    if (!header)
        skip();
    /* Every address of its first page or two: clock_gettime must be among them. */
    struct profile *p = make_profile("[vdso]", 0x100, 0x2000);
    p->images[0].flags = PROFILE_IMAGE_VDSO;
    const Elf64_Phdr *segments = (const Elf64_Phdr *)((const char *)header + header->e_phoff);
    for (int i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type != PT_NOTE)
            continue;
        const char *at = (const char *)header + segments[i].p_offset;
        const char *end = at + segments[i].p_filesz;
        while (at < end) {
            const Elf64_Nhdr *note = (const Elf64_Nhdr *)at;
            const char *name = at + sizeof *note;
            const char *desc = name + ((note->n_namesz + 3) & ~3u);
            if (note->n_type == NT_GNU_BUILD_ID && !memcmp(name, "GNU", 4)) {
                memcpy(p->images[0].build_id, desc, note->n_descsz);
                p->images[0].build_id_size = note->n_descsz;
            }
            at = desc + ((note->n_descsz + 3) & ~3u);
        }
    }
    struct symbols *s = load(p, SYMBOLS_LINES);
    bool found = false;
    for (uint64_t a = 0x100; a < 0x2000; a++)
        found |= strstr(symbols_find(s, p->processes, 0, a).frames[0].function, "clock_gettime")
            != NULL;
    assert_true(found);
    assert_string_equal(symbols_image_name(s, 0), "[vdso]");
    symbols_free(s);
    profile_free(p);
}

static void pseudo_and_unknown(void **state)
{
    (void)state;
    struct profile *p = make_profile("/nonexistent/file", 0, 0);
    struct symbols *s = load(p, SYMBOLS_LINES);
    assert_string_equal(
        symbols_find(s, NULL, PROFILE_IMAGE_PSEUDO, KEY_TRUNCATED).frames[0].function,
        "[truncated]");
    assert_string_equal(symbols_find(s, p->processes, PROFILE_IMAGE_NONE, 5).frames[0].function,
                        "[unknown]");
    assert_string_equal(symbols_find(s, p->processes, 77, 5).frames[0].function, "[unknown]");
    assert_string_equal(symbols_find(s, NULL, PROFILE_IMAGE_PSEUDO, 99).frames[0].function,
                        "[unknown]");
    symbols_free(s);
    profile_free(p);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    source = argv[1];
    unsetenv("DEBUGINFOD_URLS");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_debug_information),
        cmocka_unit_test(debug_file_by_debuglink),
        cmocka_unit_test(debug_file_by_build_id),
        cmocka_unit_test(inlined_into_itself),
        cmocka_unit_test(symbol_tables_alone),
        cmocka_unit_test(no_symbols_at_all),
        cmocka_unit_test(symbols_without_size_end),
        cmocka_unit_test(plt_stubs_are_named),
        cmocka_unit_test(unusable_files_are_said),
        cmocka_unit_test(damaged_files_do_no_harm),
        cmocka_unit_test(kept_names_outlive_the_file),
        cmocka_unit_test(better_files_replace_kept_names),
        cmocka_unit_test(places_that_are_not_kept),
        cmocka_unit_test(held_files_are_read),
        cmocka_unit_test(vdso_of_this_kernel),
        cmocka_unit_test(pseudo_and_unknown),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
