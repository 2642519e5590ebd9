/* Returns, and hardly anything else: goes down 5,000 frames and comes back, again and again. With a
 * trampoline on its stack it spends much of its time in that. */
#include <stdio.h>
#include <stdlib.h>

static unsigned long answer;

__attribute__((noinline)) static void down(int frames)
{
    if (frames > 0)
        down(frames - 1);
    /* behind the call: it is no tail call */
    answer = answer * 6364136223846793005u + 1442695040888963407u;
}

int main(int argc, char **argv)
{
    for (int rounds = argc > 1 ? atoi(argv[1]) : 1; rounds > 0; rounds--)
        down(5000);
    printf("%lu\n", answer);
    return 0;
}
