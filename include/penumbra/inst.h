/* What an object compiled with penumbra-gcc contains and calls: the contract between the compiler
 * plugin (compiler/), the runtime libpenumbra-inst and whoever reads the tables of an ELF file.
 * docs/instrumentation.md has the picture of a function.
 *
 *     an object file                                  a program or library (a module)
 *     ──────────────                                  ───────────────────────────────
 *     penumbra1_functions  array of ..._function      one array each, of all objects, in the
 *     penumbra1_blocks     array of ..._block         order of the link; read only; without
 *     penumbra1_events     array of ..._event         relocations, so that the file's sections
 *     penumbra1_values     array of ..._value         read like the memory's. A record is known
 *     penumbra1_types      array of ..._type          by its place in its array
 *     penumbra1_fields     array of ..._field
 *     penumbra1_strings    strings, each ends with 0
 *     penumbra1_sites      array of ..._site
 *     penumbra1_places     array of ..._place
 *     and, in one group that the linker keeps once a module, all hidden:
 *     __penumbra1_module   struct penumbra_inst_module, writable
 *     __penumbra1_check    the check counter: int32_t, thread-local (or global)
 *     __penumbra1_switch   of objects with check=switched: a page, in a group of its own
 *     __penumbra1_sample, _event, _value: what the code calls; all registers and flags are kept
 *     a constructor and a destructor that register the module
 *     __penumbra1_flush: calls flush(); of objects with COUNTER events, with a destructor of its own
 *
 * The 1 is PENUMBRA_INST_ABI: objects of two versions in one module make two sets of everything.
 *
 * No table but those of sites and places, which are in the groups of their code, refers to code,
 * which the linker may discard with its group: functions are known by their linkage names. A
 * reference is the distance in bytes from the referring member itself to what it refers to; 0 is
 * none (penumbra_inst_at).
 *
 * Without a runtime __penumbra_inst_register is absent (the reference is weak), and the module
 * stays disarmed: each thread's counter is set to INT32_MAX by its first check.
 *
 * Context: the functions of struct penumbra_inst_ops are called from any code of the program, in
 * any thread, in signal handlers too, and may be interrupted by themselves. They use general
 * registers only: x87, SSE and AVX state is not saved for them. They allocate nothing and lock
 * nothing. Registration is called by constructors, in dlopen too.
 * Ownership: the module's, until __penumbra_inst_unregister returns. C99, C++98 and later. */
#ifndef PENUMBRA_INST_H
#define PENUMBRA_INST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PENUMBRA_INST_ABI 1u

/* How a module was compiled: what the object says whose descriptor the linker keeps. Objects of one
 * module are to be compiled with the same variant and counter. */
enum penumbra_inst_flags {
    PENUMBRA_INST_DUPLICATED = 1 << 0, /* a sample lets the events up to the next check happen */
    PENUMBRA_INST_GUARDED = 1 << 1,    /* no duplication: a sample lets one operation run */
    PENUMBRA_INST_EXHAUSTIVE = 1 << 2, /* no checks, no sample(): operations run always */
    PENUMBRA_INST_GLOBAL = 1 << 3,     /* the check counter is one for all threads */
    PENUMBRA_INST_COUNTING = 1 << 4,   /* checks, entries and back edges are counted: Property 1 */
    PENUMBRA_INST_PATCHED = 1 << 5     /* there are sites, which are made checks */
};

struct penumbra_inst_function { /* 16 bytes */
    int32_t name;               /* string: the linkage name */
    int32_t file;               /* string: the source file as the compiler was given it */
    uint32_t line;
    uint32_t checksum;          /* of its control flow graph: of two builds, whether they agree */
};

/* A stretch of code whose events happen together: from a label or the return of a call to the next
 * call or branch. Its operation counts all its events at once. */
struct penumbra_inst_block { /* 16 bytes */
    int32_t function;        /* struct penumbra_inst_function */
    int32_t events;          /* struct penumbra_inst_event, n of them */
    uint32_t n;
    uint32_t line;           /* of its first instruction, 0 unknown */
};

enum penumbra_inst_kind {
    PENUMBRA_INST_CALL = 1,   /* what: string, the callee's linkage name. A direct call */
    PENUMBRA_INST_READ = 2,   /* what: struct penumbra_inst_field */
    PENUMBRA_INST_WRITE = 3,  /* what: struct penumbra_inst_field */
    /* what: 0. aux: the edge's number in its function; it goes from line `source` to `line` */
    PENUMBRA_INST_EDGE = 4,
    PENUMBRA_INST_INLINED = 5, /* what: string, the linkage name of what is inlined here */
    PENUMBRA_INST_ENTRY = 6,  /* what: 0. The function is entered (by whomever) */
    /* what: an int64_t of the module, in none of the tables: a counter of -fprofile-generate, to
     * which flush() adds how often the event has happened */
    PENUMBRA_INST_COUNTER = 7,
    /* The first event of a block that no code counts. what: the array of a function's counters, aux
     * of them; the events after it are the counters of a way through the function. flush() counts
     * the way once, if samples have met the function: gcc takes one whose entry was never counted
     * for one that is never executed */
    PENUMBRA_INST_WAY = 8
};

