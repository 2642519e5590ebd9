/* Which service a process belongs to, by its control group.
 *
 *      /system.slice/ssh.service                        ssh.service
 *      /user.slice/user-1000.slice/session-2.scope      session-2.scope
 *      /docker/4f5e...64 digits                         docker/4f5e12345678
 *      /kubepods/pod1/4f5e...64 digits                  pod1/4f5e12345678
 *      / and kernel threads                             /  [kernel]
 *      processes outside our PID namespace              [outside]
 *
 * Names of control groups may hold anything. They are data.
 *
 * Context: the machine's thread; strings may be read by others while it does not run.
 * Ownership: machine_services_free releases all. */
#ifndef PENUMBRA_COLLECTOR_MACHINE_SERVICE_H
#define PENUMBRA_COLLECTOR_MACHINE_SERVICE_H

#include <stdint.h>

/* Bytes of a name with its NUL. */
enum { MACHINE_SERVICE_NAME = 128, MACHINE_SERVICES_MOST = 4096 };

struct machine_services {
    char **list;
    uint32_t count, capacity;
};

/* The number of a process's service (pid 0: all outside our PID namespace); `before` if nothing
 * tells, as it is over. */
uint32_t machine_service_find(struct machine_services *all, int32_t pid, int32_t ppid,
                              uint32_t before);
/* What a control group's path says. */
void machine_service_name(const char *path, char name[MACHINE_SERVICE_NAME]);
void machine_services_free(struct machine_services *all);

#endif
