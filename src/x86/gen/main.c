/* Writes the decoder's table as C, having asked Zydis about every opcode.
 *
 *     x86_gen > x86_table.inc
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "x86/gen/probe.h"

enum { FORMS_MAX = 8192, LEAVES_MAX = 65536, SCHEMES_MAX = 256, FORM_HASHES = 1 << 15 };

static const uint8_t ranges[SELECTORS] = SELECTOR_RANGES;

/* The table being made. */
static struct x86_form forms[FORMS_MAX];
static unsigned form_count = 1; /* 0: invalid */
static uint16_t form_hash[FORM_HASHES];
static uint16_t leaves[LEAVES_MAX];
static unsigned leaf_count = 1;
static struct x86_scheme schemes[SCHEMES_MAX];
static unsigned scheme_count = 1; /* 0: nothing selects */
static struct x86_root roots[ROWS * 256];

static void fail(const char *what, const char *about)
{
    fprintf(stderr, "x86_gen: %s (%s)\n", what, about);
    exit(1);
}

static unsigned form_number(const struct x86_form *form)
{
    const uint8_t *bytes = (const uint8_t *)form;
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < sizeof *form; i++)
        hash = (hash ^ bytes[i]) * 16777619u;
    for (hash ^= hash >> 15;; hash++) {
        uint16_t *slot = &form_hash[hash % FORM_HASHES];
        if (*slot == 0) {
            if (form_count == FORMS_MAX)
                fail("too many forms", "make FORMS_MAX greater");
            *slot = (uint16_t)form_count;
            forms[form_count] = *form;
            return form_count++;
        }
        if (memcmp(&forms[*slot], form, sizeof *form) == 0)
            return *slot;
    }
}

/* The leaf of the same probe with some selectors 0. A smaller number, so filled already. */
static unsigned leaf_without(const struct probe *p, unsigned selectors)
{
    unsigned leaf = 0;
    for (unsigned s = 0, stride = 1; s < SELECTORS; stride *= ranges[s], s++)
        if (!(selectors >> s & 1))
            leaf += p->value[s] * stride;
    return leaf;
}

/* The forms of all leaves of one opcode, at the place that all selectors together give. Values that
 * this encoding does not have repeat what is at 0. */
static void fill(struct model *m, unsigned row, uint8_t opcode, bool modrm, uint16_t *all)
{
    uint8_t limits[SELECTORS];
    for (unsigned s = 0; s < SELECTORS; s++) {
        bool absent = s >= SELECT_MOD3 && s <= SELECT_RM && !modrm;
        limits[s] = (uint8_t)(absent ? 1 : probe_values(row, s));
    }
    for (unsigned leaf = 0; leaf < PROBE_LEAVES; leaf++) {
        struct probe p = {.row = row, .opcode = opcode, .modrm = modrm};
        struct x86_form form;
        unsigned none = 0, features = 1u << SELECT_B | 1u << SELECT_A32;
        memcpy(p.value, probe_leaf_values(leaf), sizeof p.value);
        for (unsigned s = 0; s < SELECTORS; s++)
            none |= (unsigned)(p.value[s] >= limits[s]) << s;
        if (none) {
            all[leaf] = all[leaf_without(&p, none)];
            continue;
        }
        if (p.value[SELECT_RM] != 4 && p.value[SELECT_RM] != 5) /* SIB, rip */
            features |= 1u << SELECT_RM;
        unsigned alike = leaf_without(&p, features);
        const struct x86_form *known = alike < leaf && all[alike] ? &forms[all[alike]] : NULL;
        all[leaf] = (uint16_t)(probe_leaf(m, &p, known, &form) ? form_number(&form) : 0);
        if (m->problem)
            fail(m->problem, m->about);
    }
}

/* Whether a selector changes anything. */
static bool matters(const uint16_t *all, unsigned selector)
{
    unsigned stride = 1;
    for (unsigned s = 0; s < selector; s++)
        stride *= ranges[s];
    for (unsigned leaf = 0; leaf < PROBE_LEAVES; leaf++) {
        if (all[leaf] != all[leaf - probe_leaf_values(leaf)[selector] * stride])
            return true;
    }
    return false;
}

static unsigned scheme_number(const struct x86_scheme *scheme)
{
    for (unsigned i = 0; i < scheme_count; i++)
        if (memcmp(&schemes[i], scheme, sizeof *scheme) == 0)
            return i;
    if (scheme_count == SCHEMES_MAX)
        fail("too many schemes", "make SCHEMES_MAX greater");
    schemes[scheme_count] = *scheme;
    return scheme_count++;
}

/* Places `count` leaves, where the same are already if they are. */
static unsigned place(const uint16_t *wanted, unsigned count)
{
    for (unsigned at = 0; at + count <= leaf_count; at++)
        if (memcmp(&leaves[at], wanted, count * sizeof *wanted) == 0)
            return at;
    if (leaf_count + count > LEAVES_MAX)
        fail("too many leaves", "bases have 16 bits");
    memcpy(&leaves[leaf_count], wanted, count * sizeof *wanted);
    leaf_count += count;
    return leaf_count - count;
}

