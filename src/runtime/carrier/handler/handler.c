/* The carrier `handler`: the trigger's signal handler looks at the interrupted context, and no
 * more. */
#include "runtime/carrier/carrier.h"
#include "runtime/path/sample.h"
#include "sigsafe/sample_path.h"

SAMPLE_PATH
static bool sample_as(struct rt_thread *t, const struct unwind_regs *regs,
                      struct trigger_charge charge)
{
    sample_take_as(t, regs, charge);
    return false;
}

const struct carrier carrier_handler = {
    .in_vforked = true,
    .sample_as = sample_as,
};
