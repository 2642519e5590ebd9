/* What include/penumbra/penumbra.h calls, in a program that is profiled. */
#include "guest/phases.h"
#include "runtime/interpose/real.h"
#include "runtime/runtime.h"
#include "runtime/trigger/sync.h"

/* All signals are blocked, so that a handler may call us too. */
static bool enter(struct sync_hold *hold)
{
    if (!rt_running_as())
        return false;
    sync_mask(hold);
    return true;
}

EXPORT void penumbra_rt_phase_begin(const char *name);
void penumbra_rt_phase_begin(const char *name)
{
    struct sync_hold hold;
    if (!enter(&hold))
        return;
    phases_begin(name ? name : "");
    sync_unmask(&hold);
}

EXPORT void penumbra_rt_phase_end(void);
void penumbra_rt_phase_end(void)
{
    struct sync_hold hold;
    if (!enter(&hold))
        return;
    phases_end();
    sync_unmask(&hold);
}

EXPORT void penumbra_rt_pause(void);
void penumbra_rt_pause(void)
{
    struct sync_hold hold;
    if (!enter(&hold))
        return;
    phases_pause();
    sync_unmask(&hold);
}

EXPORT void penumbra_rt_resume(void);
void penumbra_rt_resume(void)
{
    struct sync_hold hold;
    if (!enter(&hold))
        return;
    phases_resume();
    sync_unmask(&hold);
}
