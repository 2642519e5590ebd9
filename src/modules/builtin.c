#include "modules/builtin.h"

#include <string.h>

#include "sigsafe/tools.h"

#define MODULE_DECLARED(id, name, ...) extern const struct penumbra_module module_##name;
TOOLS_MODULE(MODULE_DECLARED) TOOLS_MODEL(MODULE_DECLARED)
#undef MODULE_DECLARED

const struct penumbra_module *module_builtin_at(unsigned at)
{
#define MODULE(id, name, ...) &module_##name,
    static const struct penumbra_module *const all[] = {TOOLS_MODULE(MODULE) TOOLS_MODEL(MODULE)};
#undef MODULE
    return at < sizeof all / sizeof *all ? all[at] : NULL;
}

const struct penumbra_module *module_builtin(const char *name)
{
    const struct penumbra_module *module;
    for (unsigned i = 0; (module = module_builtin_at(i)) != NULL; i++)
        if (strcmp(module->name, name) == 0)
            return module;
    return NULL;
}
