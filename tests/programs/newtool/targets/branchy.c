/* Two conditional branches whose ways are known: see test_new_tool.py. */
__asm__(".text\n"
        ".type spin, @function\n"
        "spin:     movl $1000, %eax\n"
        "again:    testb $1, %al\n"
        "if_even:  jz even\n" /* taken 500 times, passed 500 times */
        "odd:      nop\n"
        "even:     decl %eax\n"
        "if_more:  jnz again\n" /* taken 999 times, passed once */
        "last:     ret\n"
        ".size spin, . - spin\n"
        ".global if_even, odd, even, if_more, again, last\n");
void spin(void);

int main(void)
{
    spin();
    return 0;
}
