/* libFuzzer: arbitrary bytes as an ELF image. */
#include <stdlib.h>

#include "unwind/compile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    void *table;
    size_t table_size;
    struct err e = {0};
    if (unwind_compile_image(data, size, &table, &table_size, &e))
        free(table);
    return 0;
}
