/* Frames of HotSpot's compiled code by its own records (hotspot.h): a machine made of them here, in
 * the two forms that they have had, and damaged ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unwind/ahead.h"
#include "unwind/hotspot.h"

enum { SEGMENT = 128, SEGMENTS = 64, FREE = 0xff, FRAME = 80, WORDS = 64 };

/* As gHotSpotVMStructs has them. */
struct entry {
    const char *type, *field, *of;
    int32_t is_static;
    uint64_t offset;
    void *address;
};

struct space {
    uint64_t other[2];
    char *low, *high;
};

struct heap {
    uint64_t other;
    struct space memory, map;
    int32_t shift;
};

struct array {
    int32_t count, capacity;
    struct heap **data;
};

/* Offsets differ between the forms, so that none is built in. */
struct blob17 {
    uint64_t used[2]; /* HeapBlock::Header */
    const char *name;
    int32_t complete, frame;
    uint8_t *code, *deoptimized;
};
struct blob25 {
    uint32_t used[2];
    int32_t code, frame, deoptimized;
    int16_t other, complete;
    const char *name;
};

static struct {
    uint8_t memory[SEGMENTS * SEGMENT] __attribute__((aligned(SEGMENT)));
    uint8_t map[SEGMENTS];
    struct heap heap;
    struct heap *heaps[1];
    struct array array;
    struct array *root;
} machine;
static const struct entry *structs17, *structs25; /* the variables whose addresses are given */
static struct unwind_thread thread;
static struct unwind_memory memory;

#define FIELD(of_type, name, member, of) {of_type, name, of, 0, member, NULL}
#define COMMON                                                                                     \
    FIELD("Other", "_low", 3, "char*"),                                                            \
        {"CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", 1, 0, &machine.root},                 \
        FIELD("GrowableArrayBase", "_len", offsetof(struct array, count), "int"),                  \
        FIELD("GrowableArray<int>", "_data", offsetof(struct array, data), "int*"),                \
        FIELD("CodeHeap", "_memory", offsetof(struct heap, memory), "VirtualSpace"),               \
        FIELD("CodeHeap", "_segmap", offsetof(struct heap, map), "VirtualSpace"),                  \
        FIELD("CodeHeap", "_log2_segment_size", offsetof(struct heap, shift), "int"),              \
        FIELD("VirtualSpace", "_low", offsetof(struct space, low), "char*"),                       \
        FIELD("VirtualSpace", "_high", offsetof(struct space, high), "char*")

static const struct entry entries17[] = {
    COMMON,
    FIELD("HeapBlock::Header", "_used", 8, "bool"),
    FIELD("CodeBlob", "_name", offsetof(struct blob17, name) - 16, "const char*"),
    FIELD("CodeBlob", "_frame_complete_offset", offsetof(struct blob17, complete) - 16, "int"),
    FIELD("CodeBlob", "_frame_size", offsetof(struct blob17, frame) - 16, "int"),
    FIELD("CodeBlob", "_code_begin", offsetof(struct blob17, code) - 16, "address"),
    FIELD("CompiledMethod", "_deopt_handler_begin", offsetof(struct blob17, deoptimized) - 16,
          "address"),
    {0},
};
static const struct entry entries25[] = {
    COMMON,
    FIELD("HeapBlock::Header", "_used", 4, "bool"),
    FIELD("CodeBlob", "_name", offsetof(struct blob25, name) - 8, "const char*"),
    FIELD("CodeBlob", "_frame_complete_offset", offsetof(struct blob25, complete) - 8, "int16_t"),
    FIELD("CodeBlob", "_frame_size", offsetof(struct blob25, frame) - 8, "int"),
    FIELD("CodeBlob", "_code_offset", offsetof(struct blob25, code) - 8, "int"),
    FIELD("nmethod", "_deopt_handler_offset", offsetof(struct blob25, deoptimized) - 8, "int"),
    {0},
};

/* A blob of `segments` with 256 bytes of code behind its record; deoptimized, if it is, 200 bytes
 * into that. */
static uint8_t *blob_put(bool new_form, unsigned first, unsigned segments, const char *name,
                         int32_t frame, int16_t complete)
{
    uint8_t *at = machine.memory + first * SEGMENT, *code = at + SEGMENT;
    for (unsigned i = 0; i < segments; i++)
        machine.map[first + i] = (uint8_t)(i < 3 ? i : 2); /* some ways back take several steps */
    if (new_form) {
        struct blob25 *b = (struct blob25 *)(void *)at;
        *b = (struct blob25){{2, 1}, SEGMENT - 8, frame, SEGMENT - 8 + 200, 7, complete, name};
    } else {
        struct blob17 *b = (struct blob17 *)(void *)at;
        *b = (struct blob17){{2, 1}, name, complete, frame, code, code + 200};
    }
    return code;
}

