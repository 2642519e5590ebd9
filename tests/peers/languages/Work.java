import java.util.*;
import java.util.stream.*;

public class Work {
    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

    public static void main(String[] arguments) {
        System.out.println(fib(34));
        List<String> list = new ArrayList<>();
        for (int i = 0; i < 300000; i++) list.add("" + i);
        Collections.sort(list);
        System.out.println(list.get(777));
        Object nothing = null;
        try { nothing.toString(); } catch (NullPointerException e) { System.out.println("null"); }
        System.out.println(IntStream.range(0, 1000000).parallel().map(i -> i % 7).sum());
    }
}