/* Keeps the leaves of those selectors only that change something. */
static void compress(const uint16_t *all, struct x86_root *root)
{
    static uint16_t kept[PROBE_LEAVES];
    struct x86_scheme scheme = {0};
    unsigned count = 1;
    for (unsigned s = 0; s < SELECTORS; s++) {
        if (!matters(all, s))
            continue;
        scheme.stride[s] = (uint16_t)count;
        count *= ranges[s];
    }
    for (unsigned leaf = 0; leaf < PROBE_LEAVES; leaf++) {
        const uint8_t *values = probe_leaf_values(leaf);
        unsigned at = 0;
        for (unsigned s = 0; s < SELECTORS; s++)
            at += values[s] * scheme.stride[s];
        kept[at] = all[leaf];
    }
    root->scheme = (uint8_t)scheme_number(&scheme);
    root->base = (uint16_t)place(kept, count);
}

/* Bytes that are not the opcode of a root: prefixes and escapes. */
static bool is_lead(unsigned row, uint8_t byte)
{
    static const uint8_t prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2,
        0xf3, 0x0f, 0xc4, 0xc5, 0x62};
    if (row == ROW_0F)
        return byte == 0x38 || byte == 0x3a;
    return row == ROW_ONE_BYTE &&
        (memchr(prefixes, byte, sizeof prefixes) || (byte >= 0x40 && byte <= 0x4f));
}

static void ask_all(struct model *m)
{
    static uint16_t all[PROBE_LEAVES];
    for (unsigned i = 0; i < ROWS * 256; i++) {
        int modrm = is_lead(i >> 8, (uint8_t)i) ? -1 : probe_modrm(m, i >> 8, (uint8_t)i);
        if (modrm < 0)
            continue;
        roots[i].modrm = (uint8_t)modrm;
        fill(m, i >> 8, (uint8_t)i, modrm, all);
        compress(all, &roots[i]);
    }
}

static void print_forms(void)
{
    printf("const struct x86_form x86_forms[] = {\n");
    for (unsigned i = 0; i < form_count; i++) {
        const struct x86_form *f = &forms[i];
        printf(
            "{%u,%u,%u,%u, %u,%u,%u,%u, %u,%u,%u,%u, %u,%u,%u,%u, %u,{%u,%u},%u,%u,%u,%u,%u,0},\n",
            f->kind, f->class, f->imm_size, f->bits, f->flags_read, f->flags_killed,
            f->flags_changed, f->disp8_shift, f->reg, f->rm, f->vvvv, f->access, f->reads,
            f->writes, f->conditional, f->forbid, f->mem_size, f->implicit_memory[0],
            f->implicit_memory[1], f->implicit_size, f->rax_width, f->other_width, f->vector,
            f->lanes);
    }
    printf("};\n");
}

static void print_roots(void)
{
    printf("const struct x86_root x86_roots[ROWS * 256] = {\n");
    for (unsigned i = 0; i < ROWS * 256; i++)
        printf("{%u,%u,%u},%s", roots[i].base, roots[i].scheme, roots[i].modrm,
            i % 8 == 7 ? "\n" : " ");
    printf("};\nconst struct x86_scheme x86_schemes[] = {\n");
    for (unsigned i = 0; i < scheme_count; i++) {
        printf("{{");
        for (unsigned s = 0; s < SELECTORS; s++)
            printf("%u%s", schemes[i].stride[s], s + 1 < SELECTORS ? "," : "}},\n");
    }
    printf("};\n");
}

static void print_leaves(void)
{
    printf("const uint16_t x86_leaves[] = {");
    for (unsigned i = 0; i < leaf_count; i++)
        printf("%s%u,", i % 16 ? "" : "\n", leaves[i]);
    printf("\n};\n");
}

static void print_3dnow(const struct model *m)
{
    printf("const uint8_t x86_3dnow[32] = {");
    for (unsigned byte = 0; byte < 32; byte++) {
        unsigned bits = 0;
        for (unsigned bit = 0; bit < 8; bit++) {
            uint8_t code[4] = {0x0f, 0x0f, 0xc0, (uint8_t)(byte * 8 + bit)};
            struct model_insn in;
            ZyanStatus status;
            if (model_decode(m, code, sizeof code, &in, &status))
                bits |= 1u << bit;
        }
        printf("%u,", bits);
    }
    printf("};\n");
}

int main(void)
{
    struct model m;
    model_init(&m);
    ask_all(&m);
    printf("/* Made by x86_gen: %u forms, %u leaves, %u schemes. */\n",
        form_count, leaf_count, scheme_count);
    print_forms();
    print_roots();
    print_leaves();
    print_3dnow(&m);
    if (fflush(stdout) || ferror(stdout))
        fail("cannot write", "standard output");
    return 0;
}