static uint8_t *method, *routines, *jumps;

static void machine_make(bool new_form)
{
    /* cmp $1,%eax; je 1f; mov %eax,-0x14000(%rsp); push %rbp; sub $0x40,%rsp; */
    static const uint8_t prologue[] = {0x83, 0xf8, 0x01, 0x74, 0x00, 0x89, 0x84, 0x24, 0x00, 0xc0,
                                       0xfe, 0xff, 0x55, 0x48, 0x83, 0xec, 0x40};
    memset(&machine, 0, sizeof machine);
    memset(machine.map, FREE, sizeof machine.map);
    method = blob_put(new_form, 4, 8, "nmethod", FRAME / 8, sizeof prologue);
    routines = blob_put(new_form, 20, 3, "StubRoutines (2)", 0, -1);
    jumps = blob_put(new_form, 30, 3, "vtable chunks", 0, -1);
    memcpy(method, prologue, sizeof prologue);
    memset(method + sizeof prologue, 0x90, 256 - sizeof prologue);
    method[255] = 0xf4; /* hlt: reading ahead leads nowhere */
    machine.heap.memory =
        (struct space){{0}, (char *)machine.memory, (char *)machine.memory + sizeof machine.memory};
    machine.heap.map =
        (struct space){{0}, (char *)machine.map, (char *)machine.map + sizeof machine.map};
    machine.heap.shift = 7;
    machine.heaps[0] = &machine.heap;
    machine.array = (struct array){1, 4, machine.heaps};
    machine.root = &machine.array;
    memset(&thread, 0, sizeof thread);
    unwind_memory_init_as(&memory, &thread, (uint64_t)&memory);
    thread.vm_structs = (uint64_t)(new_form ? &structs25 : &structs17);
}

static bool find(const uint8_t *pc, struct hotspot_blob *blob)
{
    return hotspot_find_as(&memory, thread.vm_structs, (uint64_t)pc, blob);
}

static void blobs(void **state)
{
    struct hotspot_blob b;
    (void)state;
    for (int form = 0; form < 4; form++) { /* one machine in the place of another */
        machine_make(form & 1);
        for (unsigned at = 0; at < 7 * SEGMENT; at += 100) {
            assert_true(find(method + at, &b));
            assert_true(b.begin == (uint64_t)method && b.size == FRAME && b.kind == HOTSPOT_METHOD);
            assert_true(b.complete == (uint64_t)method + 17 &&
                        b.deoptimized == (uint64_t)method + 200);
        }
        assert_true(find(routines + 9, &b) && b.kind == HOTSPOT_ROUTINES && b.size == 0 &&
                    !b.deoptimized);
        assert_true(find(jumps, &b) && b.kind == HOTSPOT_JUMP);
        assert_false(find(method - 1, &b)); /* its record */
        assert_false(find(machine.memory + 3 * SEGMENT, &b));
        assert_false(
            find((const uint8_t *)((uintptr_t)machine.memory + sizeof machine.memory), &b));
        assert_false(find((const uint8_t *)((uintptr_t)machine.memory - 1), &b));
    }
}

static void damaged(void **state)
{
    struct hotspot_blob b;
    const struct entry *kept = structs17;
    (void)state;
    machine_make(false);
    memset(machine.map, 0, 12),
        memset(machine.map + 5, 3, 7); /* ever further back, past the beginning */
    machine.map[0] = 1;
    memset(machine.map + 1, 1, 11);
    assert_false(find(method, &b));
    machine_make(false);
    machine.heap.shift = 70;
    assert_false(find(method, &b));
    machine_make(false);
    machine.array.data = (struct heap **)16;
    assert_false(find(method, &b));
    machine_make(false);
    machine.root = NULL;
    assert_false(find(method, &b));
    machine_make(false);
    ((struct blob17 *)(void *)(machine.memory + 4 * SEGMENT))->frame = 1 << 30;
    assert_false(find(method, &b));
    machine_make(false);
    ((struct blob17 *)(void *)(machine.memory + 4 * SEGMENT))->used[1] = 0;
    assert_false(find(method, &b));
    /* A machine without the fields, where the one that is known was. */
    structs17 = (const struct entry[]){FIELD("CodeHeap", "_memory", 0, "VirtualSpace"), {0}};
    machine_make(true);
    assert_true(find(method, &b));
    machine_make(false);
    assert_false(find(method, &b));
    structs17 = kept;
    machine_make(true);
    assert_true(find(method, &b));
}

static struct unwind_ahead ahead_at(const uint8_t *pc, bool exact)
{
    struct unwind_ahead found = {0};
    assert_true(ahead_find_as(&memory, (uint64_t)pc, exact, &found));
    return found;
}

