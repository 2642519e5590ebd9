/* What the program that captures moments (capture.bpf.c) and the collector (capture.c) share.
 *
 *     pc ──> capture_recipe: steps, each a word of memory         <── the collector, by what it lacked
 *     pid ──> capture_process: may its memory be read?            <── the collector, by /proc/PID/maps
 *     capture_control: where the kernel has memory, and no device
 *
 *     event ──> capture_record: registers, code, stack, a word for each step ──> the CPU's ring
 *
 * Context: constants and layouts only; compiled for BPF, too. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_CAPTURE_LAYOUT_H
#define PENUMBRA_COLLECTOR_MACHINE_CAPTURE_LAYOUT_H

#include <stdint.h>

enum {
    CAPTURE_CODE = 64,        /* bytes at the interrupted instruction */
    CAPTURE_STACK = 256,      /* bytes above the stack pointer */
    CAPTURE_STEPS = 32,
    CAPTURE_RECIPE_BITS = 12,
    CAPTURE_RECIPES = 1 << CAPTURE_RECIPE_BITS, /* an address is at its hash */
    CAPTURE_PROCESSES = 4096, /* a process is at its pid modulo this */
    CAPTURE_RANGES = 3, /* direct mapping, struct pages, the kernel's image */
    CAPTURE_NEAR = 4096 - 8,  /* above the stack pointer: there is a guard behind each stack */
    CAPTURE_TEXT = 256,       /* bytes of the kernel's code that are read at once */
};

/* The word at base + index * scale + plus. Registers are 0 to 15. */
enum { CAPTURE_SEGMENT = 16, CAPTURE_WORD = 32 /* + step */, CAPTURE_NOTHING = 0xff };
struct capture_step {
    uint8_t base, index, scale;
    uint8_t bytes;       /* 1, 2, 4, 8 */
    uint8_t extend_sign; /* for steps that it is the base or the index of */
    uint8_t unused[3];
    int64_t plus;
};

struct capture_recipe {
    uint64_t pc;       /* 0: nobody's */
    uint32_t sequence; /* odd: it is being written */
    uint32_t count;
    struct capture_step step[CAPTURE_STEPS];
};

/* Where the recipe of an address is. */
static inline uint32_t capture_recipe_slot(uint64_t pc)
{
    return (uint32_t)(pc * UINT64_C(0x9e3779b97f4a7c15) >> (64 - CAPTURE_RECIPE_BITS));
}

/* What a process has mapped is known by how much. */
struct capture_process {
    int32_t pid;
    uint32_t allowed;  /* 1: no device is mapped */
    uint64_t program;  /* which one it executes */
    uint64_t mapped;   /* pages */
};

struct capture_control {
    uint64_t lo[CAPTURE_RANGES], hi[CAPTURE_RANGES]; /* of kernel addresses */
    /* an address of each CPU's own memory minus the kernel's GS base; 0: not known */
    uint64_t percpu;
};

/* Of the programs that are called: what is asked, and answered. */
struct capture_text {
    uint64_t address;
    uint64_t read; /* 0 if it could not be */
    uint8_t bytes[CAPTURE_TEXT];
};
struct capture_layout {
    /* Given, where the kernel does not name its variables: where `current_task` is by the kernel's
     * code, and what it and `runqueues` are away from the begin of their section. 0: not known. */
    uint64_t current_address, current_at, queues_at;
    uint64_t percpu; /* as in capture_control */
    uint64_t page_offset, vmalloc, vmemmap; /* 0: not known */
    uint64_t task, stack;                   /* addresses of the caller's */
};

struct capture_asked {
    struct capture_text text;
    struct capture_layout layout;
};

enum {
    CAPTURE_IN_KERNEL = 1,
    CAPTURE_MODE = 2,  /* a 32-bit program: registers alone */
    CAPTURE_ASKS = 4,  /* it is not known whether the process's memory may be read */
};

#define CAPTURE_MAGIC UINT32_C(0x43415054) /* "CAPT" */
struct capture_word {
    uint64_t address, bits; /* address 0: it could not be read */
};
/* The kernel puts 4 bytes in front, a size. */
struct capture_record {
    uint32_t magic;
    uint32_t flags;
    uint32_t ns;          /* that it took */
    uint16_t code, stack; /* bytes that could be read */
    uint32_t words;
    uint64_t reg[16];
    uint64_t ip, rflags, fs, gs;
    uint64_t program, mapped; /* as in capture_process */
    uint8_t bytes[CAPTURE_CODE];
    uint8_t top[CAPTURE_STACK];
    uint8_t size[CAPTURE_STEPS]; /* of each word */
    struct capture_word word[CAPTURE_STEPS];
} __attribute__((packed, aligned(4)));

#endif
