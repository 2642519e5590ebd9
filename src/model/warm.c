#include "model/warm.h"

#include "model/core_internal.h"

/* Lines and windows are looked up where another one begins, as fetching does. */
void model_warm_code(struct model_core *core, uint64_t pc, uint64_t end)
{
    core->memory.warming = true;
    for (uint64_t line = pc >> LINE_SHIFT; line <= (end - 1) >> LINE_SHIFT; line++)
        if (core->line != line + 1) {
            core->line = line + 1;
            memory_code(&core->memory, line << LINE_SHIFT, 0);
        }
    for (uint64_t w = pc >> WINDOW_SHIFT; w <= (end - 1) >> WINDOW_SHIFT; w++)
        if (core->window != w + 1)
            core_window_find(core, w << WINDOW_SHIFT);
    core->memory.warming = false;
}

void model_warm_data(struct model_core *core, uint64_t pc, uint64_t address, uint64_t size,
                     bool store)
{
    core->memory.warming = true;
    memory_data(&core->memory, pc, address, 0, store);
    for (uint64_t line = (address >> LINE_SHIFT) + 1; line <= (address + size - 1) >> LINE_SHIFT;
         line++)
        memory_data(&core->memory, pc, line << LINE_SHIFT, 0, store);
    core->memory.warming = false;
}

void model_warm_branch(struct model_core *core, enum uop_transfer transfer, uint64_t pc,
                       uint64_t behind, uint64_t next)
{
    predictor_judge(&core->predictor, transfer, memory_translate(&core->memory, pc), behind, next);
}
