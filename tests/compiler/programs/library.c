/* Loaded and unloaded by loads.c. */
struct point { int x, y; struct { char tag; long weight; } more; };

static struct point points[50];

long library_sum(int n);
long library_sum(int n)
{
    long sum = 0;
    for (int i = 0; i < n; i++) {
        struct point *p = &points[i % 50];
        p->x += i;
        p->more.weight += p->x - p->y;
        sum += p->more.weight;
    }
    return sum;
}
