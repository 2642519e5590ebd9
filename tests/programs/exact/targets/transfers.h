/* Transfers of control that the engine cannot translate, to the next instruction. */
#ifndef EXACT_TRANSFERS_H
#define EXACT_TRANSFERS_H

static inline void far_return(void)
{
    __asm__ volatile(
        "sub $128, %%rsp; mov %%cs, %%eax; push %%rax; lea 1f(%%rip), %%rax; push %%rax;"
        "lretq; 1: add $128, %%rsp"
        :
        :
        : "rax", "memory", "cc");
}

static inline void interrupt_return(void)
{
    __asm__ volatile(
        "sub $128, %%rsp; mov %%rsp, %%rcx; mov %%ss, %%eax; push %%rax; push %%rcx; pushfq;"
        "mov %%cs, %%eax; push %%rax; lea 1f(%%rip), %%rax; push %%rax; iretq;"
        "1: add $128, %%rsp"
        :
        :
        : "rax", "rcx", "memory", "cc");
}

#endif
