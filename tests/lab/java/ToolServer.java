package kafkactl.lab;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Runs the main method of command-line tools, each from the jars of its own release, in one JVM.
 *
 * What it guards: a run must look from outside as if the tool had had a JVM of its own. So each folder of jars
 * has its own class loader; System.exit ends the run and not the JVM; what the tool prints is caught from the
 * first class on; an exception that leaves main is printed as the java launcher prints it.
 *
 * A request on stdin is a list of strings: folder of jars, class, arguments. The answer on stdout is the exit
 * code and the bytes of stdout and stderr. Numbers are four bytes, big-endian; every item has its length first.
 * End of input ends the JVM.
 */
public final class ToolServer {
    /** The run that the current thread, or a thread it was started from, belongs to. */
    private static final InheritableThreadLocal<Run> CURRENT = new InheritableThreadLocal<>();
    private static final Map<String, ClassLoader> LOADERS = new HashMap<>();

    private ToolServer() { }

    public static void main(String[] arguments) throws Exception {
        DataInputStream requests = new DataInputStream(System.in);
        DataOutputStream answers = new DataOutputStream(System.out);
        System.setIn(InputStream.nullInputStream());
        System.setOut(new PrintStream(new Caught(false), true));
        System.setErr(new PrintStream(new Caught(true), true));
        while (true) {
            List<String> request;
            try {
                request = read(requests);
            } catch (EOFException nobodyAsksAnyMore) {
                Runtime.getRuntime().halt(0);
                return;
            }
            answer(answers, perform(request));
        }
    }

    private static List<String> read(DataInputStream from) throws IOException {
        List<String> items = new ArrayList<>();
        int count = from.readInt();
        for (int index = 0; index < count; index++) {
            items.add(new String(from.readNBytes(from.readInt()), StandardCharsets.UTF_8));
        }
        return items;
    }

    private static void answer(DataOutputStream to, Run run) throws IOException {
        to.writeInt(run.exitCode());
        for (byte[] text : List.of(run.out.toByteArray(), run.err.toByteArray())) {
            to.writeInt(text.length);
            to.write(text);
        }
        to.flush();
    }

    private static Run perform(List<String> request) throws Exception {
        ClassLoader loader = LOADERS.computeIfAbsent(request.get(0), Jars::new);
        String[] arguments = request.subList(2, request.size()).toArray(new String[0]);
        Run run = new Run();
        ThreadGroup group = new ThreadGroup("run");
        CURRENT.set(run);  // before the thread is made, which is when it inherits
        Thread main = new Thread(group, () -> run.main(request.get(1), arguments), "main");
        main.setContextClassLoader(loader);
        CURRENT.remove();
        main.start();
        main.join();
        run.awaitOthers(group);
        return run;
    }

    /** What one run printed and how it ended. */
    private static final class Run {
        final ByteArrayOutputStream out = new ByteArrayOutputStream();
        final ByteArrayOutputStream err = new ByteArrayOutputStream();
        private Integer exitCode;

        synchronized void print(boolean toErr, byte[] bytes, int offset, int length) {
            if (exitCode == null) {
                (toErr ? err : out).write(bytes, offset, length);
            }
        }

        /** The first end counts; what is printed or said after it is not heard, as after a real exit. */
        synchronized void end(int code) {
            if (exitCode == null) {
                exitCode = code;
            }
        }

        synchronized int exitCode() {
            return exitCode == null ? 0 : exitCode;
        }

        synchronized boolean ended() {
            return exitCode != null;
        }

        void main(String className, String[] arguments) {
            try {
                ClassLoader loader = Thread.currentThread().getContextClassLoader();
                Method main = Class.forName(className, true, loader).getMethod("main", String[].class);
                trapHalt(loader);
                main.invoke(null, (Object) arguments);
            } catch (InvocationTargetException thrown) {
                uncaught(thrown.getCause(), className);
            } catch (Throwable thrown) {
                uncaught(thrown, className);
            }
        }

