/* The tool `values` says what each instruction read, wrote and did: programs whose values are known
 * by construction, observed whole and in bursts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "run.h"
#include "sigsafe/settings.h"
#include "sigsafe/spool_counts.h"
#include "sigsafe/tuples.h"
#include "tools/list.h"

enum { SPOOL_SIZE = 64 << 20, ELEMENTS = 1000, PIECE = 50, TUPLES_MOST = 4000 };

/* A tuple as it was read, with its instruction. */
struct seen {
    const struct tuple_insn *insn;
    uint8_t count, flags;
    uint64_t values[TUPLE_ARGUMENT_COUNT + TUPLE_VALUES_MAX];
};

struct fixture {
    struct spool spool;
    struct spool_counts *counts;
    struct tuple_capture *capture;
    struct rig rig;
    const struct tool *tool; /* of whole runs */
    const struct tool *beside; /* asked before it; NULL: it is alone */
    const struct tool *observes;
    struct seen *seen;
    uint32_t count;
};

static void rig_begin(struct fixture *f, uint32_t carrier, uint16_t what)
{
    struct settings settings = {.sampling = {.carrier = carrier, .tools = tools_one(TOOL_VALUES)}};
    for (unsigned map = 0; map < 16; map++)
        for (unsigned opcode = 0; opcode < 256; opcode++)
            for (unsigned digit = 0; digit < 8; digit++)
                f->capture->what[map][opcode][digit] = what;
    settings.values.capture = spool_ref_of(&f->spool, f->capture);
    settings_put(&f->spool, &settings);
    f->counts = spool_alloc_as(&f->spool, sizeof *f->counts);
    struct spool_things *things = spool_alloc_as(&f->spool, sizeof *things);
    f->counts->things = spool_ref_of(&f->spool, things);
    f->observes = carrier == CARRIER_BURST ? &tool_values : f->tool;
    struct tool_set tools = tool_set_of(f->observes);
    if (f->beside)
        tools = (struct tool_set){2, {{f->beside, TOOL_BLOCKS}, {f->observes, TOOL_VALUES}}};
    rig_make(&f->rig, &(struct engine_config){.tools = tools, .spool = &f->spool,
                                              .counts = f->counts,
                                              .budget = carrier == CARRIER_BURST,
                                              .late = carrier == CARRIER_BURST});
    assert_non_null(f->rig.thread->tools[TOOL_VALUES]);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->seen = calloc(TUPLES_MOST, sizeof *f->seen);
    f->tool = &tool_values;
    f->spool.mapped = SPOOL_SIZE;
    f->spool.base = mmap(NULL, SPOOL_SIZE, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(f->spool.base, MAP_FAILED);
    struct spool_header *h = spool_header(&f->spool);
    h->size = h->limit = SPOOL_SIZE;
    h->next = SPOOL_HEADER_SIZE;
    f->capture = spool_alloc_as(&f->spool, sizeof *f->capture);
    *state = f;
    return 0;
}

static int set_up_whole(void **state)
{
    int failed = set_up(state);
    struct fixture *f = *state;
    f->tool = &tool_values_whole;
    return failed;
}

static int set_up_beside(void **state)
{
    int failed = set_up(state);
    struct fixture *f = *state;
    f->beside = &tool_blocks;
    return failed;
}

static int set_up_whole_beside(void **state)
{
    int failed = set_up_whole(state);
    struct fixture *f = *state;
    f->beside = &tool_blocks;
    return failed;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    rig_free(&f->rig);
    /* The spool stays: the tool knows it by its address. */
    free(f->seen);
    free(f);
    return 0;
}

/* Appends what is in the ring to f->seen. */
static void drain(struct fixture *f)
{
    uint64_t words[TUPLE_SEQUENCE_WORDS_MAX];
    struct spool_tuples *t = spool_at(&f->spool, f->counts->tuples, sizeof *t);
    bool broken;
    assert_non_null(t);
    while (tuples_next(&f->spool, f->rig.thread->tools[TOOL_VALUES], words, &broken)) {
        const struct tuple_sequence *s = (const void *)words;
        uint32_t at = TUPLE_SEQUENCE_WORDS;
        for (unsigned i = 0; i < s->count; i++) {
            const struct tuple_head *head = (const void *)&words[at++];
            struct seen *seen = &f->seen[f->count++];
            assert_true(f->count < TUPLES_MOST);
            seen->insn = tuples_insn_at(&f->spool, t, head->id);
            assert_true(seen->insn->length != 0);
            seen->count = head->count;
            seen->flags = head->flags;
            memcpy(seen->values, &words[at], head->count * sizeof words[0]);
            at += head->count;
        }
    }
    assert_false(broken);
}

/* Runs fn(a, b) and reads what was observed of it. */
static uint64_t observe(struct fixture *f, const void *fn, uint64_t a, uint64_t b)
{
    uint64_t result = rig_call(&f->rig, fn, a, b, 0, 0);
    if (f->observes->burst_end)
        f->observes->burst_end(f->rig.thread);
    drain(f);
    return result;
}

/* The value of that kind of the n-th execution of the instruction at `address`. */
static uint64_t value_of(const struct fixture *f, const void *address, unsigned n,
                         enum tuple_what what, unsigned index)
{
    for (uint32_t i = 0; i < f->count; i++) {
        const struct seen *s = &f->seen[i];
        if (s->insn->address != (uint64_t)(uintptr_t)address || n--)
            continue;
        unsigned first = s->flags & TUPLE_ARGUMENTS ? TUPLE_ARGUMENT_COUNT : 0;
        if (what == TUPLE_ARGUMENTS_AT_ENTRY && first)
            return s->values[index];
        for (unsigned k = 0; k + first < s->count; k++)
            if (s->insn->values[k].what == what && s->insn->values[k].index == index)
                return s->values[first + k];
        fail_msg("no such value: kind %d, number %u, of %u", what, index, s->count);
    }
    fail_msg("not so many executions");
    return 0;
}

static unsigned executions(const struct fixture *f, const void *address)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < f->count; i++)
        n += f->seen[i].insn->address == (uint64_t)(uintptr_t)address;
    return n;
}

