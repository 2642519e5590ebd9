/* Loaded and unloaded by a guest. */
int guest_library(void);
int guest_library(void)
{
    return 1;
}
