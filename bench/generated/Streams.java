import java.util.*;
import java.util.function.*;
import java.util.stream.*;

/** Streams and lambdas: deep stacks of small methods, megamorphic calls. */
class Streams {
    record Person(String name, int age, String town) {}

    static List<Person> people(int n) {
        Random random = new Random(1);
        return IntStream.range(0, n)
            .mapToObj(i -> new Person("p" + random.nextInt(n), random.nextInt(90), "t" + random.nextInt(50)))
            .collect(Collectors.toList());
    }

    static Function<Integer, Integer> chain(int n) {
        Function<Integer, Integer> f = Function.identity();
        for (int i = 0; i < n; i++) {
            int by = i;
            f = i % 2 == 0 ? f.andThen(x -> x + by) : f.compose(x -> x ^ by);
        }
        return f;
    }

    public static void main(String[] args) {
        int size = Integer.parseInt(args[0]);
        long sum = 0;
        List<Person> people = people(60_000);
        Function<Integer, Integer> f = chain(40);
        for (int i = 0; i < size * 12; i++) {
            int least = i % 60;
            Map<String, Double> ages = people.stream().filter(p -> p.age() > least)
                .collect(Collectors.groupingBy(Person::town, TreeMap::new, Collectors.averagingInt(Person::age)));
            sum += ages.values().stream().mapToLong(Double::longValue).sum();
            sum += people.stream().sorted(Comparator.comparing(Person::name).thenComparing(Person::age))
                .skip(100).limit(1000).map(Person::town).distinct().count();
            sum += IntStream.range(0, 100_000).boxed().map(f).mapToLong(x -> x).sum();
            sum += Stream.iterate(1L, x -> x * 3 + 1).limit(50_000).reduce(0L, Long::sum);
        }
        System.out.println(sum);
    }
}
