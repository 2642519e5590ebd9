#include "unwind/hotspot.h"

/* One record of the array to which gHotSpotVMStructs points: VMStructEntry of OpenJDK's
 * vmStructs.hpp, the same since JDK 7. The last one has no type. */
enum { ENTRY_TYPE = 0, ENTRY_FIELD = 8, ENTRY_OF = 16, ENTRY_OFFSET = 32, ENTRY_ADDRESS = 40 };
enum { ENTRY_SIZE = 48 };
enum {
    ENTRIES_MAX = 4096, /* OpenJDK 17 has 788 */
    HEAPS_MAX = 4,
    STEPS_MAX = 4096,   /* back along the segment map; each is up to 254 segments */
    FRAME_MAX = 1 << 20,
};

enum field {
    HEAPS, ARRAY_COUNT, ARRAY_DATA, HEAP_MEMORY, HEAP_MAP, HEAP_SHIFT, BLOCK_USED, SPACE_LOW,
    SPACE_HIGH, BLOB_NAME, BLOB_COMPLETE, BLOB_FRAME, BLOB_CODE,
    FIELDS_NEEDED,
    BLOB_DEOPTIMIZED = FIELDS_NEEDED,
    FIELDS
};

/* How a field is read. FORM_OFFSET: an int, from the object's beginning. */
enum form { FORM_ADDRESS, FORM_INT, FORM_INT16, FORM_OFFSET };

static const struct {
    enum field id;
    enum form form;
    const char *type, *field, *of; /* of: what the field must be declared as */
} wanted[] = {
    {HEAPS, FORM_ADDRESS, "CodeCache", "_heaps", "GrowableArray<CodeHeap*>*"},
    {ARRAY_COUNT, FORM_INT, "GrowableArrayBase", "_len", "int"},
    {ARRAY_COUNT, FORM_INT, "GenericGrowableArray", "_len", "int"}, /* up to JDK 15 */
    {ARRAY_DATA, FORM_ADDRESS, "GrowableArray<int>", "_data", "int*"},
    {HEAP_MEMORY, FORM_ADDRESS, "CodeHeap", "_memory", "VirtualSpace"},
    {HEAP_MAP, FORM_ADDRESS, "CodeHeap", "_segmap", "VirtualSpace"},
    {HEAP_SHIFT, FORM_INT, "CodeHeap", "_log2_segment_size", "int"},
    {BLOCK_USED, FORM_INT, "HeapBlock::Header", "_used", "bool"}, /* the header's last field */
    {SPACE_LOW, FORM_ADDRESS, "VirtualSpace", "_low", "char*"},
    {SPACE_HIGH, FORM_ADDRESS, "VirtualSpace", "_high", "char*"},
    {BLOB_NAME, FORM_ADDRESS, "CodeBlob", "_name", "const char*"},
    {BLOB_COMPLETE, FORM_INT, "CodeBlob", "_frame_complete_offset", "int"},
    /* from JDK 23 on: */
    {BLOB_COMPLETE, FORM_INT16, "CodeBlob", "_frame_complete_offset", "int16_t"},
    {BLOB_FRAME, FORM_INT, "CodeBlob", "_frame_size", "int"},
    {BLOB_CODE, FORM_ADDRESS, "CodeBlob", "_code_begin", "address"},
    {BLOB_CODE, FORM_OFFSET, "CodeBlob", "_code_offset", "int"}, /* from JDK 23 on */
    {BLOB_DEOPTIMIZED, FORM_ADDRESS, "CompiledMethod", "_deopt_handler_begin", "address"},
    {BLOB_DEOPTIMIZED, FORM_OFFSET, "nmethod", "_deopt_handler_offset", "int"}, /* from JDK 23 on */
};

enum { UNREAD, READING, READ, UNUSABLE };

/* One machine a process: read by the first walk that needs it. */
static struct {
    uint32_t state;   /* atomic */
    uint64_t structs; /* what was read, atomic */
    uint32_t found;      /* of enum field, as a mask */
    uint64_t at[FIELDS]; /* offsets; of HEAPS the address */
    enum form form[FIELDS];
} known;

