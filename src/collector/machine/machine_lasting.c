/* A recording that goes on for as long as the machine runs: what is counted moves from one spool to
 * the next, and what is known of processes and files stays. */
#include <stdlib.h>

#include "collector/machine/machine_internal.h"

/* So many, and it is all forgotten and read again. */
enum { IMAGES_MANY = 4096, FILES_MANY = 16384, PROCESSES_MANY = 32768 };

static bool has_too_much(const struct machine *m)
{
    return m->images.count > IMAGES_MANY || m->images.known > FILES_MANY ||
           m->processes.count > PROCESSES_MANY ||
           (m->images.too_many && m->images.table_bytes >= m->images.tables_most);
}

static void forget(struct machine *m, const struct spool *spool)
{
    struct record_files *files = m->images.files;
    uint64_t tables_most = m->images.tables_most;
    machine_bpf_forget(m->bpf);
    machine_processes_free(&m->processes);
    machine_images_free(&m->images);
    record_files_free(files);
    record_files_init(files, 0);
    m->images = (struct machine_images){.spool = spool, .files = files,
                                        .tables_most = tables_most};
    m->processes.spool = spool;
    machine_processes_scan(&m->processes);
}

bool machine_swap(struct machine *m, const struct record_spool *spool, struct err *e)
{
    bool ok = true;
    pthread_mutex_lock(&m->walking);
    if (has_too_much(m)) {
        forget(m, &spool->spool);
    } else {
        ok = machine_images_move(&m->images, &spool->spool);
        machine_processes_move(&m->processes, &spool->spool);
        if (!ok)
            forget(m, &spool->spool);
    }
    pthread_mutex_unlock(&m->walking);
    return ok || err_set(e, ERR_OUTPUT, "there is no room for counters: what was known of mapped "
                                        "files is read again");
}

void machine_pace(struct machine *m, uint64_t period_ns)
{
    pthread_mutex_lock(&m->walking);
    m->period_ns = m->sampler->period_ns = period_ns;
    machine_rings_pace(&m->rings, period_ns);
    pthread_mutex_unlock(&m->walking);
}

uint64_t machine_lost(struct machine *m)
{
    uint64_t lost = machine_rings_lost(&m->rings);
    return lost > m->lost ? lost : m->lost;
}

const char *machine_service(struct machine *m, const char *command)
{
    char *end;
    unsigned long number = strtoul(command, &end, 10);
    pthread_mutex_lock(&m->walking);
    bool known = end != command && !*end && number < m->services.count;
    const char *name = known ? m->services.list[number] : "";
    pthread_mutex_unlock(&m->walking);
    return name;
}
