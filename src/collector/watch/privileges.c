#include "collector/watch/privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Debian 12's headers have all of them. */
#define BIT(capability) (UINT64_C(1) << (capability))
static const uint64_t of_daemon = BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH) |
                                  BIT(CAP_CHECKPOINT_RESTORE) | BIT(CAP_SYSLOG);
static const uint64_t of_reader = BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH);

struct sets {
    struct __user_cap_data_struct half[_LINUX_CAPABILITY_U32S_3];
};

static bool sets_read(struct sets *s)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    return !syscall(SYS_capget, &head, s->half);
}

bool privileges_look(void)
{
    struct sets s;
    return sets_read(&s) && (s.half[0].effective & BIT(CAP_SYS_PTRACE));
}

static bool keep(uint64_t kept, struct err *e)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct sets s;
    bool ok = sets_read(&s);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    /* May be refused without CAP_SETPCAP: there is nothing to be executed anyway. */
    for (int i = 0; i <= CAP_LAST_CAP; i++)
        if (!(kept >> i & 1))
            prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
    for (unsigned i = 0; ok && i < _LINUX_CAPABILITY_U32S_3; i++) {
        s.half[i].permitted &= (uint32_t)(kept >> (32 * i));
        s.half[i].effective = s.half[i].permitted;
        s.half[i].inheritable = 0;
    }
    ok = ok && !syscall(SYS_capset, &head, s.half) && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return ok || err_set_errno(e, ERR_INTERNAL, errno, "cannot give up privileges");
}

bool privileges_drop(struct err *e)
{
    return keep(of_daemon, e);
}

bool privileges_read(struct err *e)
{
    return keep(of_reader, e);
}