struct penumbra_inst_event { /* 20 bytes */
    int32_t what;            /* by kind */
    int32_t caller;          /* string: linkage name of the function that the line is in, if that
                              * is inlined here; 0: the block's function, or not known (no -g) */
    uint32_t line;           /* of the access or the call site */
    uint32_t aux;            /* EDGE: its number. READ, WRITE: bytes that are accessed */
    uint16_t source;         /* EDGE: the line it comes from, less the function's; 65535: unknown */
    uint8_t kind;            /* enum penumbra_inst_kind */
    uint8_t site;            /* CALL: of several on one line, which: 0, 1, ... 255 and more. READ,
                              * WRITE: 0: the member itself; n: it contains what is accessed, n
                              * members deep */
};

/* What value() is given. */
enum penumbra_inst_value_kind {
    PENUMBRA_INST_TARGET = 1,   /* of an indirect call: an address. It is a call edge, too */
    PENUMBRA_INST_ARGUMENT = 2, /* a parameter at entry; name: the parameter's */
    PENUMBRA_INST_DIVISOR = 3,  /* of an integer division */
    PENUMBRA_INST_LENGTH = 4,   /* the length given to memcpy and friends; name: the callee's */
    PENUMBRA_INST_TRIPS = 5,    /* iterations of a loop, when it ends */
    PENUMBRA_INST_ALLOC = 6,    /* bytes asked for; name: the callee's; type: what is allocated */
    /* No value, but a step of an acyclic path. With `frame`, and if that is 8 bytes wide, it is the
     * address of the frame of the function, by which paths of functions that call each other are
     * told apart. index: enum penumbra_inst_path */
    PENUMBRA_INST_PATH = 7
};

/* A path is the blocks from BEGIN to END, in one frame. One that is begun again, or whose frame is
 * gone, has been left by an exception or a longjmp. END without a path is none. */
enum penumbra_inst_path {
    PENUMBRA_INST_PATH_BEGIN = 1,
    PENUMBRA_INST_PATH_BLOCK = 2, /* line: where the block begins. Its places are those `of` it */
    PENUMBRA_INST_PATH_END = 3
};

struct penumbra_inst_value { /* 32 bytes */
    int32_t function;        /* struct penumbra_inst_function */
    int32_t name;            /* string or 0 */
    int32_t type;            /* ALLOC: struct penumbra_inst_type or 0 */
    int32_t caller;          /* string or 0: as in an event */
    uint32_t line;
    uint16_t index;          /* ARGUMENT: its place, from 0; else, of several on one line, which */
    uint8_t kind;            /* enum penumbra_inst_value_kind */
    uint8_t bytes;           /* the value's width: 1, 2, 4, 8; what is above it is undefined */
    uint8_t is_signed;
    uint8_t reserved[3];
    int32_t frame;           /* PATH: to be added */
};

enum penumbra_inst_type_kind {
    PENUMBRA_INST_STRUCT = 1,
    PENUMBRA_INST_UNION = 2,
    PENUMBRA_INST_CLASS = 3 /* not told from a struct by penumbra-gcc */
};

/* A type with all its members, also those that nothing accesses. Objects have a copy each: types
 * with the same name, size, file and line are the same. Anonymous types are named after their
 * typedef; those without are "<anonymous FILE:LINE>". */
struct penumbra_inst_type { /* 32 bytes */
    int32_t name;           /* string, as the program's language writes it, without struct */
    int32_t file;           /* string or 0 */
    int32_t fields;         /* struct penumbra_inst_field, n of them, by offset */
    uint32_t n;
    uint64_t size;          /* bytes */
    uint32_t line;
    uint16_t align;         /* bytes */
    uint8_t kind;           /* enum penumbra_inst_type_kind */
    uint8_t reserved;
};

enum penumbra_inst_field_flags {
    PENUMBRA_INST_BITFIELD = 1 << 0,
    PENUMBRA_INST_BASE = 1 << 1,    /* a base class of a C++ class */
    PENUMBRA_INST_VPTR = 1 << 2,    /* the pointer to the virtual table */
    PENUMBRA_INST_ARRAY = 1 << 3,
    PENUMBRA_INST_NESTED = 1 << 4   /* struct, union or class (or an array of them) */
};