#define PLACE(name) extern const char name[]
PLACE(v_load); PLACE(v_high); PLACE(v_div); PLACE(v_store); PLACE(v_lanes); PLACE(v_double);
PLACE(v_float); PLACE(v_cmp); PLACE(v_jump); PLACE(v_call); PLACE(v_entry); PLACE(v_return);
PLACE(v_push); PLACE(v_pop); PLACE(v_indirect); PLACE(v_landing); PLACE(v_add); PLACE(v_wide);

/* walk(array, n): each element is loaded, divided, stored, made a double, and handed to a
 * function. */
uint64_t v_walk(uint64_t *array, uint64_t n);
__asm__("        .text\n"
        "v_walk: push %rbx\n"
        "        push %rbp\n"
        "        movq %rdi, %rbx\n"
        "        movq %rsi, %rbp\n"
        "        xorl %r8d, %r8d\n"
        "1:\n"
        "v_load: movq (%rbx), %rcx\n"
        "        movl $0x1234, %eax\n"
        "v_high: movb %ah, %dl\n"
        "        xorl %edx, %edx\n"
        "        movl $1000, %eax\n"
        "v_div:  divq %rcx\n"
        "v_store: movl %eax, 8000(%rbx)\n"
        "v_wide: addq %rcx, 8000(%rbx)\n"
        "        cvtsi2sdq %rcx, %xmm3\n"
        "v_double: addsd %xmm3, %xmm3\n"
        "        cvtsi2ssq %rcx, %xmm9\n"
        "v_float: mulss %xmm9, %xmm9\n"
        "        movq %rcx, %xmm12\n"
        "        punpcklqdq %xmm12, %xmm12\n"
        "v_lanes: paddq %xmm12, %xmm12\n"
        "        movq %rcx, %rdi\n"
        "        movl $17, %esi\n"
        "v_call: call v_entry\n"
        "        addq %rax, %r8\n"
        "        leaq v_landing(%rip), %r10\n"
        "v_indirect: jmp *%r10\n"
        "        ud2\n"
        "v_landing: addq $8, %rbx\n"
        "v_cmp:  decq %rbp\n"
        "v_jump: jnz 1b\n"
        "        movq %r8, %rax\n"
        "        pop %rbp\n"
        "        pop %rbx\n"
        "        ret\n"
        "v_entry: \n"
        "v_push: push %rdi\n"
        "v_add:  addq (%rsp), %rdi\n"
        "v_pop:  pop %rax\n"
        "v_return: ret\n"
        "        .previous\n");

