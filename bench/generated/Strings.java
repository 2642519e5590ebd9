import java.math.BigInteger;
import java.util.*;
import java.util.regex.*;

/** Strings, regular expressions, maps, big numbers: methods with intrinsics and stubs. */
class Strings {
    static final Pattern WORD = Pattern.compile("([a-z]+)-([0-9]+)(?:;|$)");

    static String text(int n) {
        StringBuilder b = new StringBuilder();
        for (int i = 0; i < n; i++)
            b.append(Integer.toString(i * 7919 % 100_003, 36).replaceAll("[0-9]", "q")).append('-').append(i).append(';');
        return b.toString();
    }

    static Map<String, Integer> count(String text) {
        Map<String, Integer> counts = new HashMap<>();
        for (Matcher m = WORD.matcher(text); m.find();)
            counts.merge(m.group(1), Integer.parseInt(m.group(2)) & 15, Integer::sum);
        return counts;
    }

    public static void main(String[] args) {
        int size = Integer.parseInt(args[0]);
        long sum = 0;
        for (int i = 0; i < size * 8; i++) {
            String text = text(20_000 + i);
            sum += count(text).values().stream().mapToInt(x -> x).sum();
            String[] parts = text.split(";");
            Arrays.sort(parts, Comparator.reverseOrder());
            sum += String.join(",", parts).hashCode();
            sum += String.format("%08x %s %.3f", i, parts[0], i / 7.0).length();
            BigInteger n = BigInteger.ONE;
            for (int k = 1; k < 1200; k++)
                n = n.multiply(BigInteger.valueOf(k + i));
            sum += n.toString().length();
        }
        System.out.println(sum);
    }
}
