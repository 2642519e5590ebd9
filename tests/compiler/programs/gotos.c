/* Computed gotos, asm goto, and loops with several entries. */
#include <stdio.h>

static int interpret(const unsigned char *code, int n)
{
    static void *const operations[] = {&&add, &&sub, &&dup, &&jump, &&end};
    long stack[16] = {1, 2}, *top = stack + 1;
    const unsigned char *pc = code;
    goto *operations[*pc++];
add:
    top[-1] += top[0];
    top--;
    goto *operations[*pc++];
sub:
    top[0] -= 3;
    goto *operations[*pc++];
dup:
    top[1] = top[0];
    top++;
    goto *operations[*pc++];
jump:
    if (--n > 0) {
        pc = code;
        top[0] &= 0xffff;
    }
    goto *operations[*pc++];
end:
    return (int)(top[0] + n);
}

static int two_entries(int x)
{
    int steps = 0;
    if (x & 1)
        goto middle;
top:
    x = x * 3 + 1;
    steps++;
middle:
    x /= 2;
    if (++steps < 60 && x > 1) {
        if (x & 1)
            goto top;
        goto middle;
    }
    return steps * 100 + x;
}

static int asm_goto(unsigned x)
{
    int n = 0;
again:
    n++;
    __asm__ goto("testl %0, %0; jz %l[none]; testl $4, %0; jnz %l[four]"
                 : : "r"(x) : "cc" : none, four);
    x -= 1;
    goto again;
four:
    x = (x - 3) & 0xff;
    if (n < 1000)
        goto again;
none:
    return n;
}

static int nested_loops(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        for (int j = i; j; j &= j - 1) {
            if (sum % 7 == 3)
                goto next;
            sum += j;
        }
        int k = 0;
        do
            sum ^= i + k++;
        while (sum % 5 == 2 && k < 9);
    next:
        sum++;
    }
    return sum;
}

int main(void)
{
    static const unsigned char code[] = {2, 0, 1, 2, 2, 0, 0, 3, 4};
    printf("%d\n", interpret(code, 500));
    for (int i = 0; i < 20; i++)
        printf("%d %d\n", two_entries(i * 37), asm_goto((unsigned)i * 5));
    printf("%d\n", nested_loops(300));
    return 3;
}