static uint64_t double_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* What is known of execution n of the loop, for the element x, and the last of PIECE. */
static void check_round(const struct fixture *f, const uint64_t *array, unsigned n, uint64_t x)
{
    bool last = n + 1 == PIECE;
    assert_int_equal(value_of(f, v_load, n, TUPLE_LOADED, 0), x);
    assert_int_equal(value_of(f, v_load, n, TUPLE_RESULT, 0), x);
    assert_int_equal(value_of(f, v_load, n, TUPLE_ADDRESS, 0), (uintptr_t)&array[n]);
    assert_int_equal(value_of(f, v_high, n, TUPLE_SOURCES, 0), 0x12);
    assert_int_equal(value_of(f, v_high, n, TUPLE_RESULT, 0), 0x12);
    assert_int_equal(value_of(f, v_div, n, TUPLE_SOURCES, 0), x); /* the divisor */
    assert_int_equal(value_of(f, v_div, n, TUPLE_SOURCES, 1), 1000);
    assert_int_equal(value_of(f, v_div, n, TUPLE_RESULT, 0), 1000 / x);
    assert_int_equal(value_of(f, v_store, n, TUPLE_STORED, 0), 1000 / x);
    assert_int_equal(value_of(f, v_store, n, TUPLE_ADDRESS, 0), (uintptr_t)&array[n + 1000]);
    assert_int_equal(value_of(f, v_wide, n, TUPLE_STORED, 0), 1000 / x + x);
    assert_int_equal(value_of(f, v_double, n, TUPLE_RESULT, 0), double_bits(2.0 * (double)x));
    assert_int_equal((uint32_t)value_of(f, v_float, n, TUPLE_RESULT, 0),
                     float_bits((float)x * (float)x));
    assert_int_equal(value_of(f, v_lanes, n, TUPLE_RESULT, 0), 2 * x);
    assert_int_equal(value_of(f, v_lanes, n, TUPLE_RESULT, 1), 2 * x);
    assert_int_equal(value_of(f, v_call, n, TUPLE_STORED, 0), (uintptr_t)v_call + 5);
    assert_int_equal(value_of(f, v_entry, n, TUPLE_ARGUMENTS_AT_ENTRY, 0), x);
    assert_int_equal(value_of(f, v_entry, n, TUPLE_ARGUMENTS_AT_ENTRY, 1), 17);
    assert_int_equal(value_of(f, v_push, n, TUPLE_STORED, 0), x);
    assert_int_equal(value_of(f, v_add, n, TUPLE_LOADED, 0), x);
    assert_int_equal(value_of(f, v_add, n, TUPLE_RESULT, 0), 2 * x);
    assert_int_equal(value_of(f, v_pop, n, TUPLE_LOADED, 0), x);
    assert_int_equal(value_of(f, v_return, n, TUPLE_TARGET, 0), (uintptr_t)v_call + 5);
    assert_int_equal(value_of(f, v_return, n, TUPLE_LOADED, 0), (uintptr_t)v_call + 5);
    assert_int_equal(value_of(f, v_indirect, n, TUPLE_TARGET, 0), (uintptr_t)v_landing);
    assert_int_equal(value_of(f, v_cmp, n, TUPLE_FLAGS, 0) & 0x40, last ? 0x40 : 0);
    assert_int_equal(value_of(f, v_jump, n, TUPLE_TAKEN, 0), !last);
}