struct penumbra_inst_field { /* 40 bytes */
    int32_t type;            /* struct penumbra_inst_type that it is a member of */
    int32_t name;            /* string; 0: anonymous */
    int32_t type_name;       /* string: the member's own type, as pahole would print it */
    uint32_t flags;          /* enum penumbra_inst_field_flags */
    uint64_t offset;         /* bits from the start of the type */
    uint64_t size;           /* bits; 0: a flexible array */
    uint32_t align;          /* bytes */
    uint32_t line;
};

/* Where the code has no check, but a nop of 5 bytes (0f 1f 44 00 00), or a jump of the program's
 * own with a rel32 (e9, or 0f 80 to 0f 8f). Whoever registers the module makes the nop a jump (e9
 * rel32) to the site's check, and leads the jump there, if the module is to be observed: before
 * its code runs, apart from what runs before constructors. */
struct penumbra_inst_site { /* 8 bytes */
    int32_t at;             /* reference to the instruction */
    int32_t check;          /* reference to where it is to jump to */
};

/* A block of paths, or a piece of one that has very many instructions, in the code that is not
 * copied. Pieces follow each other. */
struct penumbra_inst_place { /* 16 bytes */
    int32_t at;              /* reference to its first instruction */
    int32_t of;              /* struct penumbra_inst_value, a PENUMBRA_INST_PATH_BLOCK */
    uint32_t bytes;          /* 1: its end may not be known */
    uint32_t instructions;   /* as the compiler counts them */
};

struct penumbra_inst_module;

/* What the runtime does. A burst is what happens in a thread from one sample() to the next. */
struct penumbra_inst_ops {
    /* A check has brought the counter below 0, and the duplicate is entered. Sets *counter so that
     * the n-th check from now is the next sample: to n - 1. Whether events that follow are counted
     * is the runtime's to remember; disarmed, it sets INT32_MAX and counts none. */
    void (*sample)(struct penumbra_inst_module *, int32_t *counter);
    /* All events of the block happen. */
    void (*event)(struct penumbra_inst_module *, const struct penumbra_inst_block *);
    void (*value)(struct penumbra_inst_module *, const struct penumbra_inst_value *, uint64_t is);
};

/* The first three members are at offsets that the module's assembly knows. */
struct penumbra_inst_module {
    const struct penumbra_inst_ops *ops; /* NULL: disarmed for good. Written by the runtime */
    uint32_t abi;                        /* PENUMBRA_INST_ABI */
    uint32_t bytes;                      /* of this struct: members are only added at its end */
    void *data;                          /* the runtime's own; NULL at first */
    /* The calling thread's check counter in this module. New threads' are 0: their first check
     * calls sample(), which is how a runtime gets to know a thread. */
    int32_t *(*counter)(void);
    const struct penumbra_inst_function *functions, *functions_end;
    const struct penumbra_inst_block *blocks, *blocks_end;
    const struct penumbra_inst_event *events, *events_end;
    const struct penumbra_inst_value *values, *values_end;
    const struct penumbra_inst_type *types, *types_end;
    const struct penumbra_inst_field *fields, *fields_end;
    const char *strings, *strings_end;
    /* Of a counting build (PENUMBRA_INST_COUNTING): checks executed, entries of functions, and back
     * edges taken. Not atomic. */
    uint64_t checks, entries, back_edges;
    uint32_t flags; /* enum penumbra_inst_flags */
    uint32_t reserved;
    const struct penumbra_inst_site *sites, *sites_end;
    /* NULL, or set by the runtime: adds to the counters of COUNTER events what has been counted
     * since it was last called. The module calls it before its counters are written to a file or
     * set to 0. Ordinary code, in any thread. */
    void (*flush)(struct penumbra_inst_module *);
    const struct penumbra_inst_place *places, *places_end;
    /* NULL, or a page of zeroes whose first word is not 0 while checks are to be executed. Nothing
     * else is in the page: the runtime may map another one in its place. */
    uint32_t *armed;
};

/* Called by each module's constructor and destructor, if they are defined in the process. register
 * sets module->ops, or leaves it alone: it refuses an abi that it does not know. It may set
 * *module->counter(), which early constructors may have brought to INT32_MAX. */
void __penumbra_inst_register(struct penumbra_inst_module *);
void __penumbra_inst_unregister(struct penumbra_inst_module *);

/* What a reference refers to: penumbra_inst_at(&event->what). NULL if it refers to nothing. */
static inline const void *penumbra_inst_at(const int32_t *reference)
{
    return *reference ? (const char *)reference + *reference : NULL;
}

#ifdef __cplusplus
}
#endif

#endif
