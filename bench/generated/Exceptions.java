import java.util.*;

/** Exceptions through many frames, with and without stack traces, and what finally does. */
class Exceptions {
    static int depth;

    static class Light extends RuntimeException {
        Light() { super("light", null, false, false); }
    }

    static int thrower(int n, int kind) {
        if (n == 0)
            switch (kind % 4) {
            case 0: throw new Light();
            case 1: throw new IllegalStateException("kind " + kind);
            case 2: return new int[1][0].length / (kind - kind);
            default: return ((String) null).length();
            }
        try {
            return thrower(n - 1, kind) + 1;
        } finally {
            depth++;
        }
    }

    static int parse(String text) {
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException e) {
            return e.getMessage().length();
        }
    }

    public static void main(String[] args) {
        int size = Integer.parseInt(args[0]);
        long sum = 0;
        String[] texts = {"12", "x12", "", "99999999999", "-7"};
        for (int i = 0; i < size * 60_000; i++) {
            try {
                sum += thrower(i % 30, i);
            } catch (Light e) {
                sum++;
            } catch (RuntimeException e) {
                sum += e.getStackTrace().length;
            }
            sum += parse(texts[i % texts.length]);
        }
        System.out.println(sum + " " + depth);
    }
}
