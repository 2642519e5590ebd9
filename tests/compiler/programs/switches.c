/* Switches by table, by comparisons, by bit tests, in loops, and as a function's first thing. */
#include <stdio.h>
#include <string.h>

__attribute__((noinline)) static int first(int x, int y)
{
    switch (x) {
    case 0: return y;
    case 1: return y * 3;
    case 2: return y - 5;
    case 3: return y / 3;
    case 4: puts("four"); return y ^ 4;
    case 5: return y << 2;
    case 6: return -y;
    default: return 77;
    }
}

static int machine(const char *text)
{
    enum { NONE, WORD, NUMBER, STRING, ESCAPE, COMMENT } state = NONE;
    int counts[6] = {0};
    for (; *text; text++) {
        counts[state]++;
        switch (state) {
        case NONE:
            switch (*text) {
            case '"': state = STRING; break;
            case '#': state = COMMENT; break;
            case '0' ... '9': state = NUMBER; break;
            case ' ': case '\n': case '\t': break;
            default: state = WORD;
            }
            break;
        case WORD: if (*text == ' ') state = NONE; break;
        case NUMBER: if (*text < '0' || *text > '9') state = NONE; break;
        case STRING:
            if (*text == '\\')
                state = ESCAPE;
            else if (*text == '"')
                state = NONE;
            break;
        case ESCAPE: state = STRING; break;
        case COMMENT: if (*text == '\n') state = NONE; break;
        }
    }
    int sum = 0;
    for (int i = 0; i < 6; i++)
        sum = sum * 31 + counts[i];
    return sum;
}

static unsigned duff(const unsigned char *from, int count)
{
    unsigned sum = 0;
    int n = (count + 7) / 8;
    switch (count % 8) {
    case 0: do { sum += *from++; __attribute__((fallthrough));
    case 7:      sum = sum * 3 + *from++; __attribute__((fallthrough));
    case 6:      sum += *from++; __attribute__((fallthrough));
    case 5:      sum ^= *from++; __attribute__((fallthrough));
    case 4:      sum += *from++; __attribute__((fallthrough));
    case 3:      sum = sum * 5 + *from++; __attribute__((fallthrough));
    case 2:      sum += *from++; __attribute__((fallthrough));
    case 1:      sum += *from++;
            } while (--n > 0);
    }
    return sum;
}

static int sparse(unsigned long x)
{
    switch (x) {
    case 1: case 100: case 10000: return 1;
    case 1000000: return 2;
    case 1ul << 40: return 3;
    }
    return 0;
}

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 40; i++)
        sum += first(i % 9, i) + sparse(1ul << i) + sparse(i * 100ul);
    const char *text = "word 123 \"a \\\" string\" # comment\nnext 4 \"x\" ";
    unsigned long length = strlen(text);
    unsigned d = 0;
    for (int i = 1; i < (int)length; i++)
        d = d * 7 + duff((const unsigned char *)text, i);
    printf("%d %d %u\n", sum, machine(text), d);
    return 0;
}