enum { EVERYTHING = 0x7ff };

/* Constant, 70/30, strided, and pseudo-random elements, in turn. */
static uint64_t element(unsigned way, unsigned i, unsigned *seed)
{
    switch (way) {
    case 0: return 10;
    case 1: return i % 10 < 7 ? 3 : 77777777;
    case 2: return 1 + 64ul * i;
    default: return 1 + (uint64_t)rand_r(seed);
    }
}

static void every_instruction(void **state)
{
    struct fixture *f = *state;
    static uint64_t array[2 * ELEMENTS + 8];
    uint64_t copy[ELEMENTS];
    unsigned seed = 3;
    rig_begin(f, CARRIER_EXACT, EVERYTHING);
    struct tuple_ring *ring = f->rig.thread->tools[TOOL_VALUES];
    for (unsigned way = 0; way < 4; way++) {
        for (unsigned i = 0; i < ELEMENTS; i++)
            array[i] = copy[i] = element(way, i, &seed);
        for (unsigned i = 0; i < ELEMENTS; i += PIECE) {
            f->count = 0;
            ring->cursor.total = UINT64_MAX;
            uint64_t sum = observe(f, (const void *)(uintptr_t)v_walk, (uintptr_t)&array[i], PIECE);
            uint64_t want = 0;
            for (unsigned n = 0; n < PIECE; n++) {
                want += copy[i + n];
                check_round(f, &array[i], n, copy[i + n]);
            }
            assert_int_equal(sum, want);
            assert_int_equal(executions(f, v_div), PIECE);
        }
    }
    assert_int_equal(ring->dropped[TUPLE_DROP_GONE], 0);
}

/* Nobody reads: what does not fit is dropped and counted, and the program goes on. */
static void full_ring(void **state)
{
    struct fixture *f = *state;
    static uint64_t array[2 * ELEMENTS + 8];
    rig_begin(f, CARRIER_EXACT, EVERYTHING);
    for (unsigned i = 0; i < ELEMENTS; i++)
        array[i] = 1 + i;
    struct tuple_ring *ring = f->rig.thread->tools[TOOL_VALUES];
    for (unsigned round = 0; round < 4; round++)
        assert_int_equal(rig_call(&f->rig, (const void *)(uintptr_t)v_walk, (uintptr_t)array,
                                  ELEMENTS, 0, 0), ELEMENTS * (ELEMENTS + 1) / 2);
    assert_true(ring->dropped[TUPLE_DROP_GONE] > 0);
    assert_true(ring->sequences > 0);
    assert_true(ring->head - ring->tail <= ring->size);
}

/* The addresses that were observed in a burst of `skip` and then `length` instructions. */
static void burst(struct fixture *f, uint64_t *array, uint32_t skip, uint64_t length)
{
    struct engine_thread *t = f->rig.thread;
    f->count = 0;
    rig_prepare(&f->rig, (const void *)(uintptr_t)v_walk, (uintptr_t)array, 4, 0, 0);
    t->budget = (int64_t)skip;
    t->observed = 0;
    t->wanted = length;
    tool_values.burst_begin(t, skip, length);
    assert_int_equal(engine_run_as(t), STOP_BUDGET);
    assert_int_equal(t->budget, 0);
    assert_int_equal(t->observed, length);
    tool_values.burst_end(t);
    drain(f);
}

/* A burst sees the instructions that it is to see, and no others. */
static void bursts(void **state)
{
    struct fixture *f = *state;
    static uint64_t array[2 * ELEMENTS + 8];
    static uint64_t trace[100];
    rig_begin(f, CARRIER_BURST, EVERYTHING);
    for (unsigned i = 0; i < 4; i++)
        array[i] = 5;
    burst(f, array, 0, 100);
    assert_int_equal(f->count, 100);
    for (unsigned i = 0; i < 100; i++)
        trace[i] = f->seen[i].insn->address;
    assert_int_equal(trace[0], (uintptr_t)v_walk);
    for (uint32_t skip = 0; skip < 40; skip++)
        for (uint32_t length = 1; length < 10; length++) {
            burst(f, array, skip, length);
            assert_int_equal(f->count, length);
            assert_int_equal(f->rig.thread->rip, trace[skip + length]);
            for (uint32_t i = 0; i < length; i++)
                assert_int_equal(f->seen[i].insn->address, trace[skip + i]);
        }
    struct tuple_ring *ring = f->rig.thread->tools[TOOL_VALUES];
    for (unsigned i = 0; i < TUPLE_DROP_COUNT; i++)
        assert_int_equal(ring->dropped[i], 0);
}

