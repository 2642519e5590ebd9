#include "unwind/hotspot.h"

/* One record of the array to which gHotSpotVMStructs points: VMStructEntry of OpenJDK's vmStructs.hpp, the same since
 * JDK 7. The last one has no type. */
enum { ENTRY_TYPE = 0, ENTRY_FIELD = 8, ENTRY_OF = 16, ENTRY_OFFSET = 32, ENTRY_ADDRESS = 40, ENTRY_SIZE = 48 };
enum {
    ENTRIES_MAX = 4096, /* OpenJDK 17 has 788 */
    HEAPS_MAX = 4,
    STEPS_MAX = 4096,   /* back along the segment map; each is up to 254 segments */
    BLOCK_HEADER = 16,  /* HeapBlock::Header: size_t _length; bool _used */
    FRAME_MAX = 1 << 20,
    STRING_MAX = 40,
};

enum field {
    HEAPS, ARRAY_COUNT, ARRAY_DATA, HEAP_MEMORY, HEAP_MAP, HEAP_SHIFT, SPACE_LOW, SPACE_HIGH,
    BLOB_NAME, BLOB_COMPLETE, BLOB_FRAME, BLOB_CODE,
    FIELDS_NEEDED,
    BLOB_DEOPTIMIZED = FIELDS_NEEDED,
    FIELDS
};

static const struct {
    enum field id;
    const char *type, *field, *of; /* of: what the field must be declared as */
} wanted[] = {
    {HEAPS, "CodeCache", "_heaps", "GrowableArray<CodeHeap*>*"},
    {ARRAY_COUNT, "GrowableArrayBase", "_len", "int"},
    {ARRAY_COUNT, "GenericGrowableArray", "_len", "int"}, /* up to JDK 15 */
    {ARRAY_DATA, "GrowableArray<int>", "_data", "int*"},
    {HEAP_MEMORY, "CodeHeap", "_memory", "VirtualSpace"},
    {HEAP_MAP, "CodeHeap", "_segmap", "VirtualSpace"},
    {HEAP_SHIFT, "CodeHeap", "_log2_segment_size", "int"},
    {SPACE_LOW, "VirtualSpace", "_low", "char*"},
    {SPACE_HIGH, "VirtualSpace", "_high", "char*"},
    {BLOB_NAME, "CodeBlob", "_name", "const char*"},
    {BLOB_COMPLETE, "CodeBlob", "_frame_complete_offset", "int"},
    {BLOB_FRAME, "CodeBlob", "_frame_size", "int"},
    {BLOB_CODE, "CodeBlob", "_code_begin", "address"},
    {BLOB_DEOPTIMIZED, "CompiledMethod", "_deopt_handler_begin", "address"}, /* up to JDK 22 */
};

enum { UNREAD, READING, READ, UNUSABLE };

/* One machine a process: read by the first walk that needs it. */
static struct {
    uint32_t state;   /* atomic */
    uint64_t structs; /* what was read, atomic */
    uint64_t at[FIELDS]; /* offsets; of HEAPS the address */
} known;

static bool read_byte(struct unwind_memory *m, uint64_t at, uint8_t *byte)
{
    uint64_t word;
    if (!unwind_memory_read_as(m, at & ~UINT64_C(7), &word))
        return false;
    *byte = (uint8_t)(word >> at % 8 * 8);
    return true;
}

static bool read_int(struct unwind_memory *m, uint64_t at, int32_t *number)
{
    uint64_t word;
    if (!unwind_memory_read_as(m, at, &word))
        return false;
    *number = (int32_t)word;
    return true;
}

/* Whether the string at `at` is `text`, or begins with it. */
static bool is_text(struct unwind_memory *m, uint64_t at, const char *text, bool prefix)
{
    uint8_t byte;
    for (unsigned i = 0; i < STRING_MAX; i++) {
        if (prefix && !text[i])
            return true;
        if (!read_byte(m, at + i, &byte) || byte != (uint8_t)text[i])
            return false;
        if (!byte)
            return true;
    }
    return false;
}

static void entry_note(struct unwind_memory *m, uint64_t entry, uint64_t type, uint32_t *found)
{
    uint64_t field, of, value;
    for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        uint64_t from = entry + (wanted[i].id == HEAPS ? ENTRY_ADDRESS : ENTRY_OFFSET);
        if (!is_text(m, type, wanted[i].type, false) || !unwind_memory_read_as(m, entry + ENTRY_FIELD, &field) ||
            !is_text(m, field, wanted[i].field, false) || !unwind_memory_read_as(m, entry + ENTRY_OF, &of) ||
            !is_text(m, of, wanted[i].of, false) || !unwind_memory_read_as(m, from, &value))
            continue;
        known.at[wanted[i].id] = value;
        *found |= 1u << wanted[i].id;
    }
}

