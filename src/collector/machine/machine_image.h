/* Files with code that processes have mapped: opened while they can be reached, shared by all
 * processes.
 *
 *      mapping: device, inode, path ──> machine_image ──> number in the spool, for keys
 *                                         ├ segments:  mapping ──> link-time addresses
 *                                         ├ frames:    .eh_frame, for the interpreter
 *                                         ├ table:     unwind/table.h, in our own memory
 *                                         └ descriptor: for names at the end (record_files.h)
 *
 * .eh_frame is read when a stack first goes through the file. Compiling it costs as much as
 * interpreting it for some hundred thousand frames: that is done once they have been interpreted,
 * or where a walk needs what only a table has (rows of code without .eh_frame).
 *
 * A file is found by /proc/PID/map_files, which works in every mount namespace and for deleted
 * files; else by its path in the process's root folder; else, when the process is over, by its path
 * here. The inode says whether it is the one.
 *
 * Context: the machine's thread.
 * Ownership: machine_images_free releases all images. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_IMAGE_H
#define PENUMBRA_COLLECTOR_MACHINE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/record_files.h"
#include "sigsafe/spool.h"

enum { MACHINE_IMAGE_SEGMENTS = 16, MACHINE_IMAGE_HASH = 1024, MACHINE_TABLE_UNIT = 16 };

struct machine_image {
    struct machine_image *next; /* of the same hash */
    uint64_t dev, ino;          /* as the kernel tells of mappings; 0, 0: the vdso */
    char *path;
    uint32_t number;            /* 0: it is not known yet, or cannot be */
    bool tried;                 /* to find the file */
    int fd;                     /* for as long as it may be held; -1 */
    struct {
        uint64_t vaddr, offset, size; /* of bytes in the file */
    } segment[MACHINE_IMAGE_SEGMENTS]; /* that are executable */
    unsigned segments;
    bool wide;                  /* of ELF's 64-bit class */
    /* The segment that .eh_frame_hdr and .eh_frame are in. */
    struct {
        uint64_t hdr, hdr_size;       /* link-time address; 0: it has none */
        uint64_t vaddr, offset, size; /* of the segment's part with both */
        bool tried;
        uint8_t *copy;                /* NULL: none */
    } frames;
    uint64_t interpreted;       /* frames that were walked without a table */
    bool table_tried;
    uint32_t table_ref;         /* where the table is in `table`, in units of 16; 0: none */
    uint8_t *table;
    uint64_t table_size;
    /* collector/machine/bpf/bpf_tables.h */
    uint32_t walk_table;        /* its number there; 0: it is not there */
    uint32_t walks_wanted;      /* so many stacks were not walked in the kernel without it */
};

struct machine_images {
    const struct spool *spool;
    struct record_files *files;
    struct machine_image *by_file[MACHINE_IMAGE_HASH];
    struct machine_image **by_number; /* the first has number 1 */
    uint32_t count, capacity;
    uint32_t changes;     /* how often an image got frames, or a table */
    uint32_t known;       /* files, with images or without */
    uint64_t table_bytes; /* of all tables and frames */
    uint64_t tables_most;
    uint64_t unknown;     /* files that could not be found, or are no ELF files */
    uint64_t too_many;    /* tables that were not made, as there were tables_most bytes */
};

#define MACHINE_TABLES_MOST (UINT64_C(400) << 20)
#define MACHINE_FRAMES_MOST (UINT64_C(64) << 20) /* of one image */
/* A table costs as much as interpreting one frame for so many bytes. */
#define MACHINE_FRAME_BYTES 8
/* Below this many bytes a table is worth one walk that is unsure. */
#define MACHINE_SMALL_BYTES (UINT64_C(1) << 20)

/* A mapping of a process, to be executed. */
struct machine_map {
    uint64_t lo, hi, offset;
    uint64_t since;              /* CLOCK_MONOTONIC; 0: before it was looked for */
    struct machine_image *image; /* NULL: no file */
};

/* The image that a mapping is of; made if it is new. NULL: it is of no file, or no memory. */
struct machine_image *machine_image_of(struct machine_images *all, uint64_t dev, uint64_t ino,
                                       const char *path);
/* Finds the file, by a process that has it mapped. False: it is not known, now or ever. */
bool machine_image_find(struct machine_images *all, struct machine_image *image, int32_t pid,
                        const struct machine_map *map);
/* Run-time minus link-time address. False: the mapping is of none of its segments. */
bool machine_image_bias(const struct machine_image *image, const struct machine_map *map,
                        uint64_t *bias);
/* The image with this number; NULL. */
struct machine_image *machine_image_numbered(const struct machine_images *all, uint32_t number);
/* A walk went through it; unsure: it had to guess, or ended there. True: the image should be
 * prepared, and the walk made again. */
bool machine_image_walked(struct machine_image *image, bool unsure);
/* Reads its frames; compiles its table, if it has the frames already. What could not be had is not
 * tried again. */
void machine_image_prepare(struct machine_images *all, struct machine_image *image, int32_t pid,
                           const struct machine_map *map);
/* Gives all images their numbers in another spool. False: it is full. */
bool machine_images_move(struct machine_images *all, const struct spool *to);
void machine_images_free(struct machine_images *all);

#endif