static bool is_sum(struct ahead_value v, enum unwind_register reg, int32_t plus)
{
    return v.kind == AHEAD_REGISTER && v.reg == reg && v.plus == plus;
}

/* At every place of the method's beginning, and behind calls of a method and of a stub. */
static void frames_of_methods(void **state)
{
    enum { AFTER_PUSH = 13, COMPLETE = 17, CALL = 64 };
    (void)state;
    machine_make(false);
    static const uint8_t begins[] = {0, 3, 5, 12};
    for (unsigned i = 0; i < sizeof begins; i++) {
        struct unwind_ahead a = ahead_at(method + begins[i], true);
        assert_true(is_sum(a.cfa, UNWIND_RSP, 8) && is_sum(a.rbp, UNWIND_RBP, 0) && a.compiled &&
                    !a.size);
    }
    struct unwind_ahead a = ahead_at(method + AFTER_PUSH, true);
    assert_true(is_sum(a.cfa, UNWIND_RSP, 16) && a.rbp.kind == AHEAD_WORD && a.rbp.at == 0 &&
                !a.size);
    a = ahead_at(method + COMPLETE, true);
    assert_true(a.cfa.kind == AHEAD_UNKNOWN && a.size == FRAME && a.compiled);
    for (int stub = 0; stub < 2; stub++) {
        int32_t distance = (int32_t)((stub ? routines : method) - (method + CALL));
        method[CALL - 5] = 0xe8;
        memcpy(method + CALL - 4, &distance, 4);
        thread
            .ahead[((uint64_t)(method + CALL) ^ (uint64_t)(method + CALL) >> 7) %
                   UNWIND_AHEAD_SLOTS]
            .pc = 0;
        a = ahead_at(method + CALL, false);
        if (stub)
            assert_true(a.cfa.kind == AHEAD_UNKNOWN && a.size == FRAME);
        else
            assert_true(is_sum(a.cfa, UNWIND_RSP, FRAME) && a.rbp.kind == AHEAD_WORD &&
                        a.rbp.at == FRAME - 16);
    }
    a = ahead_at(jumps + 16, true);
    assert_true(is_sum(a.cfa, UNWIND_RSP, 8) && is_sum(a.rbp, UNWIND_RBP, 0) && !a.compiled);
}

/* A method runs on a stack of words, of which those at `calls` follow calls; frames of the walk. */
static uint32_t walked(uint64_t *stack, uint64_t rbp, uint64_t *caller)
{
    uint8_t room[sizeof(struct unwind_index) + sizeof(struct unwind_image)]
        __attribute__((aligned(16)));
    struct unwind_index *one = (struct unwind_index *)(void *)room;
    struct unwind_regs regs = {{0}};
    struct unwind_frame frames[WORDS];
    *one = (struct unwind_index){.generation = 1, .count = 1};
    one->image[0] =
        (struct unwind_image){.lo = 16, .hi = 32, .number = 1, .vm_structs = thread.vm_structs};
    regs.r[UNWIND_RIP] = (uint64_t)method + 40;
    regs.r[UNWIND_RSP] = (uint64_t)stack;
    regs.r[UNWIND_RBP] = rbp;
    thread.stack_lo = (uint64_t)stack;
    thread.stack_hi = (uint64_t)(stack + WORDS);
    struct unwind_result r = unwind_walk_as(&thread, one, &regs, frames, WORDS);
    *caller = r.frames > 1 ? frames[1].key & ~KEY_GUESSED : 0;
    return r.frames;
}

static void walks(void **state)
{
    static const uint8_t call[] = {0x90, 0x90, 0x90, 0xe8, 0, 0, 0, 0};
    uint64_t stack[WORDS], caller, after_call = (uint64_t)jumps + 64;
    (void)state;
    machine_make(true);
    memcpy(jumps + 56, call, sizeof call);
    for (unsigned pushed = 0; pushed < 5; pushed++) {
        memset(stack, 0, sizeof stack);
        stack[FRAME / 8 - 1 + pushed] = after_call;
        uint32_t frames = walked(stack, 0, &caller);
        if (pushed <= 2)
            assert_true(frames > 1 && caller == key_make(0, after_call - 1));
        else
            assert_int_equal(frames, 1);
    }
    /* rbp is a register like others in a method: what looks like a frame there is somebody
     * else's. */
    memset(stack, 0, sizeof stack);
    stack[30] = (uint64_t)&stack[40];
    stack[31] = stack[41] = after_call;
    assert_int_equal(walked(stack, (uint64_t)&stack[30], &caller), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blobs),
        cmocka_unit_test(damaged),
        cmocka_unit_test(frames_of_methods),
        cmocka_unit_test(walks),
    };
    structs17 = entries17;
    structs25 = entries25;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
