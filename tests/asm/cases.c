#include "cases.h"

#define STOPS(why) (1 + (why))

const struct named named[] = {
    { "jump to address 0", "31c0 ffe0", STOPS(STOP_UNREADABLE) },
    { "registers behind int3", "cc ba3b9d2d1a 6e", 0 },
    { "int3 before a jump", "cc eb20", 0 },
    { "int3 before a call", "cc e820000000", 0 },
    { "int3 at the end of what can be decoded", "cc 37", 0 },
    { "fault where flags are overwritten", "8b00 39d8 7400", 0 },
    { "jmp [rip]", "ff25fa431000", 0 },
    { "call [rip]", "ff15fa431000", 0 },
    { "jmp fs:[rax]", "64ff20", 0 },
    { "call fs:[r15+rcx]", "6441ff140f", 0 },
    { "jmp r15", "41ffe7", 0 },
    { "call r15", "41ffd7", 0 },
    { "call rsp", "ffd4", 0 },
    { "call [rsp]", "ff1424", 0 },
    { "call [rsp+8]", "ff542408", 0 },
    { "call [rcx]", "ff11", 0 },
    { "jmp [r11+rcx]", "41ff240b", 0 },
    { "jmp [r11+r15*8]", "43ff24fb", 0 },
    { "jmp [r15+rcx*8]", "41ff24cf", 0 },
    { "ret", "c3", 0 },
    { "ret 24", "c21800", 0 },
    { "rep ret", "f3c3", 0 },
    { "call and return", "e801000000 c3", 0 },
    { "enter and leave", "c8200000 c9", 0 },
    { "enter 32, 3", "c8200003 c9", 0 },
    { "push rsp, pop rsp", "54 5c", 0 },
    { "push [rsp+8], pop [rsp+8]", "ff742408 8f442408", 0 },
    { "push r15, pop r15", "4157 415f", 0 },
    { "push r15w", "664157", 0 },
    { "push fs, pop fs", "0fa0 0fa1", 0 },
    { "xchg r15, rsp", "4c87fc", 0 },
    { "cmpxchg16b [r15]", "490fc70f", 0 },
    { "lock cmpxchg16b [rip]", "f0480fc70df8431000", 0 },
    { "lock xadd [r15], r15", "f04d0fc13f", 0 },
    { "mulx r15, r14, [rip]", "c462 8bf63df7431000", 0 },
    { "div [r15]", "49f737", 0 },
    { "idiv r15d", "41f7ff", 0 },
    { "loop to itself once", "b902000000 e2fe", 0 },
    { "jrcxz", "e302 ffc0", 0 },
    { "jecxz", "67e302 ffc0", 0 },
    { "15 bytes", "6666662e48c7050043100001020304", 0 },
    { "16 bytes", "666666662e48c7050043100001020304", STOPS(STOP_INVALID) },
    { "nop of 15 bytes", "6666666666662e0f1f840000000000", 0 },
    { "REX before a prefix", "4866 01c8", 0 },
    { "two REX", "4149 01c8", 0 },
    { "lock where there is no memory", "f001c8", STOPS(STOP_INVALID) },
    { "far return", "cb", STOPS(STOP_FAR_TRANSFER) },
    { "iretq", "48cf", STOPS(STOP_FAR_TRANSFER) },
    { "jmp far [rax]", "ff28", STOPS(STOP_FAR_TRANSFER) },
    { "int 0x21", "cd21", STOPS(STOP_UNSUPPORTED) },
    { "mov rax, gs:[0]", "65488b042500000000", STOPS(STOP_GS) },
    { "ud2", "0f0b", 0 },
    { "hlt", "f4", 0 },
    { "std, rep stosb across the guard", "fd b900400000 f3aa", 0 },
    { "pushf and popf with DF", "9c 48810c2400040000 9d", 0 },
    { "rdfsbase, wrfsbase", "f3480faec0 f3480faed0", 0 },
    { "xgetbv", "31c9 0f01d0", 0 },
    { "cpuid", "31c0 31c9 0fa2", 0 },
    { "fxsave [r15]", "490fae07", 0 },
    { "vzeroall between", "c5fc77 c5f057c0", 0 },
    { "emms", "0f77", 0 },
    { 0 },
};

static unsigned digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

void piece_of_case(struct piece *p, const struct named *n, uint64_t seed)
{
    *p = (struct piece){ .seed = seed, .loose = 1 };
    for (const char *h = n->hex; *h; h++)
        if (*h != ' ') {
            p->code[p->length++] = (uint8_t)(digit(h[0]) << 4 | digit(h[1]));
            h++;
        }
}
