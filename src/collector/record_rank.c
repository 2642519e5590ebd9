#include "collector/record_rank.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/open_profile.h"

/* MPI's own variables come before the batch system's: mpirun inside an srun allocation sets both,
 * and srun's number is then that of the node. */
static const struct { const char *rank, *size; } variables[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"PMIX_RANK", NULL},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
};

static bool number_in(const char *name, uint32_t *value)
{
    const char *text = name ? getenv(name) : NULL;
    char *end;
    if (!text || *text < '0' || *text > '9')
        return false;
    unsigned long number = strtoul(text, &end, 10);
    *value = (uint32_t)number;
    return !*end && number < INT32_MAX;
}

struct record_rank record_rank_find(void)
{
    struct record_rank r = {.known = false};
    for (unsigned i = 0; i < sizeof variables / sizeof variables[0]; i++)
        if (number_in(variables[i].rank, &r.rank)) {
            r.known = true;
            if (!number_in(variables[i].size, &r.size))
                r.size = 0;
            return r;
        }
    return r;
}

bool record_rank_output(const char *output, const struct record_rank *r, const char *name,
                        int pid, char *path, struct err *e)
{
    int n;
    if (!output && r->known && r->size > 1) {
        n = snprintf(path, PATH_MAX, "penumbra-rank-%04u.pnb", r->rank);
    } else if (!output) {
        n = snprintf(path, PATH_MAX, PROFILE_DEFAULT);
    } else if (!*output || output[strlen(output) - 1] != '/') {
        n = snprintf(path, PATH_MAX, "%s", output);
    } else {
        /* The other ranks make it too. */
        if (mkdir(output, 0777) && errno != EEXIST)
            return err_set_errno(e, ERR_OUTPUT, errno, "cannot make the directory \"%s\" for the "
                                 "profiles", output);
        const char *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
        if (r->known)
            n = snprintf(path, PATH_MAX, "%srank-%04u.pnb", output, r->rank);
        else
            n = snprintf(path, PATH_MAX, "%s%s-%d.pnb", output, base, pid);
    }
    if (n < 0 || n >= PATH_MAX)
        return err_set_errno(e, ERR_OUTPUT, ENAMETOOLONG, "cannot write the profile to \"%s\"",
                             output);
    return true;
}