        private void uncaught(Throwable thrown, String className) {
            if (!(thrown instanceof Exited)) {
                cutBelowMain(thrown, className, new HashSet<>());
                System.err.print("Exception in thread \"main\" ");
                thrown.printStackTrace();
                System.err.flush();
                end(1);
            }
        }

        /** As the JVM does: the end of main is the end only when no thread is left that it would wait for. */
        void awaitOthers(ThreadGroup group) throws InterruptedException {
            Thread[] threads = new Thread[group.activeCount() + 16];
            int found = group.enumerate(threads);
            for (int index = 0; index < found; index++) {
                while (!threads[index].isDaemon() && threads[index].isAlive() && !ended()) {
                    threads[index].join(10);
                }
            }
            end(0);
        }
    }

    /** Leaves out the frames below the tool's main, which in a JVM of its own are not there. */
    private static void cutBelowMain(Throwable thrown, String className, Set<Throwable> seen) {
        if (thrown == null || !seen.add(thrown)) {
            return;
        }
        StackTraceElement[] frames = thrown.getStackTrace();
        for (int index = frames.length - 1; index >= 0; index--) {
            if (frames[index].getClassName().equals(className) && frames[index].getMethodName().equals("main")) {
                thrown.setStackTrace(Arrays.copyOf(frames, index + 1));
                break;
            }
        }
        cutBelowMain(thrown.getCause(), className, seen);
        for (Throwable suppressed : thrown.getSuppressed()) {
            cutBelowMain(suppressed, className, seen);
        }
    }

    /** Kafka's Exit.halt ends in Runtime.halt, which cannot be redirected like System.exit; Kafka has a hook. */
    private static void trapHalt(ClassLoader loader) throws ReflectiveOperationException {
        Class<?> exit;
        Class<?> procedure;
        try {
            exit = loader.loadClass("org.apache.kafka.common.utils.Exit");
            procedure = loader.loadClass("org.apache.kafka.common.utils.Exit$Procedure");
        } catch (ClassNotFoundException notKafka) {
            return;
        }
        Object trap = Proxy.newProxyInstance(loader, new Class<?>[] {procedure}, (proxy, method, arguments) -> {
            exit((Integer) arguments[0]);
            return null;
        });
        exit.getMethod("setHaltProcedure", procedure).invoke(null, trap);
    }

    /** Stands in for System.exit in every class of a release (see Jars). */
    public static void exit(int code) {
        Run run = CURRENT.get();
        if (run != null) {
            run.end(code);
        }
        throw new Exited();
    }

    /** Unwinds the thread that asked for the exit. */
    private static final class Exited extends Error {
        Exited() {
            super("exit", null, false, false);
        }
    }

    /** System.out or System.err for whatever run the writing thread belongs to. */
    private static final class Caught extends OutputStream {
        private final boolean err;

        Caught(boolean err) {
            this.err = err;
        }

        @Override
        public void write(int one) {
            write(new byte[] {(byte) one}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) {
            Run run = CURRENT.get();
            if (run != null) {
                run.print(err, bytes, offset, length);
            }
        }
    }

    /** The classes of one folder of jars, with calls of System.exit(int) turned into calls of ToolServer.exit. */
    private static final class Jars extends URLClassLoader {
        Jars(String folder) {
            super(urls(folder), ToolServer.class.getClassLoader());
        }

        private static URL[] urls(String folder) {
            File[] jars = new File(folder).listFiles((in, name) -> name.endsWith(".jar"));
            Arrays.sort(jars);
            return Arrays.stream(jars).map(Jars::url).toArray(URL[]::new);
        }

        private static URL url(File jar) {
            try {
                return jar.toURI().toURL();
            } catch (IOException impossible) {
                throw new IllegalStateException(impossible);
            }
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            try (InputStream file = getResourceAsStream(name.replace('.', '/') + ".class")) {
                byte[] changed = file == null ? null : ExitCalls.redirected(file.readAllBytes());
                return changed == null ? super.findClass(name) : defineClass(name, changed, 0, changed.length);
            } catch (IOException broken) {
                throw new ClassNotFoundException(name, broken);
            }
        }
    }
}