static bool read_byte(struct unwind_memory *m, uint64_t at, uint8_t *byte)
{
    uint64_t word;
    if (!unwind_memory_read_as(m, at & ~UINT64_C(7), &word))
        return false;
    *byte = (uint8_t)(word >> at % 8 * 8);
    return true;
}

/* A field of the object at `at`. */
static bool read_number(struct unwind_memory *m, uint64_t at, enum field field, int32_t *number)
{
    uint64_t word;
    if (!unwind_memory_read_as(m, at + known.at[field], &word))
        return false;
    *number = known.form[field] == FORM_INT16 ? (int16_t)word : (int32_t)word;
    return true;
}

static bool read_address(struct unwind_memory *m, uint64_t at, enum field field, uint64_t *address)
{
    int32_t offset;
    if (known.form[field] != FORM_OFFSET)
        return unwind_memory_read_as(m, at + known.at[field], address);
    if (!read_number(m, at, field, &offset) || offset < 0)
        return false;
    *address = at + (uint64_t)offset;
    return true;
}

/* Whether the string at `at` begins with `text`. */
static bool begins_with(struct unwind_memory *m, uint64_t at, const char *text)
{
    uint8_t byte;
    for (; *text; at++, text++)
        if (!read_byte(m, at, &byte) || byte != (uint8_t)*text)
            return false;
    return true;
}

static bool is_text(struct unwind_memory *m, uint64_t at, const char *text)
{
    uint8_t byte;
    uint64_t length = 0;
    while (text[length])
        length++;
    return begins_with(m, at, text) && read_byte(m, at + length, &byte) && byte == 0;
}

static void entry_note(struct unwind_memory *m, uint64_t entry, uint64_t type)
{
    uint64_t field, of, value;
    for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        uint64_t from = entry + (wanted[i].id == HEAPS ? ENTRY_ADDRESS : ENTRY_OFFSET);
        if (!is_text(m, type, wanted[i].type) ||
            !unwind_memory_read_as(m, entry + ENTRY_FIELD, &field) ||
            !is_text(m, field, wanted[i].field) ||
            !unwind_memory_read_as(m, entry + ENTRY_OF, &of) || !is_text(m, of, wanted[i].of) ||
            !unwind_memory_read_as(m, from, &value))
            continue;
        known.at[wanted[i].id] = value;
        known.form[wanted[i].id] = wanted[i].form;
        known.found |= 1u << wanted[i].id;
    }
}

static bool structs_read(struct unwind_memory *m, uint64_t structs)
{
    uint64_t entry, type;
    const uint32_t needed = (1u << FIELDS_NEEDED) - 1;
    known.found = 0;
    if (!unwind_memory_read_as(m, structs, &entry))
        return false;
    for (unsigned i = 0; i < ENTRIES_MAX && known.found != (1u << FIELDS) - 1;
         i++, entry += ENTRY_SIZE) {
        if (!unwind_memory_read_as(m, entry + ENTRY_TYPE, &type) || !type)
            break;
        entry_note(m, entry, type);
    }
    return (known.found & needed) == needed;
}

