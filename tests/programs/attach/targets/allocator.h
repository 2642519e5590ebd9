/* An allocator that takes its time. What it does with it: a function of the program's; NULL: it
 * computes. */
extern void (*allocator_inside)(void);
void allocator_spin(unsigned rounds);
