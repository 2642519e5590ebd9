/* Prints an ELF file's compiled table, one row a line, for check_rows.py:
 *
 *     table TEXT_LO TEXT_HI FDES BAD_FDES COMPLEX_ROWS
 *     PC KIND OFFSET SLOT
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "unwind/compile.h"
#include "unwind/table.h"

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"none",   "rsp",  "rbp",     "plt",
                                        "signal", "root", "complex", "code"};
    void *block;
    size_t size;
    struct err e = {0};
    if (argc != 2)
        return 2;
    if (!unwind_compile_file(argv[1], NULL, 0, &block, &size, &e)) {
        fprintf(stderr, "%s\n", e.message);
        return 1;
    }
    const struct unwind_table *t = block;
    const struct unwind_row *row =
        (const void *)((const uint8_t *)block + unwind_table_size(t->buckets, 0));
    printf("table %#" PRIx64 " %#" PRIx64 " %u %u %u\n", t->text_lo, t->text_hi, t->fdes,
           t->bad_fdes, t->complex_rows);
    for (uint32_t i = 0; i < t->rows; i++) {
        uint64_t pc = t->text_lo + row[i].pc;
        uint32_t rule = row[i].rule;
        /* What the lookup says at the row's first byte and at the byte before the next row is what
         * is printed and compared, so that the index is checked as well. */
        uint64_t last = i + 1 < t->rows ? t->text_lo + row[i + 1].pc - 1 : pc;
        if (unwind_table_find_as(t, size, pc) != rule ||
            unwind_table_find_as(t, size, last) != rule) {
            fprintf(stderr, "%#" PRIx64 ": the lookup differs from the row\n", pc);
            return 1;
        }
        printf("%#" PRIx64 " %s %u %u\n", pc, kinds[rule_kind(rule)], rule_offset(rule),
               rule_slot(rule));
    }
    free(block);
    return 0;
}
