// Code that is compiled, thrown away and compiled again: lambdas, reflection, regular expressions, sorting.
import java.lang.reflect.Method;
import java.util.*;
import java.util.regex.Pattern;
import java.util.stream.*;
public class Streams {
  public static int twice(int n) { return 2 * n; }
  interface Shape { double area(); }
  record Square(double side) implements Shape { public double area() { return side * side; } }
  record Circle(double radius) implements Shape { public double area() { return 3 * radius * radius; } }
  public static void main(String[] a) throws Exception {
    long end = System.nanoTime() + Long.parseLong(a[0]) * 1000000000L;
    Pattern word = Pattern.compile("(\\w+)-(\\d+)");
    Method twice = Streams.class.getMethod("twice", int.class);
    boolean fine = true;
    while (System.nanoTime() < end) {
      fine &= IntStream.range(0, 1000).filter(i -> i % 3 == 0).mapToObj(i -> "n-" + i)
          .map(s -> word.matcher(s).replaceAll("$2")).mapToInt(Integer::parseInt).sum() == 166833;
      List<Shape> shapes = new ArrayList<>();
      for (int i = 0; i < 300; i++) shapes.add(i % 2 == 0 ? new Square(i) : new Circle(i));
      Collections.shuffle(shapes);
      shapes.sort(Comparator.comparingDouble(Shape::area));
      for (int i = 1; i < 300; i++) fine &= shapes.get(i - 1).area() <= shapes.get(i).area();
      for (int i = 0; i < 50; i++) fine &= (int) twice.invoke(null, i) == 2 * i;
    }
    System.out.println(fine ? "fine" : "broken");
  }
}
