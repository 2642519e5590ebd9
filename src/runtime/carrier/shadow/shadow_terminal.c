/* What terminals say of themselves: asked of what the program has open, before a shadow parts from
 * that. */
#include <asm-generic/errno.h>
#include <linux/major.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#include "runtime/carrier/shadow/shadow_files.h"
#include "sigsafe/sys.h"

enum { TERMINALS_MOST = 8, PSEUDO_MAJORS = 8, MASTER_MINOR = 2 };

/* As TCGETS has it (asm/termbits.h, struct termios). */
struct modes {
    uint32_t flags[4];
    uint8_t line, characters[19];
};

static struct {
    struct {
        uint64_t device, inode;
        struct modes modes;
        struct winsize size;
    } at[TERMINALS_MOST];
    uint8_t count;
} terminals;

/* Any other device may take the question for something else. The master of pseudo-terminals is
 * another one each time it is opened. */
static bool is_terminal(uint64_t device)
{
    unsigned kind = major(device);
    return kind == TTY_MAJOR || (kind == TTYAUX_MAJOR && minor(device) != MASTER_MINOR) ||
           kind - UNIX98_PTY_SLAVE_MAJOR < PSEUDO_MAJORS;
}

uint8_t shadow_terminal_look_as(long fd, const struct stat *status)
{
    unsigned i = 0;
    if (major(status->st_rdev) == MEM_MAJOR)
        return TERMINAL_NONE;
    while (i < terminals.count &&
           (terminals.at[i].device != status->st_dev || terminals.at[i].inode != status->st_ino))
        i++;
    if (i == terminals.count) {
        if (i == TERMINALS_MOST || !is_terminal(status->st_rdev) ||
            sys_call3_as(SYS_ioctl, fd, TCGETS, (long)&terminals.at[i].modes) != 0 ||
            sys_call3_as(SYS_ioctl, fd, TIOCGWINSZ, (long)&terminals.at[i].size) != 0)
            return TERMINAL_UNKNOWN;
        terminals.at[i].device = status->st_dev;
        terminals.at[i].inode = status->st_ino;
        terminals.count++;
    }
    return (uint8_t)(TERMINAL_FIRST + i);
}

bool shadow_terminal_tell(uint64_t fd, uint64_t request, void *to, long *result)
{
    const struct shadow_descriptor *d = shadow_descriptor_at(fd);
    if (!d || d->kind != FILE_DEVICE || d->terminal == TERMINAL_UNKNOWN)
        return false;
    *result = d->terminal == TERMINAL_NONE ? -ENOTTY : 0;
    if (d->terminal < TERMINAL_FIRST)
        return true;
    if (request == TCGETS)
        *(struct modes *)to = terminals.at[d->terminal - TERMINAL_FIRST].modes;
    else
        *(struct winsize *)to = terminals.at[d->terminal - TERMINAL_FIRST].size;
    return true;
}