static bool structs_read(struct unwind_memory *m, uint64_t structs)
{
    uint64_t entry, type;
    uint32_t found = 0, needed = (1u << FIELDS_NEEDED) - 1;
    known.at[BLOB_DEOPTIMIZED] = 0;
    if (!unwind_memory_read_as(m, structs, &entry))
        return false;
    for (unsigned i = 0; i < ENTRIES_MAX && found != (1u << FIELDS) - 1; i++, entry += ENTRY_SIZE) {
        if (!unwind_memory_read_as(m, entry + ENTRY_TYPE, &type) || !type)
            break;
        entry_note(m, entry, type, &found);
    }
    return (found & needed) == needed;
}

/* Whether `known` is of the machine at structs. */
static bool is_known(struct unwind_memory *m, uint64_t structs)
{
    uint32_t state = __atomic_load_n(&known.state, __ATOMIC_ACQUIRE);
    bool same = __atomic_load_n(&known.structs, __ATOMIC_RELAXED) == structs;
    if (state >= READ && same)
        return state == READ;
    if (state == READING ||
        !__atomic_compare_exchange_n(&known.state, &state, READING, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return false;
    bool usable = structs_read(m, structs);
    __atomic_store_n(&known.structs, structs, __ATOMIC_RELAXED);
    __atomic_store_n(&known.state, usable ? READ : UNUSABLE, __ATOMIC_RELEASE);
    return usable;
}

static bool space_read(struct unwind_memory *m, uint64_t space, uint64_t *low, uint64_t *high)
{
    return unwind_memory_read_as(m, space + known.at[SPACE_LOW], low) &&
           unwind_memory_read_as(m, space + known.at[SPACE_HIGH], high);
}

/* CodeHeap::find_start: each byte of the map says how many segments before it the block begins, or somewhat less;
 * 0: here; 255: it is free. */
static bool block_find(struct unwind_memory *m, uint64_t heap, uint64_t pc, uint64_t *block)
{
    enum { FREE = 0xff, SHIFT_MAX = 16 };
    uint64_t low, high, map, map_high;
    int32_t shift;
    uint8_t back = 0, used;
    if (!space_read(m, heap + known.at[HEAP_MEMORY], &low, &high) || pc < low || pc >= high ||
        !space_read(m, heap + known.at[HEAP_MAP], &map, &map_high) ||
        !read_int(m, heap + known.at[HEAP_SHIFT], &shift) || shift < 0 || shift > SHIFT_MAX)
        return false;
    uint64_t segment = (pc - low) >> shift;
    for (unsigned i = 0; i < STEPS_MAX; i++, segment -= back) {
        if (segment >= map_high - map || !read_byte(m, map + segment, &back) || back == FREE)
            return false;
        if (back == 0)
            break;
    }
    *block = low + (segment << shift);
    return back == 0 && read_byte(m, *block + BLOCK_HEADER / 2, &used) && used;
}

static bool blob_find(struct unwind_memory *m, uint64_t pc, uint64_t *blob)
{
    uint64_t array, data, heap;
    int32_t count;
    if (!unwind_memory_read_as(m, known.at[HEAPS], &array) || !array ||
        !read_int(m, array + known.at[ARRAY_COUNT], &count) ||
        !unwind_memory_read_as(m, array + known.at[ARRAY_DATA], &data))
        return false;
    for (int32_t i = 0; i < count && i < HEAPS_MAX; i++)
        if (unwind_memory_read_as(m, data + 8 * (uint64_t)i, &heap) && block_find(m, heap, pc, blob)) {
            *blob += BLOCK_HEADER;
            return true;
        }
    return false;
}

enum kind { KIND_OTHER, KIND_METHOD, KIND_STUB };

static enum kind blob_kind(struct unwind_memory *m, uint64_t blob)
{
    uint64_t name;
    if (!unwind_memory_read_as(m, blob + known.at[BLOB_NAME], &name))
        return KIND_OTHER;
    if (is_text(m, name, "nmethod", false))
        return KIND_METHOD;
    return is_text(m, name, "vtable", true) || is_text(m, name, "InlineCacheBuffer", true) ? KIND_STUB : KIND_OTHER;
}

bool hotspot_find_as(struct unwind_memory *m, uint64_t structs, uint64_t pc, struct hotspot_blob *blob)
{
    uint64_t at;
    int32_t words, complete;
    if (!structs || !is_known(m, structs) || !blob_find(m, pc, &at) ||
        !unwind_memory_read_as(m, at + known.at[BLOB_CODE], &blob->begin) || pc < blob->begin ||
        !read_int(m, at + known.at[BLOB_FRAME], &words) || words > FRAME_MAX / 8 ||
        !read_int(m, at + known.at[BLOB_COMPLETE], &complete))
        return false;
    enum kind kind = blob_kind(m, at);
    blob->size = words < 2 ? 0 : 8 * (uint64_t)words;
    blob->complete = complete < 0 ? 0 : blob->begin + (uint64_t)complete;
    blob->stub = kind == KIND_STUB;
    if (kind != KIND_METHOD || !known.at[BLOB_DEOPTIMIZED] ||
        !unwind_memory_read_as(m, at + known.at[BLOB_DEOPTIMIZED], &blob->deoptimized))
        blob->deoptimized = 0;
    return true;
}
