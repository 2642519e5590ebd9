#include "profile/profile.h"

#include <stdlib.h>

#include "profile/decode.h"
#include "profile/file.h"

struct profile *profile_read_summed(const char *path, enum profile_summing how, struct err *e)
{
    size_t size = 0;
    uint8_t *data = file_read(path, &size, e);
    if (!data)
        return NULL;
    struct profile *p = profile_decode_summed(data, size, path, how, e);
    free(data);
    return p;
}

struct profile *profile_read(const char *path, struct err *e)
{
    return profile_read_summed(path, PROFILE_APART, e);
}

bool profile_write(const struct profile *p, const char *path, struct err *e)
{
    size_t size = 0;
    uint8_t *data = profile_encode(p, &size, e);
    bool ok = data && file_write(path, &(struct file_content){.data = data, .size = size}, e);
    free(data);
    return ok;
}
