/* The signal handler: one entry for all triggers. It finds out whose signal it is and what it
 * stands for, and hands the sample to the carrier.
 *
 * Context: handler_as is the signal handler, all other signals blocked. It makes no call into
 * libc. */
#ifndef PENUMBRA_RUNTIME_TRIGGER_DELIVERY_H
#define PENUMBRA_RUNTIME_TRIGGER_DELIVERY_H

#include <signal.h>

#include "runtime/runtime.h"

/* What is kept about a thread. */
struct rt_delivery {
    uint64_t last_pc, last_sp; /* where the last sample interrupted it */
    uint32_t stops;            /* samples in a row that came there while the one before was taken */
    bool stopped;              /* its samples have ended: it is traced */
    /* we give signals back that we have blocked in a call: one that comes now had to wait for it */
    bool unmasking;
};

void handler_as(int signal, siginfo_t *info, void *context);
/* The signal is one that we have asked for. */
bool handler_is_ours(const siginfo_t *info);

#endif
