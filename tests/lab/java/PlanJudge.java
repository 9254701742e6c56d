package kafkactl.lab;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;

/** Prints taken=1 or taken=0 for each file: whether kafka-reassign-partitions.sh reads it as a plan to execute. */
public class PlanJudge {
    public static void main(String[] files) throws Exception {
        Method parse = null;
        Class<?> tool = Class.forName("org.apache.kafka.tools.reassign.ReassignPartitionsCommand");
        for (Method method : tool.getDeclaredMethods())
            if (method.getName().equals("parseExecuteAssignmentArgs"))
                parse = method;
        parse.setAccessible(true);
        for (String file : files)
            System.out.println("taken=" + taken(parse, Files.readString(Path.of(file))));
    }

    private static int taken(Method parse, String text) throws IllegalAccessException {
        try {
            parse.invoke(null, text);
            return 1;
        } catch (InvocationTargetException refused) {
            return 0;
        }
    }
}
