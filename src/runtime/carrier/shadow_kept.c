#include "runtime/carrier/shadow_kept.h"

#include <stddef.h>
#include <sys/mman.h>
#include <sys/utsname.h>

#include "engine/mappings.h"
#include "sigsafe/sys.h"

enum { RANGES = 1024 };

static struct {
    uint64_t faults; /* at the last look */
    uint32_t count;  /* that it found */
    struct range {
        uint64_t lo, hi;
    } at[RANGES];
} kept;

/* "5.12.0-1-amd64" */
static unsigned number_at(const char **text)
{
    unsigned number = 0;
    for (; **text >= '0' && **text <= '9'; (*text)++)
        number = number * 10 + (unsigned)(**text - '0');
    *text += **text == '.';
    return number;
}

static bool forks_leave_pinned_pages_as(void)
{
    enum { MAJOR = 5, MINOR = 12 };
    struct utsname name;
    if (sys_call3_as(SYS_uname, (long)&name, 0, 0) != 0)
        return false;
    const char *text = name.release;
    unsigned major = number_at(&text);
    return major > MAJOR || (major == MAJOR && number_at(&text) >= MINOR);
}

static bool give_as(void *data, const struct mapping *m)
{
    (void)data;
    if (sys_call3_as(SYS_madvise, (long)m->lo, (long)(m->hi - m->lo), MADV_DOFORK) == 0)
        kept.at[kept.count++] = (struct range){m->lo, m->hi};
    return kept.count < RANGES;
}

void shadow_kept_give_as(uint64_t faults)
{
    if (!faults || (faults == kept.faults && !kept.count))
        return;
    kept.faults = faults;
    kept.count = 0;
    if (forks_leave_pinned_pages_as())
        mappings_kept_each_as(give_as, NULL);
}

void shadow_kept_take_as(void)
{
    for (uint32_t i = 0; i < kept.count; i++)
        sys_call3_as(SYS_madvise, (long)kept.at[i].lo, (long)(kept.at[i].hi - kept.at[i].lo), MADV_DONTFORK);
}

void shadow_kept_forget(void)
{
    kept.faults = kept.count = 0;
}
