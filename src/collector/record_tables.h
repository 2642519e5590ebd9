/* Compiles unwind tables for the images that runtimes register, in a thread of its own, so that a
 * program with a huge image does not keep the collector from its other duties. Until an image's
 * table is there the runtimes interpret its .eh_frame in place.
 *
 * Context: the main thread starts, kicks and stops; the tables' thread does the rest.
 * Ownership: the spool and the struct must outlive the thread; record_tables_stop says whether it
 * has ended, and record_tables_leave when it does. */
#ifndef PENUMBRA_COLLECTOR_RECORD_TABLES_H
#define PENUMBRA_COLLECTOR_RECORD_TABLES_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

#include "collector/record_spool.h"

struct record_tables {
    struct record_spool *spool;
    pthread_t thread;
    sem_t work;
    bool started;
    bool stop; /* atomic */
    bool left; /* atomic: by one of the two threads */
    void (*last)(void *context);
    void *context;
};

bool record_tables_start(struct record_tables *t, struct record_spool *spool, struct err *e);
/* Makes the thread look for new images if there are any. */
void record_tables_kick(struct record_tables *t);
/* False: it is still busy with a large image, and goes on using the spool. */
bool record_tables_stop(struct record_tables *t);
/* After that: calls last(context) once the thread has ended, on this thread or that one. */
void record_tables_leave(struct record_tables *t, void (*last)(void *context), void *context);

#endif