PLACE(v_cut); PLACE(v_after); PLACE(v_syscall); PLACE(v_fs); PLACE(v_fs_other);

/* Results that nobody reads, where a block begins: of the 64th instruction, and of a system call;
 * the flags are read. */
uint64_t v_unread(void);
__asm__("        .text\n"
        "v_unread: xorl %ecx, %ecx\n"
        "        .rept 62\n"
        "        nop\n"
        "        .endr\n"
        "v_cut:  movl $0x77, %eax\n"
        "v_after: movl $1, %eax\n"
        "        jz 1f\n"
        "        ud2\n"
        "1:      movl $39, %eax\n"
        "        xorl %ecx, %ecx\n"
        "v_syscall: syscall\n"
        "        movl $2, %eax\n"
        "        jz 2f\n"
        "        ud2\n"
        "2:      ret\n"
        "        .previous\n");

static void what_nobody_reads(void **state)
{
    struct fixture *f = *state;
    rig_begin(f, CARRIER_EXACT, EVERYTHING);
    for (unsigned round = 0; round < 2; round++) {
        f->count = 0;
        ((struct tuple_ring *)f->rig.thread->tools[TOOL_VALUES])->cursor.total = UINT64_MAX;
        assert_int_equal(observe(f, (const void *)(uintptr_t)v_unread, 0, 0), 2);
        assert_int_equal(value_of(f, v_cut, 0, TUPLE_RESULT, 0), 0x77);
        assert_int_equal(value_of(f, v_syscall, 0, TUPLE_SYSTEM_CALL, 0), 39);
        assert_int_equal(value_of(f, v_syscall, 0, TUPLE_SYSTEM_CALL, 7), (uint64_t)getpid());
    }
}

/* FS is another one when the ring is emptied. */
uint64_t v_segments(uint64_t other);
__asm__("        .text\n"
        "v_segments: rdfsbase %rdx\n"
        "v_fs:   movq %fs:0, %rcx\n"
        "        wrfsbase %rdi\n"
        "v_fs_other: movq %fs:8, %rax\n"
        "        wrfsbase %rdx\n"
        "        ret\n"
        "        .previous\n");

static void segments(void **state)
{
    struct fixture *f = *state;
    static uint64_t other[] = {17, 18};
    uint64_t fs;
    rig_begin(f, CARRIER_EXACT, PENUMBRA_ADDRESS | PENUMBRA_LOADED);
    __asm__("movq %%fs:0, %0" : "=r"(fs)); /* the thread's pointer to itself */
    ((struct tuple_ring *)f->rig.thread->tools[TOOL_VALUES])->cursor.total = UINT64_MAX;
    assert_int_equal(observe(f, (const void *)(uintptr_t)v_segments, (uintptr_t)other, 0), 18);
    assert_int_equal(value_of(f, v_fs, 0, TUPLE_ADDRESS, 0), fs);
    assert_int_equal(value_of(f, v_fs_other, 0, TUPLE_ADDRESS, 0), (uintptr_t)&other[1]);
    assert_int_equal(value_of(f, v_fs_other, 0, TUPLE_LOADED, 0), 18);
}

static uint64_t instructions_made(const struct fixture *f)
{
    return engine_figures_as(f->rig.engine).instructions;
}

/* What a burst meets for the first time is made once, and no further than it reaches; what others
 * make of the same code comes to an end. */