/* Whether `known` is of the machine at structs. */
static bool is_known(struct unwind_memory *m, uint64_t structs)
{
    uint32_t state = __atomic_load_n(&known.state, __ATOMIC_ACQUIRE);
    bool same = __atomic_load_n(&known.structs, __ATOMIC_RELAXED) == structs;
    if (state >= READ && same)
        return state == READ;
    if (state == READING || !__atomic_compare_exchange_n(&known.state, &state, READING, false,
                                                         __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return false;
    bool usable = structs_read(m, structs);
    __atomic_store_n(&known.structs, structs, __ATOMIC_RELAXED);
    __atomic_store_n(&known.state, usable ? READ : UNUSABLE, __ATOMIC_RELEASE);
    return usable;
}

static bool space_read(struct unwind_memory *m, uint64_t space, uint64_t *low, uint64_t *high)
{
    return read_address(m, space, SPACE_LOW, low) && read_address(m, space, SPACE_HIGH, high);
}

/* CodeHeap::find_start: each byte of the map says how many segments before it the block begins, or
 * somewhat less; 0: here; 255: it is free. */
static bool block_find(struct unwind_memory *m, uint64_t heap, uint64_t pc, uint64_t *block)
{
    enum { FREE = 0xff, SHIFT_MAX = 16 };
    uint64_t low, high, map, map_high;
    int32_t shift;
    uint8_t back = 0, used;
    if (!space_read(m, heap + known.at[HEAP_MEMORY], &low, &high) || pc < low || pc >= high ||
        !space_read(m, heap + known.at[HEAP_MAP], &map, &map_high) ||
        !read_number(m, heap, HEAP_SHIFT, &shift) || shift < 0 || shift > SHIFT_MAX)
        return false;
    uint64_t segment = (pc - low) >> shift;
    for (unsigned i = 0; i < STEPS_MAX; i++, segment -= back) {
        if (segment >= map_high - map || !read_byte(m, map + segment, &back) || back == FREE)
            return false;
        if (back == 0)
            break;
    }
    *block = low + (segment << shift);
    return back == 0 && read_byte(m, *block + known.at[BLOCK_USED], &used) && used;
}

static bool blob_find(struct unwind_memory *m, uint64_t pc, uint64_t *blob)
{
    uint64_t array, data, heap;
    int32_t count;
    if (!unwind_memory_read_as(m, known.at[HEAPS], &array) || !array ||
        !read_number(m, array, ARRAY_COUNT, &count) ||
        !read_address(m, array, ARRAY_DATA, &data))
        return false;
    for (int32_t i = 0; i < count && i < HEAPS_MAX; i++)
        if (unwind_memory_read_as(m, data + 8 * (uint64_t)i, &heap) &&
            block_find(m, heap, pc, blob)) {
            *blob += (known.at[BLOCK_USED] + 8) & ~UINT64_C(7); /* it is padded to whole words */
            return true;
        }
    return false;
}

static enum hotspot_kind blob_kind(struct unwind_memory *m, uint64_t blob)
{
    static const struct {
        const char *name;
        enum hotspot_kind kind;
    } names[] = {{"nmethod", HOTSPOT_METHOD},          {"vtable chunks", HOTSPOT_JUMP},
                 {"InlineCacheBuffer", HOTSPOT_JUMP}, {"StubRoutines", HOTSPOT_ROUTINES}};
    uint64_t name;
    if (!read_address(m, blob, BLOB_NAME, &name))
        return HOTSPOT_OTHER;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (begins_with(m, name, names[i].name))
            return names[i].kind;
    return HOTSPOT_OTHER;
}

bool hotspot_find_as(struct unwind_memory *m, uint64_t structs, uint64_t pc,
                     struct hotspot_blob *blob)
{
    uint64_t at;
    int32_t words, complete;
    if (!structs || !is_known(m, structs) || !blob_find(m, pc, &at) ||
        !read_address(m, at, BLOB_CODE, &blob->begin) || pc < blob->begin ||
        !read_number(m, at, BLOB_FRAME, &words) || words > FRAME_MAX / 8 ||
        !read_number(m, at, BLOB_COMPLETE, &complete))
        return false;
    blob->size = words < 2 ? 0 : 8 * (uint64_t)words;
    blob->complete = complete < 0 ? 0 : blob->begin + (uint64_t)complete;
    blob->kind = blob_kind(m, at);
    if (blob->kind != HOTSPOT_METHOD || !(known.found >> BLOB_DEOPTIMIZED & 1) ||
        !read_address(m, at, BLOB_DEOPTIMIZED, &blob->deoptimized))
        blob->deoptimized = 0;
    return true;
}
