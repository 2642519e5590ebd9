/* A program whose guest is in a library, with all that the guest's program does. */
int guest_main(int argc, char **argv);
int main(int argc, char **argv)
{
    return guest_main(argc, argv);
}
