/* sandbox.h: a Lua state that cannot reach out, run for ever, or take all memory. */
#ifndef GDSIM_SCRIPT_SANDBOX_H
#define GDSIM_SCRIPT_SANDBOX_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define SANDBOX_CPU_S 10

struct sandbox {
    lua_State *L;
    size_t used_B, limit_B;
    uint64_t instructions_left;
    clock_t started;
    bool memory_spent, instructions_spent;
};

/* The state's extra space points back to the sandbox. False when memory is short. */
bool sandbox_open(struct sandbox *sandbox, size_t memory_B, uint64_t instructions);
void sandbox_close(struct sandbox *sandbox);

#endif
