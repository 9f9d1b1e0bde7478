import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import scala.collection.Iterator;
import scala.collection.immutable.Set;
import scala.collection.immutable.Set$;
import weir.policy.Policy;
import weir.WeirConfig;

/** Says what WeirConfig answers: for each argument `field=value[,field=value…]`, a line `ok` or the error's message.
  *
  * `PllConfig=<five integers>` asks PllConfig in the same way, `PllConfig=25000000,1,5,5,10`, and
  * `UartConfig=<five integers>` UartConfig; `Ecp5Rgmii=<rxTaps>,<txTaps>` and `Series7Rgmii=<rxTaps>,<referenceMhz>` those.
  * Fields that are not named are those of the preset ten-gig. Values are integers, `true` or `false`; of `policies` names joined by `+`.
  * Run from source (scripts/tests/test_config.py): needs nothing but the classes of `make rtl`.
  */
public class ConfigProbe {
  public static void main(String[] arguments) throws Exception {
    for (String argument : arguments) System.out.println("probe: " + answer(argument));
  }

  private static String pll(String numbers) {
    int[] n = java.util.Arrays.stream(numbers.split(",")).mapToInt(Integer::parseInt).toArray();
    try {
      new weir.board.PllConfig(n[0], n[1], n[2], n[3], n[4]);
    } catch (IllegalArgumentException e) {
      return e.getMessage();
    }
    return "ok";
  }

  private static String uart(String numbers) {
    int[] n = java.util.Arrays.stream(numbers.split(",")).mapToInt(Integer::parseInt).toArray();
    try {
      new weir.board.uart.UartConfig(n[0], n[1], n[2], n[3], n[4]);
    } catch (IllegalArgumentException e) {
      return e.getMessage();
    }
    return "ok";
  }

  private static String rgmii(boolean ecp5, String numbers) {
    int[] n = java.util.Arrays.stream(numbers.split(",")).mapToInt(Integer::parseInt).toArray();
    try {
      if (ecp5) new weir.board.Ecp5Rgmii(n[0], n[1]);
      else new weir.board.Series7Rgmii(n[0], n[1], scala.Option.empty(), "rgmii");
    } catch (IllegalArgumentException e) {
      return e.getMessage();
    }
    return "ok";
  }

  private static String answer(String argument) throws Exception {
    if (argument.startsWith("PllConfig=")) return pll(argument.substring(10));
    if (argument.startsWith("UartConfig=")) return uart(argument.substring(11));
    if (argument.startsWith("Ecp5Rgmii=")) return rgmii(true, argument.substring(10));
    if (argument.startsWith("Series7Rgmii=")) return rgmii(false, argument.substring(13));
    WeirConfig base = WeirConfig.preset("ten-gig");
    Object[] values = new Object[base.productArity()];
    for (int n = 0; n < values.length; n++) values[n] = base.productElement(n);
    for (String change : argument.split(",")) {
      String[] pair = change.split("=", 2);
      int at = index(base, pair[0]);
      if (values[at] instanceof Boolean) values[at] = Boolean.valueOf(pair[1]);
      else values[at] = pair[0].equals("policies") ? policies(pair[1]) : Integer.valueOf(pair[1]);
    }
    Constructor<?> constructor = WeirConfig.class.getConstructors()[0];
    try {
      constructor.newInstance(values);
    } catch (InvocationTargetException e) {
      return e.getCause().getMessage();
    }
    return "ok";
  }

  private static int index(WeirConfig config, String name) {
    Iterator<String> names = config.productElementNames();
    for (int n = 0; names.hasNext(); n++) if (names.next().equals(name)) return n;
    throw new IllegalArgumentException("WeirConfig has no field " + name);
  }

  private static Object policies(String names) {
    Set<Policy> set = Set$.MODULE$.empty();
    Iterator<Policy> all = Policy.all().iterator();
    while (all.hasNext()) {
      Policy policy = all.next();
      if (java.util.Arrays.asList(names.split("\\+")).contains(policy.name())) set = set.incl(policy);
    }
    return set;
  }
}
