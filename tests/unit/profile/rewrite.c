/* rewrite FROM TO: reads a profile with all its parts, and writes them as this version does,
 * uncompressed. */
#include <stdio.h>
#include <stdlib.h>

#include "profile/encode.h"
#include "profile/file.h"
#include "profile/parts.h"

static bool parts_open(struct profile *p, struct err *e)
{
    for (uint32_t i = 0; i < p->part_count; i++)
        if (!profile_part_open(&p->parts[i], e))
            return false;
    return true;
}

int main(int argc, char **argv)
{
    struct err e = {0};
    size_t size;
    struct profile *p = argc == 3 ? profile_read(argv[1], &e) : NULL;
    uint8_t *data = p && parts_open(p, &e) ? profile_encode_with(p, false, &size, &e) : NULL;
    bool ok = data && file_write(argv[2], &(struct file_content){data, size, true}, &e);
    if (!ok)
        fprintf(stderr, "%s\n", e.message);
    free(data);
    profile_free(p);
    return ok ? 0 : 1;
}
