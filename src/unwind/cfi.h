/* Call frame information: .eh_frame (LSB 5.0 core, chapter 10.6; DWARF 5, section 6.4), read from
 * memory. The one implementation, for the interpreter in signal handlers and for the compiler.
 *
 *     .eh_frame_hdr ──(binary search)──> FDE ──> CIE
 *                                         └──> cfi_machine ──> rows [lo, hi) of rules
 *
 *     rules of a row:   CFA       = register + offset, or an expression
 *                       register i = same | undefined | at CFA + n | CFA + n | register j |
 *                                    at expression | expression
 *
 * Context: any, signal handlers included. No byte outside the given space is read, and every loop
 * is bounded by the bytes that it consumes.
 * Ownership: everything borrows the space's bytes. */
#ifndef PENUMBRA_UNWIND_CFI_H
#define PENUMBRA_UNWIND_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cursor.h"
#include "unwind/expr.h"
#include "unwind/unwind.h"

/* Bytes, and the address that data[0] has: run-time in the program, link-time in the compiler.
 * Everything that is computed from it is an address of the same kind. */
struct cfi_space {
    const uint8_t *data;
    uint64_t size;
    uint64_t address;
};

enum { CFI_NO_OFFSET = -1 };

struct cfi_cie {
    int64_t offset; /* in the space; CFI_NO_OFFSET: not read yet */
    uint64_t code_align;
    int64_t data_align;
    uint8_t encoding; /* of the FDEs' addresses, DW_EH_PE_* */
    bool augmented;   /* FDEs have augmentation data ('z') */
    bool signal;      /* signal frame ('S') */
    struct cursor program;
};

struct cfi_fde {
    uint64_t lo, hi; /* code that it covers */
    struct cfi_cie cie;
    struct cursor program;
};

enum cfi_how {
    HOW_UNSPECIFIED, /* no rule; in practice the same as HOW_SAME, rsp excepted */
    HOW_UNDEFINED,
    HOW_SAME,
    HOW_OFFSET,         /* at CFA + value */
    HOW_VAL_OFFSET,     /* CFA + value */
    HOW_REGISTER,       /* in register number value */
    HOW_EXPRESSION,     /* at the address that the expression gives */
    HOW_VAL_EXPRESSION, /* what the expression gives */
};

#define CFI_CFA_EXPRESSION UINT64_MAX

/* The rule of an expression is the offset, in the space, of its ULEB128 length. */
struct cfi_row {
    uint64_t cfa_register; /* CFI_CFA_EXPRESSION: cfa_value is an expression */
    int64_t cfa_value;
    int64_t value[UNWIND_REGISTERS];
    uint8_t how[24];
};
_Static_assert(sizeof(struct cfi_row) % 8 == 0, "copied by words");
_Static_assert(UNWIND_REGISTERS <= 24, "one byte a register");

enum { CFI_REMEMBERED = 6 };

struct cfi_machine {
    const struct cfi_space *space;
    struct cfi_fde fde;
    uint64_t lo, hi; /* the current row is in effect here */
    uint64_t next;   /* where the next row begins */
    bool ended;
    unsigned depth;
    struct cfi_row row;     /* what the program is working on */
    struct cfi_row initial; /* as the CIE left it */
    struct cfi_row remembered[CFI_REMEMBERED];
};

enum cfi_record { RECORD_END, RECORD_CIE, RECORD_FDE, RECORD_BAD };

/* What the record at `offset` is, and where the next one begins. RECORD_BAD with *next == 0: no way
 * to go on. */
enum cfi_record cfi_record_as(const struct cfi_space *space, uint64_t offset, uint64_t *next);

/* Reads a pointer in the given encoding (DW_EH_PE_*). data_base: what DW_EH_PE_datarel counts from;
 * 0: that is not allowed here. */
uint64_t cfi_pointer_as(const struct cfi_space *space, struct cursor *c, uint8_t encoding,
                        uint64_t data_base);

/* Reads the FDE at `offset`. fde->cie is used as it is if it is the FDE's (fde->cie.offset), so a
 * caller that reads many keeps one struct; set it to CFI_NO_OFFSET before the first. */
bool cfi_fde_read_as(const struct cfi_space *space, uint64_t offset, struct cfi_fde *fde);

/* Finds the FDE that covers pc. hdr: the offset of .eh_frame_hdr in the space. */
enum cfi_status cfi_fde_find_as(const struct cfi_space *space, uint64_t hdr, uint64_t hdr_size,
                                uint64_t pc, struct cfi_fde *fde);

/* Runs m->fde (which the caller has set) through its CIE's program. False: it makes no sense. */
bool cfi_machine_start_as(struct cfi_machine *m, const struct cfi_space *space);

/* Goes to the next row. CFI_NONE: there is none. */
enum cfi_status cfi_machine_next_as(struct cfi_machine *m);

/* Goes to the row of pc, which must be in the FDE. */
enum cfi_status cfi_machine_seek_as(struct cfi_machine *m, uint64_t pc);

/* The row as a packed rule (table.h). */
uint32_t cfi_rule_pack_as(const struct cfi_machine *m);

struct cfi_frame {
    struct unwind_regs regs;
    uint32_t known; /* bit i: regs.r[i] is meaningful */
};

/* The caller's registers by m's row. *root: the return address is undefined; then *frame is
 * unchanged. On failure *frame is unchanged. *cfa is set whenever it could be computed. */
enum cfi_status cfi_apply_as(const struct cfi_machine *m, struct cfi_frame *frame,
                             struct unwind_memory *memory, uint64_t *cfa, bool *root);

#endif