static void little_is_made(void **state)
{
    struct fixture *f = *state;
    static uint64_t array[2 * ELEMENTS + 8];
    rig_begin(f, CARRIER_BURST, EVERYTHING);
    struct engine_thread *t = f->rig.thread;
    for (unsigned i = 0; i < 4; i++)
        array[i] = 5;
    burst(f, array, 3, 2);
    assert_int_equal(t->translated, 1);
    assert_int_equal(instructions_made(f), 3 + 2 + 1); /* with the one that the burst ends before */
    burst(f, array, 3, 2);
    assert_int_equal(t->translated, 1);
    uint64_t made = 0;
    for (unsigned round = 0; round < 3; round++) {
        uint64_t before = t->translated;
        for (uint32_t skip = 0; skip < 40; skip++)
            burst(f, array, skip, 2);
        made = t->translated - before;
    }
    assert_int_equal(made, 0);
}

/* The table decides: nothing is captured of what it does not ask for. */
static void what_was_asked_for(void **state)
{
    struct fixture *f = *state;
    static uint64_t array[2 * ELEMENTS + 8];
    rig_begin(f, CARRIER_EXACT, 0);
    f->capture->what[0][0xf7][6] = PENUMBRA_SOURCES; /* div */
    for (unsigned i = 0; i < PIECE; i++)
        array[i] = 3;
    observe(f, (const void *)(uintptr_t)v_walk, (uintptr_t)array, PIECE);
    for (uint32_t i = 0; i < f->count; i++) {
        bool div = f->seen[i].insn->address == (uint64_t)(uintptr_t)v_div;
        assert_int_equal(f->seen[i].count, div ? 3 : 0);
    }
    assert_int_equal(executions(f, v_div), PIECE);
}

/* One instruction a byte: more than a line of the front table has room for. */
enum { DENSE = 3 * 64 };
void v_dense(void);
__asm__("        .text\n"
        "        .balign 64\n"
        "v_dense: .rept 3 * 64\n"
        "        cmc\n"
        "        .endr\n"
        "        ret\n"
        "        .previous\n");

/* Each instruction has one record, which is found again, however close they are. */
static void dense_code(void **state)
{
    struct fixture *f = *state;
    rig_begin(f, CARRIER_EXACT, PENUMBRA_FLAGS);
    const struct spool_tuples *t = spool_at(&f->spool, f->counts->tuples, sizeof *t);
    const uintptr_t begin = (uintptr_t)v_dense;
    for (unsigned round = 0; round < 3; round++) {
        f->count = 0;
        ((struct tuple_ring *)f->rig.thread->tools[TOOL_VALUES])->cursor.total = UINT64_MAX;
        observe(f, (const void *)begin, 0, 0);
        assert_true(f->count > DENSE);
        for (uint32_t i = 0; i <= DENSE; i++)
            assert_int_equal(f->seen[i].insn->address, begin + i);
        assert_int_equal(t->used, DENSE + 1);
        assert_int_equal(t->dropped[TUPLE_DROP_RECORDS], 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_instruction, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_instruction, set_up_whole, tear_down),
        cmocka_unit_test_setup_teardown(every_instruction, set_up_beside, tear_down),
        cmocka_unit_test_setup_teardown(every_instruction, set_up_whole_beside, tear_down),
        cmocka_unit_test_setup_teardown(what_nobody_reads, set_up_beside, tear_down),
        cmocka_unit_test_setup_teardown(what_nobody_reads, set_up_whole_beside, tear_down),
        cmocka_unit_test_setup_teardown(segments, set_up, tear_down),
        cmocka_unit_test_setup_teardown(segments, set_up_whole, tear_down),
        cmocka_unit_test_setup_teardown(full_ring, set_up, tear_down),
        cmocka_unit_test_setup_teardown(full_ring, set_up_whole, tear_down),
        cmocka_unit_test_setup_teardown(bursts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(little_is_made, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_asked_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_asked_for, set_up_whole, tear_down),
        cmocka_unit_test_setup_teardown(dense_code, set_up, tear_down),
        cmocka_unit_test_setup_teardown(dense_code, set_up_whole, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
